"""The owner's reconciler: lets receivers in as granted, and takes out whatever no grant covers.

It needs boto3 and the standard library alone, because `share template` puts this very file into a
CloudFormation template. A grant is a resource share of RAM; its tags are the only state. So every
run begins with what AWS says, may be repeated, and finishes what an interrupted one began.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

GRANT, ACCOUNT, CIDR, VPC = "tickpath:grant", "tickpath:account", "tickpath:cidr", "tickpath:vpc"
EXPIRES, PRINCIPAL = "tickpath:expires", "tickpath:principal"
TIME = "%Y-%m-%dT%H:%M:%SZ"
RULE = "tickpath grant "  # begins the description of each rule that is ours
PENDING, OPEN = ("initiating-request", "pending-acceptance"), ("provisioning", "active")
# Somebody else, or an earlier run, was faster.
DONE_ALREADY = {
    "InvalidPermission.Duplicate", "InvalidPermission.NotFound", "InvalidRoute.NotFound",
    "InvalidStateTransition", "InvalidVpcPeeringConnectionID.NotFound", "RouteAlreadyExists",
    "UnknownResourceException",
}  # fmt: skip

Event = dict[str, Any]


@dataclass(frozen=True)
class Network:
    """The owner's side. Only grants may use `pool`: other peering routes into it are removed."""

    region: str
    vpc: str
    route_tables: tuple[str, ...]
    security_group: str  # of the gateways
    ports: tuple[int, ...]
    pool: str


@dataclass(frozen=True)
class Grant:
    name: str
    arn: str
    principal: str
    account: str
    cidr: str
    vpc: str | None  # None: the first VPC that fits is bound
    expires: float


@dataclass(frozen=True)
class Opened:
    grant: Grant
    peering: str


def grants(ram: Any) -> list[Grant]:
    """All that were not revoked, expired ones too."""
    found: list[dict] = []
    more: dict[str, str] = {}
    while True:
        page = ram.get_resource_shares(
            resourceOwner="SELF", resourceShareStatus="ACTIVE",
            tagFilters=[{"tagKey": GRANT}], **more,
        )  # fmt: skip
        found += page["resourceShares"]
        if not page.get("nextToken"):
            break
        more = {"nextToken": page["nextToken"]}
    return sorted(map(_grant, found), key=lambda grant: grant.name)


def _grant(share: dict) -> Grant:
    held = {tag["key"]: tag["value"] for tag in share["tags"]}
    expires = datetime.strptime(held[EXPIRES], TIME).replace(tzinfo=UTC).timestamp()
    return Grant(
        held[GRANT], share["resourceShareArn"], held[PRINCIPAL], held[ACCOUNT], held[CIDR],
        held.get(VPC), expires,
    )  # fmt: skip


def judge(
    granted: list[Grant], peering: dict, network: Network, now: float
) -> tuple[Grant | None, str]:
    """The grant that covers this peering, or why none does. Believes what AWS attests alone."""
    asks = peering["RequesterVpcInfo"]
    owner, vpc = asks["OwnerId"], asks["VpcId"]
    cidrs = {block["CidrBlock"] for block in asks.get("CidrBlockSet", [])}
    cidrs |= {block["Ipv6CidrBlock"] for block in asks.get("Ipv6CidrBlockSet", [])}
    if asks.get("CidrBlock"):
        cidrs.add(asks["CidrBlock"])
    of_account = [grant for grant in granted if grant.account == owner]
    if not of_account:
        return None, f"account {owner} has no grant"
    if asks.get("Region", network.region) != network.region:
        return None, f"its VPC is in {asks['Region']}, the grants are for {network.region}"
    fitting = [grant for grant in of_account if cidrs == {grant.cidr}]
    if not fitting:
        allowed = ", ".join(grant.cidr for grant in of_account)
        return None, f"its networks are {', '.join(sorted(cidrs))}; granted is {allowed} alone"
    grant = fitting[0]
    if grant.expires <= now:
        return None, f"grant {grant.name} has expired"
    if grant.vpc not in (None, vpc):
        return None, f"its VPC is {vpc}, grant {grant.name} is bound to {grant.vpc}"
    return grant, ""


