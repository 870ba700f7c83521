"""One scenario over all tiers at the same time, at each load; the table and the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tickpath_cloud.config import read, settings_of
from tickpath_cloud.errors import CloudError
from tickpath_cloud.fleet.measure import Fleet, Line
from tickpath_cloud.fleet.measure import Settings as FleetSettings

TIERS_MAX = 25  # at the same time: Ansible's forks
COLUMNS = ("p50", "p90", "p99", "p99_9")
# Names of a tier -> what the documents say of it (001, 000). There are no other public figures.
DOCUMENTS = {
    "shared-group": "001: below 74 us; 98 % below edge and 41 % below peering (p99, high rate)",
    "peering": "001: the base of the 41 %; 000: a common group took 35 % off its TCP p50",
    "endpoint": "no public figure that can be trusted; more hops than peering (000)",
    "edge": "001: the base of the 98 %",
}


@dataclass(frozen=True)
class Tier:
    name: str
    host: str  # that measures: reached by ssh
    connect: str  # HOST:PORT of the tier's entry
    set: tuple[str, ...] = ()  # such as tls=true


@dataclass(frozen=True)
class Settings:
    """tiers.toml."""

    tier: tuple[dict[str, Any], ...]
    load: dict[str, list[str]]  # name -> settings of the scenario: low and high rate
    scenario: str = "ping-pong"
    set: tuple[str, ...] = ()
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
    load: str
    tier: str
    figures: dict[str, float | None] | None  # ns
    count: int = 0
    why: str = ""


def load(path: Path) -> Settings:
    settings = settings_of(Settings, read(path), path)
    names = [tier.name for tier in settings.tiers]
    if not 1 < len(set(names)) == len(names) <= TIERS_MAX:
        raise CloudError(f"{path}: name 2 to {TIERS_MAX} different tiers, each as a [[tier]]")
    if not settings.load:
        raise CloudError(f"{path}: [load] is empty: name at least one, such as low = []")
    return settings


def measure(
    settings: Settings, fleet: FleetSettings, directory: Path, show: Callable[[str], None]
) -> list[Row]:
    """One load after the other; in each, all tiers at once."""
    directory.mkdir(parents=True, exist_ok=True)
    inventory = directory / "inventory.json"
    inventory.write_text(json.dumps(_inventory(settings), indent=1))
    rows: list[Row] = []
    for name, asked in settings.load.items():
        show(f"load {name}: {len(settings.tiers)} tiers at the same time")
        of_load = replace(
            fleet, inventory=inventory, scenario=settings.scenario,
            set=(*settings.set, *asked), doctor=False,
        )  # fmt: skip
        lines = {line.host: line for line in Fleet(of_load, directory / name, show).measure()}
        rows += [_row(name, tier.name, lines.get(tier.name)) for tier in settings.tiers]
    return rows


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


def _row(load_name: str, tier: str, line: Line | None) -> Row:
    if line is None or line.figures is None or line.why:
        return Row(load_name, tier, None, why=line.why if line else "no result")
    return Row(load_name, tier, line.figures.pooled, line.figures.count)


def table(rows: list[Row]) -> str:
    """Tiers in the order of their medians; the last column is against the fastest of its load."""
    lines = [
        f"{'load':<10} {'tier':<16} {'count':>9} "
        + " ".join(f"{name.replace('_', '.') + ' us':>10}" for name in COLUMNS)
        + f" {'added us':>10}  documents"
    ]
    for load_name in dict.fromkeys(row.load for row in rows):
        measured = sorted(
            (row for row in rows if row.load == load_name and row.figures), key=_p50
        )  # fmt: skip
        for row in measured:
            assert row.figures is not None
            cells = " ".join(f"{_us(row.figures.get(name)):>10}" for name in COLUMNS)
            added = _us(_p50(row) - _p50(measured[0]))
            lines.append(
                f"{load_name:<10} {row.tier:<16} {row.count:>9} {cells} {added:>10}  "
                f"{DOCUMENTS.get(row.tier, '')}".rstrip()
            )
        lines += [
            f"{load_name:<10} {row.tier:<16} FAILED: {row.why}"
            for row in rows
            if row.load == load_name and not row.figures
        ]
    return "\n".join(lines)


def _p50(row: Row) -> float:
    return float((row.figures or {}).get("p50") or 0.0)


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value / 1000:.2f}"
