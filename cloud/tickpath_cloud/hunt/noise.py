"""Intervals for places whose noise may be slow: what one block tells about the next one.

The noise of a place is white, or partly an AR(1) process: `share` of its variance is correlated
over `seconds`. A small grid of such models is weighted by how well it explains what was measured
(marginal likelihood, mean and variance integrated out), and every interval is that of the mixture.
A mean over slow noise is then as uncertain as it really is. Values are logarithms of latencies.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Floats = Sequence[float] | np.ndarray

SECONDS = (120.0, 600.0, 1800.0, 3600.0)
SHARES = (0.25, 0.5, 0.75)
WHITE_PRIOR = 0.75  # of independence; the rest is shared equally
BLOCKS_MIN = 6  # below that no interval is worth printing


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        return math.isfinite(self.high)


def unknown(value: float) -> Interval:
    return Interval(value, 0.0, math.inf)


@dataclass(frozen=True)
class Series:
    """Measurements at the same times; each row has a mean of its own and the same noise."""

    times: np.ndarray  # seconds
    rows: np.ndarray  # rows x times


def contrasts(times: Sequence[float], logs: Sequence[Sequence[float]]) -> Series:
    """Places of the same rounds: what a round has in common cancels.

    The rows are orthonormal combinations, so that their noise is independent and as large as that
    of one place.
    """
    values = np.asarray(logs, dtype=float)
    places = len(values)
    base = np.zeros((places - 1, places))
    for row in range(places - 1):
        base[row, : row + 1] = 1.0
        base[row, row + 1] = -(row + 1.0)
        base[row] /= math.sqrt((row + 1) * (row + 2))
    return Series(np.asarray(times, dtype=float), base @ values)


@functools.cache
def _models() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correlation times, shares and prior weights; the first model is white."""
    slow = [(seconds, share) for seconds in SECONDS for share in SHARES]
    seconds = np.array([1.0] + [model[0] for model in slow])
    shares = np.array([0.0] + [model[1] for model in slow])
    prior = np.array([WHITE_PRIOR] + [(1 - WHITE_PRIOR) / len(slow)] * len(slow))
    return seconds, shares, prior


def _correlation(times: np.ndarray) -> np.ndarray:
    """Models x times x times."""
    seconds, shares, _ = _models()
    apart = np.abs(times[:, None] - times[None, :])
    slow = np.exp(-apart / seconds[:, None, None])
    white = np.eye(len(times))
    return shares[:, None, None] * slow + (1 - shares)[:, None, None] * white


@dataclass(frozen=True)
class Noise:
    """Posterior over the models: their weights, and one block's variance under each."""

    weights: np.ndarray
    variances: np.ndarray
    freedom: int

    @property
    def block(self) -> float:
        """Standard deviation of one block."""
        return math.sqrt(float(self.weights @ self.variances))

    @property
    def slow(self) -> float:
        """Probability that the noise is not independent from block to block."""
        return float(1 - self.weights[0])

    def scales(self, times: Floats, signs: Floats) -> np.ndarray:
        """Standard error of sum(signs * value) under each model."""
        mix = np.asarray(signs, dtype=float)
        spread = np.einsum("i,mij,j->m", mix, _correlation(np.asarray(times, dtype=float)), mix)
        return np.sqrt(spread * self.variances)

    def mean_scales(self, times: Floats) -> np.ndarray:
        return self.scales(times, np.full(len(times), 1 / len(times)))

    def half_width(self, scales: np.ndarray, confidence: float) -> float:
        """Half an interval of a mixture of Student's t with these scales around one centre."""
        wanted = (1 + confidence) / 2
        low, high = 0.0, 100 * float(scales.max())
        for _ in range(60):
            middle = (low + high) / 2
            if float(self.weights @ _student(middle / scales, self.freedom)) < wanted:
                low = middle
            else:
                high = middle
        return high


def fit(found: Sequence[Series]) -> Noise | None:
    """None: too few blocks to tell anything."""
    usable = [series for series in found if len(series.times) >= 2 and len(series.rows)]
    freedom = sum(len(series.rows) * (len(series.times) - 1) for series in usable)
    if freedom < BLOCKS_MIN - 1:
        return None
    _, _, prior = _models()
    likelihood, squares = np.log(prior), np.zeros(len(prior))
    for series in usable:
        root = np.linalg.cholesky(_correlation(series.times))
        columns = np.column_stack([np.ones(len(series.times)), series.rows.T])
        flat = np.linalg.solve(root, np.broadcast_to(columns, (len(prior), *columns.shape)))
        ones, rows = flat[:, :, 0], flat[:, :, 1:]
        weight = np.einsum("mt,mt->m", ones, ones)
        along = np.einsum("mt,mtr->mr", ones, rows)
        squares += np.einsum("mtr,mtr->m", rows, rows) - (along**2).sum(axis=1) / weight
        log_det = np.log(np.einsum("mtt->mt", root)).sum(axis=1)
        likelihood -= len(series.rows) * (log_det + np.log(weight) / 2)
    squares = np.maximum(squares, 1e-12)
    likelihood -= freedom / 2 * np.log(squares)
    weights = np.exp(likelihood - likelihood.max())
    return Noise(weights / weights.sum(), squares / freedom, freedom)


def _student(at: np.ndarray, freedom: int) -> np.ndarray:
    """Student's distribution function for `at` >= 0."""
    grid, mass = _student_table(min(freedom, 300))
    return np.interp(at, grid, mass)


@functools.cache
def _student_table(freedom: int) -> tuple[np.ndarray, np.ndarray]:
    grid = np.concatenate([np.linspace(0, 12, 2401), np.geomspace(12.01, 4000, 800)])
    density = (1 + grid**2 / freedom) ** (-(freedom + 1) / 2)
    area = np.concatenate([[0.0], np.cumsum(np.diff(grid) * (density[1:] + density[:-1]) / 2)])
    return grid, 0.5 + area / area[-1] / 2
