"""Additions to moto's networks: peering between accounts, zone ids, capacity reservations."""

from __future__ import annotations

import copy
import ipaddress
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.route_tables import Route
from moto.ec2.models.vpcs import VPC
from moto.ec2.responses import EC2Response

from fake_aws.world import WORLD, hexadecimal

_create_peering = EC2Response.create_vpc_peering_connection
_delete_peering = EC2Response.delete_vpc_peering_connection
_reject_peering = EC2Response.reject_vpc_peering_connection
_delete_vpc = EC2Response.delete_vpc


# --- peering ------------------------------------------------------------------------------------


def create_vpc_peering_connection(self: Any) -> ActionResult:
    """Overlapping networks: AWS makes a connection that has failed."""
    response = _create_peering(self)
    made = response.result["VpcPeeringConnection"]  # type: ignore[index]
    pairs = ((a, b) for a in networks(made.vpc) for b in networks(made.peer_vpc))
    if any(a.version == b.version and a.overlaps(b) for a, b in pairs):
        made._status.code = "failed"
        made._status.message = "Failed due to incorrect VPC-ID, Account ID, or overlapping CIDR"
    return ActionResult({"VpcPeeringConnection": described(self, made)})


def describe_vpc_peering_connections(self: Any) -> ActionResult:
    """moto ignores the filters, and shows one account the tags of the other."""
    found = list(self.ec2_backend.vpc_pcxs.values())
    for wanted in self._get_param("VpcPeeringConnectionIds", []):
        if wanted not in self.ec2_backend.vpc_pcxs:
            raise EC2ClientError("InvalidVpcPeeringConnectionID.NotFound", f"{wanted} is unknown")
        found = [peering for peering in found if peering.id == wanted]
    shown = [described(self, peering) for peering in found]
    for entry in self._get_param("Filters", []):
        shown = [peering for peering in shown if _passes(peering, entry)]
    return ActionResult({"VpcPeeringConnections": shown})


def _passes(peering: dict, entry: dict) -> bool:
    name, values = entry["Name"], entry["Values"]
    if name.startswith("tag:"):
        return any(t["Key"] == name[4:] and t["Value"] in values for t in peering["Tags"])
    if name == "tag-key":
        return any(t["Key"] in values for t in peering["Tags"])
    if name == "status-code":
        return peering["Status"]["Code"] in values
    if name == "accepter-vpc-info.vpc-id":
        return peering["AccepterVpcInfo"]["VpcId"] in values
    raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")


def described(self: Any, peering: Any) -> dict:
    held = self.ec2_backend.describe_tags(filters={"resource-id": [peering.id]})
    return {
        "VpcPeeringConnectionId": peering.id, "Status": peering.status,
        "RequesterVpcInfo": _side(peering.vpc), "AccepterVpcInfo": _side(peering.peer_vpc),
        "Tags": [{"Key": tag["key"], "Value": tag["value"]} for tag in held],
    }  # fmt: skip


def _side(vpc: VPC) -> dict:
    every = [str(network) for network in networks(vpc)]
    return {
        "OwnerId": vpc.owner_id, "Region": vpc.region, "VpcId": vpc.id,
        "CidrBlock": vpc.cidr_block,
        "CidrBlockSet": [{"CidrBlock": cidr} for cidr in every if ":" not in cidr],
        "Ipv6CidrBlockSet": [{"Ipv6CidrBlock": cidr} for cidr in every if ":" in cidr],
    }  # fmt: skip


def networks(vpc: VPC) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return [
        ipaddress.ip_network(block["cidr_block"])
        for block in vpc._cidr_block_association_set.values()
        if block["cidr_block_state"]["state"] == "associated"
    ]


def delete_vpc_peering_connection(self: Any) -> ActionResult:
    _must_be(self, "active", "pending-acceptance")
    return _delete_peering(self)


def reject_vpc_peering_connection(self: Any) -> ActionResult:
    _must_be(self, "pending-acceptance")
    return _reject_peering(self)


def _must_be(self: Any, *states: str) -> None:
    known = self._get_param("VpcPeeringConnectionId")
    peering = self.ec2_backend.get_vpc_peering_connection(known)
    if peering._status.code not in states:
        raise EC2ClientError("InvalidStateTransition", f"{known} is {peering._status.code}")


