"""Intervals over blocks. A block is one measurement over fresh connections; the unit is its p50.

Latencies are compared as logarithms, so that a difference is a ratio. A bootstrap draws whole
rounds: what all arms share in a round (drift of the target) cancels in their differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 1000


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float


def _draws(values: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Bootstrapped means. Few blocks make them too narrow: the factor matches Student's t."""
    n = values.shape[-1]
    picks = generator.integers(0, n, size=(DRAWS, n))
    means = values[..., picks].mean(axis=-1)
    centre = values.mean(axis=-1)[..., None]
    return centre + (means - centre) * math.sqrt((n + 1) / (n - 2.5))


def interval(logs: Sequence[float], confidence: float, seed: int) -> Interval:
    """Geometric mean of blocks, with its bootstrapped interval."""
    values = np.asarray(logs)
    value = math.exp(values.mean())
    if len(values) < 3:
        return Interval(value, 0.0, math.inf)
    drawn = _draws(values, np.random.default_rng(seed))
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(value, math.exp(low), math.exp(high))


def ratios(
    logs: dict[str, list[float]], reference: str, confidence: float, seed: int
) -> dict[str, Interval]:
    """Each arm over the reference, in pairs of the same round; all intervals hold together."""
    others = [arm for arm in logs if arm != reference]
    if not others:
        return {}
    base = np.asarray(logs[reference])
    differences = np.stack([np.asarray(logs[arm]) - base for arm in others])
    drawn = _draws(differences, np.random.default_rng(seed))
    tail = (1 - confidence) / (2 * len(others))  # Bonferroni
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=1)
    return {
        arm: Interval(math.exp(d), math.exp(a), math.exp(b))
        for arm, d, a, b in zip(others, differences.mean(axis=1), low, high, strict=True)
    }


def scores(rounds: Sequence[dict[str, float]], arms: Sequence[str]) -> dict[str, float]:
    """Mean log latency of each arm after what its rounds have in common is taken out.

    `rounds`: log p50 by arm. An arm that lacks a block is judged by the rounds that it has.
    """
    sums = dict.fromkeys(arms, 0.0)
    counts = dict.fromkeys(arms, 0)
    levels = []
    for blocks in rounds:
        present = [arm for arm in arms if arm in blocks]
        if not present:
            continue
        level = sum(blocks[arm] for arm in present) / len(present)
        levels.append(level)
        for arm in present:
            sums[arm] += blocks[arm] - level
            counts[arm] += 1
    overall = sum(levels) / len(levels) if levels else 0.0
    return {arm: overall + sums[arm] / counts[arm] if counts[arm] else math.inf for arm in arms}
