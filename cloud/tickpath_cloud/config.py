"""The hunt's file, hunt.toml: what to hunt for, where, and with how much money."""

from __future__ import annotations

import ipaddress
import tomllib
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from tickpath_cloud.errors import CloudError

T = TypeVar("T")


@dataclass(frozen=True)
class Config:
    name: str
    region: str
    subnets: tuple[str, ...]
    image: str
    target: str  # HOST:PORT
    budget: Decimal  # US dollars
    instance_types: tuple[str, ...]  # cheap ones first
    ssh_from: str  # CIDR of the machine that hunts
    key_name: str | None = None
    ssh_user: str = "ubuntu"
    ssh_key: str = "~/.ssh/id_ed25519"
    ssh_port: int = 22
    tickpath: str = "tickpath"  # the binary that the hosts get
    install_dir: str = "/tmp/tickpath"  # on the hosts; ssh_user may write there
    spot: bool = False
    arms: int = 20
    shared_groups: tuple[str, ...] = ()
    keep: int = 2
    finalists: int = 6
    halving_rounds: int = 4
    looks: tuple[int, ...] = (10, 20, 40)
    fresh_rounds: int = 16
    block_seconds: float = 10.0
    connections: int = 8
    probes_at_once: int = 2
    indifference: float = 0.03
    failures_max: int = 2  # blocks of one arm in a row
    void_rounds_max: int = 6
    p99_limit_us: float | None = None
    ttl_hours: float = 4.0
    keep_hours: float = 24.0
    seed: int = 1

    def __post_init__(self) -> None:
        network = ipaddress.ip_network(self.ssh_from, strict=False)
        if network.prefixlen == 0:
            raise CloudError(f"ssh_from is {self.ssh_from}: name your own address, not everybody's")
        host, _, port = self.target.rpartition(":")
        if not host or not port.isdigit():
            raise CloudError(f"target is {self.target!r}: write HOST:PORT")
        if not self.subnets:
            raise CloudError("subnets is empty: name one subnet for each zone to hunt in")


def read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CloudError(f"cannot read {path}: {error}") from error


def load(path: Path) -> Config:
    """All but the tables: those are of other verbs."""
    data = {key: entry for key, entry in read(path).items() if not isinstance(entry, dict)}
    return settings_of(Config, data, path)


def settings_of(kind: type[T], data: dict[str, Any], path: Path) -> T:
    """A dataclass from a TOML table; lists become tuples, the budget an exact decimal."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(data) - known):
        names = ", ".join(sorted(known))
        raise CloudError(f"{path}: unknown key {unknown[0]!r}; known are {names}")
    data = {key: tuple(e) if isinstance(e, list) else e for key, e in data.items()}
    if "budget" in data:
        data["budget"] = Decimal(str(data["budget"]))
    try:
        return kind(**data)
    except TypeError as error:
        raise CloudError(f"{path}: {error}") from error
    except ValueError as error:
        hint = "write a network such as 198.51.100.7/32"
        raise CloudError(f"{path}: {error}; {hint}") from error
