"""The decision code alone: whole hunts by simulation, beside a naive hunter; money; settings."""

import math
from dataclasses import replace
from decimal import Decimal

import pytest

from tickpath_cloud.errors import CloudError
from tickpath_cloud.hunt import simulate
from tickpath_cloud.hunt.decide import Measure, Wait, next_action
from tickpath_cloud.hunt.settings import Candidate, Settings
from tickpath_cloud.hunt.state import CONFIRMING, State
from tickpath_cloud.money import Lease, cost

CANDIDATE = Candidate("c6i.large", "on-demand", Decimal("0.085"))
BUDGET = Decimal("2.16")


def settings(**changes):
    plain = Settings(hunt="h", arms=500, candidates=(CANDIDATE,), budget=BUDGET)
    return replace(plain, **changes)


@pytest.mark.parametrize("spread", [0.05, 0.15, 0.30])
def test_beats_breadth_at_equal_cost(spread):
    """The naive hunter spends the same money on 481 places that it pings once."""
    world = simulate.World(placements=spread)
    naive = simulate.naive(BUDGET, CANDIDATE.price, world, 200)
    ours = simulate.expect(settings(), world, 16)
    assert naive.places == 481
    assert ours.cost_max <= BUDGET
    assert ours.latency_us <= 1.01 * naive.latency_us, "16 hunts: the mean is off by about 1 %"
    assert abs(ours.bias) <= 0.01 < abs(naive.bias), "a figure that was chosen is flattered"


def test_the_curve_falls_with_money():
    found = simulate.curve(settings(arms=128), simulate.World(), 8)
    assert [point.places for point in found] == [16, 32, 64, 128]
    costs = [point.cost_mean for point in found]
    assert costs == sorted(costs) and found[-1].latency_us < 0.93 * found[0].latency_us


def test_a_wide_spread_is_worth_more_waves_than_a_narrow_one():
    wide = simulate.expect(settings(), simulate.World(placements=0.3), 6)
    narrow = simulate.expect(settings(), simulate.World(placements=0.02), 6)
    assert narrow.places < wide.places and narrow.cost_mean < wide.cost_mean


@pytest.mark.parametrize("world", simulate.WORLDS.values(), ids=simulate.WORLDS)
def test_claims_hold_in_five_worlds(world):
    found = simulate.expect(settings(arms=40), world, 24)
    assert found.wrong <= 0.09, "24 hunts with at most 5 % wrong: 2 or fewer, almost surely"
    assert found.coverage >= 0.79, "24 hunts of 92 % at least: 19 or more, almost surely"
    assert abs(found.bias) <= 0.02


def test_equal_placements_stop_for_indifference_or_rounds_not_for_separation():
    flat = simulate.World(placements=0.0)
    reasons = [simulate.play(settings(arms=8), flat, seed).because for seed in range(30)]
    assert reasons.count("separation") <= 3 and reasons.count("indifference") >= 2


def test_far_placements_separate():
    wide = simulate.World(placements=1.0)
    reasons = [simulate.play(settings(arms=8), wide, seed).because for seed in range(10)]
    assert reasons.count("separation") >= 5


def hunt_until(asked, stage):
    """A simulated hunt, stopped at its first action after it entered the stage."""
    zone = simulate.Zone(asked, simulate.World(), 1)
    state = State.begin({"settings": asked.to_json(), "at": 0.0})
    while state.stage != stage or not state.stage_rounds:
        action = next_action(state, zone.now)
        event = zone.do(action)
        if event is not None:
            state.apply({**event, "decided_at": zone.now, "at": zone.now})
    return state, zone


def test_the_confirmation_spreads_its_rounds_over_time():
    state, zone = hunt_until(settings(arms=40), CONFIRMING)
    assert next_action(state, state.round_began) == Wait(state.round_began + 60)
    action = next_action(state, state.round_began + 60)
    assert isinstance(action, Measure) and action.block_seconds == 10.0 and len(action.arms) == 4


def test_waves_stop_when_money_for_the_confirmation_would_be_short():
    state, zone = hunt_until(settings(budget=Decimal("0.7"), gain_min=0.0), CONFIRMING)
    assert state.eliminations[-1]["why"] == "budget"
    assert 0 < len(state.arms) < 300 and state.spent(zone.now) < Decimal("0.7")


def test_no_more_probes_run_at_once_than_the_quota_allows():
    asked = settings(arms=60, probes_max=20)
    zone = simulate.Zone(asked, simulate.World(), 1)
    state = State.begin({"settings": asked.to_json(), "at": 0.0})
    most = 0
    while (action := next_action(state, now := zone.now)) is not None:
        if (event := zone.do(action)) is not None:
            state.apply({**event, "decided_at": now, "at": zone.now})
        most = max(most, sum(arm.alive for arm in (*state.around(), state.control)))
    assert most == 20 and len(state.arms) == 60


def test_money_is_billed_by_the_second_from_a_minute_on():
    assert cost(Decimal(36), 10) == Decimal("0.6")
    assert cost(Decimal(36), 100.2) == Decimal("1.01")
    assert Lease(Decimal(36), 0).until(100).cost(1000) == Decimal(1)
    assert Lease(Decimal(36), 0).until(100).cost(90) == Decimal("0.9")


@pytest.mark.parametrize(
    "wrong",
    [
        {"arms": 1}, {"keep": 6}, {"arms": 2, "keep": 2, "finalists": 3},
        {"looks": (4,)}, {"looks": ()}, {"budget": Decimal(0)},
        {"candidates": ()}, {"wave": 1}, {"gain_min": 1.0}, {"spread": 0.0}, {"probes_max": 6},
        {"screen_seconds": 0.0}, {"round_every_seconds": -1.0}, {"fresh_rounds": 5},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_rejected(wrong):
    with pytest.raises(CloudError, match=next(iter(wrong))):
        settings(**wrong)


def test_a_journal_of_another_version_says_which_setting_it_has():
    old = {**settings().to_json(), "halving_rounds": 4}
    with pytest.raises(CloudError, match="'halving_rounds', which this version does not know"):
        State.begin({"settings": old, "at": 0.0})
    assert Settings.of(settings().to_json()) == settings()
    assert math.isclose(settings().spaced_seconds(4), 60)
