"""Ansible: the inventory that ships, asked of the fake by amazon.aws.aws_ec2; what a run leaves."""

import json
import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest
from conftest import use

from tickpath_cloud.playbook import good, play, why

SHIPPED = resources.files("tickpath_cloud").joinpath("inventories", "tickpath.aws_ec2.yml")


def test_the_inventory_that_ships_finds_the_kept_hosts_by_their_tags(hunt, tmp_path):
    """A copy, as a user owns it, with the permissions of the hunt alone."""
    state = hunt.run()
    [kept] = state.decided
    copy = tmp_path / "mine.aws_ec2.yml"
    shutil.copy(str(SHIPPED), copy)
    program = Path(sys.executable).with_name("ansible-inventory")
    words = [program, "-i", str(copy), "--list"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    name = f"{hunt.id}_{kept}"
    assert list(found["_meta"]["hostvars"]) == [name], "those that ended are no hosts"
    groups = {group for group, held in found.items() if name in held.get("hosts", [])}
    assert groups >= {"hunt_test_1", f"arm_{kept.replace('-', '_')}", "arms"}
    assert not groups & {"controls", "exchanges"}
    address = hunt.cloud.addresses()[kept]
    # Ansible marks what comes from outside as no template.
    host = found["_meta"]["hostvars"][name]["ansible_host"]
    assert host == {"__ansible_unsafe": address}


@pytest.fixture
def local(tmp_path):
    """Two hosts that are this machine, one of which fails; nothing goes over a network."""
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory = tmp_path / "inventory.json"
    hosts = {"well": {**here, "status": 0}, "ill": {**here, "status": 7}}
    inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    playbook = tmp_path / "playbook.yml"
    task = {"name": "try", "ansible.builtin.raw": "echo said-{{ word }}; exit {{ status }}"}
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [task]}]))
    return playbook, inventory


def test_each_host_has_a_line_and_a_result_and_no_file_has_a_secret(
    local, server, world, tmp_path, monkeypatch
):
    use(monkeypatch, server, "me")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-the-test")
    results, lines = tmp_path / "results", []
    status, said, found = play(
        *local, {"word": "'quoted $word'"}, tmp_path, results, str(tmp_path / "s"),
        tell=lines.append,
    )  # fmt: skip
    assert status == 2 and sorted(found) == ["ill", "well"], said
    assert good(found["well"]) and found["well"]["stdout"].strip() == "said-quoted $word"
    assert not good(found["ill"]) and why(found["ill"]) == "said-quoted $word"
    assert sorted(line.split(": ")[0] for line in lines) == ["ill", "well"]
    assert "well: try: ok" in lines
    assert "ill" in (tmp_path / "ansible.log").read_text()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 4
    assert not [path for path in files if b"a-secret-of-the-test" in path.read_bytes()]
