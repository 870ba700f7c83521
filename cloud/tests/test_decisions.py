"""The decision code alone: statistics, simulation beside the incumbent's ranking, money."""

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from tickpath_cloud.errors import CloudError
from tickpath_cloud.hunt import simulate, statistics
from tickpath_cloud.hunt.settings import Candidate, Settings
from tickpath_cloud.money import Lease, cost

HUNTS = 400
CANDIDATE = Candidate("c6i.large", "on-demand", Decimal("0.085"))


def settings(**changes):
    plain = Settings(hunt="h", arms=50, candidates=(CANDIDATE,), budget=Decimal(100))
    return replace(plain, **changes)


@pytest.fixture(scope="module")
def hunted():
    return simulate.expect(settings(), simulate.World(), HUNTS)


def test_hunts_end_near_the_best_placement(hunted):
    assert hunted.within_3_percent >= 0.95


def test_the_winners_figure_is_true(hunted):
    """Neither flattered (bias) nor far off on average (mean absolute error)."""
    assert abs(hunted.bias) <= 0.003 and hunted.error <= 0.01


def test_one_shot_ranking_does_worse(hunted):
    for figure in ("p50", "p99"):
        theirs = simulate.one_shot(50, simulate.World(), HUNTS, figure)
        assert theirs.within_3_percent < 0.9 < hunted.within_3_percent
        assert theirs.regret_p95 > 2 * hunted.regret_p95


def test_a_one_shot_winners_figure_is_flattered():
    assert simulate.one_shot(50, simulate.World(), HUNTS, "p50").bias < -0.01


def test_equal_placements_stop_for_indifference_or_rounds_not_for_separation():
    flat = simulate.World(placements=0.0)
    reasons = [simulate.play(settings(arms=8), flat, seed).because for seed in range(60)]
    assert reasons.count("separation") <= 6 and reasons.count("indifference") >= 30


def test_far_placements_separate():
    wide = simulate.World(placements=1.0)
    reasons = [simulate.play(settings(arms=8), wide, seed).because for seed in range(20)]
    assert reasons.count("separation") >= 10


def test_intervals_cover_the_truth():
    random = np.random.default_rng(5)
    hits = 0
    for seed in range(400):
        logs = list(random.normal(math.log(100), 0.05, 12))
        found = statistics.interval(logs, 0.95, seed)
        hits += found.low <= 100 <= found.high
    assert 0.91 <= hits / 400 <= 0.99


def test_what_a_round_has_in_common_cancels():
    rounds = [{"a": 1.0, "b": 1.1}, {"a": 3.0, "b": 3.1}, {"a": 2.0}]
    found = statistics.scores(rounds, ["a", "b"])
    assert found["a"] < found["b"]
    logs = {"a": [1.0, 3.0, 2.0, 5.0], "b": [1.1, 3.1, 2.1, 5.1]}
    over = statistics.ratios(logs, "a", 0.95, 1)["b"]
    assert over.low == pytest.approx(math.exp(0.1)) and over.high == pytest.approx(math.exp(0.1))


def test_money_is_billed_by_the_second_from_a_minute_on():
    assert cost(Decimal(36), 10) == Decimal("0.6")
    assert cost(Decimal(36), 100.2) == Decimal("1.01")
    assert Lease(Decimal(36), 0).until(100).cost(1000) == Decimal(1)
    assert Lease(Decimal(36), 0).until(100).cost(90) == Decimal("0.9")


@pytest.mark.parametrize(
    "wrong", [{"arms": 1}, {"keep": 6}, {"looks": (4,)}, {"budget": Decimal(0)}, {"candidates": ()}]
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(CloudError):
        settings(**wrong)
