"""Every request to launch, written down before it is sent, and what became of it.

EC2 takes a client token again only with exactly the same parameters, and they have a time in them.
The ids are here before AWS's descriptions have them: those lag by seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from tickpath_cloud import journal
from tickpath_cloud.journal import Event

FILE = "launches.jsonl"  # in the directory of a hunt or a matrix
TOKEN_MAX = 64  # characters, EC2's limit


def token(*parts: object) -> str:
    """A client token: readable while it is short enough."""
    text = "-".join(map(str, parts))
    return text if len(text) <= TOKEN_MAX else hashlib.sha256(text.encode()).hexdigest()


class Launches:
    """`path` None: in memory, for what launches nothing. Times are seconds since the epoch."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._events: list[Event] | None = None

    @property
    def events(self) -> list[Event]:
        if self._events is None:
            there = self.path is not None and self.path.exists()
            self._events = journal.read(self.path) if there and self.path else []
        return self._events

    def _append(self, event: Event) -> None:
        events = self.events
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab+") as file:
                file.truncate(self.path.read_bytes().rfind(b"\n") + 1)  # a torn last line
                file.write(json.dumps(event, separators=(",", ":")).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        events.append(event)

    def request(
        self, name: str, role: str, price: Decimal, make: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """The parameters of this client token: those of the first time, or else `make`'s."""
        found = self.pending(role, name) or self._of("launched", name)
        if found is not None:
            return next(e["arguments"] for e in self._requests(name))
        arguments = {**make(), "ClientToken": name}
        self._append({
            "event": "request", "token": name, "role": role, "price": str(price),
            "arguments": arguments,
        })  # fmt: skip
        return arguments

    def launched(self, name: str, instances: Sequence[str], at: float) -> None:
        if self._of("launched", name) is None:
            self._append({"event": "launched", "token": name, "ids": [*instances], "at": at})

    def rejected(self, name: str) -> None:
        """AWS launches nothing for it: its token may have other parameters."""
        self._append({"event": "rejected", "token": name})

    def ended(self, instances: Sequence[str]) -> None:
        live = set(self.prices())
        if gone := [known for known in instances if known in live]:
            self._append({"event": "ended", "ids": gone})

    def destroyed(self) -> None:
        """A person had everything removed: what was begun can't continue."""
        self._append({"event": "destroyed"})

    # --- questions ------------------------------------------------------------------------------

    def pending(self, role: str, name: str | None = None) -> str | None:
        """The token of a request of this role without an answer."""
        found = None
        for event in self.events:
            if event["event"] == "request" and event["role"] == role:
                found = event["token"] if name in (None, event["token"]) else found
            elif event.get("token") == found:
                found = None
        return found

    @property
    def is_destroyed(self) -> bool:
        return any(event["event"] == "destroyed" for event in self.events)

    def _requests(self, name: str) -> list[Event]:
        """The last one first."""
        found = [e for e in self.events if e["event"] == "request" and e["token"] == name]
        return found[::-1]

    def _of(self, kind: str, name: str) -> Event | None:
        found = (e for e in self.events if e["event"] == kind and e.get("token") == name)
        return next(found, None)

    def ids(self, role: str | None = None, since: float = 0.0) -> list[str]:
        """Instances that were launched, for this role or any, and were not ended by us."""
        ended = {i for event in self.events if event["event"] == "ended" for i in event["ids"]}
        return [
            known
            for event in self.events
            if event["event"] == "launched" and event["at"] >= since
            if role in (None, self._requests(event["token"])[0]["role"])
            for known in event["ids"]
            if known not in ended
        ]

    def count(self, role: str) -> int:
        """Requests of this role that were answered with instances."""
        of = {e["token"] for e in self.events if e["event"] == "request" and e["role"] == role}
        return sum(e["event"] == "launched" and e["token"] in of for e in self.events)

    def prices(self) -> dict[str, Decimal]:
        """US dollars an hour of each instance that was not ended by us."""
        live = set(self.ids())
        return {
            known: Decimal(self._requests(event["token"])[0]["price"])
            for event in self.events
            if event["event"] == "launched"
            for known in event["ids"]
            if known in live
        }