def route_state(self: Route) -> str:
    """A route whose peering is not active leads nowhere."""
    dead = self.vpc_pcx is not None and self.vpc_pcx._status.code != "active"
    return "blackhole" if dead else "active"


# --- zones and VPCs -----------------------------------------------------------------------------


def describe_availability_zones(self: Any) -> ActionResult:
    backend = self.ec2_backend
    zones = backend.describe_availability_zones()
    ids = WORLD.zone_ids(backend.account_id, [zone.zone_id for zone in zones])
    shown = []
    for zone, known in zip(zones, ids, strict=True):
        mine = copy.copy(zone)
        mine.zone_id = known
        shown.append(mine)
    return ActionResult({"AvailabilityZones": shown})


def delete_vpc(self: Any) -> Any:
    """moto lets a VPC go whose gateway is still attached, or that has security groups."""
    vpc = self._get_param("VpcId")
    gateways = self.ec2_backend.internet_gateways.values()
    groups = self.ec2_backend.groups.get(vpc, {}).values()
    if any(gateway.vpc and gateway.vpc.id == vpc for gateway in gateways) or any(
        group.name != "default" for group in groups
    ):
        raise EC2ClientError(
            "DependencyViolation", f"The vpc '{vpc}' has dependencies and cannot be deleted."
        )
    return _delete_vpc(self)


# --- capacity reservations ----------------------------------------------------------------------


def create_capacity_reservation(self: Any) -> ActionResult:
    self.error_on_dryrun()
    arn = self._get_param("PlacementGroupArn")
    zone = self._get_param("AvailabilityZone")
    account = self.current_account
    group = next((g for g in WORLD.groups.values() if g.arn == arn), None)
    may = group is not None and (
        group.owner == account
        or "ec2:CreateCapacityReservation" in WORLD.ram.allowed(group.arn, account)
    )
    if not may or group is None:
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"{arn} is unknown")
    shown = describe_availability_zones(self).result["AvailabilityZones"]  # type: ignore[index]
    here = next(z.zone_id for z in shown if z.name == zone)
    if group.zone_id not in (None, here):
        raise EC2ClientError("InvalidParameterValue", f"{arn} is in {group.zone_id}, not {here}")
    held = [t for s in self._get_param("TagSpecifications", []) for t in s.get("Tags", [])]
    made = {
        "CapacityReservationId": hexadecimal(WORLD, "cr-"), "OwnerId": account,
        "InstanceType": self._get_param("InstanceType"), "State": "active",
        "TotalInstanceCount": int(self._get_param("InstanceCount")), "PlacementGroupArn": arn,
        "EndDateType": self._get_param("EndDateType"), "Tags": held,
    }  # fmt: skip
    WORLD.reservations[made["CapacityReservationId"]] = made
    return ActionResult({"CapacityReservation": made})


def describe_capacity_reservations(self: Any) -> ActionResult:
    found = [r for r in WORLD.reservations.values() if r["OwnerId"] == self.current_account]
    for entry in self._get_param("Filters", []):
        name, values = entry["Name"], entry["Values"]
        if name == "state":
            found = [r for r in found if r["State"] in values]
        else:  # AWS has no filters by tag here
            raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
    return ActionResult({"CapacityReservations": found})


def cancel_capacity_reservation(self: Any) -> ActionResult:
    known = self._get_param("CapacityReservationId")
    found = WORLD.reservations.get(known)
    if found is None or found["OwnerId"] != self.current_account or found["State"] != "active":
        raise EC2ClientError("InvalidCapacityReservationId.NotFound", f"{known} is unknown")
    found["State"] = "cancelled"
    return ActionResult({"Return": True})


def install() -> None:
    """Replaces methods of moto's classes."""
    for method in (
        create_vpc_peering_connection, describe_vpc_peering_connections, delete_vpc,
        delete_vpc_peering_connection, reject_vpc_peering_connection, describe_availability_zones,
        create_capacity_reservation, describe_capacity_reservations, cancel_capacity_reservation,
    ):  # fmt: skip
        setattr(EC2Response, method.__name__, method)
    Route.state = property(route_state)
