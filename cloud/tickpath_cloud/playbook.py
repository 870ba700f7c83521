"""Ansible, run as a program of its own: one way for one host or hundreds.

Its `tree` callback leaves each host's last result in a file; those are what is read.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tickpath_cloud.errors import CloudError

FORKS = 25
RECAP = re.compile(r"^(\S+)\s+: ok=\d+ .*?unreachable=(\d+) .*?failed=(\d+)", re.MULTILINE)
PLAYED = (0, 2, 4, 6)  # all well; some hosts failed, were unreachable, or both
UNREACHABLE = "ssh: the host does not answer"


def program() -> str:
    """Ansible is where this Python's programs are, or on the PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    found = shutil.which("ansible-playbook", path=path)
    if found is None:
        raise CloudError("ansible-playbook is missing: pip install 'tickpath-cloud[hosts]'")
    return found


def play(
    playbook: Path,
    inventory: Path,
    variables: dict[str, Any],
    directory: Path,
    results: Path,
    sockets: str,
    arguments: Sequence[str] = (),
    collections: Path | None = None,
) -> tuple[int, str, dict[str, dict]]:
    """Status, what it printed, and each host's last result; an absent host never answered.

    `directory` keeps the log and the hosts' keys; `sockets` must be short: a path has 108 bytes.
    """
    command = [program(), "-i", str(inventory), str(playbook), "-e", json.dumps(variables)]
    done = subprocess.run(
        [*command, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        env=environment(directory, results, sockets, collections),
    )
    with (directory / "ansible.log").open("ab") as log:
        log.write(done.stdout)
    said = done.stdout.decode(errors="replace")
    return done.returncode, said, _results(results, said)


def environment(
    directory: Path, results: Path, sockets: str, collections: Path | None
) -> dict[str, str]:
    options = [
        "ControlMaster=auto", "ControlPersist=60s", "StrictHostKeyChecking=accept-new",
        # A kept connection to an instance that died would wait for minutes.
        "ServerAliveInterval=5", "ServerAliveCountMax=2",
        f"UserKnownHostsFile={directory / 'known_hosts'}",
    ]  # fmt: skip
    found = {} if collections is None else {"ANSIBLE_COLLECTIONS_PATH": str(collections)}
    return {
        **os.environ,
        **found,
        "ANSIBLE_CALLBACKS_ENABLED": "ansible.builtin.tree",
        "ANSIBLE_CALLBACK_TREE_DIR": str(results),
        "ANSIBLE_DEPRECATION_WARNINGS": "false",
        "ANSIBLE_FORKS": str(FORKS),
        "ANSIBLE_LOCAL_TEMP": sockets,
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_STDOUT_CALLBACK": "default",
        "ANSIBLE_SSH_ARGS": " ".join(f"-o {option}" for option in options),
        "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets,
        "ANSIBLE_SSH_PIPELINING": "true",
        "ANSIBLE_TIMEOUT": "10",
        "LC_ALL": "C.UTF-8",
    }


def _results(directory: Path, said: str) -> dict[str, dict]:
    """Each host's last result; whether it failed stands in the recap alone."""
    found: dict[str, dict] = {}
    for host, unreachable, failed in RECAP.findall(said):
        file = directory / host
        result = json.loads(file.read_text()) if file.exists() else {}
        found[host] = {**result, "unreachable": unreachable != "0", "failed": failed != "0"}
    return found


def good(result: dict | None) -> bool:
    return result is not None and not result.get("failed") and not result.get("unreachable")


def why(result: dict | None) -> str:
    if result is None or result.get("unreachable"):
        return UNREACHABLE
    # What a command said; the message beside it is only that it failed.
    said = (result.get("stdout") or result.get("stderr")) if "rc" in result else result.get("msg")
    text = said or "no reason given"
    return str(text).strip().splitlines()[-1][:200]
