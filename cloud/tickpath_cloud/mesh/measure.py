"""Measures a mesh through the collection tickpath.fleet: prepare, rounds, rounds again, end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickpath_cloud.errors import CloudError
from tickpath_cloud.fleet.measure import COLLECTION, Fleet
from tickpath_cloud.fleet.measure import Settings as FleetSettings
from tickpath_cloud.mesh import timetable, ways
from tickpath_cloud.mesh.timetable import Pair, Round
from tickpath_cloud.mesh.ways import Ways
from tickpath_cloud.playbook import FORKS, Tell, good, listen, why
from tickpath_cloud.records import Series, parse_record

PREPARE, ROUNDS, END = (
    Path(f"playbooks/{name}.yml") for name in ("mesh", "mesh_rounds", "mesh_end")
)
HOSTS_MAX = FORKS  # all must measure at the same time
SECONDS_MAX = 3600.0  # of all rounds
WARM_UP_SECONDS = 0.2
AROUND_SECONDS = 1.5  # of a turn on top of its measurement: a process starts and ends
LATE_SECONDS = 0.5  # that a host may be late, or its clock apart, and still measure
LEAD_SECONDS, LEAD_SECONDS_OF_HOST = 5.0, 0.2  # until the first round: Ansible reaches hosts
END_SECONDS = 600  # after the last planned round an echo ends by itself
SCENARIO = "net-one-way"
# As many requests whatever the distance: one after the other, a far pair would have too few for a
# p50. Each is a probe of the clocks, too.
OURS = (
    "exchange.start=false", "runs=1", "hiccup_seconds=0", "one_way=bracket",
    "load.rate_per_second=1000",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    inventory: Path
    scope: str = timetable.ALL
    hub: str = ""
    seconds: float = 1.0  # of each measurement
    again: int = 2  # how often pairs without figures are tried again
    seed: int = 1
    set: tuple[str, ...] = ()
    binary: str = ""  # to copy; empty: it is on the hosts
    collection: Path = COLLECTION
    answer_seconds: int = 20

    def __post_init__(self) -> None:
        if not 0.1 <= self.seconds <= 60:
            raise CloudError(f"--seconds {self.seconds:g}: write 0.1 to 60")
        if not 0 <= self.again <= 10:
            raise CloudError(f"--again {self.again}: write 0 to 10")
        if (self.scope == timetable.ALL) != (not self.hub):
            raise CloudError("--hub names the one end of a fan: use it with --scope fan-out or "
                             "fan-in, and only there")  # fmt: skip

    @property
    def turn_seconds(self) -> float:
        """After this long a measurement is ended."""
        return WARM_UP_SECONDS + self.seconds + AROUND_SECONDS

    @property
    def slot_seconds(self) -> float:
        """From one round to the next."""
        return self.turn_seconds + LATE_SECONDS


@dataclass(frozen=True)
class Host:
    name: str
    address: str = ""
    region: str = ""
    zone: str = ""
    placement_group: str = ""
    why: str = ""  # it was not measured


@dataclass(frozen=True)
class Measured:
    """One direction of a pair."""

    start: str
    to: str
    at: float | None = None  # seconds since the epoch by the host's clock
    series: Series | None = None
    why: str = ""
    late: bool = False
    ways: Ways | None = None
    ways_why: str = ""


@dataclass(frozen=True)
class Mesh:
    settings: Settings
    hosts: list[Host]
    pairs: list[Measured]
    rounds: int  # planned
    rounds_again: int

    def alive(self) -> list[Host]:
        return [host for host in self.hosts if not host.why]


class Runner:
    def __init__(self, settings: Settings, directory: Path, tell: Tell) -> None:
        self.settings, self.tell = settings, tell
        held = FleetSettings(
            inventory=settings.inventory, scenario=SCENARIO, binary=settings.binary,
            collection=settings.collection, answer_seconds=settings.answer_seconds,
        )  # fmt: skip
        self.fleet = Fleet(held, directory, listen)
        self.directory = self.fleet.directory
        self.hosts: dict[str, Host] = {}

    def run(self) -> Mesh:
        """Hosts that fail are part of the result; raises if fewer than two answer."""
        results = self.directory / "results"
        (results / "timetable").mkdir(parents=True)
        found, _ = self.fleet.play(
            PREPARE, [], {"tickpath_fleet_mesh_seconds_max": int(2 * SECONDS_MAX + END_SECONDS)}
        )
        self.hosts = {name: _host(name, found[name]) for name in sorted(found)}
        for host in self.hosts.values():
            if host.why:
                self.tell(f"{host.name}: left out: {host.why}")
        try:
            return self._rounds()
        finally:
            if self._alive():
                self.fleet.play(END, self._limit())

    def _rounds(self) -> Mesh:
        asked, alive = self.settings, self._alive()
        if len(alive) < 2:
            raise CloudError(f"{len(alive)} hosts answer, and a mesh takes two: see "
                             f"{self.directory}/ansible.log")  # fmt: skip
        if len(alive) > HOSTS_MAX:
            raise CloudError(f"{len(alive)} hosts answer; a mesh takes at most {HOSTS_MAX}, "
                             "because Ansible reaches that many at once")  # fmt: skip
        planned = timetable.rounds(alive, asked.scope, asked.hub, asked.seed)
        wanted = [pair for pairs in planned for pair in pairs]
        done: dict[Pair, Measured] = {}
        more = 0
        self._play(planned, done)
        for _ in range(asked.again):
            there = set(self._alive())
            left = [p for p in wanted if done[p].series is None and there.issuperset(p)]
            if not left:
                break
            rounds = timetable.again(left)
            self.tell(f"{len(left)} pairs have no figures: {len(rounds)} rounds more")
            more += len(rounds)
            self._play(rounds, done)
        return Mesh(asked, list(self.hosts.values()), [done[p] for p in wanted], len(planned), more)

    def _play(self, rounds: list[Round], done: dict[Pair, Measured]) -> None:
        asked, alive = self.settings, self._alive()
        seconds = len(rounds) * asked.slot_seconds
        if seconds > SECONDS_MAX:
            raise CloudError(
                f"{len(rounds)} rounds take {seconds:.0f} s, the limit is {SECONDS_MAX:.0f} s: "
                "lower --seconds, or measure a fan"
            )
        self.tell(f"{len(rounds)} rounds of {asked.slot_seconds:.1f} s with {len(alive)} hosts")
        for name in alive:
            file = self.directory / "results" / "timetable" / f"{name}.json"
            file.write_text(json.dumps(self._of_host(rounds, name)))
        lead = LEAD_SECONDS + LEAD_SECONDS_OF_HOST * len(alive)
        found, _ = self.fleet.play(
            ROUNDS, self._limit(), {"tickpath_fleet_mesh_lead_seconds": round(lead)}
        )
        for name in alive:
            turns = timetable.turns(rounds, name)
            result = found.get(name)
            if not good(result):
                self.hosts[name] = Host(**{**vars(self.hosts[name]), "why": why(result)})
                self.tell(f"{name}: left out: {why(result)}")
            for measured in _results(name, turns, result):
                done[name, measured.to] = measured

    def _of_host(self, rounds: list[Round], name: str) -> dict[str, Any]:
        asked = self.settings
        pairs = (f"seconds={asked.seconds:g}", f"warm_up_seconds={WARM_UP_SECONDS:g}")
        return {
            "scenario": SCENARIO,
            "set": [*OURS, *pairs, *asked.set],
            "slot_seconds": asked.slot_seconds,
            "turn_seconds": asked.turn_seconds,
            "late_seconds": LATE_SECONDS,
            "turns": [
                {"round": number, "to": to, "address": self.hosts[to].address}
                for number, to in timetable.turns(rounds, name)
            ],
        }

    def _alive(self) -> list[str]:
        return [name for name, host in self.hosts.items() if not host.why]

    def _limit(self) -> list[str]:
        """Ansible's argument: it waits for no host that is dead already."""
        file = self.directory / "results" / "hosts.txt"
        file.write_text("\n".join(self._alive()))
        return ["--limit", f"@{self.fleet.directory / 'results' / 'hosts.txt'}"]


