"""The prior from one's own journals, and watching what a hunt kept."""

import math
import shutil
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from conftest import Hunt

from tickpath_cloud import cli, journal, plan
from tickpath_cloud.errors import CloudError
from tickpath_cloud.hunt import prior, simulate, watch
from tickpath_cloud.hunt.settings import Candidate, Settings

TOML = """
name = "n"
region = "eu-west-1"
subnets = ["subnet-1"]
image = "ami-1"
target = "{target}"
budget = 5
instance_types = ["c6i.large"]
ssh_from = "198.51.100.7/32"
"""


def settings(**changes):
    candidate = Candidate("c6i.large", "on-demand", Decimal("0.085"))
    return Settings("h", (candidate,), Decimal(5), **{"arms": 60, **changes})


def kept_journal(directory, seed, spread, target="10.0.0.5:8888"):
    """A simulated hunt in a directory of its own."""
    directory.mkdir(parents=True)
    (directory / "hunt.toml").write_text(TOML.format(target=target))
    planned = settings(gain_min=0.0)
    zone = simulate.Zone(planned, simulate.World(placements=spread), seed)
    state = simulate.State.begin({"settings": planned.to_json(), "at": 0.0})
    with journal.Journal(directory / "hunt.jsonl") as opened:
        opened.append({"event": "planned", "at": 0.0, "settings": planned.to_json()})
        while (action := simulate.next_action(state, now := zone.now)) is not None:
            if (event := zone.do(action)) is not None:
                opened.append({**event, "decided_at": now, "at": zone.now})
                state.apply(opened.events[-1])


def config(tmp_path, target="10.0.0.5:8888"):
    (tmp_path / "hunt.toml").write_text(TOML.format(target=target))
    return cli.load(tmp_path / "hunt.toml")


def test_the_prior_is_that_of_my_own_hunts(tmp_path):
    """A region whose places differ by 5 % was hunted with the published 15 % again and again."""
    none = prior.own(tmp_path / "hunts", config(tmp_path))
    assert none.prior.spread == pytest.approx(0.15) and "15% (published)" in str(none)
    kept_journal(tmp_path / "hunts" / "one", 1, 0.05)
    kept_journal(tmp_path / "hunts" / "two", 2, 0.05)
    kept_journal(tmp_path / "hunts" / "elsewhere", 3, 0.5, target="10.0.0.6:8888")
    found = prior.own(tmp_path / "hunts", config(tmp_path))
    assert found.hunts == 2 and found.places == 120
    assert 0.04 < found.prior.spread < 0.08 and 0.035 < found.prior.noise < 0.055
    assert "from 2 of your hunts for this target (120 places)" in str(found)


def test_a_journal_that_is_no_journal_is_left_out_and_named(tmp_path):
    kept_journal(tmp_path / "hunts" / "one", 1, 0.05)
    shutil.copytree(tmp_path / "hunts" / "one", tmp_path / "hunts" / "torn")
    (tmp_path / "hunts" / "torn" / "hunt.jsonl").write_text('{"event": "planned"}\n')
    found = prior.own(tmp_path / "hunts", config(tmp_path))
    assert found.hunts == 1 and len(found.left_out) == 1 and "torn" in found.left_out[0]


def test_a_plan_takes_the_prior_and_a_spread_of_the_file_before_it(hunt):
    known = prior.Own(prior.Prior(0.04, 0.03), 2, 90)
    made = plan.make_plan(hunt.config, "test-1", hunt.world.now, known)
    assert (made.settings.spread, made.settings.noise) == (0.04, 0.03)
    assert "prior      places differ by 4.0%, blocks by 3.0%, from 2 of" in plan.text(made)
    made = plan.make_plan(replace(hunt.config, spread=0.3), "test-1", hunt.world.now, known)
    assert made.settings.spread == 0.3 and "places differ by 30%" in plan.text(made)


def test_a_region_holds_so_many_groups(hunt, monkeypatch):
    monkeypatch.setattr(plan, "GROUPS_MAX", 5)
    with pytest.raises(CloudError, match="6 placement groups needed at once, 0 exist"):
        hunt.plan()
    hunt.config = replace(hunt.config, placements=("none",))
    assert hunt.plan()


# --- watching -----------------------------------------------------------------------------------


def series(random, start, mean, count, noise=0.04):
    return [(start + 60.0 * i, mean + random.normal(0, noise)) for i in range(count)]


