"""The two directions of a pair, as one run of net-one-way between two hosts measured them.

Nanoseconds. Each direction is off by at most `error_ns`, one of them too long by as much as the
other is too short: the offset of the two clocks is known only as a bracket (docs/METHODOLOGY.md).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tickpath_cloud.errors import CloudError
from tickpath_cloud.records import BESIDE

FORWARD, REVERSE, KIND = "forward", "reverse", "service"  # series of a record
ROUND_TRIP = ("request", KIND)


@dataclass(frozen=True)
class Counter:
    """How one process converted the counts of its host's counter to ns (crates/clock)."""

    ns_per_count: int  # 32.32 fixed point
    origin_count: int
    origin_ns: int

    def count(self, ns: int) -> int:
        return self.origin_count + ((ns - self.origin_ns) << 32) // self.ns_per_count

    def ns(self, count: int) -> int:
        return self.origin_ns + ((count - self.origin_count) * self.ns_per_count >> 32)


@dataclass(frozen=True)
class Instant:
    """Both hosts' counters at one moment, if the fastest datagrams take equally long both ways.

    Counts, because each process calibrates its clock anew and the counter stays the same.
    """

    counts: tuple[int, int]  # of the client's host and of the echo's
    counters: tuple[Counter, Counter]


@dataclass(frozen=True)
class Ways:
    forward_ns: float  # p50
    reverse_ns: float
    error_ns: float  # 0: one clock stamped both ends
    instant: Instant | None  # none: one clock


def parse(record: dict[str, Any], where: str) -> Ways:
    """Raises where a direction is missing."""
    if record.get("void_because"):
        raise CloudError(f"{where} is void: {record['void_because'][0]}")
    try:
        subject = next(s for s in record["subjects"] if s["name"] not in BESIDE)
        p50 = {s["name"]: s["pooled"]["p50"] for s in subject["series"] if s["kind"] == KIND}
        between = next(iter(subject.get("between") or ()), None)
        if between is None:
            return Ways(float(p50[FORWARD]), float(p50[REVERSE]), 0.0, None)
        if withheld := between.get("withheld"):
            raise CloudError(f"{where}: {next(iter(withheld.values()))}")
        return Ways(
            float(p50[FORWARD]), float(p50[REVERSE]), float(between["error_ns"]), _instant(between)
        )
    except (KeyError, StopIteration, TypeError, ValueError, ZeroDivisionError) as error:
        raise CloudError(f"{where} has no two directions ({error!r})") from error


def _instant(between: dict[str, Any]) -> Instant:
    low, high = between["bracket"]["offset_ns"]
    middle, at = (low + high) // 2, between["at_ns"]
    ours, theirs = map(_clock, between["clocks"])
    return Instant((ours.count(at), theirs.count(at + middle)), (ours, theirs))


def _clock(identity: str) -> Counter:
    """`BOOT {clock as JSON}`."""
    said = json.loads(identity.partition(" ")[2])
    return Counter(said["ns_per_count"], said["origin_count"], said["origin_ns"])