def _host(name: str, result: dict) -> Host:
    if not good(result):
        return Host(name, why=why(result))
    try:
        said = json.loads(result["msg"]) if isinstance(result["msg"], str) else result["msg"]
        return Host(name, **{key: str(value) for key, value in said.items()})
    except (KeyError, TypeError, ValueError) as error:
        return Host(name, why=f"it did not say its address: {error!r}")


def _results(name: str, turns: list[tuple[int, str]], result: dict | None) -> Iterator[Measured]:
    """One of each turn, also where the host said nothing about it."""
    held: dict[str, dict] = {}
    reason = "" if good(result) else why(result)
    if result is not None and not reason:
        try:
            held = {turn["to"]: turn for turn in json.loads(result["stdout"])["turns"]}
        except (KeyError, TypeError, ValueError) as error:
            reason = f"its timetable's end can't be read: {error}"
    for _, to in turns:
        turn = held.get(to, {"why": reason or "its host said nothing about it"})
        yield _measured(name, to, turn)


def _measured(name: str, to: str, turn: dict[str, Any]) -> Measured:
    at, late = turn.get("at"), bool(turn.get("late"))
    if "record" not in turn:
        return Measured(name, to, at, why=str(turn["why"]), late=late)
    try:
        series = parse_record(turn["record"], f"{name} to {to}", ways.ROUND_TRIP).main
    except (CloudError, KeyError, TypeError) as error:
        return Measured(name, to, at, why=str(error))
    try:
        return Measured(name, to, at, series, ways=ways.parse(turn["record"], f"{name} to {to}"))
    except CloudError as error:
        return Measured(name, to, at, series, ways_why=str(error))
