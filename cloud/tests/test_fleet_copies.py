"""Exchanges whose journal a follower copies, in a fleet: starting order, failures, the table."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import skip
from fleet_hosts import commands, launch, settings, start, variables
from namespaces import SUBNET, tickpath
from test_fleet import line

from tickpath_cloud.fleet.measure import Fleet
from tickpath_cloud.fleet.table import added, figures, table

# --- the table ----------------------------------------------------------------------------------


def test_the_cost_of_a_copy_is_against_an_exchange_without_one():
    lines = [
        line("t1", 100_000, path="exchange"), line("t2", 150_000, path="exchange-alone"),
        line("t3", 750_000, path="exchange-sync-b"), line("t4", 950_000, path="exchange-sync-c"),
        line("t5", 250_000, holds_to=0.1, path="exchange-async"),
        line("t6", 999_000, path="gateway-sync-b"), line("t7", 0, "another binary"),
    ]  # fmt: skip
    assert [(one.path, one.to, one.p50_ns, one.holds) for one in added(lines, [])] == [
        ("exchange-async", "exchange-alone", 100_000, False),
        ("exchange-sync-b", "exchange-alone", 600_000, True),
        ("exchange-sync-c", "exchange-alone", 800_000, True),
    ], "no gateway without a copy was measured"
    copies = {"p": {"records": 12, "replicated": 11, "connections": 2}}
    text = table(lines, [], {}, copies)
    assert "exchange-async adds to the p50 of exchange-alone: 100.00 us?\n" in text
    assert "exchange-sync-b adds to the p50 of exchange-alone: 600.00 us\n" in text
    assert "copy: the follower has 11 of 12 records, connections 2" in text
    held = figures(lines, [], {}, copies)
    assert held["copies"] == copies and len(held["added"]) == 3
    assert held["added"][1] == {
        "path": "exchange-sync-b", "to": "exchange-alone", "p50": 600_000, "holds": True,
    }  # fmt: skip


def test_several_traders_of_a_path_count_by_their_merged_record():
    lines = [
        line("a", 10_000), line("b", 30_000),
        line("c", 500_000, path="exchange-sync"), line("d", 700_000, path="exchange-sync"),
    ]  # fmt: skip
    merged = [line("merged", 20_000), line("merged", 620_000, path="exchange-sync")]
    [one] = added(lines, merged)
    assert (one.to, one.p50_ns) == ("exchange", 600_000), "without a journal, if there is no other"
    assert added(lines[2:], merged[1:]) == []


# --- on hosts -----------------------------------------------------------------------------------


def journals_of_a_run_that_was_interrupted(directory):
    """An exchange and its follower that have journals; how many records."""
    followed = begin("follower", "--journal", str(directory / "copy/tickpath-journal"))
    leads = begin(
        "exchange", "--any-token", "--backend", "block", "--replicate", "sync",
        "--follower-seconds", "20", "--journal", str(directory / "own/tickpath-journal"),
        "--follower", followed[1],
    )  # fmt: skip
    return [end(process) for process, _ in (leads, followed)][0]["counts"]["replica"]["records"]


def begin(*words):
    """A process of this machine, and where it listens."""
    words = [tickpath(), *words, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    said = process.stdout.readline().decode()
    return process, re.search(r'"listening":"([^"]+)"', said)[1]


def end(process):
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    return json.loads(said.splitlines()[-1])


@pytest.mark.root
def test_a_copy_goes_on_where_a_controller_died_and_who_has_none_has_a_line(hosts, tmp_path):
    """`taken` has a strange follower on its port, so `orphan` can't start, nor `sad` measure."""
    names = ("venue", "copy", "trader", "taken", "orphan", "sad", "wrong")
    for name in names:
        launch(hosts, name)
    held = {name: {"ansible_host": hosts.address(name)} for name in names}
    own = {"venue": "own", "copy": "copy"}
    for name, directory in own.items():
        (tmp_path / directory / "tickpath-journal").mkdir(parents=True)
        held[name]["tickpath_fleet_journal"] = str(tmp_path / directory)
    before = journals_of_a_run_that_was_interrupted(tmp_path)
    held["venue"] |= {
        "tickpath_fleet_follower": "copy", "tickpath_fleet_replicate": "async",
        "tickpath_fleet_exchange_arguments": ["--any-token", "--backend", "block"],
        "tickpath_fleet_follower_seconds": 20,
    }  # fmt: skip
    held["copy"]["tickpath_fleet_zone"] = "b"
    held["trader"]["tickpath_fleet_peer"] = "venue"
    held["orphan"]["tickpath_fleet_follower"] = "taken"
    held["sad"]["tickpath_fleet_peer"] = "orphan"
    held["wrong"]["tickpath_fleet_replicate"] = "sync"
    strange = start(hosts, "taken", "follower", "--journal", str(tmp_path / "strange"),
                    "--listen", f"{hosts.address('taken')}:8890")  # fmt: skip
    inventory = tmp_path / "inventory.json"
    groups = {"exchanges": ["venue", "orphan", "wrong"], "followers": ["copy", "taken"]}
    inventory.write_text(json.dumps(variables(hosts, held, groups)))
    asked = settings(inventory, binary=tickpath(), doctor=False)
    fleet = Fleet(asked, tmp_path / "run", resumed=True)
    lines = {line.host: line for line in fleet.measure()}
    said = (fleet.directory / "ansible.log").read_text()[-3000:]
    assert sorted(lines) == ["orphan", "sad", "taken", "trader", "wrong"], said
    assert lines["trader"].figures and lines["trader"].path == "exchange-async-b", said
    assert "listens at" in lines["taken"].why and strange.poll() is None, said
    assert "its follower taken does not serve" in lines["orphan"].why, said
    assert "orphan, or the exchange behind it, does not serve" in lines["sad"].why, said
    assert "sync and async need a host of the group followers" in lines["wrong"].why, said
    copy = fleet.copies()["venue"]
    assert copy["records"] == copy["replicated"] > before + lines["trader"].figures.count
    assert copy["connections"] == 1
    # Both were ended, and what they wrote is gone.
    assert not commands(hosts, "venue", b"exchange") + commands(hosts, "copy", b"follower")
    assert not any(
        (tmp_path / directory / "tickpath-journal").exists() for directory in own.values()
    )
    strange.kill()
    strange.wait()


