"""Figures of a hunt's places: their order, intervals, ratios, and places that moved.

Screening rounds choose places and flatter the chosen ones. So intervals and claims come from the
confirmation alone, and the figure of a kept place from the fresh rounds after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tickpath_cloud.hunt import noise
from tickpath_cloud.hunt.belief import Belief, Prior, believe
from tickpath_cloud.hunt.noise import BLOCKS_MIN, Interval, Noise, Series
from tickpath_cloud.hunt.state import CONFIRMING, FRESH, Round, State

T = TypeVar("T")

MOVED_ERRORS = 4.5  # standard errors: many splits of many series are tried
MOVED_SHARE = 0.1  # a smaller change is left to the interval
MOVED_ROUNDS = 3  # on either side of the change


@dataclass(frozen=True)
class Move:
    """A place whose level changed, and stayed changed."""

    at: float  # of the first round at the new level
    size: float  # of log latency


@dataclass(frozen=True)
class Figure:
    """The p50 of a kept place in ns, over its fresh rounds since it last moved."""

    interval: Interval
    rounds: int
    move: Move | None


def _once(answer: Callable[..., T]) -> Callable[..., T]:
    """An answer holds until the next round."""

    def cached(state: State, *arguments: str) -> T:
        key = (answer.__name__, *arguments)
        if key not in state.answers:
            state.answers[key] = answer(state, *arguments)
        return state.answers[key]

    return cached


@_once
def belief_of(state: State) -> Belief:
    """From all rounds; of a place that moved, from those since then."""
    names = {name for found in _late(state) for name in found.p50}
    return _believe(state, {name: move.at for name, move in moves(state, sorted(names)).items()})


@_once
def _unmoved(state: State) -> Belief:
    return _believe(state, {})


def _believe(state: State, since: dict[str, float]) -> Belief:
    rounds = []
    for found in state.rounds:
        blocks = {
            name: (value, 1.0)
            for name, value in found.p50.items()
            if found.at >= since.get(name, 0.0)
        }
        control, level = found.control
        rounds.append({**blocks, control: (level, 2.0)})
    settings = state.settings
    return believe(rounds, Prior(settings.spread, settings.noise))


def _late(state: State, stages: Sequence[str] = (CONFIRMING, FRESH)) -> list[Round]:
    return [found for found in state.rounds if found.stage in stages]


@_once
def noise_of(state: State) -> Noise | None:
    """Noise of one block, from the differences of places in the same rounds."""
    found = []
    for stage in (CONFIRMING, FRESH):
        rounds = _late(state, [stage])
        names = sorted({name for r in rounds for name in r.p50})
        whole = [r for r in rounds if all(name in r.p50 for name in names)]
        if len(names) < 2 or len(whole) < 2:
            continue
        steady = _steady(state, names, whole)
        found.append(noise.contrasts([r.at for r in whole], steady))
    return noise.fit(found) or _against_control(state)


def _steady(state: State, names: list[str], rounds: list[Round]) -> list[list[float]]:
    """Logs without the steps of places that moved: a step is no noise."""
    found = []
    for name in names:
        move = move_of(state, name)
        found.append([
            r.p50[name] - (move.size if move and r.at >= move.at else 0.0) for r in rounds
        ])  # fmt: skip
    return found


def _against_control(state: State) -> Noise | None:
    """A single arm has no other to be compared with. The control's blocks are means of two."""
    rounds = _late(state)
    names = sorted({name for r in rounds for name in r.p50})
    found = []
    for name in names:
        of = [r for r in rounds if name in r.p50]
        if len({r.control[0] for r in of}) == 1:
            rows = np.array([[(r.p50[name] - r.control[1]) / math.sqrt(1.5) for r in of]])
            found.append(Series(np.array([r.at for r in of]), rows))
    return noise.fit(found)