class Reconciler:
    def __init__(
        self, network: Network, ec2: Any, ram: Any, clock: Callable[[], float],
        audit: Callable[[Event], None],
    ) -> None:  # fmt: skip
        self.network, self.ec2, self.ram = network, ec2, ram
        self.clock, self.audit = clock, audit

    def run(self) -> list[Opened]:
        """Closes first, then opens. Returns the grants whose networks are joined now."""
        granted = grants(self.ram)
        for grant in granted:
            if grant.expires <= self.clock():
                self._do("expired", self.ram.delete_resource_share, resourceShareArn=grant.arn,
                         about={"grant": grant.name})  # fmt: skip
        opened = [opening for peering in self.peerings() for opening in self._visit(peering)]
        self._rules(opened)
        self._routes(opened)
        return opened

    def peerings(self) -> list[dict]:
        """Requests to our VPC and what came of them, oldest first."""
        pages = self.ec2.get_paginator("describe_vpc_peering_connections").paginate(
            Filters=[
                {"Name": "accepter-vpc-info.vpc-id", "Values": [self.network.vpc]},
                {"Name": "status-code", "Values": [*PENDING, *OPEN]},
            ]
        )
        found = [peering for page in pages for peering in page["VpcPeeringConnections"]]
        return sorted(found, key=lambda peering: peering["VpcPeeringConnectionId"])

    # --- one peering ----------------------------------------------------------------------------

    def _visit(self, peering: dict) -> Iterator[Opened]:
        grant, why = self._judge(peering)
        if peering["Status"]["Code"] in PENDING:
            if grant is None:
                self._reject(peering, why)
                return
            self._accept(peering, grant)
            # The request may have changed before it was accepted.
            peering = self._again(peering)
            grant, why = self._judge(peering)
        if peering["Status"]["Code"] not in OPEN:
            return
        if grant is None:
            # One that never was ours is the owner's own, made by hand.
            if _tag(peering, GRANT) is not None:
                self._withdraw(peering, why)
            return
        self._mark(peering, grant)
        yield Opened(grant, peering["VpcPeeringConnectionId"])

    def _judge(self, peering: dict) -> tuple[Grant | None, str]:
        return judge(grants(self.ram), peering, self.network, self.clock())

    def _again(self, peering: dict) -> dict:
        known = [peering["VpcPeeringConnectionId"]]
        found = self.ec2.describe_vpc_peering_connections(VpcPeeringConnectionIds=known)
        return found["VpcPeeringConnections"][0]

    def _mark(self, peering: dict, grant: Grant) -> None:
        """Before it is accepted: a peering without the mark would never be withdrawn."""
        if _tag(peering, GRANT) == grant.name:
            return
        self._do(
            "marked", self.ec2.create_tags, Resources=[peering["VpcPeeringConnectionId"]],
            Tags=[{"Key": GRANT, "Value": grant.name}], about=_about(peering, grant),
        )  # fmt: skip

    def _accept(self, peering: dict, grant: Grant) -> None:
        asks = peering["RequesterVpcInfo"]
        if grant.vpc is None:
            self._do(
                "bound", self.ram.tag_resource, resourceShareArn=grant.arn,
                tags=[{"key": VPC, "value": asks["VpcId"]}], about=_about(peering, grant),
            )  # fmt: skip
        self._mark(peering, grant)
        self._do(
            "accepted", self.ec2.accept_vpc_peering_connection,
            VpcPeeringConnectionId=peering["VpcPeeringConnectionId"],
            about=_about(peering, grant),
        )  # fmt: skip

    def _reject(self, peering: dict, why: str) -> None:
        self._do(
            "refused", self.ec2.reject_vpc_peering_connection,
            VpcPeeringConnectionId=peering["VpcPeeringConnectionId"],
            about={**_about(peering), "why": why},
        )  # fmt: skip

    def _withdraw(self, peering: dict, why: str) -> None:
        """Its routes and rules go in the same run: they are no longer wanted."""
        self._do(
            "withdrawn", self.ec2.delete_vpc_peering_connection,
            VpcPeeringConnectionId=peering["VpcPeeringConnectionId"],
            about={**_about(peering), "why": why},
        )  # fmt: skip

    # --- rules and routes: what is wanted, what is there ----------------------------------------

    def _rules(self, opened: list[Opened]) -> None:
        wanted = {
            (opening.grant.cidr, port, opening.grant.name)
            for opening in opened
            for port in self.network.ports
        }
        found = self.ec2.describe_security_groups(GroupIds=[self.network.security_group])
        there = set()
        for permission in found["SecurityGroups"][0]["IpPermissions"]:
            for block in permission.get("IpRanges", []):
                if block.get("Description", "").startswith(RULE):
                    name = block["Description"].removeprefix(RULE)
                    there.add((block["CidrIp"], permission["FromPort"], name))
        for rule in sorted(there - wanted):
            self._rule("rule removed", self.ec2.revoke_security_group_ingress, *rule)
        for rule in sorted(wanted - there):
            self._rule("rule added", self.ec2.authorize_security_group_ingress, *rule)

    def _rule(self, name: str, operation: Callable, cidr: str, port: int, grant: str) -> None:
        permission = {
            "IpProtocol": "tcp", "FromPort": port, "ToPort": port,
            "IpRanges": [{"CidrIp": cidr, "Description": f"{RULE}{grant}"}],
        }  # fmt: skip
        self._do(
            name, operation, GroupId=self.network.security_group, IpPermissions=[permission],
            about={"grant": grant, "cidr": cidr, "port": port},
        )  # fmt: skip

    def _routes(self, opened: list[Opened]) -> None:
        pool: Any = ip_network(self.network.pool)
        wanted = {
            (table, opening.grant.cidr): opening.peering
            for opening in opened
            for table in self.network.route_tables
        }
        there: dict[tuple[str, str], str] = {}
        found = self.ec2.describe_route_tables(RouteTableIds=list(self.network.route_tables))
        for table in found["RouteTables"]:
            for route in table["Routes"]:
                cidr = route.get("DestinationCidrBlock")
                peering = route.get("VpcPeeringConnectionId")
                if cidr and peering and ip_network(cidr).subnet_of(pool):
                    there[table["RouteTableId"], cidr] = peering
        for (table, cidr), peering in sorted(there.items()):
            if wanted.get((table, cidr)) != peering:
                self._do(
                    "route removed", self.ec2.delete_route, RouteTableId=table,
                    DestinationCidrBlock=cidr,
                    about={"table": table, "cidr": cidr, "peering": peering},
                )  # fmt: skip
        for (table, cidr), peering in sorted(wanted.items()):
            if there.get((table, cidr)) != peering:
                self._do(
                    "route added", self.ec2.create_route, RouteTableId=table,
                    DestinationCidrBlock=cidr, VpcPeeringConnectionId=peering,
                    about={"table": table, "cidr": cidr, "peering": peering},
                )  # fmt: skip

    def _do(self, name: str, operation: Callable, *, about: Event, **arguments: Any) -> None:
        """One change, and its line in the audit."""
        try:
            operation(**arguments)
        except ClientError as error:
            if error.response["Error"]["Code"] not in DONE_ALREADY:
                raise
            return
        self.audit({"event": name, **about, "at": self.clock()})


