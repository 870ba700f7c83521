"""The receiver's VPC, subnet, peering, routes, security group. `accept` makes what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tickpath_cloud import removal, tags
from tickpath_cloud.aws import call, pages
from tickpath_cloud.errors import CloudError
from tickpath_cloud.instances import of_hunt
from tickpath_cloud.share.offer import Offer

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

SSH, EVERYWHERE = 22, "0.0.0.0/0"


class ReceiverNetwork:
    """Looks everything up by its tag before it makes it."""

    def __init__(
        self, ec2: EC2Client, offer: Offer, name: str, vpc: str, subnet: str, ssh_from: str
    ) -> None:
        self.ec2, self.offer, self.name = ec2, offer, name
        self.own_vpc, self.own_subnet, self.ssh_from = vpc, subnet, ssh_from

    # --- VPC and subnet -------------------------------------------------------------------------

    def vpc(self) -> str:
        found = self._find("describe_vpcs", "Vpcs", self.own_vpc and {"VpcIds": [self.own_vpc]})
        if not found:
            found = [self._make(self.ec2.create_vpc, "vpc", CidrBlock=self.offer.cidr)["Vpc"]]
        there = set(cidrs(found[0]))
        if there != {self.offer.cidr}:
            raise CloudError(
                f"{found[0]['VpcId']} has the networks {', '.join(sorted(there))}: the owner lets "
                f"in a VPC with {self.offer.cidr} alone. Leave `vpc` out and one is made"
            )
        return found[0]["VpcId"]

    def subnet(self, vpc: str, zone: str) -> str:
        asked = self.own_subnet and {"SubnetIds": [self.own_subnet]}
        found = self._find("describe_subnets", "Subnets", asked)
        if not found:
            made = self._make(
                self.ec2.create_subnet, "subnet", VpcId=vpc, CidrBlock=self.offer.cidr,
                AvailabilityZone=zone,
            )  # fmt: skip
            found = [made["Subnet"]]
        if found[0]["AvailabilityZoneId"] != self.offer.zone_id:
            raise CloudError(
                f"{found[0]['SubnetId']} is in {found[0]['AvailabilityZoneId']}, the placement "
                f"group in {self.offer.zone_id} ({zone} in this account): name a subnet there"
            )
        return found[0]["SubnetId"]

    # --- peering and routes ---------------------------------------------------------------------

    def peering(self, vpc: str) -> dict:
        found = removal.PEERING.find(self.ec2, self.name)
        if found:
            return found[0]
        return self._make(
            self.ec2.create_vpc_peering_connection, "vpc-peering-connection", VpcId=vpc,
            PeerVpcId=self.offer.owner_vpc, PeerOwnerId=self.offer.owner,
            PeerRegion=self.offer.region,
        )["VpcPeeringConnection"]  # fmt: skip

    def routes(self, vpc: str, subnet: str, peering: str) -> None:
        """To the owner's networks, and to the world from a VPC that was made: ssh must come in."""
        table = self._table(vpc, subnet)
        for cidr in self.offer.owner_cidrs:
            self._route(table, cidr, {"VpcPeeringConnectionId": peering})
        if not self.own_vpc:
            self._route(table, EVERYWHERE, {"GatewayId": self._gateway(vpc)})

    def _route(self, table: dict, cidr: str, target: dict[str, Any]) -> None:
        there = [r for r in table["Routes"] if r.get("DestinationCidrBlock") == cidr]
        where: dict[str, Any] = {
            "RouteTableId": table["RouteTableId"],
            "DestinationCidrBlock": cidr,
        }
        if not there:
            call(self.ec2.create_route, **where, **target)
        elif not target.items() <= there[0].items():
            if not _dead(there[0]):
                raise CloudError(
                    f"{table['RouteTableId']} has another route to {cidr}: the owner's network "
                    "overlaps one of yours. Leave `vpc` out and a VPC of its own is made"
                )
            call(self.ec2.replace_route, **where, **target)

    def _table(self, vpc: str, subnet: str) -> dict:
        """The subnet's own route table, or else the VPC's main one."""
        for key, value in (("association.subnet-id", subnet), ("association.main", "true")):
            filters = [{"Name": key, "Values": [value]}, {"Name": "vpc-id", "Values": [vpc]}]
            found = pages(self.ec2, "describe_route_tables", "RouteTables", Filters=filters)
            if found:
                return found[0]
        raise CloudError(f"{vpc} has no main route table")

    def _gateway(self, vpc: str) -> str:
        found = self._find("describe_internet_gateways", "InternetGateways")
        if not found:
            made = self._make(self.ec2.create_internet_gateway, "internet-gateway")
            found = [made["InternetGateway"]]
        gateway = found[0]["InternetGatewayId"]
        if not found[0].get("Attachments"):
            call(self.ec2.attach_internet_gateway, InternetGatewayId=gateway, VpcId=vpc)
        return gateway

    # --- security group -------------------------------------------------------------------------

    def security_group(self, vpc: str) -> str:
        found = self._find("describe_security_groups", "SecurityGroups")
        if not found:
            made = self._make(
                self.ec2.create_security_group, "security-group", GroupName=f"tickpath-{self.name}",
                Description="instances beside an exchange", VpcId=vpc,
            )  # fmt: skip
            found = [{"GroupId": made["GroupId"], "IpPermissions": []}]
        wanted = [("tcp", SSH, self.ssh_from)]
        wanted += [("udp", p, c) for p in self.offer.feed_ports for c in self.offer.owner_cidrs]
        there = {
            (permission["IpProtocol"], permission.get("FromPort"), block["CidrIp"])
            for permission in found[0]["IpPermissions"]
            for block in permission["IpRanges"]
        }
        for rule in wanted:
            if rule not in there:
                self._allow(found[0]["GroupId"], *rule)
        return found[0]["GroupId"]

    def _allow(self, group: str, protocol: str, port: int, cidr: str) -> None:
        permission: Any = {
            "IpProtocol": protocol, "FromPort": port, "ToPort": port,
            "IpRanges": [{"CidrIp": cidr}],
        }  # fmt: skip
        call(self.ec2.authorize_security_group_ingress, GroupId=group, IpPermissions=[permission])

    # --- leave ----------------------------------------------------------------------------------

    def remove(self) -> None:
        """A VPC and a subnet of the receiver's own have no tag of ours, and stay."""
        for kind in removal.NETWORK:
            for resource in kind.find(self.ec2, self.name):
                kind.remove(self.ec2, resource)

    def leftovers(self) -> list[str]:
        return [
            resource[kind.id]
            for kind in removal.NETWORK
            for resource in kind.find(self.ec2, self.name)
        ]

    # --- what is ours ---------------------------------------------------------------------------

    def _find(self, operation: str, key: str, named: dict | str = "") -> list[dict]:
        """The resources that the settings name, or else those with our tag."""
        arguments = named if isinstance(named, dict) else {"Filters": of_hunt(self.name)}
        return pages(self.ec2, operation, key, **arguments)

    def _make(self, operation: Callable[..., Any], kind: str, **arguments: Any) -> Any:
        held = tags.tags(self.name, "network", tags.seconds(self.offer.expires))
        spec = [{"ResourceType": kind, "Tags": held}]
        return call(operation, **arguments, TagSpecifications=spec)


def cidrs(vpc: dict) -> list[str]:
    """All networks of a VPC, of both versions."""
    four = vpc.get("CidrBlockAssociationSet") or [vpc]
    six = vpc.get("Ipv6CidrBlockAssociationSet") or []
    found = [b["CidrBlock"] for b in four if _live(b.get("CidrBlockState"))]
    return found + [b["Ipv6CidrBlock"] for b in six if _live(b.get("Ipv6CidrBlockState"))]


def _live(state: dict | None) -> bool:
    return (state or {}).get("State", "associated") in ("associated", "associating")


def _dead(route: dict) -> bool:
    """A route whose peering was withdrawn."""
    return route.get("State") == "blackhole"
