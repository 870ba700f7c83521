"""Launches the cells, measures them phase by phase, removes everything.

Each phase stands in an append-only journal before the next begins: a controller that died goes on
with the phase that it was in.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from tickpath_cloud import ending, placement
from tickpath_cloud.config import Config
from tickpath_cloud.ec2 import EXCHANGE, Ec2
from tickpath_cloud.errors import CloudError
from tickpath_cloud.hunt.decide import Launch
from tickpath_cloud.hunt.run import NoCapacity
from tickpath_cloud.hunt.settings import Candidate, Settings
from tickpath_cloud.journal import Journal
from tickpath_cloud.launches import FILE as LAUNCHES
from tickpath_cloud.launches import Launches
from tickpath_cloud.matrix.cells import (
    Cell,
    Features,
    Matrix,
    cells,
    check,
    features,
    is_host,
    of_cell,
    rejection,
)
from tickpath_cloud.records import parse_record

PORT = 8888
LAST_PHASE = "noise"
Change = dict[str, Any]


@dataclass
class Row:
    cell: Cell
    features: Features
    why: str = ""  # there is no figure
    p50_us: float | None = None
    interval_us: list[float] | None = None
    p99_us: float | None = None
    lost: float | None = None  # share of the cores' time that others took
    gap_us: float | None = None  # the longest


class Hosts(Protocol):
    def settle(self, arms: list[str]) -> tuple[list[str], dict[str, str]]: ...
    def playbook(self, path: Path, arms: list[str]) -> dict[str, str]: ...
    def run(self, commands: dict[str, str]) -> dict[str, dict | str]: ...


class Measuring:
    """One matrix, begun or resumed."""

    def __init__(
        self, config: Config, matrix: Matrix, name: str, hosts: Hosts,
        clock: Callable[[], float], journal: Journal,
    ) -> None:  # fmt: skip
        self.config, self.matrix, self.hosts = config, matrix, hosts
        self.clock, self.journal = clock, journal
        plan, known = cells(config, matrix), features(config, matrix)
        check(config, matrix, plan, known)
        self.rows = {cell.name: Row(cell, of_cell(cell, known)) for cell in plan}
        launches = Launches(journal.path.with_name(LAUNCHES))
        self.cloud = Ec2(config, name, clock, launches=launches)
        self.cloud.inside_port = PORT if matrix.pair else None
        if not journal.events:
            self._note({"event": "planned", "settings": {"hunt": name}})
        self.done = {e["name"]: e["rows"] for e in journal.events if e["event"] == "phase"}

    def run(self) -> list[Row]:
        if not any(event["event"] == "closed" for event in self.journal.events):
            try:
                self._phases()
            except Exception as error:
                # A killed controller is resumed; one that can't go on cleans up.
                if not ending.keeps(error):
                    self._close_after(error)
                raise
            self._close()
        elif LAST_PHASE in self.done:
            self._phases()  # from the journal alone
        else:
            raise CloudError(
                f"the matrix in {self.journal.path.parent} ended with an error, and everything was "
                "removed then: begin anew with `matrix FILE --apply`"
            )
        return list(self.rows.values())

    def _note(self, event: Change) -> None:
        self.journal.append({**event, "at": self.clock()})

    def _close(self) -> None:
        left = self.cloud.destroy()
        if left:
            raise CloudError(f"still there: {', '.join(left)}; use `tickpath cloud sweep`")
        self._note({"event": "closed"})

    def _close_after(self, error: Exception) -> None:
        """The first error is the one to tell."""
        try:
            self._close()
        except CloudError as another:
            raise CloudError(f"{error}; and removing everything failed: {another}") from error

    def _phase(self, name: str, act: Callable[[], dict[str, Change]]) -> None:
        """Adds a phase's findings to the rows; they come from the journal if it was done before."""
        if name not in self.done:
            found = act()
            self._note({"event": "phase", "name": name, "rows": found})
            self.done[name] = found
        for cell, change in self.done[name].items():
            for key, value in change.items():
                setattr(self.rows[cell], key, value)

    def _phases(self) -> None:
        for row in self.rows.values():
            self._phase(f"launch {row.cell.name}", partial(self._launch, row))
        self._phase("settle", self._settle)
        for tuning, playbook in self.matrix.tunings.items():
            if playbook:
                self._phase(f"tune {tuning}", partial(self._tune, tuning, playbook))
        if self.matrix.pair:
            self._phase("exchanges", self._exchanges)
        self._phase("run", self._run)
        self._phase(LAST_PHASE, self._noise)

    # --- launch ---------------------------------------------------------------------------------

    def _launch(self, row: Row) -> dict[str, Change]:
        cell = row.cell
        if why := rejection(self.matrix, cell, row.features):
            return {cell.name: {"why": why}}
        zone = self.cloud.subnets()[0]["AvailabilityZoneId"]
        kind = placement.HOST if is_host(cell.placement) else cell.placement
        candidate = Candidate(cell.type, placement.markets(kind)[-1], row.features.hourly)
        settings = Settings(
            hunt=self.cloud.hunt, arms=max(len(self.rows), 2), keep=1, candidates=(candidate,),
            budget=self.config.budget, ttl_seconds=int(self.config.ttl_hours * 3600),
            dedicated_hosts=tuple(self.matrix.hosts),
        )  # fmt: skip
        self.cloud.config = replace(self.config, image=self.matrix.images[cell.image])
        self.cloud.ena = self.matrix.ena[cell.ena]
        try:
            for second, name in enumerate(self._hosts_of(cell.name)):
                place = self._place(cell, second)
                self.cloud.launch(settings, Launch(name, candidate, zone, 0, kind, place))
        except NoCapacity as rejected:
            return {cell.name: {"why": str(rejected)}}
        return {}

    def _place(self, cell: Cell, second: int) -> int:
        """A spread or partition group of its own, the hosts of a pair in two partitions."""
        if is_host(cell.placement):
            return self.matrix.hosts.index(cell.placement)
        return placement.GROUP_MAX * list(self.rows).index(cell.name) + second

    def _hosts_of(self, cell: str) -> list[str]:
        return [cell, f"{cell}{EXCHANGE}"] if self.matrix.pair else [cell]

    def _good(self) -> list[str]:
        return [name for name, row in self.rows.items() if not row.why]

    def _both(self, names: list[str]) -> list[str]:
        return [host for name in names for host in self._hosts_of(name)]

    # --- measure --------------------------------------------------------------------------------

    def _settle(self) -> dict[str, Change]:
        """Hosts that did not settle may have no timer: their cells end now, not with the matrix."""
        failed = _failures(self.hosts.settle(self._both(self._good()))[1])
        if failed:
            self.cloud.release(self._both(list(failed)))
        return failed

    def _tune(self, tuning: str, playbook: str) -> dict[str, Change]:
        tuned = [name for name in self._good() if self.rows[name].cell.tuning == tuning]
        return _failures(self.hosts.playbook(Path(playbook), self._both(tuned))) if tuned else {}

    def _exchanges(self) -> dict[str, Change]:
        """Each ends itself with its host, or after the time to live."""
        where = self.config.install_dir
        seconds = int(self.config.ttl_hours * 3600)
        command = (
            f"cd {shlex.quote(where)} && (nohup timeout {seconds} ./tickpath exchange --any-token "
            f"--listen 0.0.0.0:{PORT} </dev/null >exchange.out 2>exchange.err &) && sleep 2 && "
            "head -n 1 exchange.out"
        )
        said = self.hosts.run({f"{name}{EXCHANGE}": command for name in self._good()})
        return _failures({host: why for host, why in said.items() if isinstance(why, str)})

    def _run(self) -> dict[str, Change]:
        addresses = self.cloud.private_addresses() if self.matrix.pair else {}
        commands = {}
        for name in self._good():
            words = ["run", self.matrix.scenario, "--json", "--quiet"]
            for pair in self.matrix.set:
                words += ["--set", pair]
            if self.matrix.pair:
                words += ["--set", "exchange.start=false"]
                words += ["--connect", f"{addresses.get(f'{name}{EXCHANGE}', 'gone')}:{PORT}"]
            commands[name] = self._tickpath(words)
        return {name: _figures(name, run) for name, run in self.hosts.run(commands).items()}

    def _noise(self) -> dict[str, Change]:
        words = ["noise", "--json", "--quiet", "--seconds", str(self.matrix.noise_seconds)]
        said = self.hosts.run({name: self._tickpath(words) for name in self._good()})
        return {name: _disturbance(run) for name, run in said.items() if isinstance(run, dict)}

    def _tickpath(self, words: list[str]) -> str:
        where = self.config.install_dir
        return shlex.join([f"{where}/tickpath", *words, "--out", f"{where}/runs"])


