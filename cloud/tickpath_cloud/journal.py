"""A hunt's journal: one JSON object a line, appended and synced before the next step.

It is the only state. Replaying it gives the same decisions; a controller that died goes on from it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from tickpath_cloud.errors import CloudError

Event = dict[str, Any]


def read(path: Path) -> list[Event]:
    """All whole lines. A torn last line is what a controller wrote while it died."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError as error:
        raise CloudError(f"{path} does not exist: name a hunt's directory") from error
    return list(_events(path, lines[:-1]))


def _events(path: Path, lines: list[bytes]) -> Iterator[Event]:
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise CloudError(
                f"{path}:{number} is no JSON ({error}): the journal is damaged; "
                "`tickpath-cloud destroy` still finds everything by its tags"
            ) from error


class Journal:
    """Open for writing; a second controller of the same hunt is turned away."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CloudError(
                f"{path} is in use by another controller: wait for it or end it"
            ) from error
        self.events = read(path)
        whole = path.read_bytes().rfind(b"\n") + 1
        self._file.truncate(whole)

    def append(self, event: Event) -> None:
        self._file.write(json.dumps(event, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.events.append(event)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._file.close()
