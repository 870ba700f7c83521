"""Ansible: the inventory that ships, asked of the fake by amazon.aws.aws_ec2; what a run leaves.

Ctrl-C once left Ansible's workers, and what they had started, running until their tasks ended.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import pytest
from conftest import ME, use

from tickpath_cloud import policy
from tickpath_cloud.playbook import good, marked, play, why

SHIPPED = resources.files("tickpath_cloud").joinpath("inventories", "tickpath.aws_ec2.yml")


def test_the_inventory_that_ships_finds_the_kept_hosts_by_their_tags(hunt, tmp_path):
    """A copy, as a user owns it, with the policy of a fleet, which has nothing to spare."""
    state = hunt.run()
    [kept] = state.decided
    address = hunt.cloud.addresses()[kept]
    copy = tmp_path / "mine.aws_ec2.yml"
    shutil.copy(str(SHIPPED), copy)
    program = Path(sys.executable).with_name("ansible-inventory")
    words = [program, "-i", str(copy), "--list"]
    hunt.world.add_key("me", ME, {"Statement": []})
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ)
    assert "UnauthorizedOperation" in done.stderr
    hunt.world.add_key("me", ME, policy.policy("fleet"))
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    name = f"{hunt.id}_{kept}"
    assert list(found["_meta"]["hostvars"]) == [name], "those that ended are no hosts"
    groups = {group for group, held in found.items() if name in held.get("hosts", [])}
    assert groups >= {"hunt_test_1", f"arm_{kept.replace('-', '_')}", "arms"}
    assert not groups & {"controls", "exchanges"}
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


INTERRUPTED = """
import sys
from pathlib import Path
from tickpath_cloud.playbook import play
here = Path(sys.argv[1])
play(here / "slow.yml", here / "inventory.json", {}, here, here / "results", str(here / "s"))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_playbook_leaves_no_process(local, tmp_path, number):
    began = tmp_path / "began"
    task = {"ansible.builtin.command": f"sh -c 'echo $$ >> {began}; exec sleep 120'"}
    play_book = [{"hosts": "all", "gather_facts": False, "tasks": [task]}]
    (tmp_path / "slow.yml").write_text(json.dumps(play_book))
    running = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, tmp_path], stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 60
    while not (began.exists() and len(began.read_text().split()) == 2):
        assert time.monotonic() < until and running.poll() is None
        time.sleep(0.05)
    tasks = [Path("/proc") / word for word in began.read_text().split()]
    marks = [word for word in (tasks[0] / "environ").read_bytes().split(b"\0") if b"PLAY=" in word]
    until = time.monotonic() + 60
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    assert running.returncode != 0 and said.strip().endswith("KeyboardInterrupt")
    assert marks and not marked(marks[0].decode())
    while [task for task in tasks if task.exists()]:  # until process 1 has asked for them
        assert time.monotonic() < until
        time.sleep(0.05)
