"""From round trips to places: groups of near hosts, the best place.

All times are p50s in nanoseconds. Unknown pairs are NaN in matrices, and never zero.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
RATIO_MIN = 1.5  # between two merges: less is no gap between groups
DIFFERS = 0.25  # of the smaller: more between the two directions of a pair is said


@dataclass(frozen=True)
class Level:
    """Groups of hosts: within each, the mean round trip is `within_ns` or less."""

    within_ns: float
    apart_ns: float  # the mean round trip between the two nearest groups
    groups: list[list[int]]

    @property
    def ratio(self) -> float:
        return self.apart_ns / self.within_ns


@dataclass(frozen=True)
class Place:
    """One host as the place of a replicator or a gateway for all others."""

    host: int
    worst_ns: float
    worst_to: int
    nearest_ns: float
    median_ns: float
    known: int  # other hosts to which the round trip is known

    @property
    def spread_ns(self) -> float:
        return self.worst_ns - self.nearest_ns


def symmetric(directed: Matrix) -> Matrix:
    """Mean of the two directions, or the one that is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of a pair without any
        found: Matrix = np.nanmean(np.stack([directed, directed.T]), axis=0)
    np.fill_diagonal(found, np.nan)
    return found


def differing(directed: Matrix) -> list[tuple[int, int]]:
    """Pairs whose two measurements, of different rounds, differ by more than a quarter."""
    smaller, larger = np.fmin(directed, directed.T), np.fmax(directed, directed.T)
    both = np.isfinite(directed) & np.isfinite(directed.T)
    found = np.argwhere(np.triu(both & (larger > (1 + DIFFERS) * smaller), 1))
    return [(int(a), int(b)) for a, b in found]


def levels(distance: Matrix) -> list[Level]:
    """Average linkage: the two groups with the least mean distance become one, again and again.

    Where a merge takes RATIO_MIN times the distance of the one before or more, the groups before
    it are a level. Nearest first. Without such a gap there is none: all hosts are alike.
    """
    groups: list[list[int]] = [[host] for host in range(len(distance))]
    known = np.isfinite(distance)
    total, count = np.where(known, distance, 0.0), known.astype(float)
    found, before = [], 0.0
    while len(groups) > 1:
        mean = np.divide(total, count, out=np.full_like(total, np.inf), where=count > 0)
        np.fill_diagonal(mean, np.inf)
        a, b = sorted(int(n) for n in np.unravel_index(int(np.argmin(mean)), mean.shape))
        apart = float(mean[a, b])
        if not np.isfinite(apart):
            break  # nothing is known between the groups that are left
        if before and apart >= RATIO_MIN * before:
            found.append(Level(before, apart, sorted(map(sorted, groups))))
        before = max(before, apart)
        for table in (total, count):
            table[a] += table[b]
            table[:, a] += table[:, b]
        total, count = (np.delete(np.delete(t, b, 0), b, 1) for t in (total, count))
        groups[a] = groups[a] + groups.pop(b)
    return found


def clearest(found: list[Level]) -> Level | None:
    """The level with the largest gap."""
    return max(found, key=lambda level: level.ratio, default=None)


def places(distance: Matrix) -> list[Place]:
    """Best first: the least worst round trip. Hosts of which less is known come last."""
    made = []
    for host, row in enumerate(distance):
        known = np.flatnonzero(np.isfinite(row))
        if known.size:
            worst = int(known[np.argmax(row[known])])
            made.append(Place(
                host, float(row[worst]), worst, float(row[known].min()),
                float(np.median(row[known])), int(known.size),
            ))  # fmt: skip
    return sorted(made, key=lambda place: (-place.known, place.worst_ns, place.median_ns))
