"""Hosts of a fleet in network namespaces, for its tests: an inventory, and what runs on a host."""

import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

from namespaces import tickpath

from tickpath_cloud.fleet.measure import Settings

SET = ("runs=1", "seconds=1", "warm_up_seconds=0.2", "floor_seconds=0", "bare_seconds=0",
       "hiccup_seconds=0", "subject.rust.backend=block", "exchange.backend=block")  # fmt: skip


def settings(inventory, **changes):
    return Settings(
        inventory=inventory, scenario="ping-pong", set=SET,
        answer_seconds=20, **changes,
    )  # fmt: skip


class Data:
    """The user data of an instance, as the fake has it."""

    def decode(self):
        return "#!/bin/sh\n"


def launch(hosts, name):
    nic = SimpleNamespace(private_ip_address="", public_ip=None)
    hosts.launch(SimpleNamespace(id=name, nics=[nic], user_data=Data()))


def start(hosts, name, *words):
    """A tickpath on a host; it ends with the host."""
    inside = ["ip", "netns", "exec", f"{hosts.tag}-{hosts.numbers[name]}", tickpath()]
    return subprocess.Popen([*inside, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def variables(hosts, held, groups=None):
    children = {name: {"hosts": dict.fromkeys(of, {})} for name, of in (groups or {}).items()}
    return {"all": {"hosts": held, "children": children, "vars": {
        "ansible_user": "root", "ansible_port": 2222,
        "ansible_ssh_private_key_file": str(hosts.directory / "id"),
        "ansible_python_interpreter": "/usr/bin/python3",
        "tickpath_fleet_path": "/mnt/tickpath", "tickpath_fleet_directory": "/mnt/records",
    }}}  # fmt: skip


def wait_until(happens):
    deadline = time.monotonic() + 300
    while not happens() and time.monotonic() < deadline:
        time.sleep(0.2)


def commands(hosts, name, word):
    """Ids of a host's processes whose command line has the word."""
    words = ["ip", "netns", "pids", f"{hosts.tag}-{hosts.numbers[name]}"]
    found = subprocess.run(words, capture_output=True, text=True, check=False).stdout.split()
    lines = {pid: Path(f"/proc/{pid}/cmdline") for pid in found}
    return [int(pid) for pid, line in lines.items() if line.exists() and word in line.read_bytes()]
