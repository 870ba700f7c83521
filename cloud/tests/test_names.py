"""Directories of any name: Ansible, ssh and a shell read names as templates, options and words."""

import json
import os
import shlex
import subprocess
from importlib import resources
from pathlib import Path

import pytest
from fleet_hosts import settings

from tickpath_cloud import ending
from tickpath_cloud.fleet.measure import Fleet
from tickpath_cloud.playbook import environment, play

NAMES = ("it's a [dir]", "a,b", "{{ nothing }}", "two\nlines", "$HOME ${HOME} ~", "100%d", '"q"')


@pytest.mark.parametrize("name", NAMES)
def test_a_playbook_runs_from_any_directory(tmp_path, name):
    directory = tmp_path / name
    directory.mkdir()
    sockets = tmp_path / "sockets"
    sockets.mkdir()
    inventory = directory / "inventory.json"
    held = {"ansible_connection": "local", "command": "echo here"}
    inventory.write_text(json.dumps({"all": {"hosts": {"one": held}}}))
    playbook = Path(str(resources.files("tickpath_cloud").joinpath("playbooks", "command.yml")))
    status, said, found = play(
        playbook, inventory, {"unused": 1}, directory, directory / "results", str(sockets),
    )  # fmt: skip
    assert status == 0, said
    assert found["one"]["stdout"].strip() == "here"


@pytest.mark.parametrize("name", NAMES)
def test_a_fleet_is_planned_in_any_directory(tmp_path, name):
    inventory = tmp_path / name / "hosts.json"
    inventory.parent.mkdir()
    inventory.write_text(json.dumps({"all": {"hosts": {"one": {}}}}))
    fleet = Fleet(settings(inventory, binary="/bin/true"), tmp_path / name / "run")
    assert "hosts (1)" in fleet.plan()


@pytest.mark.parametrize("name", NAMES)
def test_ssh_keeps_the_hosts_keys_in_any_directory(tmp_path, name):
    """A space ended the option, and ssh wrote the keys into files of other names."""
    (tmp_path / name).mkdir()
    (tmp_path / "sockets").mkdir()
    for _ in range(2):  # a hunt plays many times with the same sockets
        found = environment(tmp_path / name, str(tmp_path / "sockets"), None, "x")
    words = ["ssh", *shlex.split(found["ANSIBLE_SSH_ARGS"]), "-G", "host"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    [line] = [x for x in done.stdout.splitlines() if x.startswith("userknownhostsfile ")]
    file = Path(line.removeprefix("userknownhostsfile "))
    file.write_text("a key\n")
    assert (tmp_path / name / "known_hosts").read_text() == "a key\n"


@pytest.mark.parametrize("name", NAMES)
def test_the_command_that_removes_a_hunt_can_be_copied_into_a_shell(name):
    for line in ending.directory_commands("hunt", Path("hunts", name)):
        words = ["sh", "-c", f"tickpath() {{ printf '%s\\0' \"$@\"; }}; {line}"]
        said = subprocess.run(words, capture_output=True, check=True, env={**os.environ}).stdout
        assert f"hunts/{name}".encode() in said.split(b"\0")
