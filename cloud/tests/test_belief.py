"""Inference of a hunt: noise that is slow, places that moved, luck that shrinks."""

import math

import numpy as np
import pytest

from tickpath_cloud.hunt import belief, figures, noise
from tickpath_cloud.hunt.settings import Candidate, Settings
from tickpath_cloud.hunt.simulate import WORLDS, Places
from tickpath_cloud.hunt.state import CONFIRMING, FRESH, Round, State

TRIALS = 150


def noise_and_errors(world, random):
    """4 places in 24 rounds a minute apart: the noise seen, its times, and one mean's error."""
    places = Places(world, 4, random)
    times = [60.0 * number for number in range(24)]
    logs = np.array([places.blocks(np.arange(4), at) for at in times]).T
    found = noise.fit([noise.contrasts(times, logs)])
    return found, times, logs[0].mean() - places.base[0]


@pytest.mark.parametrize("name", ["independent", "heavy tails", "slow noise"])
def test_intervals_cover_the_truth(name):
    random = np.random.default_rng(5)
    hits = 0
    for _ in range(TRIALS):
        found, times, error = noise_and_errors(WORLDS[name], random)
        hits += abs(error) <= found.half_width(found.mean_scales(times), 0.95)
    assert 0.87 <= hits / TRIALS <= 0.998, "150 trials of 92 to 98 %"


def test_slow_noise_is_noticed_and_makes_intervals_wide():
    widths = {}
    for name in ("independent", "slow noise"):
        random = np.random.default_rng(7)
        seen = [noise_and_errors(WORLDS[name], random) for _ in range(30)]
        widths[name] = np.mean([f.half_width(f.mean_scales(t), 0.95) for f, t, _ in seen])
        slow = np.mean([found.slow for found, _, _ in seen])
        assert slow > 0.5 if name == "slow noise" else slow < 0.4
    assert widths["slow noise"] > 1.5 * widths["independent"]


def test_a_white_mean_has_students_interval():
    """With independence alone, the mixture is the textbook's interval."""
    found = noise.Noise(np.eye(len(noise._models()[0]))[0], np.full(13, 0.04**2), 11)
    half = found.half_width(found.mean_scales(range(12)), 0.95)
    assert half == pytest.approx(2.201 * 0.04 / math.sqrt(12), rel=1e-3)


def test_contrasts_cancel_what_a_round_has_in_common():
    random = np.random.default_rng(1)
    logs = random.normal(0, 0.05, (3, 20))
    level = random.normal(0, 1, 20)
    plain = noise.contrasts(range(20), logs).rows
    assert noise.contrasts(range(20), logs + level).rows == pytest.approx(plain)
    assert plain.shape == (2, 20)


# --- belief -------------------------------------------------------------------------------------


def test_luck_shrinks_and_repetition_convinces():
    once = [{"a": (-0.2, 1.0), **{f"p{i}": (0.0, 1.0) for i in range(20)}, "c": (0.0, 2.0)}]
    prior = belief.Prior(0.05, 0.05)
    first = belief.believe(once, prior)
    often = belief.believe(once * 10, prior)
    assert -0.2 < first.score()["a"] < -0.02
    assert often.score()["a"] < first.score()["a"]
    assert often.doubts()["a"] < first.doubts()["a"]


def test_spread_noise_and_levels_are_found():
    random = np.random.default_rng(3)
    truth = dict(zip("abcdefghijklmnopqrst", random.normal(0, 0.2, 20), strict=True))
    levels = random.normal(5, 0.3, 12)
    rounds = [
        {name: (level + true + random.normal(0, 0.03), 1.0) for name, true in truth.items()}
        for level in levels
    ]
    found = belief.believe(rounds, belief.Prior(0.1))
    assert found.noise == pytest.approx(0.03, rel=0.15)
    assert found.spread == pytest.approx(np.std(list(truth.values())), rel=0.2)
    assert np.corrcoef(found.levels, levels)[0, 1] > 0.99
    assert all(
        abs(found.score()[n] - truth[n] + np.mean(list(truth.values()))) < 0.06 for n in truth
    )


def test_a_wave_promises_less_the_better_the_best_is_and_the_noisier_blocks_are():
    at = belief.Belief([], np.array([]), np.array([]), np.array([]), 0.15, 0.045)
    noisy = belief.Belief([], np.array([]), np.array([]), np.array([]), 0.15, 0.3)
    gains = [belief.gain(at, best, 32, 1) for best in (0.0, -0.2, -0.4, -0.6)]
    assert gains == sorted(gains, reverse=True) and gains[-1] < 0.001
    # The expected minimum of 32 normal values is -2.07 standard deviations.
    assert gains[0] == pytest.approx(2.07 * 0.15**2 / math.hypot(0.15, 0.045), rel=0.01)
    assert belief.gain(noisy, -0.2, 32, 1) < gains[1]


# --- places that moved --------------------------------------------------------------------------


def state_of(logs, moved_round=None, size=0.0, fresh_from=24):
    """`a` and `b` beside the control, round after round; `a` moves."""
    candidate = Candidate("t", "spot", 1)
    settings = Settings(hunt="h", candidates=(candidate,), budget=1)
    state = State(settings, 0.0)
    for number, (a, b, control) in enumerate(logs):
        if moved_round is not None and number >= moved_round:
            a += size
        stage = CONFIRMING if number < fresh_from else FRESH
        p50 = {"a": a, "b": b}
        state.rounds.append(Round(stage, 60.0 * number, p50, {}, ("control-1", control)))
    return state


def test_a_place_that_moved_is_found_and_its_figure_is_from_then_on():
    random = np.random.default_rng(2)
    logs = random.normal(5, 0.04, (48, 3))
    state = state_of(logs, 36, math.log(1.2))
    move = figures.move_of(state, "a")
    assert move.at == pytest.approx(36 * 60, abs=120) and math.exp(move.size) == pytest.approx(
        1.2, abs=0.05
    )
    assert figures.move_of(state, "b") is None
    found = figures.figure(state, "a")
    assert found.rounds <= 13 and found.interval.low < 1.2 * math.exp(5) < found.interval.high


@pytest.mark.parametrize("name", ["independent", "heavy tails", "slow noise"])
def test_places_that_stay_are_not_said_to_have_moved(name):
    random = np.random.default_rng(4)
    moved = 0
    for _ in range(40):
        places = Places(WORLDS[name], 3, random)
        logs = [5 + places.blocks(np.arange(3), 60.0 * n) - places.base for n in range(48)]
        moved += figures.move_of(state_of(logs), "a") is not None
    assert moved <= 3


def test_a_ratio_needs_rounds_that_have_both():
    random = np.random.default_rng(6)
    state = state_of(random.normal(5, 0.04, (5, 3)))
    assert figures.ratios(state, "a", ["b"], 0.95) is None
    state = state_of(random.normal(5, 0.04, (24, 3)) + [0, 0.2, 0])
    over = figures.ratios(state, "a", ["b"], 0.95)["b"]
    assert 1.1 < over.low < math.exp(0.2) < over.high < 1.4
