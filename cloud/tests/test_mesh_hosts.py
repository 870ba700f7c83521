"""A mesh of hosts in network namespaces with planted delays, one of which is dead."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from fleet_hosts import commands, launch, variables
from namespaces import tickpath
from test_mesh import SCHEMA

from tickpath_cloud import cli

FAR = 0.003  # seconds, one way, between the two clusters: far more than what a busy machine adds
CLUSTERS = [["a-1", "a-2"], ["b-1", "b-2"]]


def slow(hosts, name, to):
    inside = ["ip", "netns", "exec", f"{hosts.tag}-{hosts.numbers[name]}", sys.executable]
    words = [f"{hosts.address(other)}={FAR}" for other in to]
    return subprocess.Popen([*inside, str(Path(__file__).with_name("slow_path.py")), *words])


@pytest.mark.root
def test_a_mesh_finds_planted_clusters_and_does_not_wait_for_a_dead_host(hosts, tmp_path, capsys):
    """The zones of the inventory say otherwise: the mesh finds what is near, whatever its name."""
    names = [*CLUSTERS[0], *CLUSTERS[1], "dead"]
    for name in names:
        launch(hosts, name)
    hosts.end(SimpleNamespace(id="dead"))
    paths = [
        slow(hosts, name, other) for mine, other in (CLUSTERS, reversed(CLUSTERS)) for name in mine
    ]
    held = {name: {"ansible_host": hosts.address(name)} for name in names}
    for number, name in enumerate(names):
        held[name]["tickpath_fleet_zone"] = f"zone-{number % 2}"
    inventory = tmp_path / "inventory.json"
    asked = variables(hosts, held)
    asked["all"]["vars"]["tickpath_fleet_mesh_echo_arguments"] = ["--backend", "block"]
    inventory.write_text(json.dumps(asked))
    words = ["fleet", "mesh", str(inventory), "--binary", tickpath(), "--out", str(tmp_path / "m")]
    words += ["--seconds", "0.8", "--answer-seconds", "5", "--json"]
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
    assert "ssh" in why.pop("dead") and not any(why.values()), log
    assert said["rounds"] == 6, "twice N - 1 of the four that answer"
    figures = {(p["from"], p["to"]): p["figures"] for p in said["pairs"]}
    assert len(figures) == 12 and all(figures.values()), [p["why"] for p in said["pairs"]]
    for (start, to), found in figures.items():
        far = start[0] != to[0]
        assert (found["p50_ns"] >= 2e9 * FAR) == far, (start, to, found)
    assert said["levels"][-1]["clusters"] == CLUSTERS
    assert (directory / "mesh.html").read_text().count("zone-1") > 0
    assert [c for name in why for c in commands(hosts, name, b"exchange")] == [], "echoes go on"
