"""Errors that a person reads: what happened, why, and what to do next."""


class CloudError(Exception):
    """Exit status 2: usage, configuration, permissions."""


class Rejected(CloudError):
    """The cloud rejected a request; `code` is its name for the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
