"""The owner's side: grant, list, revoke. A grant is a resource share with tags, and no more."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickpath_cloud import columns, tags
from tickpath_cloud.aws import call, client, pages
from tickpath_cloud.config import read, settings_of
from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.share import reconcile
from tickpath_cloud.share.network import cidrs
from tickpath_cloud.share.offer import Offer, allocate, check_free
from tickpath_cloud.share.reconcile import Grant, Network, Opened, Reconciler, judge

NEEDED = ("ec2:DescribePlacementGroups", "ec2:RunInstances")
EXTRA = {"modify": "ec2:ModifyInstancePlacement", "reserve": "ec2:CreateCapacityReservation"}
PREFIXES = range(16, 29)  # of a VPC
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")


@dataclass(frozen=True)
class Settings:
    """owner.toml."""

    name: str  # of the placement group that this makes, and of what belongs to it
    region: str
    vpc: str
    subnet: str  # of the gateways: its zone is the group's
    route_tables: tuple[str, ...]  # the ones of the gateways' subnets
    security_group: str  # of the gateways
    ports: tuple[int, ...]
    pool: str  # networks of the receivers are taken from here
    prefix: int = 24
    feed_ports: tuple[int, ...] = ()
    group: str = ""  # a placement group that you have; empty: one is made

    def __post_init__(self) -> None:
        pool = ipaddress.ip_network(self.pool)
        if self.prefix not in PREFIXES or self.prefix < pool.prefixlen:
            raise CloudError(f"prefix is {self.prefix}: a VPC has /16 to /28, within {self.pool}")
        if not self.route_tables or not self.ports:
            raise CloudError("route_tables and ports may not be empty: name what receivers reach")

    @property
    def network(self) -> Network:
        return Network(
            self.region, self.vpc, self.route_tables, self.security_group, self.ports, self.pool
        )


@dataclass(frozen=True)
class Request:
    """Arguments of `share grant`."""

    to: str
    account: str  # whose VPC may be peered
    name: str
    cidr: str = "auto"
    vpc: str | None = None
    days: float = 30.0
    modify: bool = False
    reserve: bool = False

    @property
    def actions(self) -> list[str]:
        asked = [action for key, action in EXTRA.items() if getattr(self, key)]
        return [*NEEDED, *asked]


def load(path: Path) -> Settings:
    return settings_of(Settings, read(path), path)


def request(to: str, account: str | None = None, name: str | None = None, **more: Any) -> Request:
    """`to`: an account, or the ARN of an organisation, organisational unit, role or user."""
    kind, of = _principal(to)
    if kind == "organization":
        if account is None:
            raise CloudError("--to an organisation needs --account: whose VPC may be peered?")
    elif account not in (None, of):
        raise CloudError(f"--account {account} is not the account of {to}")
    account = account or of
    assert account is not None
    name = name or "-".join(filter(None, [account, _last(to) if kind == "identity" else ""]))
    if not NAME.fullmatch(name):
        raise CloudError(f"grant name {name!r}: use a-z, 0-9 and -, at most 41; --name sets it")
    return Request(to, account, name, **more)


def _principal(to: str) -> tuple[str, str | None]:
    if re.fullmatch(r"\d{12}", to):
        return "account", to
    if re.fullmatch(r"arn:aws[\w-]*:organizations::\d{12}:(organization|ou)/.+", to):
        return "organization", None
    if found := re.fullmatch(r"arn:aws[\w-]*:iam::(\d{12}):(role|user)/.+", to):
        return "identity", found[1]
    raise CloudError(
        f"--to {to!r}: name an account (12 digits) or the ARN of an organisation, an "
        "organisational unit, a role or a user"
    )


def _last(arn: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", arn.rpartition("/")[2].lower()).strip("-")[:24]


class Owner:
    def __init__(
        self, settings: Settings, clock: Callable[[], float],
        audit: Callable[[reconcile.Event], None],
    ) -> None:  # fmt: skip
        self.settings, self.clock, self.audit = settings, clock, audit
        self.ec2 = client("ec2", settings.region)
        self.ram = client("ram", settings.region)
        self.sts = client("sts", settings.region)

    # --- grant ----------------------------------------------------------------------------------

    def plan(self, asked: Request) -> str:
        there = self._granted(asked.name)
        taken = self._taken(asked.name)
        cidr = there.cidr if there else self._cidr(asked, taken)
        group = self.settings.group or f"{self._group_name()} (made if it is missing)"
        return "\n".join([
            f"grant {asked.name} in account {self._account()}, {self.settings.region}",
            f"  shares     placement group {group} with {asked.to}",
            f"  allows     {', '.join(asked.actions)}",
            f"  lets in    VPC {asked.vpc or '(the first that fits)'} of account {asked.account}, "
            f"network {cidr} alone, to TCP {', '.join(map(str, self.settings.ports))}",
            f"  ends       after {asked.days:g} days, by `share reconcile`",
            "  costs      nothing by itself: placement groups, RAM and peering within a zone are "
            "free",
        ])  # fmt: skip

    def grant(self, asked: Request) -> Offer:
        """A repeated grant changes nothing, and gives the same offer."""
        group, zone = self._group(), self._zone()
        there = self._granted(asked.name)
        if there is None:
            self._share(asked, group, self._cidr(asked, self._taken(asked.name)))
            there = self._granted(asked.name)
        if there is None:
            raise CloudError(f"grant {asked.name} is not listed yet: grant it again in a minute")
        if there.principal != asked.to or there.account != asked.account:
            raise CloudError(
                f"grant {asked.name} is for {there.principal}: revoke it, or choose another --name"
            )
        return Offer(
            grant=there.name, region=self.settings.region, owner=self._account(),
            owner_vpc=self.settings.vpc, owner_cidrs=tuple(self._own_cidrs()), share=there.arn,
            group=group["GroupId"], group_arn=group["GroupArn"], zone_id=zone,
            account=there.account, principal=there.principal, cidr=there.cidr,
            ports=self.settings.ports, feed_ports=self.settings.feed_ports,
            actions=tuple(self._actions(there)), expires=tags.rfc3339(there.expires),
        )  # fmt: skip

    def _share(self, asked: Request, group: dict, cidr: str) -> None:
        """One call makes the whole grant, or nothing."""
        held = {
            reconcile.GRANT: asked.name, reconcile.PRINCIPAL: asked.to,
            reconcile.ACCOUNT: asked.account, reconcile.CIDR: cidr,
            reconcile.EXPIRES: tags.rfc3339(self.clock() + 86_400 * asked.days),
        }  # fmt: skip
        if asked.vpc:
            held[reconcile.VPC] = asked.vpc
        call(
            self.ram.create_resource_share,
            name=f"tickpath-{asked.name}",
            resourceArns=[group["GroupArn"]],
            principals=[asked.to],
            permissionArns=[self._permission(asked)],
            allowExternalPrincipals=_principal(asked.to)[0] != "organization",
            tags=[{"key": key, "value": value} for key, value in held.items()],
        )
        self.audit({"event": "granted", **held, "at": self.clock()})

    def _permission(self, asked: Request) -> str:
        """The narrowest permission for placement groups that has the actions."""
        found = pages(
            self.ram, "list_permissions", "permissions", resourceType="ec2:PlacementGroup"
        )
        fitting = []
        for entry in found:
            actions = self._actions_of(entry["arn"])
            if set(asked.actions) <= set(actions):
                fitting.append((len(actions), entry["arn"]))
        if not fitting:
            raise CloudError(
                f"RAM has no permission for placement groups with {', '.join(asked.actions)}: "
                "make a customer managed one"
            )
        return min(fitting)[1]

    def _actions(self, grant: Grant) -> list[str]:
        found = pages(
            self.ram, "list_resource_share_permissions", "permissions", resourceShareArn=grant.arn
        )
        return sorted({action for entry in found for action in self._actions_of(entry["arn"])})

    def _actions_of(self, arn: str) -> list[str]:
        found = call(self.ram.get_permission, permissionArn=arn)["permission"]["permission"]
        return json.loads(found)["Action"]

    def _granted(self, name: str) -> Grant | None:
        return next((grant for grant in self.grants() if grant.name == name), None)

    def grants(self) -> list[Grant]:
        return call(reconcile.grants, ram=self.ram)

    def _cidr(self, asked: Request, taken: list[str]) -> str:
        if asked.cidr == "auto":
            return allocate(self.settings.pool, self.settings.prefix, taken)
        check_free(asked.cidr, self.settings.pool, taken)
        return asked.cidr

    def _taken(self, name: str) -> list[str]:
        """Networks of other grants, of the own VPC, and of everything that it has a route to."""
        tables = call(
            self.ec2.describe_route_tables, RouteTableIds=list(self.settings.route_tables)
        )["RouteTables"]  # fmt: skip
        routed = [r.get("DestinationCidrBlock") for t in tables for r in t["Routes"]]
        others = [grant.cidr for grant in self.grants() if grant.name != name]
        return [*self._own_cidrs(), *others, *(c for c in routed if c and c != "0.0.0.0/0")]

    def _own_cidrs(self) -> list[str]:
        vpc = call(self.ec2.describe_vpcs, VpcIds=[self.settings.vpc])["Vpcs"][0]
        return cidrs(vpc)

    def _group_name(self) -> str:
        return self.settings.group or f"tickpath-{self.settings.name}"

    def _find_group(self) -> dict | None:
        named: list[Any] = [{"Name": "group-name", "Values": [self._group_name()]}]
        found = call(self.ec2.describe_placement_groups, Filters=named)["PlacementGroups"]
        account = self._account()
        return next((g for g in found if f":{account}:" in g["GroupArn"]), None)

    def _account(self) -> str:
        return call(self.sts.get_caller_identity)["Account"]

    def _group(self) -> dict:
        found = self._find_group()
        if found is None and self.settings.group:
            raise CloudError(f"placement group {self.settings.group} does not exist: is it yours?")
        if found is None:
            spec: list[Any] = [{"Key": reconcile.GRANT, "Value": self.settings.name}]
            try:
                found = call(
                    self.ec2.create_placement_group, GroupName=self._group_name(),
                    Strategy="cluster",
                    TagSpecifications=[{"ResourceType": "placement-group", "Tags": spec}],
                )["PlacementGroup"]  # fmt: skip
            except Rejected as rejected:
                if rejected.code != "InvalidPlacementGroup.Duplicate":
                    raise
                return self._group()
        if found["Strategy"] != "cluster":
            raise CloudError(f"{self._group_name()} is no cluster placement group")
        return found

    def _zone(self) -> str:
        found = call(self.ec2.describe_subnets, SubnetIds=[self.settings.subnet])
        return found["Subnets"][0]["AvailabilityZoneId"]

    # --- reconcile, list, revoke ----------------------------------------------------------------

    def reconciler(self) -> Reconciler:
        return Reconciler(self.settings.network, self.ec2, self.ram, self.clock, self.audit)

    def reconcile(self) -> list[Opened]:
        return call(self.reconciler().run)

    def preview(self) -> list[str]:
        """The decision on each request and each open peering."""
        granted, lines = self.grants(), []
        for peering in call(self.reconciler().peerings):
            grant, why = judge(granted, peering, self.settings.network, self.clock())
            what = f"covered by {grant.name}" if grant else f"not covered: {why}"
            state = peering["Status"]["Code"]
            lines.append(f"{peering['VpcPeeringConnectionId']} {state}: {what}")
        return lines or ["no peering of this VPC"]

    def table(self) -> str:
        granted = self.grants()
        peerings = call(self.reconciler().peerings)
        rows = []
        for grant in granted:
            state = next(
                (p["Status"]["Code"] for p in peerings if _mark(p) == grant.name), "none"
            )  # fmt: skip
            rows.append([
                grant.name, grant.account, grant.cidr, grant.vpc or "-", state,
                tags.rfc3339(grant.expires),
            ])  # fmt: skip
        head = ("grant", "account", "network", "VPC", "peering", "expires")
        return "\n".join(columns.table(head, rows, head)) if granted else "there are no grants"

    def revoke(self, name: str) -> None:
        """No new instances, no network. Instances that run are the receiver's and run on."""
        grant = self._granted(name)
        if grant is not None:
            call(self.ram.delete_resource_share, resourceShareArn=grant.arn)
            self.audit({"event": "revoked", "grant": name, "at": self.clock()})
        self.reconcile()

    def destroy(self) -> list[str]:
        """Revokes all, deletes the group that this made. Returns what is still there."""
        for grant in self.grants():
            self.revoke(grant.name)
        self.reconcile()
        used = ""
        group = self._find_group()
        if group is not None and tags.value(group, reconcile.GRANT):
            try:
                call(self.ec2.delete_placement_group, GroupName=group["GroupName"])
            except Rejected as rejected:
                if rejected.code != "InvalidPlacementGroup.InUse":
                    raise
                used = ": instances are in it"
        return self.leftovers(used)

    def leftovers(self, used: str = "") -> list[str]:
        """Only AWS knows whether the group is empty: other accounts' instances are in it."""
        found = [f"grant {grant.name}" for grant in self.grants()]
        group = self._find_group()
        if group is not None and tags.value(group, reconcile.GRANT):
            found.append(f"placement group {group['GroupName']}{used}")
        peerings = call(self.reconciler().peerings)
        return found + [p["VpcPeeringConnectionId"] for p in peerings if _mark(p)]


def _mark(peering: dict) -> str | None:
    return tags.value(peering, reconcile.GRANT)
