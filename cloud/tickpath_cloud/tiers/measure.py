"""One scenario over all tiers at the same time, at each load."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tickpath_cloud.config import read, settings_of
from tickpath_cloud.errors import CloudError
from tickpath_cloud.fleet.measure import Fleet, Line
from tickpath_cloud.fleet.measure import Settings as FleetSettings
from tickpath_cloud.records import Series, at_once, windows

NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,60}")
TIERS_MAX = 25  # at the same time: Ansible's forks


@dataclass(frozen=True)
class Tier:
    name: str
    host: str  # that measures: reached by ssh
    connect: str  # HOST:PORT of the tier's entry
    set: tuple[str, ...] = ()  # such as tls=true
    instance: str = ""  # the host's id at AWS: its way to the entry is checked first
    region: str = ""  # of the instance; empty: that of all
    target_region: str = ""  # of the entry, if it is another one


@dataclass(frozen=True)
class Settings:
    """tiers.toml."""

    tier: tuple[dict[str, Any], ...]
    load: dict[str, list[str]]  # name -> settings of the scenario: low and high rate
    scenario: str = "ping-pong"
    set: tuple[str, ...] = ()
    seconds_max: int = 3600  # a run that takes longer is ended
    region: str = ""  # of instances whose tier names none
    ssh_user: str = "ubuntu"
    ssh_port: int = 22
    ssh_key: str = "~/.ssh/id_ed25519"
    path: str = "/var/tmp/tickpath/tickpath"  # of the binary on the hosts
    directory: str = "/var/tmp/tickpath/records"

    @property
    def tiers(self) -> list[Tier]:
        return [settings_of(Tier, dict(entry), Path("[[tier]]")) for entry in self.tier]


@dataclass(frozen=True)
class Row:
    tier: str
    series: Series | None
    why: str = ""  # there is no series


@dataclass(frozen=True)
class Load:
    """The tiers' rows at one load."""

    name: str
    rows: list[Row]
    at_once: float  # share of the measured time in which all tiers were measured, 0 to 1


def load(path: Path) -> Settings:
    settings = settings_of(Settings, read(path), path)
    names = [tier.name for tier in settings.tiers]
    if not 1 < len(set(names)) == len(names) <= TIERS_MAX:
        raise CloudError(f"{path}: name 2 to {TIERS_MAX} different tiers, each as a [[tier]]")
    for name in (*names, *settings.load):
        if not NAME.fullmatch(name):
            raise CloudError(f"{path}: {name!r} names a directory: use letters, digits, _, . and -")
    if not settings.load:
        raise CloudError(f"{path}: [load] is empty: name at least one, such as low = []")
    for tier in settings.tiers:
        if tier.instance and not (tier.region or settings.region):
            raise CloudError(f"{path}: tier {tier.name} has an instance, so name its region")
    return settings


def measure(
    settings: Settings, fleet: FleetSettings, directory: Path, show: Callable[[str], None]
) -> Iterator[Load]:
    """One load after the other; in each, all tiers at once. Goes on where a controller died."""
    directory.mkdir(parents=True, exist_ok=True)
    inventory = directory / "inventory.json"
    inventory.write_text(json.dumps(_inventory(settings), indent=1))
    names = [tier.name for tier in settings.tiers]
    for name, asked in settings.load.items():
        of_load = replace(
            fleet, inventory=inventory, scenario=settings.scenario,
            set=(*settings.set, *asked), doctor=False, seconds_max=settings.seconds_max,
        )  # fmt: skip
        resumed = (directory / name).exists()
        of_all = Fleet(of_load, directory / name, show, resumed)
        lines = of_all.collected(names) if resumed else None
        if lines is None:
            show(f"load {name}: {len(names)} tiers at the same time")
            lines = of_all.measure()
        by_host = {line.host: line for line in lines}
        held = [windows(line.record) for line in lines if line.record]
        rows = [_row(tier, by_host.get(tier)) for tier in names]
        yield Load(name, rows, at_once(held))


def _row(tier: str, line: Line | None) -> Row:
    if line is None or line.figures is None or line.why:
        return Row(tier, None, line.why if line else "no result")
    return Row(tier, line.figures)


def _inventory(settings: Settings) -> dict:
    hosts = {
        tier.name: {
            "ansible_host": tier.host, "tickpath_fleet_connect": tier.connect,
            "tickpath_fleet_set_host": list(tier.set),
        }
        for tier in settings.tiers
    }  # fmt: skip
    variables = {
        "ansible_user": settings.ssh_user, "ansible_port": settings.ssh_port,
        "ansible_ssh_private_key_file": str(Path(settings.ssh_key).expanduser()),
        "ansible_python_interpreter": "/usr/bin/python3",
        "tickpath_fleet_path": settings.path, "tickpath_fleet_directory": settings.directory,
    }  # fmt: skip
    return {"all": {"hosts": hosts, "vars": variables}}
