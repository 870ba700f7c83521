"""Playbooks, run by ansible-runner: one way for one host or hundreds.

ansible-runner starts `ansible-playbook`, which is a program of its own, and passes its events on.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tickpath_cloud.errors import CloudError

FORKS = 100  # hosts at once
MARK = "TICKPATH_PLAY"  # in the environment of all that belongs to one run of a playbook
PLAIN = re.compile(r"[\w./+@=-]*", re.ASCII)
PLAYED = (0, 2, 4, 6)  # all well; some hosts failed, were unreachable, or both
UNREACHABLE = "ssh: the host does not answer"
# Events that carry one host's result of one task.
OK, FAILED, LOST = "runner_on_ok", "runner_on_failed", "runner_on_unreachable"
STATS = "playbook_on_stats"

Tell = Callable[[str], None]


LISTENERS: list[Tell] = []  # get all lines of progress, too: the page of --live


def progress(line: str) -> None:
    """To a person who waits; results go to stdout."""
    print(line, file=sys.stderr, flush=True)
    listen(line)


def listen(line: str) -> None:
    """To those that listen alone."""
    for listener in LISTENERS:
        listener(line)


def path() -> str:
    """Ansible is where this Python's programs are, or on the PATH."""
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    if shutil.which("ansible-playbook", path=found) is None:
        raise CloudError("ansible-playbook is missing: pip install 'tickpath-cloud[hosts]'")
    return found


class Events:
    """What Ansible says while it runs: the last result of each host, and who failed in the end."""

    def __init__(self, tell: Tell | None) -> None:
        self.tell = tell
        self.last: dict[str, Any] = {}
        self.stats: dict[str, Any] = {}

    def seen(self, event: dict[str, Any]) -> bool:
        """Whether ansible-runner keeps the event in a file: results of hosts, and the end."""
        kind, data = event["event"], event.get("event_data", {})
        if kind == STATS:
            self.stats = data
        elif kind in (OK, FAILED, LOST):
            self.last[data["host"]] = data["res"]
            if self.tell is not None:
                self.tell(self._line(kind, data))
        return kind in (OK, FAILED, LOST, STATS)

    @staticmethod
    def _line(kind: str, data: dict[str, Any]) -> str:
        how = "ok"
        if kind != OK:
            how = f"FAILED: {why({**data['res'], 'unreachable': kind == LOST})}"
        return f"{data['host']}: {data['task']}: {how}"

    def results(self) -> dict[str, dict]:
        """A rescued or ignored failure is none, so the stats decide."""
        lost, failed = self.stats.get("dark", {}), self.stats.get("failures", {})
        return {
            host: {**self.last.get(host, {}), "unreachable": host in lost, "failed": host in failed}
            for host in self.stats.get("processed", {})
        }


def play(
    playbook: Path,
    inventory: Path,
    variables: dict[str, Any],
    directory: Path,
    results: Path,
    sockets: str,
    arguments: Sequence[str] = (),
    collections: Path | None = None,
    tell: Tell | None = None,
) -> tuple[int, str, dict[str, dict]]:
    """Status, what it printed, and each host's last result; an absent host never answered.

    `directory` keeps the log and the hosts' keys, `results` the events; `sockets` must be short:
    a path has 108 bytes. `tell` gets a line for each host and task, as it happens.
    """
    try:
        import ansible_runner
    except ImportError as error:
        raise CloudError(
            "ansible-runner is missing: pip install 'tickpath-cloud[hosts]'"
        ) from error
    events, mark = Events(tell), f"{MARK}={uuid.uuid4()}"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    results, hosts = plain(results, sockets), plain(inventory.parent, sockets) / inventory.name
    with signals_restored():
        done = ansible_runner.run(
            private_data_dir=str(results), ident="play", playbook=str(playbook),
            inventory=[str(hosts)], extravars=variables, cmdline=shlex.join(arguments),
            envvars=environment(directory, sockets, collections, mark),
            settings={"pexpect_timeout": 1}, event_handler=events.seen,
            status_handler=forget_environment, quiet=True, suppress_env_files=True,
        )  # fmt: skip
    said = (results / "artifacts" / "play" / "stdout").read_text(errors="replace")
    with (directory / "ansible.log").open("a") as log:
        log.write(said)
    if done.status == "canceled":
        end_marked(mark)
        raise KeyboardInterrupt
    return done.rc, said, events.results()


def plain(directory: Path, sockets: str) -> Path:
    """The directory by a name that Ansible, Jinja and ssh take as it is.

    They expand `$`, `{{` and `%`, and split at spaces. A usual name is left alone, since a user's
    playbooks may go up from it.
    """
    path = directory.absolute()
    if PLAIN.fullmatch(str(path)):
        return path
    link = Path(sockets, hashlib.sha256(os.fsencode(path)).hexdigest()[:8])
    if not link.is_symlink():
        link.symlink_to(path)
    return link


def end_marked(mark: str) -> None:
    """Ends the processes whose environment has the mark.

    ansible-runner ends its playbook's session. Ansible's workers left it (`os.setsid` in
    ansible/executor/process/worker.py) and would wait for their hosts' tasks, for minutes.
    """
    until = time.monotonic() + 5.0
    while (found := marked(mark)) and time.monotonic() < until:
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)


def marked(mark: str) -> list[int]:
    """A process that has ended has no environment, even while its parent doesn't ask for it."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (directory / "environ").read_bytes().split(b"\0"):
                found.append(int(directory.name))
    return found


def forget_environment(status: dict[str, Any], runner_config: Any) -> None:
    """ansible-runner writes the environment into a file, and AWS's secret key with it."""
    if status["status"] == "running":
        Path(runner_config.artifact_dir, "command").unlink()


@contextmanager
def signals_restored() -> Iterator[None]:
    """ansible-runner ends its playbook on Ctrl-C and SIGTERM, and keeps these handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def environment(
    directory: Path, sockets: str, collections: Path | None, mark: str
) -> dict[str, str]:
    """Variables to add to this process's environment."""
    options = [
        "ControlMaster=auto", "ControlPersist=60s", "StrictHostKeyChecking=accept-new",
        # A kept connection to an instance that died would wait for minutes.
        "ServerAliveInterval=5", "ServerAliveCountMax=2",
        f"UserKnownHostsFile={plain(directory, sockets) / 'known_hosts'}",
    ]  # fmt: skip
    found = {} if collections is None else {"ANSIBLE_COLLECTIONS_PATH": str(collections)}
    return {
        **found,
        "ANSIBLE_DEPRECATION_WARNINGS": "false",
        "ANSIBLE_FORKS": str(FORKS),
        "ANSIBLE_HOST_KEY_CHECKING": "true",  # ansible-runner's default is none
        "ANSIBLE_LOCAL_TEMP": sockets,
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_SSH_ARGS": " ".join(f"-o {option}" for option in options),
        "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets,
        "ANSIBLE_SSH_PIPELINING": "true",
        "ANSIBLE_TIMEOUT": "10",
        "LC_ALL": "C.UTF-8",
        "PATH": path(),
        MARK: mark.removeprefix(f"{MARK}="),
    }


def good(result: dict | None) -> bool:
    return result is not None and not result.get("failed") and not result.get("unreachable")


def why(result: dict | None) -> str:
    if result is None or result.get("unreachable"):
        return UNREACHABLE
    # The output of a command; the message beside it only says that it failed.
    said = (result.get("stdout") or result.get("stderr")) if "rc" in result else result.get("msg")
    text = said or "no reason given"
    return str(text).strip().splitlines()[-1][:200]
