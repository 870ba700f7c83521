"""The hosts of a hunt, reached by Ansible.

The inventory of each step is a file of our own: a round's random order, the control probe's place
before and after it, and each host's command are not in EC2's tags. It stays in the hunt's
directory, so that a user's playbooks can use it.
"""

from __future__ import annotations

import json
import random
import shlex
import shutil
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

from tickpath_cloud.config import Config
from tickpath_cloud.errors import CloudError
from tickpath_cloud.hunt.decide import Measure
from tickpath_cloud.hunt.run import Block, RoundResult
from tickpath_cloud.instances import TIMER
from tickpath_cloud.playbook import PLAYED, Tell, good, play, why
from tickpath_cloud.records import parse_record

ANSWER_SECONDS = 240
MARK = "tickpath-address "  # in front of an address, before the record of a block to it
OF_SCENARIO: dict[str, Callable[[int], dict[str, Any]]] = {
    "ping-pong": lambda connections: {
        "floor_seconds": 0, "bare_seconds": 0, "load.accounts": connections,
        "load.connections": connections, "subject.rust.backend": "block",
    },
    "endpoint": lambda connections: {
        "endpoint.connections_kept": connections, "subject.probe.backend": "block",
    },
}  # fmt: skip


class Addresses(Protocol):
    def addresses(self) -> dict[str, str]: ...
    def wait_for(self, arms: list[str]) -> None: ...


