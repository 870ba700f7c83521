"""The belief about places: how they differ, how good each is, what further ones promise.

A block's logarithm is the level of its round, plus the place's own deviation, plus noise.
Deviations are normal around 0 with a standard deviation, the spread, that is estimated with the
noise from all rounds. A place that was measured once is believed to be nearer to the others than
its figure says (shrinkage), so that the luckiest of many does not win by its luck.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NOISE = 0.045  # of one block, before anything was measured
SPREAD_WEIGHT, NOISE_WEIGHT = 3.0, 6.0  # places and blocks that the prior is worth
STEPS = 10


@dataclass(frozen=True)
class Prior:
    """Standard deviations of log latency."""

    spread: float
    noise: float = NOISE


@dataclass(frozen=True)
class Belief:
    places: list[str]
    deviation: np.ndarray  # of each place
    doubt: np.ndarray  # its standard deviation
    levels: np.ndarray  # of the rounds
    spread: float
    noise: float

    def score(self) -> dict[str, float]:
        return dict(zip(self.places, self.deviation.tolist(), strict=True))

    def doubts(self) -> dict[str, float]:
        return dict(zip(self.places, self.doubt.tolist(), strict=True))


def believe(rounds: Sequence[dict[str, tuple[float, float]]], prior: Prior) -> Belief:
    """From log latency and its weight (in blocks) by place, for each round."""
    names: dict[str, int] = {}
    for found in rounds:
        for name in found:
            names.setdefault(name, len(names))
    weights = np.zeros((len(names), len(rounds)))
    values = np.zeros((len(names), len(rounds)))
    for column, found in enumerate(rounds):
        for name, (value, weight) in found.items():
            weights[names[name], column], values[names[name], column] = weight, value
    return _solve(list(names), weights, values, prior)


def _solve(names: list[str], weights: np.ndarray, values: np.ndarray, prior: Prior) -> Belief:
    spread2, noise2 = prior.spread**2, prior.noise**2
    blocks, per_round = weights.sum(axis=1), weights.sum(axis=0)
    measured = weights * values
    sums, round_sums = measured.sum(axis=1), measured.sum(axis=0)
    count = np.count_nonzero(weights)
    for _ in range(STEPS):
        shrunk = 1 / (blocks + noise2 / spread2)
        scaled = weights * shrunk[:, None]
        # Deviations are eliminated; what is left is a system over rounds.
        inverse = np.linalg.pinv(np.diag(per_round) - weights.T @ scaled, hermitian=True)
        levels = inverse @ (round_sums - scaled.T @ sums)
        deviation = shrunk * (sums - weights @ levels)
        variance = noise2 * (shrunk + np.einsum("pr,rs,ps->p", scaled, inverse, scaled))
        squares = (weights * (values - levels[None, :] - deviation[:, None]) ** 2).sum()
        fitted = len(levels) + float((blocks * shrunk).sum())
        noise2 = (squares + NOISE_WEIGHT * prior.noise**2) / (
            max(count - fitted, 0.0) + NOISE_WEIGHT
        )
        spread2 = ((deviation**2 + variance).sum() + SPREAD_WEIGHT * prior.spread**2) / (
            len(names) + SPREAD_WEIGHT
        )
        spread2 = max(float(spread2), 1e-8)
    return Belief(
        names, deviation, np.sqrt(variance), levels, math.sqrt(spread2), math.sqrt(noise2)
    )


def gain(belief: Belief, best: float, places: int, blocks: int) -> float:
    """Expected further reduction of log latency by `places` new ones with `blocks` each.

    A new place counts as what would be believed of it, not as what it is: it can win only by what
    is seen of it.
    """
    spread2, noise2 = belief.spread**2, belief.noise**2
    seen = math.sqrt(spread2 * spread2 / (spread2 + noise2 / blocks))
    below = np.linspace(min(best, 0.0) - 8 * seen, best, 400)
    chance = np.array([0.5 * math.erfc(-x / seen / math.sqrt(2)) for x in below])
    return float(np.trapezoid(1 - (1 - chance) ** places, below))
