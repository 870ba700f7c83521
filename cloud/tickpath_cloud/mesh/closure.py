"""Closure: finds asymmetric paths by the offsets of clocks around triangles of hosts.

One pair can't tell an asymmetric path from a shifted clock. In a mesh each clock is in many pairs.
How fast two clocks drift apart follows from both measurements of a pair, whatever its asymmetry.
Then one offset for each clock is fitted to all pairs, by least absolute deviations, so that a few
asymmetric paths don't move it. Half the asymmetry of a path is left over. A host whose paths are
all asymmetric in the same way stays hidden: it looks like a shifted clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tickpath_cloud.mesh.ways import Counter, Instant

Matrix = NDArray[np.float64]
STEPS = 60  # of the fit of offsets; each solves weighted least squares
TURNS = 3  # instants follow from offsets and drifts, and these from instants
SMALLEST_NS = 20.0  # deviations below count alike, or one pair could take all the weight
SHARE_MIN = 0.1  # of a round trip: a smaller asymmetry is not said
SIGMAS_MIN = 6.0
TRIANGLES_MIN = 2  # through a pair: by one alone, each of its three pairs could be the one
SIGMA = 1.4826  # of a normal distribution, by the median of absolute deviations


@dataclass(frozen=True)
class Observed:
    """Hosts are numbers from 0."""

    start: int
    to: int
    instant: Instant


@dataclass(frozen=True)
class Triangle:
    hosts: tuple[int, int, int]
    sum_ns: float  # of the offsets around it: half the sum of its paths' asymmetries


@dataclass(frozen=True)
class Closure:
    left_ns: Matrix  # of each measurement: offset minus the fit, half the path's asymmetry
    sigma_ns: float  # robust, of those
    through: NDArray[np.int64]  # triangles through each pair
    triangles: int
    median_ns: float  # of the triangles' sums, without sign
    worst: Triangle

    def asymmetry(self, a: int, b: int) -> float:
        """Forward minus reverse, ns, by both of the pair's measurements; NaN without one."""
        both = np.array([2 * self.left_ns[a, b], -2 * self.left_ns[b, a]])
        known = both[np.isfinite(both)]
        return float(known.mean()) if known.size else float("nan")

    def is_clear(self, a: int, b: int, round_trip_ns: float) -> bool:
        """Both measurements, of different rounds, show it far above the others' noise."""
        one, other = self.left_ns[a, b], -self.left_ns[b, a]
        least = max(SIGMAS_MIN * self.sigma_ns, SHARE_MIN * round_trip_ns / 2)
        agree = one * other > 0 and min(abs(one), abs(other)) >= least
        return bool(agree and self.through[a, b] >= TRIANGLES_MIN)


def closure(hosts: int, seen: list[Observed]) -> Closure | None:
    """None where no triangle is known, with both measurements of each of its pairs."""
    there = {(one.start, one.to) for one in seen}
    both = {(start, to) for start, to in there if (to, start) in there}
    threes = [
        three for three in combinations(range(hosts), 3)
        if all(two in both for two in combinations(three, 2))
    ]  # fmt: skip
    if not threes:
        return None
    inside = sorted({host for three in threes for host in three})
    known = [one for one in seen if (one.start, one.to) in both]
    seen = [one for one in known if {one.start, one.to} <= set(inside)]
    left = _left_over(inside, seen)
    made = np.full((hosts, hosts), np.nan)
    for one, ns in zip(seen, left, strict=True):
        made[one.start, one.to] = ns
    halves = _halves(made)
    a, b, c = np.array(threes).T
    through = np.zeros((hosts, hosts), dtype=np.int64)
    for two in ((a, b), (b, c), (a, c)):
        np.add.at(through, two, 1)
    sums = halves[a, b] + halves[b, c] + halves[c, a]
    worst = int(np.argmax(np.abs(sums)))
    return Closure(
        made, SIGMA * float(np.median(np.abs(left))), through + through.T, len(threes),
        float(np.median(np.abs(sums))), Triangle(threes[worst], float(sums[worst])),
    )  # fmt: skip


def _halves(left: Matrix) -> Matrix:
    """One value for each pair: the mean of its measurements. Antisymmetric."""
    known = np.isfinite(left)
    total = np.where(known, left, 0.0) - np.where(known.T, left.T, 0.0)
    count = known.astype(float) + known.T
    return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def _left_over(hosts: list[int], seen: list[Observed]) -> NDArray[np.float64]:
    """For each observation: the offset that it saw minus that of the fitted lines, ns."""
    number = {host: n for n, host in enumerate(hosts)}
    start = np.array([number[one.start] for one in seen])
    to = np.array([number[one.to] for one in seen])
    ends = _incidence(len(hosts), start, to)
    row = {(one.start, one.to): n for n, one in enumerate(seen)}
    back = np.array([row[one.to, one.start] for one in seen])
    shown = _shown(seen)
    offset = shown[:, 1] - shown[:, 0]
    ns, drift = np.zeros(len(hosts)), np.zeros(len(hosts))  # of each clock's line; ns a second
    for _ in range(TURNS):
        seconds = (shown[:, 0] - ns[start]) / (1e9 + drift[start])  # on the first host's clock
        # The other measurement of the pair has the opposite sign, and the same asymmetry.
        apart = seconds - seconds[back]
        drift = _solved(ends * apart[:, None], offset + offset[back], np.ones(len(seen)))
        steady = offset - (ends @ drift) * seconds
        left = steady - ends @ ns
        for _ in range(STEPS):
            weights = 1 / np.maximum(np.abs(left), SMALLEST_NS)
            ns = ns + _solved(ends, left, weights)
            left = steady - ends @ ns
    return left


def _incidence(hosts: int, start: NDArray, to: NDArray) -> Matrix:
    """Times a value of each host: that of the observation's second minus that of its first."""
    ends = np.zeros((len(start), hosts))
    rows = np.arange(len(start))
    ends[rows, to], ends[rows, start] = 1.0, -1.0
    return ends


def _solved(table: Matrix, wanted: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """Weighted least squares; the first host's clock is the one of the others."""
    free = table[:, 1:]
    weighted = free.T * weights
    return np.concatenate(([0.0], np.linalg.lstsq(weighted @ free, weighted @ wanted)[0]))


def _shown(seen: list[Observed]) -> Matrix:
    """Both clocks at each observation, ns since the host's first one.

    One conversion for each host: that of the first process that is seen there.
    """
    clocks: dict[int, Counter] = {}
    base: dict[int, int] = {}
    shown = np.empty((len(seen), 2))
    for row, one in enumerate(seen):
        for end, host in enumerate((one.start, one.to)):
            clock = clocks.setdefault(host, one.instant.counters[end])
            ns = clock.ns(one.instant.counts[end])
            shown[row, end] = ns - base.setdefault(host, ns)
    return shown
