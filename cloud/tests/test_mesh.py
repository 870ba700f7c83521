"""The mesh without hosts: rounds, what is found in planted distances, the host's program, page."""

import json
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from tickpath_cloud import cli
from tickpath_cloud.errors import CloudError
from tickpath_cloud.fleet.measure import COLLECTION
from tickpath_cloud.hunt import prior
from tickpath_cloud.hunt.belief import Prior
from tickpath_cloud.mesh import analysis, page, record, table, timetable
from tickpath_cloud.mesh.measure import (
    PREPARE,
    ROUNDS,
    Host,
    Measured,
    Mesh,
    Runner,
    Settings,
)  # fmt: skip
from tickpath_cloud.playbook import UNREACHABLE
from tickpath_cloud.records import Series

SCHEMA = Path(__file__).parents[2] / "docs" / "mesh.schema.json"
POOLED = {"count": 5, "p50": 1000, "p99": None}
RECORD = {
    "scenario": "net-one-way", "runs": 1,
    "subjects": [{"name": "rust", "memory": 1, "load": {"between": None}, "series": [
        {"name": name, "kind": kind, "pooled": POOLED, "histogram": "long"}
        for name, kind in (("forward", "response"), ("forward", "service"),
                           ("request", "service"), ("reverse", "service"))
    ]}],
}  # fmt: skip


@pytest.mark.parametrize(("hosts", "expected"), [(2, 2), (5, 10), (12, 22), (64, 126)])
def test_every_pair_in_both_directions_and_no_host_twice_in_a_round(hosts, expected):
    names = [f"h{n}" for n in range(hosts)]
    made = timetable.rounds(names)
    assert len(made) == expected
    pairs = [pair for pairs in made for pair in pairs]
    assert sorted(pairs) == sorted((a, b) for a in names for b in names if a != b)
    for pairs in made:
        busy = [host for pair in pairs for host in pair]
        assert len(busy) == len(set(busy))


def test_fans_measure_from_the_hub_or_to_it():
    names = ["a", "b", "c"]
    assert sorted(timetable.rounds(names, "fan-out", "b")) == [[("b", "a")], [("b", "c")]]
    assert sorted(timetable.rounds(names, "fan-in", "b")) == [[("a", "b")], [("c", "b")]]
    with pytest.raises(CloudError, match="'x' is none of the hosts that answer"):
        timetable.rounds(names, "fan-in", "x")


def test_what_is_missing_is_measured_again_in_rounds_without_a_host_twice():
    left = [("a", "b"), ("c", "d"), ("a", "c"), ("b", "a")]
    assert timetable.again(left) == [[("a", "b"), ("c", "d")], [("a", "c")], [("b", "a")]]
    assert timetable.turns(timetable.again(left), "a") == [(0, "b"), (1, "c")]


# --- planted distances --------------------------------------------------------------------------

GROUPS = [[0, 1, 2], [3, 4, 5], [6]]


def planted(seed=1, noise=0.03):
    """us: 20 in a group, 120 to 300 between groups; with noise, in ns, each direction its own."""
    rng = np.random.default_rng(seed)
    where = {host: n for n, group in enumerate(GROUPS) for host in group}
    apart = np.array([[20, 120, 300], [120, 20, 310], [300, 310, 20]])
    distance = np.array([[float(apart[where[a], where[b]]) for b in where] for a in where])
    distance *= 1000 * rng.lognormal(0, noise, distance.shape)
    np.fill_diagonal(distance, np.nan)
    return distance


def test_planted_clusters_are_found_whatever_the_noise():
    for seed in range(20):
        found = analysis.levels(analysis.symmetric(planted(seed)))
        assert [level.groups for level in found] == [GROUPS, [[0, 1, 2, 3, 4, 5], [6]]]
        assert analysis.clearest(found).groups == GROUPS


def test_equal_hosts_are_no_clusters():
    rng = np.random.default_rng(3)
    distance = 50_000 * rng.lognormal(0, 0.05, (8, 8))
    assert analysis.levels(analysis.symmetric(distance)) == []


def test_clusters_survive_unknown_pairs():
    distance = planted()
    distance[0, 1] = distance[1, 0] = distance[2, 4] = np.nan
    assert analysis.levels(analysis.symmetric(distance))[0].groups == GROUPS