class AnsibleHosts:
    """The `Hosts` of a real hunt."""

    def __init__(
        self, config: Config, cloud: Addresses, directory: Path, tell: Tell | None = None
    ) -> None:
        self.config, self.cloud, self.directory = config, cloud, directory.resolve()
        self.tell = tell  # while hosts are provisioned; rounds are in the live table
        self.answer_seconds = ANSWER_SECONDS
        self._sockets = tempfile.mkdtemp(prefix="tp-")  # short: a socket's path has 108 bytes

    def settle(self, arms: list[str]) -> tuple[list[str], dict[str, str]]:
        binary = shutil.which(self.config.tickpath)
        if binary is None:
            raise CloudError(
                f"tickpath = {self.config.tickpath!r} is not a program: name the binary that "
                "the hosts run"
            )
        variables = {
            "answer_seconds": self.answer_seconds, "tickpath": str(Path(binary).resolve()),
            "directory": self.config.install_dir,
        }  # fmt: skip
        self.cloud.wait_for(arms)
        known = self.cloud.addresses()
        absent = {arm: self._no_address() for arm in arms if arm not in known}
        results = self._play("settle", {"all": [arm for arm in arms if arm in known]}, variables)
        ready = [arm for arm in arms if good(results.get(arm))]
        failed = {arm: why(results.get(arm)) for arm in arms if arm not in ready}
        return ready, {**failed, **absent}

    def _no_address(self) -> str:
        if self.config.reach == "private":
            return "the instance has ended"
        return (
            'it has ended, or its subnet gives no public address: set reach = "private" if this '
            "machine reaches the VPC, by SSM or a bastion in ssh's configuration"
        )

    def measure(self, action: Measure) -> RoundResult:
        # Seeded by the round: a repeated round has the same order.
        arms = list(action.arms)
        random.Random(f"{self.config.seed}-{action.number}").shuffle(arms)
        groups = {
            "control_before": [action.control], "arms": arms, "control_after": [action.control],
        }  # fmt: skip
        seconds = action.block_seconds
        variables = {
            "at_once": self.config.probes_at_once,
            "limit_seconds": int(60 + 3 * seconds * len(self.config.targets())),
        }
        own = {arm: {"measure": self._block(seconds, action.addresses.get(arm))} for arm in arms}
        own[action.control] = {"measure": self.command(seconds)}
        results = self._play("measure", groups, variables, number=action.number, own=own)
        blocks: dict[str, Block] = {}
        failed: dict[str, str] = {}
        for arm in arms:
            _sort(arm, results.get(arm), blocks, failed)
        control: dict[str, Block] = {}
        for group in ("control_before", "control_after"):
            _sort(group, results.get(f"{group}-{action.control}"), control, failed)
        if lost := [failed.pop(g) for g in ("control_before", "control_after") if g in failed]:
            failed[action.control] = lost[0]
        first, last = (control.get(g) for g in ("control_before", "control_after"))
        return RoundResult(
            (first.p50_ns if first else None, last.p50_ns if last else None), blocks, failed
        )

    def blocks(
        self, arms: list[str], block_seconds: float, addresses: dict[str, str]
    ) -> tuple[dict[str, Block], dict[str, str]]:
        """One block of each, at the same time; and why there is none."""
        said = self.run({a: self.command(block_seconds, addresses.get(a)) for a in arms})
        blocks: dict[str, Block] = {}
        failed: dict[str, str] = {}
        for arm, record in said.items():
            if isinstance(record, str):
                failed[arm] = record
            else:
                _sort(arm, {"rc": 0, "stdout": json.dumps(record)}, blocks, failed)
        return blocks, failed

    def keep(self, arms: list[str], seconds: int) -> dict[str, str]:
        results = self._play("keep", {"all": arms}, {"minutes": seconds // 60, "timer": TIMER})
        return {arm: why(results.get(arm)) for arm in arms if not good(results.get(arm))}

    def playbook(self, path: Path, arms: list[str]) -> dict[str, str]:
        """Runs a playbook of the user's; why it failed, by arm."""
        results = self._play(path.stem, {"all": arms}, {}, path)
        return {arm: why(results.get(arm)) for arm in arms if not good(results.get(arm))}

    def run(self, commands: dict[str, str]) -> dict[str, dict | str]:
        """The JSON that each host's command prints, or why there is none."""
        own = {arm: {"command": command} for arm, command in commands.items()}
        results = self._play("command", {"all": list(commands)}, {}, own=own)
        found: dict[str, dict | str] = {}
        for arm in commands:
            result = results.get(arm)
            try:
                told = result["stdout"] if result is not None and good(result) else None
                found[arm] = why(result) if told is None else json.loads(told)
            except (ValueError, KeyError, TypeError) as error:
                found[arm] = f"the command printed no JSON: {error}"
        return found

    def _block(self, seconds: float, near: str | None) -> str:
        """A block to the nearest address, or one to each: lines of the address and its record."""
        found = self.config.targets()
        if near or len(found) == 1:
            return self.command(seconds, near)
        # An address that this place can't reach is no reason to drop the place.
        each = " ".join(
            f"echo {shlex.quote(MARK + a)}; {self.command(seconds, a)}; "
            "case $? in 0|3) ok=1;; esac;"
            for a in found
        )
        return f"ok=; {each} [ $ok ]"

    def command(self, block_seconds: float, address: str | None = None) -> str:
        """One block: fresh connections, one message in flight on each, or one probe at a time."""
        config = self.config
        settings = {
            "exchange.start": "false", "runs": 1, "seconds": round(0.8 * block_seconds, 3),
            "warm_up_seconds": round(0.2 * block_seconds, 3), "hiccup_seconds": 0,
            **OF_SCENARIO[config.scenario](config.connections),
        }  # fmt: skip
        words = [f"{config.install_dir}/tickpath", "run", config.scenario, "--json", "--quiet"]
        words += ["--out", f"{config.install_dir}/runs"]
        words += ["--connect", address or config.targets()[0]]
        for pair in (*(f"{key}={value}" for key, value in settings.items()), *config.set):
            words += ["--set", pair]
        return shlex.join(words)

    # --- Ansible --------------------------------------------------------------------------------

    def _play(
        self,
        name: str,
        groups: dict[str, list[str]],
        variables: dict[str, Any],
        playbook: Path | None = None,
        number: int = 0,
        own: dict[str, dict[str, str]] | None = None,
    ) -> dict[str, dict]:
        """Results by arm; of the control groups by GROUP-ARM. An absent one never answered."""
        step = self.directory / (f"round-{number:04}" if number else name)
        shutil.rmtree(step, ignore_errors=True)  # of a controller that died
        step.mkdir(parents=True)
        inventory = step / "inventory.json"
        inventory.write_text(json.dumps(self._inventory(groups, own or {}), indent=1))
        ours = resources.files("tickpath_cloud").joinpath("playbooks", f"{name}.yml")
        status, _, found = play(
            playbook or Path(str(ours)), inventory, variables, self.directory, step / "results",
            self._sockets, tell=self.tell if name == "settle" else None,
        )  # fmt: skip
        if status not in PLAYED:
            raise CloudError(
                f"ansible-playbook ended with {status}: {self.directory / 'ansible.log'} says why. "
                f"Continue with `hunt --resume {shlex.quote(str(self.directory))}`"
            )
        return found

    def _inventory(self, groups: dict[str, list[str]], own: dict[str, dict[str, str]]) -> dict:
        addresses = self.cloud.addresses()
        inventory: dict[str, Any] = {"all": {"children": {}, "vars": self._variables()}}
        for group, arms in groups.items():
            hosts = {
                (arm if group in ("all", "arms") else f"{group}-{arm}"): {
                    "ansible_host": addresses[arm],
                    **own.get(arm, {}),
                }
                for arm in arms
                if arm in addresses  # one that is gone gets no result
            }
            if group == "all":
                inventory["all"]["hosts"] = hosts
            else:
                inventory["all"]["children"][group] = {"hosts": hosts}
        return inventory

    def _variables(self) -> dict[str, Any]:
        return {
            "ansible_user": self.config.ssh_user,
            "ansible_port": self.config.ssh_port,
            "ansible_ssh_private_key_file": str(Path(self.config.ssh_key).expanduser()),
            "ansible_python_interpreter": "/usr/bin/python3",
        }


def _sort(name: str, result: dict | None, blocks: dict[str, Block], failed: dict[str, str]) -> None:
    """A host's result is a block, or the reason why there is none."""
    if result is None or not good(result):
        failed[name] = why(result)
        return
    _, *of_several = result["stdout"].split(MARK)
    parts = [part.partition("\n") for part in of_several] or [("", "", result["stdout"])]
    found: list[Block] = []
    for address, _, printed in parts:
        try:
            main = parse_record(json.loads(printed), name).main
        except (CloudError, ValueError, KeyError) as error:
            failed[name] = f"{address}: {error}" if of_several else str(error)
            continue
        p99 = None if main.p99_ns is None else main.p99_ns / 1000
        found.append(Block(main.p50_ns, p99, main.count, address.strip()))
    if found:
        failed.pop(name, None)
        blocks[name] = min(found, key=lambda block: block.p50_ns)