def test_a_place_that_stays_is_rarely_said_to_have_moved():
    """18 looks at each of 40 places: all looks together may be wrong in 5 %."""
    random, wrong = np.random.default_rng(1), 0
    for _ in range(40):
        then, now = series(random, 0, 0.0, 24), series(random, 1e5, 0.0, 108)
        looks = range(watch.BLOCKS_MIN, len(now) + 1, watch.BLOCKS_MIN)
        found = [
            watch.change(
                then, now[:count][-watch.WINDOW :],
                watch.confidence_of(18, 1),
            )
            for count in looks
        ]  # fmt: skip
        wrong += any(low > 0 or high < 0 for _, low, high in found)
    assert wrong <= 5


def test_a_move_of_a_third_is_found():
    random = np.random.default_rng(1)
    then, now = series(random, 0, 0.0, 24), series(random, 1e5, math.log(1.33), 12)
    middle, low, _ = watch.change(then, now, watch.confidence_of(24, 1))
    assert low > 0 and math.expm1(middle) == pytest.approx(0.33, abs=0.05)
    assert watch.change(then, now[:5], 0.95) is None, "too few"


@pytest.fixture
def kept(config_small, world, tmp_path):
    hunt = Hunt(config_small, world, tmp_path)
    return hunt, hunt.run()


@pytest.fixture
def config_small(request):
    base = request.getfixturevalue("config")
    return replace(base, arms=3, keep=2, finalists=3, looks=(8,))


def watched(hunt, state, **changes):
    with journal.Journal(hunt.path.with_name(watch.FILE)) as opened:
        said = []
        watching = watch.Watch(
            state, opened, hunt.cloud, hunt.hosts, hunt.world.now, said.append, hunt.sleep
        )
        hours = changes.get("hours", 1.5)
        moved = watching.run(600, hunt.world.now() + 3600 * hours, 0.05)
        return moved, said


def test_watching_ends_with_the_time_and_says_each_round(kept):
    moved, said = watched(*kept)
    assert moved == [] and len(said) == 9 and all(arm in said[0] for arm in kept[1].decided)


def test_the_place_that_moved_is_named_and_the_other_is_not(kept):
    hunt, state = kept
    first, second = state.decided
    hunt.world.latency_us[state.arms[second].instance] *= 1.5
    [moved], said = watched(hunt, state)
    assert moved.arm == second and len(said) == 6
    assert 0.3 < moved.low < 0.5 < moved.high < 0.8 and f"{second} moved: p50" in str(moved)
    assert first not in str(moved)


def test_a_watch_that_died_goes_on(kept):
    hunt, state = kept
    hunt.world.latency_us[state.arms[state.decided[0]].instance] *= 2
    assert watched(hunt, state, hours=0.5)[0] == []
    assert len(journal.read(hunt.path.with_name(watch.FILE))) == 3
    moved, said = watched(hunt, state)
    assert moved and len(said) == 3, "the blocks of before count"


def test_watching_ends_when_the_places_have_ended(kept):
    hunt, state = kept
    moved, said = watched(hunt, state, hours=24)
    assert moved == [] and "none of the kept places runs any more" in said[-1]
    assert len(said) <= 13, "they are kept for two hours"


@pytest.mark.parametrize("again", [None, Decimal(3)])
def test_the_command_says_that_a_place_moved_and_hunts_again(monkeypatch, tmp_path, capsys, again):
    directory = tmp_path / "hunts" / "one"
    kept_journal(directory, 1, 0.05)
    change = watch.Change("arm-01", 100.0, 120.0, 0.1, 0.3)
    monkeypatch.setattr(watch.Watch, "run", lambda *_: [change])
    monkeypatch.setattr(cli, "Ec2", lambda *_, **__: None)
    asked = []
    monkeypatch.setattr(
        cli, "plan_hunt", lambda config, file, options: asked.append((config, file))
    )
    words = ["hunt", "--watch", str(directory)]
    if again is not None:
        words += ["--again", str(again), "--apply"]
    assert cli.main(words) == cli.MOVED
    assert "arm-01 moved: p50 100.0 us in the hunt, 120.0 us now (+20%" in capsys.readouterr().out
    assert [(c.budget, f) for c, f in asked] == (
        [(again, directory / "hunt.toml")] if again else []
    )


def test_a_hunt_that_is_not_over_is_not_watched(tmp_path, capsys):
    directory = tmp_path / "one"
    kept_journal(directory, 1, 0.05)
    lines = (directory / "hunt.jsonl").read_text().splitlines(keepends=True)
    (directory / "hunt.jsonl").write_text("".join(lines[:-3]))
    assert cli.main(["hunt", "--watch", str(directory)]) == cli.USAGE
    assert "`hunt --resume` it first" in capsys.readouterr().err
