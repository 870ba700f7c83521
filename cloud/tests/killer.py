"""Kills a verb before and after each of its requests that change something at AWS."""

from itertools import count

import botocore.client

MAKES = (
    "Create", "Run", "Authorize", "Attach", "Accept", "Replace", "Revoke", "Detach", "Terminate",
    "Delete",
)  # fmt: skip


class Killed(BaseException):
    """Not an Exception: nothing in the program may catch it."""


class Killer:
    """Dies before or after the nth call that makes or removes something."""

    def __init__(self, monkeypatch):
        self.original, self.at, self.count = botocore.client.BaseClient._make_api_call, 0, 0
        killer = self

        def call(client, name, arguments):
            return killer.call(client, name, arguments)

        monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", call)

    def everywhere(self, act, after):
        """Acts until nothing kills it; the number of kills.

        Dies at each place in turn. Both are told how many kills there were before.
        """
        for kills in count():
            self.at, self.count = kills + 1, 0
            try:
                act(kills)
                return kills
            except Killed:
                pass
            finally:
                self.at = 0
            after(kills)

    def call(self, client, name, arguments):
        if not name.startswith(MAKES) or "DryRun" in arguments:
            return self.original(client, name, arguments)
        self.count += 1
        if self.count == (self.at + 1) // 2:
            if self.at % 2 == 0:
                self.original(client, name, arguments)
            raise Killed
        return self.original(client, name, arguments)