def measure(
    config: Config, matrix: Matrix, name: str, hosts: Hosts, clock: Callable[[], float],
    journal: Journal,
) -> list[Row]:  # fmt: skip
    return Measuring(config, matrix, name, hosts, clock, journal).run()


def _failures(by_host: dict[str, str]) -> dict[str, Change]:
    """A cell whose exchange failed has failed."""
    return {host.removesuffix(EXCHANGE): {"why": why} for host, why in by_host.items()}


def _figures(name: str, run: dict | str) -> Change:
    if isinstance(run, str):
        return {"why": run}
    try:
        main = parse_record(run, name).main
    except CloudError as error:
        return {"why": str(error)}
    found: Change = {"p50_us": main.p50_ns / 1000}
    if main.p99_ns is not None:
        found["p99_us"] = main.p99_ns / 1000
    if main.p50_interval_ns:
        found["interval_us"] = [end / 1000 for end in main.p50_interval_ns]
    return found


def _disturbance(run: dict[str, Any]) -> Change:
    cores = (run.get("noise") or {}).get("cores") or []
    if not cores:
        return {}
    seconds = sum(core["seconds"] for core in cores)
    return {
        "lost": sum(core["lost_ns"] for core in cores) / 1e9 / seconds,
        "gap_us": max(core["max_ns"] for core in cores) / 1000,
    }
