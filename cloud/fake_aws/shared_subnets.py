"""Subnets that RAM shares within an organisation: participants see them and launch into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moto.ec2.exceptions import InvalidSubnetIdError
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.route_tables import RouteTable
from moto.ec2.models.subnets import Subnet
from moto.ec2.models.vpcs import VPC
from moto.ec2.utils import generic_filter

from fake_aws.world import WORLD

_get_subnet, _get_vpc = EC2Backend.get_subnet, EC2Backend.get_vpc
_describe_subnets = EC2Backend.describe_subnets
_describe_route_tables = EC2Backend.describe_route_tables


def shared(self: EC2Backend) -> list[Subnet]:
    """Subnets of other accounts that this account may use."""
    return [
        _get_subnet(_of(self, owner), arn.partition(":subnet/")[2])
        for owner, arn in WORLD.ram.shared_with(self.account_id)
        if ":subnet/" in arn
    ]


def _of(self: EC2Backend, account: str) -> EC2Backend:
    return ec2_backends[account][self.region_name]


def get_subnet(self: EC2Backend, subnet_id: str) -> Subnet:
    there = {subnet.id: subnet for subnet in shared(self)}
    return there[subnet_id] if subnet_id in there else _get_subnet(self, subnet_id)


def get_vpc(self: EC2Backend, vpc_id: str) -> VPC:
    for subnet in shared(self):
        if subnet.vpc_id == vpc_id:
            return _get_vpc(_of(self, subnet.owner_id), vpc_id)
    return _get_vpc(self, vpc_id)


def describe_subnets(
    self: EC2Backend, subnet_ids: Sequence[str] | None = None, filters: Any = None
) -> list[Subnet]:
    every = [*_describe_subnets(self), *shared(self)]
    known = {subnet.id for subnet in every}
    for wanted in subnet_ids or []:
        if wanted not in known:
            raise InvalidSubnetIdError(wanted)
    found = [subnet for subnet in every if not subnet_ids or subnet.id in subnet_ids]
    return generic_filter(filters, found) if filters else found


def describe_route_tables(
    self: EC2Backend, route_table_ids: list[str] | None = None, filters: Any = None
) -> list[RouteTable]:
    """Participants see those of their subnets, and change none."""
    found = _describe_route_tables(self, route_table_ids, filters)
    theirs = [
        table
        for subnet in shared(self)
        for table in _of(self, subnet.owner_id).route_tables.values()
        if subnet.id in table._associations.values()
    ]
    return found if route_table_ids else [*found, *generic_filter(filters, theirs)]


def install() -> None:
    """Replaces methods of moto's classes."""
    for method in (get_subnet, get_vpc, describe_subnets, describe_route_tables):
        setattr(EC2Backend, method.__name__, method)