def test_the_best_place_has_the_least_slowest_round_trip():
    distance = analysis.symmetric(planted(noise=0.0))
    best, *_, last = analysis.places(distance)
    assert best.host in GROUPS[0] and best.worst_to == 6 and best.worst_ns == 300_000
    assert best.spread_ns == 280_000 and last.host == 6
    distance[0, 6] = np.nan  # what is unknown is not near
    assert [place.host for place in analysis.places(distance)][-2:] == [6, 0]


# --- rounds that are repeated -------------------------------------------------------------------


def plays(monkeypatch, tmp_path, answers):
    """A runner whose Ansible answers by `answers(attempt, start, to)`: None is a figure."""
    inventory = tmp_path / "hosts.ini"
    inventory.write_text("a\nb\nc\nd\n")
    runner = Runner(Settings(inventory), tmp_path / "run", lambda line: None)
    seen = []

    def result(name):
        held = json.loads((runner.directory / f"results/timetable/{name}.json").read_text())
        said = [answers(len(seen), name, turn["to"]) for turn in held["turns"]]
        if "dies" in said:
            return {"unreachable": True}
        turns = [
            {**turn, "record": RECORD} if why is None else {**turn, "why": why, "late": True}
            for turn, why in zip(held["turns"], said, strict=True)
        ]
        return {"rc": 0, "stdout": json.dumps({"turns": turns})}

    def play(playbook, arguments, more=None):
        if playbook == PREPARE:
            found = {name: {"msg": {"address": f"{name}:1"}} for name in "abcd"}
            return {**found, "e": {"unreachable": True}}, ""
        names = (runner.directory / "results/hosts.txt").read_text().split()
        seen.append((playbook.stem, names))
        return {name: result(name) for name in names} if playbook == ROUNDS else {}, ""

    monkeypatch.setattr(runner.fleet, "play", play)
    return runner, seen


def test_a_round_that_was_lost_is_repeated_at_the_end(monkeypatch, tmp_path):
    def answers(attempt, start, to):
        return "late by 1.0 s" if attempt == 1 and (start, to) == ("a", "c") else None

    runner, seen = plays(monkeypatch, tmp_path, answers)
    found = runner.run()
    assert all(pair.series and pair.ways for pair in found.pairs) and len(found.pairs) == 12
    assert {pair.series.name for pair in found.pairs} == {"request"}
    assert (found.rounds, found.rounds_again) == (6, 1)
    assert [play for play, _ in seen] == ["mesh_rounds", "mesh_rounds", "mesh_end"]
    assert {host.name: host.why for host in found.hosts if host.why} == {"e": UNREACHABLE}


def test_a_host_that_dies_meanwhile_is_named_and_not_tried_again(monkeypatch, tmp_path):
    def answers(attempt, start, to):
        return "dies" if start == "d" else "nothing answers" if to == "d" else None

    runner, seen = plays(monkeypatch, tmp_path, answers)
    found = runner.run()
    assert {host.name for host in found.hosts if host.why} == {"d", "e"}
    assert seen == [("mesh_rounds", list("abcd")), ("mesh_end", list("abc"))]
    reasons = {(pair.start, pair.to): pair.why for pair in found.pairs if pair.why}
    assert reasons["d", "a"] == UNREACHABLE and reasons["a", "d"] == "nothing answers"
    assert len(reasons) == 6, "the other three have all their figures"


def test_rounds_have_an_end(monkeypatch, tmp_path):
    """A host that is late each time; and rounds of more than an hour."""
    runner, seen = plays(monkeypatch, tmp_path, lambda attempt, start, to: "late by 1.0 s")
    found = runner.run()
    assert len(seen) == 1 + Settings(Path()).again + 1 and not any(p.series for p in found.pairs)
    (tmp_path / "more").mkdir()
    runner, seen = plays(monkeypatch, tmp_path / "more", lambda *turn: None)
    monkeypatch.setattr("tickpath_cloud.mesh.measure.SECONDS_MAX", 10.0)
    with pytest.raises(CloudError, match="6 rounds take 19 s, the limit is 10 s"):
        runner.run()
    assert [play for play, _ in seen] == ["mesh_end"], "the echoes are ended"


# --- the record and the page --------------------------------------------------------------------


