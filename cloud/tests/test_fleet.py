"""The fleet over hosts in network namespaces; the playbooks over an inventory of 500."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import threading
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import skip
from fleet_hosts import commands, launch, settings, start, variables, wait_until
from hdr_by_hand import counts, percentile
from namespaces import tickpath

from tickpath_cloud import cli
from tickpath_cloud.fleet.measure import COLLECTION, Fleet, Line
from tickpath_cloud.fleet.table import figures, table
from tickpath_cloud.records import Series


def test_the_same_playbooks_over_500_hosts(tmp_path):
    """A dry run: Ansible resolves every role, task and host. No host is reached."""
    hosts = {f"host-{i:03}": {"ansible_host": f"10.9.{i // 250}.{i % 250}"} for i in range(500)}
    inventory = tmp_path / "inventory.json"
    exchanges = {"hosts": dict(list(hosts.items())[:10])}
    inventory.write_text(
        json.dumps({"all": {"hosts": hosts, "children": {"exchanges": exchanges}}})
    )
    said = Fleet(settings(inventory), tmp_path / "run").plan()
    counts = [int(n) for n in re.findall(r"hosts \((\d+)\)", said)]
    assert counts == [500]
    for task in ("Copy tickpath", "Doctor", "Apply", "Wait until it listens", "Run the scenario",
                 "Fetch the record", "End what runs"):  # fmt: skip
        assert task in said


@pytest.mark.parametrize("verb", ["plan", "run", "remove"])
def test_an_inventory_without_hosts_is_rejected(tmp_path, capsys, verb):
    """Ansible calls it a success: `remove` said that it had nothing to remove."""
    fleet = ["fleet", verb, "--out", str(tmp_path / "out")]
    assert cli.main([*fleet, str(tmp_path / "nowhere.ini")]) == 2
    assert "there is no inventory" in capsys.readouterr().err
    empty = tmp_path / "empty.ini"
    empty.write_text("[traders]\n")
    assert cli.main([*fleet, str(empty)]) == 2
    assert "Ansible found no host in" in capsys.readouterr().err
    if verb == "run":
        assert cli.main([*fleet, str(empty), "--seconds-max", "0"]) == 2
        assert "a run may take 0 s" in capsys.readouterr().err


def line(host, p50, why="", holds_to=0.99, path="exchange"):
    series = Series("order", 100, {"p50": p50, "p99": 2 * p50}, None, holds_to)
    return Line(host, Path("x"), series, why, path)


def test_the_report_has_a_line_for_every_host():
    lines = [
        line("a", 10_000), line("b", 30_000, holds_to=0.5), Line("c", why="ssh: no"),
        line("d", 9, "other"), line("e", 50_000, path="gateway"),
    ]  # fmt: skip
    merged = [line("merged exchange", 20_000)]
    said = table(lines, merged, {}, {}).splitlines()
    names = ["host", "e", "b", "a", "d", "merged", "spread", "c", "?"]
    assert [row.split()[0] for row in said] == names
    assert "30.00 " in said[2] and "60.00?" in said[2], "its p99 does not hold"
    assert "over 2 hosts, exchange: 10.00 to 30.00 us, x 3.00" in said[6], "and not the gateway's"
    assert not said[6].endswith("?") and "FAILED: ssh: no" in said[7]
    held = figures(lines, merged, {}, {})
    assert [host["host"] for host in held["hosts"]] == ["a", "b", "c", "d", "e"]
    assert held["hosts"][2] == {"host": "c", "path": "", "why": "ssh: no"}
    assert held["merged"][0]["pooled"]["p50"] == 20_000
    failed = [Line("merged exchange", why="no tickpath runs on this machine")]
    assert "merged exchange          FAILED: no tickpath" in table(lines, failed, {}, {})


def test_records_that_are_here_are_not_measured_again(tmp_path):
    """Records of a host that has ended since, too; the binaries are compared as ever."""
    results = tmp_path / "run" / "results"
    results.mkdir(parents=True)
    pooled = {"count": 100, "p50": 1_000, "p99": None}
    subject = {"name": "rust", "series": [{"name": "order", "kind": "service", "pooled": pooled}]}
    (tmp_path / "run.json").write_text(json.dumps({"scenario": "s", "subjects": [subject]}))
    for host, sha256 in (("a", "1"), ("b", "1"), ("c", "2")):
        with tarfile.open(results / f"{host}.tgz", "w:gz") as packed:
            packed.add(tmp_path / "run.json", "record/run.json")
        (results / f"{host}.path").write_text("exchange")
        held = {"sha256": sha256, "version": "tickpath 1"}
        (results / f"{host}.binary.json").write_text(json.dumps(held))
    fleet = Fleet(settings(tmp_path), tmp_path / "run", resumed=True)
    a, b, c = fleet.collected(["a", "b", "c"])
    assert a.figures.p50_ns == b.figures.p50_ns == 1_000 and "another binary" in c.why
    assert fleet.collected(["a", "ended"]) is None
    gone = fleet._line("a", {"unreachable": True})
    assert gone.figures == a.figures and not gone.why


def test_a_spread_of_figures_that_do_not_hold_is_marked():
    assert "x 3.00?" in table([line("a", 10_000), line("b", 30_000, holds_to=0.0)], [], {}, {})


# --- five hosts, three of which have their trouble ----------------------------------------------


@pytest.mark.root
def test_five_hosts_of_which_three_have_trouble(hosts, tmp_path):
    names = ["good-1", "good-2", "deaf", "dies", "other"]
    for name in names:
        launch(hosts, name)
    other = other_binary(tmp_path)
    held = {name: {"ansible_host": hosts.address(name)} for name in names}
    held["other"] |= {"tickpath_fleet_binary": str(other), "tickpath_fleet_path": "/mnt/other"}
    hosts.end(SimpleNamespace(id="deaf"))
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps(variables(hosts, held)))
    told = []
    asked = settings(inventory, binary=tickpath(), doctor=False)
    fleet = Fleet(asked, tmp_path / "run", told.append)
    watch = threading.Thread(target=kill_when_measuring, args=(hosts,), daemon=True)
    watch.start()
    lines = {line.host: line for line in fleet.measure()}
    watch.join()
    said = (fleet.directory / "ansible.log").read_text()[-3000:]
    assert sorted(lines) == sorted(names), said
    assert "ssh" in lines["deaf"].why and lines["dies"].figures is None, said
    assert "another binary" in lines["other"].why and lines["other"].figures, said
    assert {line.split(": ")[0] for line in told} == set(names), told
    good = [lines["good-1"], lines["good-2"]]
    assert all(line.figures and not line.why for line in good), said
    [merged] = fleet.merge(list(lines.values()))
    by_hand = counts(good[0].record)
    for value, count in counts(good[1].record).items():
        by_hand[value] = by_hand.get(value, 0) + count
    assert merged.figures.count == sum(by_hand.values()) == sum(g.figures.count for g in good)
    assert merged.figures.p50_ns == percentile(by_hand, 0.5)
    assert merged.figures.p99_ns == percentile(by_hand, 0.99)
    text = table(list(lines.values()), [merged], {}, {})
    assert all(name in text for name in (*names, "merged", "spread")) and text.count("FAILED") == 2


@pytest.mark.root
def test_two_traders_measure_one_exchange(hosts, tmp_path):
    """One of them through a gateway. Each host that can't be measured has a line: `taken` has
    a strange exchange on its port, and `short` ends too early."""
    for name in ("venue", "taken", "short", "gate", "trader-1", "trader-2", "lost"):
        launch(hosts, name)
    held = {name: {"ansible_host": hosts.address(name)} for name in hosts.numbers}
    held["trader-1"]["tickpath_fleet_peer"] = "venue"
    held["trader-2"]["tickpath_fleet_peer"] = "gate"
    held["gate"]["tickpath_fleet_behind"] = "venue"
    held["lost"]["tickpath_fleet_peer"] = "taken"
    held["short"]["tickpath_fleet_exchange_seconds_max"] = 3
    strange = start(hosts, "taken", "exchange", "--any-token", "--backend", "block",
                    "--listen", f"{hosts.address('taken')}:8888")  # fmt: skip
    inventory = tmp_path / "inventory.json"
    groups = {"exchanges": ["venue", "taken", "short"], "gateways": ["gate"]}
    inventory.write_text(json.dumps(variables(hosts, held, groups)))
    fleet = Fleet(settings(inventory, binary=tickpath(), doctor=True), tmp_path / "run")
    lines = {line.host: line for line in fleet.measure()}
    said = (fleet.directory / "ansible.log").read_text()[-3000:]
    assert sorted(lines) == ["lost", "short", "taken", "trader-1", "trader-2"], said
    assert lines["trader-1"].figures and lines["trader-2"].figures, said
    assert "taken, or the exchange behind it, does not serve" in lines["lost"].why, said
    assert "listens at" in lines["taken"].why and strange.poll() is None, said
    assert "ended before the traders did" in lines["short"].why, said
    # Really over the network: the record names the exchange that was measured.
    run = (lines["trader-1"].record / "run.json").read_text()
    assert f"{hosts.address('venue')}:8888" in run
    assert json.loads((fleet.directory / "results/venue.doctor.json").read_text())
    run = (lines["trader-2"].record / "run.json").read_text()
    assert f"{hosts.address('gate')}:8888" in run
    [(name, gateway)] = fleet.gateways().items()
    assert name == "gate"
    inside = gateway["to_exchange"]["residence_ns"]
    assert inside["count"] > lines["trader-2"].figures.count
    assert "gateway, us inside it" in table(list(lines.values()), [], fleet.gateways(), {})
    assert (lines["trader-1"].path, lines["trader-2"].path) == ("exchange", "gateway")
    # Both were ended: the next run may be with another binary.
    counts = (fleet.directory / "results/venue.exchange.txt").read_text().splitlines()
    assert json.loads(counts[-1])["orders"] > 0
    assert not commands(hosts, "venue", b"exchange") + commands(hosts, "gate", b"gateway")


@pytest.mark.root
def test_hosts_measure_an_address_that_is_no_host_of_the_fleet(hosts, tmp_path):
    """As the guide says for several regions: `endpoint`, to a target outside the inventory."""
    for name in ("target", "eu", "us"):
        launch(hosts, name)
    start(hosts, "target", "exchange", "--any-token", "--backend", "block",
          "--listen", f"{hosts.address('target')}:8888")  # fmt: skip
    held = {name: {"ansible_host": hosts.address(name)} for name in ("eu", "us")}
    inventory = tmp_path / "inventory.json"
    asked = variables(hosts, held)
    asked["all"]["vars"]["tickpath_fleet_connect"] = f"{hosts.address('target')}:8888"
    inventory.write_text(json.dumps(asked))
    run = replace(
        settings(inventory, binary=tickpath(), doctor=False), scenario="endpoint",
        set=("runs=1", "seconds=1", "warm_up_seconds=0.2", "hiccup_seconds=0",
             "endpoint.probes_per_second=100"),
    )  # fmt: skip
    fleet = Fleet(run, tmp_path / "run")
    lines = fleet.measure()
    said = (fleet.directory / "ansible.log").read_text()[-3000:]
    assert [(line.host, line.why) for line in lines] == [("eu", ""), ("us", "")], said
    assert all(line.figures.p50_ns > 0 and line.path == "exchange" for line in lines)


@pytest.mark.root
def test_what_a_run_left_is_removed_and_nothing_else(hosts, tmp_path):
    """`own` had its binary before: it stays. A check removes nothing. `copied` has a journal."""
    launch(hosts, "copied")
    launch(hosts, "own")
    held = {name: {"ansible_host": hosts.address(name)} for name in hosts.numbers}
    held["copied"]["tickpath_fleet_binary"] = tickpath()
    held["own"]["tickpath_fleet_path"] = tickpath()
    held["copied"]["tickpath_fleet_journal"] = str(tmp_path)
    (tmp_path / "tickpath-journal").mkdir()
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps(variables(hosts, held)))
    run = Fleet(settings(inventory, doctor=False), tmp_path / "run")
    lines = {line.host: line for line in run.measure()}
    assert all(line.figures for line in lines.values()), [line.why for line in lines.values()]
    fleet = Fleet(settings(inventory), tmp_path / "remove")
    expected = {"copied": "binary, journal, records", "own": "records"}
    assert fleet.remove(really=False) == expected
    assert fleet.remove(really=True) == expected
    assert fleet.remove(really=True) == dict.fromkeys(expected, "nothing")
    assert Path(tickpath()).exists()


def other_binary(directory):
    """The same program in other bytes: another checksum is another build."""
    path = directory / "other"
    shutil.copy(tickpath(), path)
    with path.open("ab") as out:
        out.write(b"other")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def kill_when_measuring(hosts):
    """`dies` loses its processes while its scenario runs."""
    wait_until(lambda: commands(hosts, "dies", b"ping-pong"))
    hosts.end(SimpleNamespace(id="dies"))


def test_the_collection_passes_ansible_lint(tmp_path):
    """In a copy: it leaves a directory of its own behind."""
    root = tmp_path / "ansible_collections"
    copy = root / "tickpath" / "fleet"
    shutil.copytree(COLLECTION, copy)
    program = Path(sys.executable).with_name("ansible-lint")
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [program, "--offline", "--nocolor"], cwd=copy, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0 and "0 failure(s)" in done.stderr, done.stdout + done.stderr


def test_the_package_has_the_collection(tmp_path):
    """Outside a checkout there is no deploy/: `fleet` had no playbook there."""
    root = Path(__file__).parents[2]
    ignored = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__")
    for part in ("cloud", "deploy"):
        shutil.copytree(root / part, tmp_path / part, symlinks=True, ignore=ignored)
    words = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(tmp_path)]
    done = subprocess.run(
        [*words, str(tmp_path / "cloud")], capture_output=True, text=True, check=False
    )
    if "No matching distribution found for setuptools" in done.stderr:
        skip("registry", "pip can't fetch setuptools, which builds the package")
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if "ansible_collections" in name}
    files = (tmp_path / "deploy/ansible_collections").rglob("*")
    there = {file.relative_to(tmp_path / "deploy") for file in files if file.is_file()}
    assert held == {f"tickpath_cloud/{file}" for file in there} and len(held) > 20


def test_the_packer_template_is_well_formed():
    """Syntax alone; the plugins are declared in a file of their own, newer than Debian's Packer."""
    if shutil.which("packer") is None:
        skip("packer", "packer is missing")
    file = Path(__file__).parents[2] / "deploy/packer/tickpath.pkr.hcl"
    words = ["packer", "validate", "-syntax-only", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