def figure(state: State, name: str) -> Figure | None:
    """None: no fresh round has it."""
    move = move_of(state, name)
    since = move.at if move else 0.0
    rounds = [r for r in _late(state, [FRESH]) if name in r.p50 and r.at >= since]
    if not rounds:
        return None
    middle = float(np.mean([r.p50[name] for r in rounds]))
    found = noise_of(state)
    if found is None or len(rounds) < MOVED_ROUNDS:
        return Figure(noise.unknown(math.exp(middle)), len(rounds), move)
    scales = found.mean_scales([r.at for r in rounds])
    half = found.half_width(scales, state.settings.confidence)
    interval = Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
    return Figure(interval, len(rounds), move)


def ratios(
    state: State, reference: str, others: list[str], confidence: float
) -> dict[str, Interval] | None:
    """Each place over the reference, in the confirmation's rounds; all intervals hold together.

    None: too few rounds have both.
    """
    found = noise_of(state)
    over = {}
    for name in others:
        moves = [m.at for n in (reference, name) if (m := move_of(state, n))]
        rounds = [
            r
            for r in _late(state, [CONFIRMING])
            if name in r.p50 and reference in r.p50 and r.at >= max(moves, default=0.0)
        ]
        if found is None or len(rounds) < BLOCKS_MIN:
            return None
        middle = float(np.mean([r.p50[name] - r.p50[reference] for r in rounds]))
        scales = math.sqrt(2) * found.mean_scales([r.at for r in rounds])
        half = found.half_width(scales, 1 - (1 - confidence) / len(others))  # Bonferroni
        over[name] = Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
    return over


def moves(state: State, names: Sequence[str]) -> dict[str, Move]:
    found = _moves(state)
    return {name: found[name] for name in names if name in found}


def move_of(state: State, name: str) -> Move | None:
    """The change of its level against the others of its rounds, if it is beyond noise."""
    return _moves(state).get(name)


@_once
def _moves(state: State) -> dict[str, Move]:
    """Moves of the finalists and the control probe.

    The clearest move is found first and taken out, since it makes the others seem to move back.
    """
    names = sorted({name for found in _late(state) for name in found.p50})
    controls = sorted({found.control[0] for found in state.rounds})
    found: dict[str, Move] = {}
    while True:
        tried = []
        for name in [*names, *controls]:
            if name not in found and (move := _find_move(state, name, found)) is not None:
                tried.append((abs(move.size), name, move))
        if not tried:
            return found
        _, name, move = max(tried, key=lambda entry: entry[0])
        found[name] = move


def _find_move(state: State, name: str, found: dict[str, Move]) -> Move | None:
    rounds = [r for r in state.rounds if name in r.p50 or name == r.control[0]]
    if len(rounds) < 2 * MOVED_ROUNDS:
        return None
    means = _unmoved(state).score()
    times = np.array([r.at for r in rounds])
    own = np.array([
        (r.p50[name] if name in r.p50 else r.control[1]) - _level(r, name, means, found)
        for r in rounds
    ])  # fmt: skip
    counts = np.arange(MOVED_ROUNDS, len(own) - MOVED_ROUNDS + 1)
    sums = np.cumsum(own)
    before = sums[counts - 1] / counts
    after = (sums[-1] - sums[counts - 1]) / (len(own) - counts)
    best = int(((after - before) ** 2 * counts * (len(own) - counts)).argmax())
    split, size = int(counts[best]), float(after[best] - before[best])
    if abs(size) < MOVED_SHARE:
        return None
    late = np.arange(len(own)) >= split
    left = own - np.where(late, after[best], before[best])
    noisy = noise.fit([Series(times, left[None, :])])
    if noisy is None:
        return None
    signs = np.where(late, 1 / (len(own) - split), -1 / split)
    error = math.sqrt(float(noisy.weights @ noisy.scales(times, signs) ** 2))
    return Move(float(times[split]), size) if abs(size) > MOVED_ERRORS * error else None


def _level(found: Round, name: str, means: dict[str, float], moved: dict[str, Move]) -> float:
    """Level of a round by all places except this one; a median, since others may move, too."""
    levels = []
    for other, log in (*found.p50.items(), found.control):
        if other != name:
            move = moved.get(other)
            step = move.size if move is not None and found.at >= move.at else 0.0
            levels.append(log - means[other] - step)
    return float(np.median(levels))
