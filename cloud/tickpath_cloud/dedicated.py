"""Dedicated hosts that the account has allocated: AWS bills them, we never release them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tickpath_cloud.aws import pages
from tickpath_cloud.errors import CloudError

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client


def hosts(
    ec2: EC2Client, ids: Sequence[str], types: Sequence[str], subnets: list[dict]
) -> dict[str, dict]:
    """As AWS describes them, by id; raises where one can't run what is asked for."""
    if not ids:
        return {}
    listed = pages(ec2, "describe_hosts", "Hosts", HostIds=list(ids))
    found = {host["HostId"]: host for host in listed}
    for known in ids:
        _check(known, found.get(known), types, subnets)
    return found


def _check(known: str, host: dict | None, types: Sequence[str], subnets: list[dict]) -> None:
    if host is None or host["State"] != "available":
        state = "not of this account and region" if host is None else host["State"]
        raise CloudError(f"dedicated host {known} is {state}: allocate one, or remove it")
    zone = host["AvailabilityZone"]
    if zone not in [subnet["AvailabilityZone"] for subnet in subnets]:
        raise CloudError(f"dedicated host {known} is in {zone}: add a subnet in that zone")
    if not any(runs(host, kind) for kind in types):
        raise CloudError(
            f"dedicated host {known} runs {_what(host)} alone: add such a type to instance_types"
        )


def runs(host: dict, kind: str) -> bool:
    """Whether it is of this instance type, or of its family."""
    return _what(host) in (kind, kind.partition(".")[0])


def _what(host: dict) -> str:
    known = host.get("HostProperties", {})
    return known.get("InstanceType") or known.get("InstanceFamily") or "an unknown type"
