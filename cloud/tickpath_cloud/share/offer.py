"""The offer: what an owner gives a receiver, as a file. It holds no secret and grants nothing.

Everything that it promises is enforced elsewhere: by RAM, and by the owner's reconciler.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tickpath_cloud import tags
from tickpath_cloud.errors import CloudError

SCHEMA = 1


@dataclass(frozen=True)
class Offer:
    grant: str
    region: str
    owner: str  # account
    owner_vpc: str
    owner_cidrs: tuple[str, ...]
    share: str  # ARN of the resource share
    group: str  # id: a name means nothing in another account
    group_arn: str
    zone_id: str  # names of zones differ between accounts
    account: str  # the receiver's
    principal: str
    cidr: str  # of the receiver's VPC, all of it
    ports: tuple[int, ...]  # of the gateways, TCP
    feed_ports: tuple[int, ...]  # the owner sends UDP to these
    actions: tuple[str, ...]  # on the placement group
    expires: str

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1) + "\n")

    def expired(self, now: float) -> bool:
        return tags.seconds(self.expires) <= now


def read(path: Path) -> Offer:
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise CloudError(f"cannot read the offer {path}: {error}") from error
    schema = data.pop("schema", None) if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise CloudError(f"{path} is no offer of schema {SCHEMA}: ask the owner for a new file")
    data = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    known = {field.name for field in fields(Offer)}
    if wrong := known.symmetric_difference(data):
        raise CloudError(f"{path}: {sorted(wrong)[0]!r} is missing or unknown: is it damaged?")
    return Offer(**data)


def allocate(pool: str, prefix: int, taken: Iterable[str]) -> str:
    """The first network of that size in the pool that overlaps nothing."""
    network = ipaddress.ip_network(pool)
    used = [ipaddress.ip_network(cidr) for cidr in taken]
    for free in network.subnets(new_prefix=prefix):
        if not any(_overlap(free, other) for other in used):
            return str(free)
    raise CloudError(f"pool {pool} has no free /{prefix}: revoke grants, or enlarge the pool")


def check_free(cidr: str, pool: str, taken: Iterable[str]) -> None:
    """For a network that the owner chose."""
    network = ipaddress.ip_network(cidr)
    whole: Any = ipaddress.ip_network(pool)  # the same version of IP
    if not network.subnet_of(whole):
        raise CloudError(f"{cidr} is not in the pool {pool}: the reconciler minds the pool alone")
    for other in taken:
        if _overlap(network, ipaddress.ip_network(other)):
            raise CloudError(f"{cidr} overlaps {other}: choose another, or --cidr auto")


def _overlap(one: ipaddress.IPv4Network | ipaddress.IPv6Network, other: object) -> bool:
    return one.version == other.version and one.overlaps(other)  # type: ignore[attr-defined,arg-type]
