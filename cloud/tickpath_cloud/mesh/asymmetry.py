"""Pairs of hosts between which one direction takes longer than the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tickpath_cloud.mesh.closure import SHARE_MIN, Closure
from tickpath_cloud.mesh.ways import Ways

CLOCKS, CLOSURE = "clocks", "closure"


@dataclass(frozen=True)
class Asymmetric:
    """From `start` to `to` it takes longer than back."""

    start: int
    to: int
    longer_ns: float
    by: str  # the clocks are known well enough for that, or closure: most paths are symmetric


@dataclass(frozen=True)
class Hidden:
    """A host whose paths may all be longer in the same direction: neither figure nor triangle
    contradicts it up to `up_to_ns`."""

    host: int
    up_to_ns: float


def hidden(known: dict[tuple[int, int], Ways], distance: NDArray[np.float64]) -> list[Hidden]:
    """Hosts with a tenth of a round trip or more, unless their clocks exclude it.

    Such a host looks like a shifted clock. Each pair bounds it for both its hosts, by the
    difference that it shows and the error of the clocks, which counts in both directions.
    """
    most: dict[int, float] = {}
    nearest: dict[int, float] = {}
    for (a, b), ways in known.items():
        of_pair = abs(ways.forward_ns - ways.reverse_ns) + 2 * ways.error_ns
        for host in (a, b):
            most[host] = min(most.get(host, np.inf), of_pair)
            nearest[host] = min(nearest.get(host, np.inf), float(distance[a, b]))
    return [
        Hidden(host, most[host]) for host in sorted(most)
        if most[host] >= SHARE_MIN * nearest[host]
    ]  # fmt: skip


def asymmetric(
    known: dict[tuple[int, int], Ways], closed: Closure | None, distance: NDArray[np.float64]
) -> list[Asymmetric]:
    """Asymmetries that both of the pair's measurements show; the largest first."""
    found = []
    for a, b in known:
        if a > b or (b, a) not in known:
            continue
        one, other = known[a, b], known[b, a]
        direct = _direct(one, other, float(distance[a, b]))
        if direct:
            found.append(_of(a, b, direct, CLOCKS))
        elif closed is not None and closed.is_clear(a, b, float(distance[a, b])):
            found.append(_of(a, b, closed.asymmetry(a, b), CLOSURE))
    return sorted(found, key=lambda one: -one.longer_ns)


def _direct(one: Ways, other: Ways, round_trip_ns: float) -> float:
    """First to second minus back, if that exceeds the error of the clocks; else 0."""
    seen = [one.forward_ns - one.reverse_ns, other.reverse_ns - other.forward_ns]
    proved = min(abs(seen[0]) - 2 * one.error_ns, abs(seen[1]) - 2 * other.error_ns)
    same = seen[0] * seen[1] > 0
    return sum(seen) / 2 if same and proved >= SHARE_MIN * round_trip_ns else 0.0


def _of(a: int, b: int, longer_ns: float, by: str) -> Asymmetric:
    return Asymmetric(a, b, longer_ns, by) if longer_ns > 0 else Asymmetric(b, a, -longer_ns, by)