CLUSTER = Path(__file__).parents[2] / "clients/java-cluster"
MEMBERS = ("member-0", "member-1", "member-2")


@pytest.mark.root
def test_an_exchange_whose_copies_are_in_a_cluster(hosts, tmp_path):
    """Three members, and the gateway beside the exchange: four JVMs, no distance."""
    if "TICKPATH_FLEET_CLUSTER" not in os.environ:
        skip("time", "it takes minutes on a busy machine: scripts/weekly runs it")
    if shutil.which("java") is None or not (CLUSTER / "target/java-cluster.jar").exists():
        skip("cluster", "there is no Java 17, or no program: make cluster")
    names = ("venue", "trader", *MEMBERS)
    for name in names:
        launch(hosts, name)
    held = {name: {"ansible_host": hosts.address(name)} for name in names}
    held["venue"] |= {
        "tickpath_fleet_replicate": "cluster", "tickpath_fleet_follower_seconds": 60,
        "tickpath_fleet_exchange_arguments": ["--any-token", "--backend", "block"],
    }  # fmt: skip
    held["trader"]["tickpath_fleet_peer"] = "venue"
    inventory = tmp_path / "inventory.json"
    asked = variables(hosts, held, {"exchanges": ["venue"], "members": MEMBERS})
    asked["all"]["vars"]["tickpath_fleet_cluster"] = str(CLUSTER)
    inventory.write_text(json.dumps(asked))
    fleet = Fleet(settings(inventory, binary=tickpath(), doctor=False), tmp_path / "run")
    lines = fleet.measure()
    said = (fleet.directory / "ansible.log").read_text()[-3000:]
    assert [(line.host, line.path, line.why) for line in lines] == [
        ("trader", "exchange-cluster", ""),
    ], said  # fmt: skip
    copy = fleet.copies()["venue"]
    assert copy["records"] == copy["replicated"] > lines[0].figures.count
    followed = [(fleet.directory / f"results/{name}.exchange.txt").read_text() for name in MEMBERS]
    assert all('"connection"' in text for text in followed), "each member has followed"
    assert sum('"role":"leader"' in text for text in followed) >= 1
    for name in names:
        assert not commands(hosts, name, b"java") + commands(hosts, name, b"exchange")
    assert not list(Path("/dev/shm").glob(f"tickpath-cluster-{SUBNET}.*"))
