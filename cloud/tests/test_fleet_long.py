"""A fleet's long runs: a connection that is cut, a controller that died."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fleet_hosts import SET, commands, launch, settings, variables, wait_until
from namespaces import tickpath

from tickpath_cloud import cli
from tickpath_cloud.fleet.measure import Fleet
from tickpath_cloud.playbook import MARK


@pytest.mark.root
def test_a_long_run_survives_its_connection(hosts, tmp_path):
    """Each connection of the host is cut while it measures, as a network of a day does."""
    launch(hosts, "cut")
    held = {"cut": {"ansible_host": hosts.address("cut")}}
    inventory = tmp_path / "inventory.json"
    asked = variables(hosts, held)
    # Detached, as for a run that may take longer than an hour; polled more often, for a test.
    asked["all"]["vars"] |= {"tickpath_fleet_detached": True, "tickpath_fleet_poll_seconds": 1}
    inventory.write_text(json.dumps(asked))
    cut = []

    def cut_when_measuring():
        wait_until(lambda: commands(hosts, "cut", b"ping-pong"))
        for pid in commands(hosts, "cut", b"sshd: root"):
            os.kill(pid, signal.SIGKILL)
            cut.append(pid)

    watch = threading.Thread(target=cut_when_measuring, daemon=True)
    watch.start()
    run = replace(settings(inventory, binary=tickpath(), doctor=False), set=(*SET, "seconds=4"))
    fleet = Fleet(run, tmp_path / "run")
    [line] = fleet.measure()
    watch.join()
    assert cut and line.figures, (fleet.directory / "ansible.log").read_text()[-3000:]


@pytest.mark.root
def test_a_run_whose_controller_died_is_resumed(hosts, tmp_path, capsys):
    """Killed with all that it started. The host measures on, and once."""
    launch(hosts, "on")
    inventory = tmp_path / "inventory.json"
    held = {"on": {"ansible_host": hosts.address("on")}}
    inventory.write_text(json.dumps(variables(hosts, held)))
    asked = [word for pair in (*SET, "seconds=5") for word in ("--set", pair)]
    words = [str(Path(sys.executable).with_name("tickpath-cloud")), "fleet", "run", str(inventory)]
    words += ["ping-pong", "--binary", tickpath(), "--out", str(tmp_path), *asked]
    with (tmp_path / "said").open("wb") as said:
        controller = subprocess.Popen(words, stdout=said, stderr=said)
    wait_until(lambda: commands(hosts, "on", b"trade"))
    controller.kill()
    controller.wait()
    for pid in started_below(tmp_path):
        os.kill(pid, signal.SIGKILL)
    assert commands(hosts, "on", b"trade"), (tmp_path / "said").read_text()
    at = datetime.now(UTC)
    [directory] = [file.parent for file in tmp_path.glob("*/settings.json")]
    assert cli.main(["fleet", "resume", str(directory), "--json"]) == 0
    [host] = json.loads(capsys.readouterr().out)["hosts"]
    assert host["pooled"]["count"] > 0 and not host["why"]
    [record] = directory.glob("records/on/**/run.json")
    assert datetime.fromisoformat(json.loads(record.read_text())["started"]) < at
    assert cli.main(["fleet", "resume", str(tmp_path)]) == 2
    assert "name a run's directory" in capsys.readouterr().err


def started_below(directory):
    """Ids of Ansible's processes of a run whose results are below the directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            held = (process / "environ").read_bytes()
            if f"{MARK}=".encode() in held and str(directory).encode() in held:
                found.append(int(process.name))
    return found
