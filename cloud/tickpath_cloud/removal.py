"""Resources that we make besides instances, in the order in which AWS lets them be deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tickpath_cloud import tags
from tickpath_cloud.aws import drop, pages
from tickpath_cloud.instances import of_hunt

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

OURS = [{"Name": "tag-key", "Values": [tags.HUNT]}]
PEERED = ["initiating-request", "pending-acceptance", "provisioning", "active"]


@dataclass(frozen=True)
class Kind:
    """A kind of resource: how it is found, and removed."""

    name: str
    operation: str  # describes those that there are
    key: str  # of the answer
    id: str
    remove: Callable[[EC2Client, dict], None]
    alive: tuple[str, list[str]] | None = None  # filter: AWS shows for a while what is gone
    tag_filters: bool = True  # the operation has them
    more: tuple[tuple[str, list[str]], ...] = ()  # arguments: AWS lists what others publish, too

    def find(self, ec2: EC2Client, hunt: str | None = None) -> list[dict]:
        """Resources of one hunt, or of all."""
        alive = [{"Name": self.alive[0], "Values": self.alive[1]}] if self.alive else []
        tagged = (of_hunt(hunt) if hunt else OURS) if self.tag_filters else []
        found = pages(ec2, self.operation, self.key, Filters=[*tagged, *alive], **dict(self.more))
        held = [(tags.value(resource, tags.HUNT), resource) for resource in found]
        return [resource for of, resource in held if of is not None and hunt in (None, of)]


def _cancel(ec2: EC2Client, reservation: dict) -> None:
    known = reservation["CapacityReservationId"]
    drop(ec2.cancel_capacity_reservation, CapacityReservationId=known)


def _delete_group(ec2: EC2Client, group: dict) -> None:
    drop(ec2.delete_placement_group, GroupName=group["GroupName"])


def _end_peering(ec2: EC2Client, peering: dict) -> None:
    """With its routes: in a VPC that is not ours they would be left behind."""
    known = peering["VpcPeeringConnectionId"]
    filters = [{"Name": "vpc-id", "Values": [peering["RequesterVpcInfo"]["VpcId"]]}]
    for table in pages(ec2, "describe_route_tables", "RouteTables", Filters=filters):
        for route in table["Routes"]:
            if route.get("VpcPeeringConnectionId") == known:
                drop(
                    ec2.delete_route, RouteTableId=table["RouteTableId"],
                    DestinationCidrBlock=route["DestinationCidrBlock"],
                )  # fmt: skip
    drop(ec2.delete_vpc_peering_connection, VpcPeeringConnectionId=known)


def _delete_security(ec2: EC2Client, group: dict) -> None:
    drop(ec2.delete_security_group, GroupId=group["GroupId"])


def _delete_gateway(ec2: EC2Client, gateway: dict) -> None:
    known = gateway["InternetGatewayId"]
    for attached in gateway.get("Attachments", []):
        drop(ec2.detach_internet_gateway, InternetGatewayId=known, VpcId=attached["VpcId"])
    drop(ec2.delete_internet_gateway, InternetGatewayId=known)


def _delete_subnet(ec2: EC2Client, subnet: dict) -> None:
    drop(ec2.delete_subnet, SubnetId=subnet["SubnetId"])


def _delete_vpc(ec2: EC2Client, vpc: dict) -> None:
    drop(ec2.delete_vpc, VpcId=vpc["VpcId"])


RESERVATION = Kind(
    "reservation", "describe_capacity_reservations", "CapacityReservations",
    "CapacityReservationId", _cancel, ("state", ["active", "pending"]), tag_filters=False,
)  # fmt: skip
GROUP = Kind(
    "placement group", "describe_placement_groups", "PlacementGroups", "GroupName", _delete_group
)
PEERING = Kind(
    "peering", "describe_vpc_peering_connections", "VpcPeeringConnections",
    "VpcPeeringConnectionId", _end_peering, ("status-code", PEERED),
)  # fmt: skip
# These outlive an instance by its image's settings, or were made by hand with our tags.
LOOSE = (
    Kind(
        "volume", "describe_volumes", "Volumes", "VolumeId",
        lambda ec2, found: drop(ec2.delete_volume, VolumeId=found["VolumeId"]),
        ("status", ["available", "error"]),
    ),
    Kind(
        "snapshot", "describe_snapshots", "Snapshots", "SnapshotId",
        lambda ec2, found: drop(ec2.delete_snapshot, SnapshotId=found["SnapshotId"]),
        more=(("OwnerIds", ["self"]),),
    ),
    Kind(
        "address", "describe_addresses", "Addresses", "AllocationId",
        lambda ec2, found: drop(ec2.release_address, AllocationId=found["AllocationId"]),
    ),
    Kind(
        "interface", "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId",
        lambda ec2, found: drop(
            ec2.delete_network_interface, NetworkInterfaceId=found["NetworkInterfaceId"]
        ),
        ("status", ["available"]),
    ),
)  # fmt: skip
NETWORK = (
    PEERING,
    Kind(
        "security group", "describe_security_groups", "SecurityGroups", "GroupId", _delete_security
    ),
    Kind(
        "internet gateway", "describe_internet_gateways", "InternetGateways", "InternetGatewayId",
        _delete_gateway,
    ),
    Kind("subnet", "describe_subnets", "Subnets", "SubnetId", _delete_subnet),
    Kind("VPC", "describe_vpcs", "Vpcs", "VpcId", _delete_vpc),
)  # fmt: skip
ALL = (RESERVATION, GROUP, *LOOSE, *NETWORK)
