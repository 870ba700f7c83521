"""A mesh of twelve hosts in network namespaces with planted delays, one of which is dead."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from conftest import skip
from fleet_hosts import commands, launch, variables
from namespaces import tickpath
from test_mesh import SCHEMA

from tickpath_cloud import cli

CLUSTERS = [[f"{cluster}-{n}" for n in range(1, 5)] for cluster in "abc"]
DEAD = "c-4"
# Seconds one way between clusters: far more than what a busy machine adds.
APART = {frozenset("ab"): 0.003, frozenset("ac"): 0.008, frozenset("bc"): 0.008}
ASYMMETRIC, LONGER = ("a-1", "b-1"), 0.006  # from the first to the second, and not back


def delay(start, to):
    more = LONGER if (start, to) == ASYMMETRIC else 0.0
    return APART.get(frozenset((start[0], to[0])), 0.0) + more


def slow(hosts, name, others):
    """Delays the packets from one host to each of the others."""
    inside = ["ip", "netns", "exec", f"{hosts.tag}-{hosts.numbers[name]}", sys.executable]
    words = [f"{hosts.address(to)}={delay(name, to)}" for to in others if delay(name, to)]
    return subprocess.Popen([*inside, str(Path(__file__).with_name("slow_path.py")), *words])


@pytest.mark.root
def test_a_mesh_finds_planted_clusters_and_an_asymmetric_pair(hosts, tmp_path, capsys):
    """The zones of the inventory say otherwise: the mesh finds what is near, whatever its name.

    Each host has a boot of its own, so nobody takes their clocks for one.
    """
    hosts.own_boots = True
    names = [name for cluster in CLUSTERS for name in cluster]
    for name in names:
        launch(hosts, name)
    hosts.end(SimpleNamespace(id=DEAD))
    alive = [name for name in names if name != DEAD]
    paths = [slow(hosts, name, alive) for name in alive]
    held = {name: {"ansible_host": hosts.address(name)} for name in names}
    for number, name in enumerate(names):
        held[name]["tickpath_fleet_zone"] = f"zone-{number % 2}"
    inventory = tmp_path / "inventory.json"
    asked = variables(hosts, held)
    asked["all"]["vars"]["tickpath_fleet_mesh_echo_arguments"] = ["--backend", "block"]
    inventory.write_text(json.dumps(asked))
    words = ["fleet", "mesh", str(inventory), "--binary", tickpath(), "--out", str(tmp_path / "m")]
    words += ["--seconds", "0.3", "--answer-seconds", "5", "--json"]
    words += ["--set", "subject.rust.backend=block"]
    try:
        assert cli.main(words) == 0
    finally:
        for path in paths:
            path.kill()
            path.wait()
    said = json.loads(capsys.readouterr().out)
    jsonschema.validate(said, json.loads(SCHEMA.read_text()))
    [directory] = (tmp_path / "m").iterdir()
    log = (directory / "ansible.log").read_text()[-3000:]
    why = {host["name"]: host["why"] for host in said["hosts"]}
    assert "ssh" in why.pop(DEAD) and not any(why.values()), log
    assert said["rounds"] == 22, "twice eleven, for the eleven that answer"
    figures = {(p["from"], p["to"]): p["figures"] for p in said["pairs"]}
    assert len(figures) == 110 and all(figures.values()), [p["why"] for p in said["pairs"]]
    for (start, to), found in figures.items():
        planted = 1e9 * (delay(start, to) + delay(to, start))
        assert planted <= found["p50_ns"] < planted + 5e6, (start, to, found)
    number = {host["name"]: host["cluster"] for host in said["hosts"]}
    found = [sorted(n for n in alive if number[n] == at) for at in range(len(set(number.values())))]
    assert [cluster for cluster in found if cluster] == [
        [name for name in cluster if name != DEAD] for cluster in CLUSTERS
    ]
    assert all(pair["one_way"] for pair in said["pairs"]), [p["one_way_why"] for p in said["pairs"]]
    # Paths within a cluster take some 50 us, of which a busy machine may add to one direction only.
    one, *noise = said["asymmetric"]
    assert (one["from"], one["to"], one["by"]) == (*ASYMMETRIC, "closure")
    assert all(other["longer_ns"] < 1e9 * LONGER / 10 for other in noise), noise
    assert one["longer_ns"] == pytest.approx(1e9 * LONGER, rel=0.1)
    assert said["closure"]["triangles"] == 165 and said["closure"]["sum_ns_median"] < 1e5
    assert (directory / "mesh.html").read_text().count("zone-1") > 0
    assert [c for name in why for c in commands(hosts, name, b"exchange")] == [], "echoes go on"


def test_two_hosts_on_one_machine_share_its_clock(tmp_path, capsys):
    """Both are this machine. Labels are those that aws_ec2 gives, a partition and a host."""
    if tickpath() is None:
        skip("tickpath", "no binary in target/: cargo build -p tickpath")
    places = {
        "a": {"region": "eu", "group_name": "racks", "partition_number": 2},
        "b": {"region": "eu", "host_id": "h-1"},
    }
    held = {
        name: {
            "placement": place, "tickpath_fleet_mesh_address": f"127.0.0.{number}",
            "tickpath_fleet_directory": str(tmp_path / name),
        }
        for number, (name, place) in enumerate(places.items(), 1)
    }  # fmt: skip
    here = {
        "ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3",
        "tickpath_fleet_path": tickpath(),
        "tickpath_fleet_mesh_echo_arguments": ["--backend", "block"],
    }  # fmt: skip
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": held, "vars": here}}))
    words = ["fleet", "mesh", str(inventory), "--out", str(tmp_path / "m"), "--json"]
    words += ["--seconds", "0.2", "--set", "subject.rust.backend=block"]
    assert cli.main(words) == 0
    said = json.loads(capsys.readouterr().out)
    jsonschema.validate(said, json.loads(SCHEMA.read_text()))
    labels = [(host["region"], host["placement_group"]) for host in said["hosts"]]
    assert labels == [("eu", "racks/2"), ("eu", "h-1")]
    for pair in said["pairs"]:
        assert pair["one_way"]["error_ns"] == 0, "one clock stamps both ends"
        assert min(pair["one_way"]["forward_ns"], pair["one_way"]["reverse_ns"]) > 0, pair
    assert said["closure"] is None
