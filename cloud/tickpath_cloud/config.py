"""The hunt's file, hunt.toml: what to hunt for, where, and with how much money."""

from __future__ import annotations

import ipaddress
import tomllib
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from tickpath_cloud import placement
from tickpath_cloud.errors import CloudError

T = TypeVar("T")
WRITE = {  # pydantic's kinds of mistakes
    "tuple_type": "a list", "list_type": "a list", "dict_type": "a table",
    "string_type": "text in quotes", "bool_parsing": "true or false", "bool_type": "true or false",
    "int_type": "a whole number", "int_parsing": "a whole number",
    "int_from_float": "a whole number", "float_type": "a number", "float_parsing": "a number",
    "decimal_type": "a number", "decimal_parsing": "a number",
}  # fmt: skip
SCENARIOS = ("ping-pong", "endpoint")  # of a block
REACH = ("public", "private")
OWN_KEYS = ("runs", "seconds", "warm_up_seconds", "exchange.start")  # the hunt sets them
RATE, RATE_DEFAULT = "endpoint.probes_per_second", "20"  # of scenarios/endpoint.toml
GONE = {"halving_rounds": "a hunt screens waves of arms now: remove it, or see wave and gain_min"}
P50_PROBES = 30  # planned; a series with fewer than 20 values has no p50
P99_PROBES = 1000  # a series with fewer values has no p99


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
    addresses: tuple[str, ...] = ()  # of the target, if several are hunted for at once
    key_name: str | None = None
    ssh_user: str = "ubuntu"
    ssh_key: str = "~/.ssh/id_ed25519"
    ssh_port: int = 22
    reach: str = "public"  # address of a host that ssh is told; "private": this machine reaches it
    tickpath: str = "tickpath"  # the binary that the hosts get
    install_dir: str = "/tmp/tickpath"  # on the hosts; ssh_user may write there
    spot: bool = False
    arms: int = 500  # at most
    placements: tuple[str, ...] = (placement.CLUSTER,)  # of arms, in turn
    shared_groups: tuple[str, ...] = ()
    dedicated_hosts: tuple[str, ...] = ()  # that the account has allocated: an arm each
    keep: int = 2
    wave: int = 32  # arms that are launched and screened together
    finalists: int = 4
    gain_min: float = 0.001  # expected relative gain of a further wave that is worth its money
    spread: float | None = None  # between places; None: as your own hunts found, or published
    looks: tuple[int, ...] = (12, 24, 36)
    fresh_rounds: int = 24
    scenario: str = "ping-pong"  # of a block; "endpoint": the target is no tickpath exchange
    set: tuple[str, ...] = ()  # KEY=VALUE, for the scenario
    block_seconds: float = 10.0
    screen_seconds: float = 2.0  # of a block while waves are screened
    round_every_seconds: float = 60.0  # from the confirmation on
    connections: int = 8
    probes_at_once: int = 4
    probes_max: int | None = None  # that run at once
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
        if len(set(self.addresses)) != len(self.addresses) or len(self.addresses) == 1:
            raise CloudError(f"addresses is {list(self.addresses)}: write two or more different "
                             "ones, or name one as target")  # fmt: skip
        for address in self.addresses:
            ipaddress.ip_address(address)
        keys = [str(pair).partition("=")[0] for pair in self.set]
        if self.addresses and "tls=true" in self.set and "exchange.tls_name" not in keys:
            raise CloudError(f"addresses with TLS need the name in the certificate: add "
                             f'"exchange.tls_name={host}" to set')  # fmt: skip
        if self.reach not in REACH:
            raise CloudError(f"reach is {self.reach!r}: write {' or '.join(REACH)}")
        if not self.subnets:
            raise CloudError("subnets is empty: name one subnet for each zone to hunt in")
        placement.check("placements", self.placements)
        self._check_scenario()

    def targets(self) -> tuple[str, ...]:
        """HOST:PORT of each address; the control probe measures to the first."""
        if not self.addresses:
            return (self.target,)
        port = self.target.rpartition(":")[2]
        return tuple(f"[{a}]:{port}" if ":" in a else f"{a}:{port}" for a in self.addresses)

    def _check_scenario(self) -> None:
        if self.scenario not in SCENARIOS:
            raise CloudError(f"scenario is {self.scenario!r}: a hunt runs {' or '.join(SCENARIOS)}")
        for pair in self.set:
            key, equals, _ = str(pair).partition("=")
            if not key or not equals:
                raise CloudError(f"set has {pair!r}: write KEY=VALUE")
            if key in OWN_KEYS:
                raise CloudError(f"set has {pair!r}: the hunt sets {key}; change block_seconds")
        if self.scenario == "endpoint":
            self._check_probes()

    def _check_probes(self) -> None:
        """Without a p50 or p99 no arm can win, which would show after the money is spent."""
        rate = dict(pair.split("=", 1) for pair in self.set).get(RATE, RATE_DEFAULT)
        try:
            a_second = 0.8 * float(rate)
        except ValueError:
            raise CloudError(f"set has '{RATE}={rate}': write a number") from None
        if (screened := a_second * self.screen_seconds) < P50_PROBES:
            raise CloudError(
                f"screen_seconds is {self.screen_seconds:g}, but such a block makes at most "
                f"{screened:.0f} probes and {P50_PROBES} are needed: raise screen_seconds or {RATE}"
            )
        probes = a_second * self.block_seconds
        if self.p99_limit_us is not None and probes < P99_PROBES:
            raise CloudError(
                f"p99_limit_us is {self.p99_limit_us:g}, but a block makes at most {probes:.0f} "
                f"probes and a p99 takes {P99_PROBES}: raise block_seconds or {RATE} (at most "
                "100), or remove p99_limit_us"
            )


def read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CloudError(f"cannot read {path}: {error}") from error


def load(path: Path) -> Config:
    """All but the tables: those are of other verbs."""
    data = {key: entry for key, entry in read(path).items() if not isinstance(entry, dict)}
    return settings_of(Config, data, path)


def settings_of(kind: type[T], data: dict[str, Any], path: Path | str) -> T:
    """A dataclass from a TOML table; its types are checked, and each mistake names its key."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    for key in sorted(set(data) & set(GONE)):
        raise CloudError(f"{path}: {key} is no key any more: {GONE[key]}")
    if unknown := sorted(set(data) - known):
        names = ", ".join(sorted(known))
        raise CloudError(f"{path}: unknown key {unknown[0]!r}; known are {names}")
    needed = [f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]  # type: ignore[arg-type]
    if missing := [name for name in needed if name not in data]:
        raise CloudError(f"{path}: {missing[0]} is missing: needed are {', '.join(needed)}")
    try:
        return TypeAdapter(kind).validate_python(data)
    except ValidationError as error:
        raise CloudError(f"{path}: {_mistake(error)}") from error


def _mistake(error: ValidationError) -> str:
    """The first one, by its key: others may follow from it."""
    first = error.errors()[0]
    said = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:  # from __post_init__, where only addresses and networks are parsed
        return f"{said}; write a network such as 198.51.100.7/32"
    key, kind = ".".join(map(str, first["loc"])), WRITE.get(first["type"])
    return f"{key} is {first['input']!r}: {f'write {kind}' if kind else said}"