def mesh(distance, dead="", missing=()):
    names = [f"h<{n}>" for n in range(len(distance))]
    hosts = [Host(name, f"10.0.0.{n}:8889", "eu", f"eu-{n % 2}") for n, name in enumerate(names)]
    hosts += [Host(dead, why="ssh: the host does not answer")] if dead else []
    pairs = []
    for a, start in enumerate(names):
        for b, to in enumerate(names):
            if a != b and (a, b) in missing:
                pairs.append(Measured(start, to, why="late by 2.0 s", late=True))
            elif a != b:
                pooled = {"count": 1000, "p50": distance[a, b], "p99": None}
                pairs.append(Measured(start, to, 1.0, Series("request", 1000, pooled)))
    return Mesh(Settings(Path("hosts.ini")), hosts, pairs, 14, 1)


def test_the_record_keeps_its_schema_and_says_what_is_unknown():
    found = record.found(mesh(planted(), "dead", {(0, 1), (1, 0), (2, 3)}))
    held = json.loads(json.dumps(record.to_json(found, "2026-11-26T06:00:00+00:00")))
    jsonschema.validate(held, json.loads(SCHEMA.read_text()))
    by_pair = {(pair["from"], pair["to"]): pair for pair in held["pairs"]}
    assert by_pair["h<0>", "h<1>"]["figures"] is None
    assert by_pair["h<0>", "h<1>"]["why"] == "late by 2.0 s"
    assert by_pair["h<1>", "h<2>"]["figures"]["p99_ns"] is None
    assert {host["name"]: host["cluster"] for host in held["hosts"]}["dead"] is None
    assert held["places"][0]["known"] == held["places"][0]["others"] == 6
    broken = {**held, "pairs": [{**held["pairs"][0], "figures": {"p50_ns": 0}}]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, json.loads(SCHEMA.read_text()))


def test_the_page_and_the_text_name_clusters_places_and_who_is_missing():
    found = record.found(mesh(planted(), "dead", {(0, 1), (1, 0)}))
    text = table.text(found)
    made = page.page(found, record.to_json(found, "2026-11-26T06:00:00+00:00"))
    assert "dead                     FAILED: ssh" in text and "Not measured: dead (ssh" in made
    assert "3 clusters: within" in text and "3 clusters: within" in made
    assert "h<0> to h<1>: no figure: late by 2.0 s" in text
    assert "h&lt;0&gt; to h&lt;1&gt;: late by 2.0 s" in made
    assert "Best place for a replicator or a gateway: h<" in text
    assert "6 more are within 5% of it" in table.headline(record.found(mesh(planted(noise=0.0))))
    assert made.count("<script") == 1 and "http" not in made.replace("http-equiv", "")
    assert made.count("<td class=''></td>") >= 2 * 7, "the diagonal and unknown pairs are empty"
    alike = record.found(mesh(np.full((4, 4), 5e4)))
    assert "No groups" in table.text(alike) and "No groups" in page.page(alike, {"started": "-"})


def test_nothing_measured_is_no_result():
    every = {(a, b) for a in range(7) for b in range(7)}
    found = record.found(mesh(planted(), missing=every))
    assert found.places == [] and "No round trip was measured." in table.text(found)
    assert "and 22 more pairs" in table.text(found)
    assert "No round trip" in page.page(found, record.to_json(found, "-"))


def test_mistakes_are_said_before_hosts_are_reached(tmp_path, capsys):
    fleet = ["fleet", "mesh", str(tmp_path / "no.ini"), "--out", str(tmp_path)]
    for more, said in (
        (["--scope", "fan-out"], "--hub names the one end of a fan"),
        (["--hub", "a"], "--hub names the one end of a fan"),
        (["--seconds", "0"], "--seconds 0: write 0.1 to 60"),
        (["--again", "-1"], "--again -1: write 0 to 10"),
        ([], "there is no inventory"),
    ):
        assert cli.main([*fleet, *more]) == 2
        assert said in capsys.readouterr().err


# --- a mesh as prior of a hunt ------------------------------------------------------------------


def written(tmp_path, spread, noise=0.04, hosts=24, region="eu"):
    """The file of a mesh whose hosts' places differ by `spread`."""
    rng = np.random.default_rng(7)
    place = rng.normal(0, spread, hosts)
    logs = np.log(1e5) + place[:, None] + place[None, :] + rng.normal(0, noise, (hosts, hosts))
    found = record.found(mesh(np.exp(logs)))
    held = record.to_json(found, "2026-11-26T06:00:00+00:00")
    for host in held["hosts"]:
        host["region"] = region
    file = tmp_path / "mesh.json"
    file.write_text(json.dumps(held))
    return file


