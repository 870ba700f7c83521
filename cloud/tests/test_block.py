"""A block: the command that a probe runs, and the figures that the hunt takes from its record."""

import json
import shlex
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import skip
from namespaces import exchange, tickpath

from tickpath_cloud.ansible import AnsibleHosts, _sort
from tickpath_cloud.config import load
from tickpath_cloud.errors import CloudError
from tickpath_cloud.records import parse_record

SHORT = {"block_seconds": 2.0, "connections": 2}
OFTEN = "endpoint.probes_per_second=100"


@pytest.fixture
def target():
    """HOST:PORT of an exchange on loopback."""
    if tickpath() is None:
        skip("tickpath", "no binary in target/: cargo build -p tickpath")
    process, (host, port) = exchange(tickpath())
    yield f"{host}:{port}"
    process.send_signal(signal.SIGTERM)
    process.wait(10)


def block(config, tmp_path):
    """The record of one block, run here as a probe would."""
    words = shlex.split(AnsibleHosts(config, None, tmp_path).command(2.0))
    words[0] = tickpath()
    words[words.index("--out") + 1] = str(tmp_path / "runs")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("more", "main"),
    [
        ({"scenario": "ping-pong"}, "order"),
        ({"scenario": "endpoint", "set": (OFTEN,)}, "ping"),
        (
            {
                "scenario": "endpoint",
                "set": (OFTEN, "endpoint.protocol=tcp", "endpoint.fresh_every=1"),
            },
            "connect",
        ),
    ],
)
def test_the_figures_of_a_block_are_those_of_its_main_series(config, target, tmp_path, more, main):
    record = block(replace(config, target=target, **SHORT, **more), tmp_path)
    found = parse_record(record, "a block")
    assert (found.scenario, found.main.name) == (more["scenario"], main)
    [same] = [s for s in record["subjects"][0]["series"] if s["name"] == main]
    assert found.main.p50_ns == same["pooled"]["p50"] > 0
    assert found.main.p99_ns == same["pooled"]["p99"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('scenario = "endpoints"', "scenario is 'endpoints': a hunt runs ping-pong or endpoint"),
        ('set = "tls=true"', "set is 'tls=true': write a list"),
        ('set = ["tls"]', "set has 'tls': write KEY=VALUE"),
        ('set = ["seconds=90"]', "the hunt sets seconds; change block_seconds"),
        ('scenario = "endpoint"\np99_limit_us = 400', "at most 160 probes and a p99 takes 1000"),
        (
            'scenario = "endpoint"\np99_limit_us = 400\nset = ["endpoint.probes_per_second=x"]',
            "write a number",
        ),
    ],
)
def test_a_wrong_scenario_or_setting_is_said(tmp_path, lines, said):
    with pytest.raises(CloudError, match=said):
        load(written(tmp_path, lines))


def test_the_file_names_the_scenario_and_its_settings(tmp_path):
    found = load(written(tmp_path, 'scenario = "endpoint"\nset = ["tls=true"]'))
    words = shlex.split(AnsibleHosts(found, None, tmp_path).command(2.0))
    assert words[1:3] == ["run", "endpoint"] and words[-2:] == ["--set", "tls=true"]
    assert load(written(tmp_path, "")).scenario == "ping-pong"


def written(directory: Path, lines: str) -> Path:
    file = directory / "hunt.toml"
    file.write_text(f"""
name = "n"
region = "eu-west-1"
subnets = ["subnet-1"]
image = "ami-1"
target = "10.0.0.5:443"
budget = 5
instance_types = ["c6i.large"]
ssh_from = "198.51.100.7/32"
{lines}
""")
    return file


@pytest.mark.parametrize("lost", [[], ["203.0.113.1:443"], ["203.0.113.1:443", "[::1]:443"]])
def test_a_screening_measures_to_each_address_and_keeps_the_nearest(tmp_path, lost):
    """An address that a place can't reach drops the address, not the place."""
    p50s = {"203.0.113.1:443": 2000.0, "[::1]:443": 3000.0}
    record = {"scenario": "endpoint", "subjects": [{"name": "probe", "series": [
        {"name": "ping", "kind": "service", "pooled": {"count": 90, "p50": 0, "p99": None}},
    ]}]}  # fmt: skip
    lines = ["#!/bin/sh", 'while [ "$1" != --connect ]; do shift; done', 'case "$2" in']
    for address, p50 in p50s.items():
        record["subjects"][0]["series"][0]["pooled"]["p50"] = p50
        act = "exit 1" if address in lost else f"echo '{json.dumps(record)}'; exit 3"
        lines.append(f"'{address}') {act};;")
    (tmp_path / "tickpath").write_text("\n".join([*lines, "esac", ""]))
    (tmp_path / "tickpath").chmod(0o755)
    config = load(written(tmp_path, 'addresses = ["203.0.113.1", "::1"]'))
    config = replace(config, install_dir=str(tmp_path))
    hosts = AnsibleHosts(config, None, tmp_path)
    words = ["sh", "-c", hosts._block(2.0, None)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == (len(lost) == 2)
    blocks, failed = {}, {}
    _sort("arm-01", {"rc": 0, "stdout": done.stdout}, blocks, failed)
    if len(lost) == 2:
        assert not blocks and "[::1]:443: " in failed["arm-01"]
        return
    nearest = next(address for address in p50s if address not in lost)
    assert blocks["arm-01"].address == nearest and blocks["arm-01"].p50_ns == p50s[nearest]
    assert not failed and shlex.split(hosts._block(2.0, nearest))[-1].count("=") == 1
    assert nearest in hosts._block(2.0, nearest) and "ok=" not in hosts._block(2.0, nearest)