def _about(peering: dict, grant: Grant | None = None) -> Event:
    asks = peering["RequesterVpcInfo"]
    about = {
        "peering": peering["VpcPeeringConnectionId"], "account": asks["OwnerId"],
        "vpc": asks["VpcId"],
    }  # fmt: skip
    return about if grant is None else {"grant": grant.name, **about}


def _tag(resource: dict, key: str) -> str | None:
    return next((tag["Value"] for tag in resource.get("Tags", []) if tag["Key"] == key), None)


def handler(event: Any, context: Any) -> dict:
    """AWS Lambda's entry. The audit is what it prints: CloudWatch keeps it."""
    names = {key: os.environ[f"TICKPATH_{key.upper()}"] for key in Network.__annotations__}
    network = Network(
        names["region"], names["vpc"], tuple(names["route_tables"].split(",")),
        names["security_group"], tuple(map(int, names["ports"].split(","))), names["pool"],
    )  # fmt: skip

    def audit(what: Event) -> None:
        print(json.dumps(what))

    # As all clients of tickpath_cloud: another mode gives up at codes that this one repeats.
    retries = Config(retries={"mode": "standard", "total_max_attempts": 3})
    ec2, ram = (
        boto3.client(name, region_name=network.region, config=retries) for name in ("ec2", "ram")
    )
    opened = Reconciler(network, ec2, ram, time.time, audit).run()
    return {"open": sorted(opening.grant.name for opening in opened)}