@pytest.mark.parametrize("spread", [0.05, 0.3])
def test_a_hunt_takes_from_a_mesh_how_much_places_differ(tmp_path, spread):
    file = written(tmp_path, spread)
    hosts, found = prior.of_mesh(file, "eu")
    assert hosts == 24 and found == pytest.approx(spread, rel=0.35)
    known = prior.Own(Prior(0.15, 0.045), 0, 0).with_mesh(file, "eu")
    assert (known.prior.spread < 0.1) == (spread == 0.05) and known.prior.noise == 0.045
    assert str(known).endswith("%, from a mesh of 24 hosts")
    both = prior.Own(Prior(0.1, 0.03), 2, 90).with_mesh(file, "eu")
    assert "from 2 of your hunts for this target (90 places) and a mesh of 24 hosts" in str(both)
    assert abs(both.prior.spread - 0.1) < abs(known.prior.spread - 0.1), "many places count more"


def test_noise_of_a_mesh_is_not_taken_for_places(tmp_path):
    assert prior.of_mesh(written(tmp_path, 0.0, noise=0.2), "eu")[1] < 0.08


def test_a_mesh_that_says_nothing_about_the_hunt_is_rejected(tmp_path):
    file = written(tmp_path, 0.1)
    with pytest.raises(CloudError, match="a mesh in eu, and the hunt is in us-east-1"):
        prior.of_mesh(file, "us-east-1")
    with pytest.raises(CloudError, match="too few to tell"):
        prior.of_mesh(written(tmp_path, 0.1, hosts=6), "eu")
    held = json.loads(file.read_text())
    for wrong, said in (("{}", "is no mesh"), (json.dumps({**held, "schema": 9}), "schema 9")):
        file.write_text(wrong)
        with pytest.raises(CloudError, match=said):
            prior.of_mesh(file, "eu")


# --- the host's program -------------------------------------------------------------------------

PROGRAM = COLLECTION / "roles/mesh/files/timetable.py"


def keep(tmp_path, turns, begins=0.0, sent=0.0):
    """The program's end with a `tickpath` that does as the address says."""
    tickpath = tmp_path / "tickpath"
    tickpath.write_text(
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in\n"
        "  fails:1) echo 'error: nothing answers' >&2; exit 1 ;;\n"
        f"  hangs:1) sleep 60 & echo $! > {tmp_path}/started; wait ;;\n"
        "esac; shift; done\n"
        f"echo '{json.dumps(RECORD)}'; exit 3\n"
    )
    tickpath.chmod(0o755)
    asked = {
        "scenario": "net-one-way", "set": ["runs=1"], "slot_seconds": 0.6, "turn_seconds": 0.5,
        "late_seconds": 0.3,
        "turns": [{"round": n, "to": to, "address": f"{to}:1"} for n, to in turns],
    }  # fmt: skip
    now = time.time()
    words = [sys.executable, PROGRAM, str(now + begins), str(now + sent), tickpath, tmp_path]
    return subprocess.run(
        words, input=json.dumps(asked), capture_output=True, text=True, check=False
    )


def test_a_host_keeps_its_timetable_and_loses_only_what_fails(tmp_path):
    done = keep(tmp_path, [(0, "good"), (1, "hangs"), (2, "fails"), (3, "last")], begins=0.5)
    turns = {turn["to"]: turn for turn in json.loads(done.stdout)["turns"]}
    [kept] = turns["good"]["record"]["subjects"]
    assert kept["series"][2] == {"name": "request", "kind": "service", "pooled": POOLED}
    assert kept.keys() == {"name", "between", "series"}
    assert "longer than its turn of 0.5 s" in turns["hangs"]["why"]
    assert turns["fails"]["why"] == "error: nothing answers"
    assert "record" in turns["last"] or turns["last"]["late"], turns
    child = Path("/proc", (tmp_path / "started").read_text().strip())
    assert not child.exists() or "State:\tZ" in (child / "status").read_text(), "it goes on"


def test_a_late_host_loses_its_round_and_not_the_next(tmp_path):
    """It would disturb the host that is in another pair by then."""
    done = keep(tmp_path, [(0, "missed"), (60, "next")], begins=-30.0)
    missed, following = json.loads(done.stdout)["turns"]
    assert missed["late"] and "late by 30" in missed["why"]
    assert "record" in following


def test_a_clock_that_is_behind_ends_the_host_s_part(tmp_path):
    done = keep(tmp_path, [(0, "good")], sent=120.0)
    assert done.returncode == 1 and "behind the controller's: set both by NTP" in done.stderr
