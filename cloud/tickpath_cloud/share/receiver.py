"""The receiver's side: accept an offer, launch into the shared group, leave again.

Everything that it makes carries the grant's name in a tag, and is looked up by it before it is
made: any step may be repeated, and an interrupted `accept` goes on where it ended.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tickpath_cloud import images, removal, tags
from tickpath_cloud.aws import call, client, pages
from tickpath_cloud.config import read, settings_of
from tickpath_cloud.ec2 import launch
from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.instances import (
    UNLISTED_SECONDS,
    end,
    ended,
    instances,
    of_hunt,
    to_end,
    user_data,
    wait_until_ended,
    wait_until_running,
)
from tickpath_cloud.launches import Launches, token
from tickpath_cloud.money import cost, dollars
from tickpath_cloud.prices import Besides, besides, on_demand_price
from tickpath_cloud.share.network import ReceiverNetwork
from tickpath_cloud.share.offer import Offer


@dataclass(frozen=True)
class Settings:
    """receiver.toml."""

    image: str
    instance_type: str
    budget: Decimal
    ssh_from: str  # CIDR of your machine
    count: int = 1
    ttl_hours: float = 24.0
    key_name: str | None = None
    vpc: str = ""  # empty: one is made, with the offer's network
    subnet: str = ""  # of that VPC; empty: one is made
    reserve: bool = False  # capacity in the group, billed like instances from now on

    def __post_init__(self) -> None:
        if ipaddress.ip_network(self.ssh_from, strict=False).prefixlen == 0:
            raise CloudError(f"ssh_from is {self.ssh_from}: name your own address")
        if self.subnet and not self.vpc:
            raise CloudError("subnet without vpc: name both, or neither")


@dataclass(frozen=True)
class Accepted:
    peering: str
    state: str  # active: orders can flow
    instances: tuple[str, ...]
    addresses: tuple[str, ...]
    reservation: str | None

    def __str__(self) -> str:
        reserved = f", capacity reservation {self.reservation}" if self.reservation else ""
        where = " ".join(f"{i} at {a}" for i, a in zip(self.instances, self.addresses, strict=True))
        wait = "" if self.state == "active" else ": the owner's `share reconcile` must accept it"
        return f"launched {where}{reserved}\npeering {self.peering} is {self.state}{wait}"


def load(path: Path) -> Settings:
    return settings_of(Settings, read(path), path)


class Receiver:
    def __init__(
        self, settings: Settings, offer: Offer, clock: Callable[[], float],
        launches: Launches | None = None,
    ) -> None:  # fmt: skip
        self.settings, self.offer, self.clock = settings, offer, clock
        self.launches = launches or Launches()
        self.name = f"share-{offer.grant}"
        self.ec2 = client("ec2", offer.region)
        self.ram = client("ram", offer.region)
        self.sts = client("sts", offer.region)
        self.pricing = client("pricing", "us-east-1")
        self.network = ReceiverNetwork(
            self.ec2, offer, self.name, settings.vpc, settings.subnet, settings.ssh_from
        )

    def plan(self) -> str:
        """The plan and its cost; makes nothing. Raises if it could not work."""
        self._check()
        more = self._besides()
        price = self._price() + more.hourly
        hours = self.settings.ttl_hours
        worst = self.settings.count * cost(price, 3600 * hours)
        if worst > self.settings.budget:
            raise CloudError(
                f"the worst case costs {dollars(worst)}, the budget is "
                f"{dollars(self.settings.budget)}: raise budget, or lower count or ttl_hours"
            )
        made = "makes" if not self.settings.vpc else f"uses {self.settings.vpc}, makes"
        return "\n".join([
            f"accept {self.offer.grant} of account {self.offer.owner} in account "
            f"{self.offer.account}, {self.offer.region}, zone {self.offer.zone_id} "
            f"({self.zone()} here)",
            f"  {made} VPC or subnet {self.offer.cidr}, security group, peering to "
            f"{self.offer.owner_vpc}",
            f"  launches   {self.settings.count} {self.settings.instance_type} into "
            f"{self.offer.group}" + (", reserves their capacity" if self.settings.reserve else ""),
            f"  of each    {more}",
            f"  costs      {dollars(self.settings.count * price)} an hour, {dollars(worst)} at "
            f"worst until they end themselves after {hours:g} h",
            f"  budget     {dollars(self.settings.budget)}",
        ])  # fmt: skip

    def _besides(self) -> Besides:
        held = images.sizes(images.volumes(self.ec2, self.settings.image))
        return besides(self.pricing, self.offer.region, held, not self.settings.vpc)

    def _price(self) -> Decimal:
        return on_demand_price(self.pricing, self.settings.instance_type, self.offer.region)

    def accept(self) -> Accepted:
        self._check()
        self._invitation()
        self._wait_for_group()
        zone = self.zone()
        vpc = self.network.vpc()
        subnet = self.network.subnet(vpc, zone)
        peering = self.network.peering(vpc)
        self.network.routes(vpc, subnet, peering["VpcPeeringConnectionId"])
        security = self.network.security_group(vpc)
        reservation = self._reserve(zone) if self.settings.reserve else None
        found = self._launch(subnet, security)
        return Accepted(
            peering["VpcPeeringConnectionId"], peering["Status"]["Code"],
            tuple(i["InstanceId"] for i in found),
            tuple(i.get("PublicIpAddress") or i["PrivateIpAddress"] for i in found), reservation,
        )  # fmt: skip

    # --- the share ------------------------------------------------------------------------------

    def _check(self) -> None:
        account = call(self.sts.get_caller_identity)["Account"]
        if account != self.offer.account:
            raise CloudError(
                f"the offer is for account {self.offer.account}, these credentials are of {account}"
            )
        if self.offer.expired(self.clock()):
            raise CloudError(
                f"the offer expired at {self.offer.expires}: ask the owner for another"
            )
        if self.settings.reserve and "ec2:CreateCapacityReservation" not in self.offer.actions:
            raise CloudError("the offer has no CreateCapacityReservation: ask for grant --reserve")

    def _invitation(self) -> None:
        """There is none within an organisation, and none after it was accepted."""
        found = pages(
            self.ram, "get_resource_share_invitations", "resourceShareInvitations",
            resourceShareArns=[self.offer.share],
        )  # fmt: skip
        for invitation in found:
            if invitation["senderAccountId"] != self.offer.owner:
                raise CloudError(
                    f"the invitation comes from account {invitation['senderAccountId']}, the offer "
                    f"from {self.offer.owner}: do not accept it before you asked the owner"
                )
            if invitation["status"] == "PENDING":
                arn = invitation["resourceShareInvitationArn"]
                try:
                    call(self.ram.accept_resource_share_invitation, resourceShareInvitationArn=arn)
                except Rejected as rejected:
                    if "AlreadyAccepted" not in rejected.code:
                        raise

    def _wait_for_group(self) -> None:
        """AWS shows it a while after the invitation was accepted."""
        try:
            call(self.ec2.describe_placement_groups, GroupIds=[self.offer.group])
        except Rejected as rejected:
            if rejected.code != "InvalidPlacementGroup.Unknown":
                raise
            raise CloudError(
                f"placement group {self.offer.group} is not shared with this account: the grant "
                "was revoked or has expired, or its invitation (7 days) has; ask the owner"
            ) from rejected

    def zone(self) -> str:
        """The name that the group's zone has in this account."""
        for zone in call(self.ec2.describe_availability_zones)["AvailabilityZones"]:
            if zone["ZoneId"] == self.offer.zone_id:
                return zone["ZoneName"]
        raise CloudError(f"zone {self.offer.zone_id} is not open to this account: ask AWS for it")

    # --- instances ------------------------------------------------------------------------------

    def _ends(self) -> float:
        return self.clock() + 3600 * self.settings.ttl_hours

    def _specifications(self, *kinds: str) -> list[Any]:
        held = tags.tags(self.name, "receiver", self._ends())
        return [{"ResourceType": kind, "Tags": held} for kind in kinds]

    def reservation(self) -> str | None:
        found = removal.RESERVATION.find(self.ec2, self.name)
        return found[0]["CapacityReservationId"] if found else None

    def _reserve(self, zone: str) -> str:
        if there := self.reservation():
            return there
        return call(
            self.ec2.create_capacity_reservation,
            InstanceType=self.settings.instance_type, InstancePlatform="Linux/UNIX",
            AvailabilityZone=zone, InstanceCount=self.settings.count,
            PlacementGroupArn=self.offer.group_arn, EndDateType="limited",
            EndDate=datetime.fromtimestamp(self._ends(), UTC),
            TagSpecifications=self._specifications("capacity-reservation"),
        )["CapacityReservation"]["CapacityReservationId"]  # fmt: skip

    def instances(self) -> list[dict]:
        """Instances in the shared group, as AWS lists them: a filter by a group's id may fail."""
        found = instances(self.ec2, of_hunt(self.name))
        return [instance for instance in found if self._in_group(instance["Placement"])]

    def _in_group(self, placement: dict[str, Any]) -> bool:
        known = placement.get("GroupId")
        if known is not None:
            return known == self.offer.group
        return placement.get("GroupName") == self.offer.group_arn.rpartition("/")[2]

    def _launch(self, subnet: str, security: str) -> list[dict]:
        """AWS may not list yet what an earlier `accept` launched: its log counts, too."""
        found = self.instances()
        listed = {instance["InstanceId"] for instance in found}
        pending = self.launches.pending(self.name)
        made = [i["InstanceId"] for i in found if i.get("ClientToken") == pending]
        if pending and made:
            self.launches.launched(pending, made, self.clock())
        recent = self.launches.ids(self.name, since=self.clock() - UNLISTED_SECONDS)
        new = set(recent) - ended(self.ec2, recent)
        missing = self.settings.count - len(listed | new)
        pending = self.launches.pending(self.name)
        if missing > 0 or pending:
            share = hashlib.sha256(self.offer.share.encode()).hexdigest()[:8]
            name = pending or token(self.name, share, self.launches.count(self.name))
            launched = launch(
                self.ec2, self.launches, name, self.name, self._price() + self._besides().hourly,
                self.clock(),
                lambda: self._run_arguments(subnet, security, missing),
            )  # fmt: skip
            new |= {instance["InstanceId"] for instance in launched}
        wait_until_running(self.ec2, sorted(listed | new))
        return self.instances()

    def _run_arguments(self, subnet: str, security: str, count: int) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "MinCount": count, "MaxCount": count, "ImageId": self.settings.image,
            "InstanceType": self.settings.instance_type,
            **images.ending(images.volumes(self.ec2, self.settings.image)),
            # A group of another account is known by its id only.
            "Placement": {"GroupId": self.offer.group},
            "InstanceInitiatedShutdownBehavior": "terminate",
            "UserData": user_data(int(3600 * self.settings.ttl_hours)),
            "MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled"},
            "NetworkInterfaces": [{
                "DeviceIndex": 0, "SubnetId": subnet, "Groups": [security],
                "AssociatePublicIpAddress": not self.settings.vpc,
            }],
            "TagSpecifications": self._specifications("instance", "volume", "network-interface"),
        }  # fmt: skip
        if self.settings.key_name:
            arguments["KeyName"] = self.settings.key_name
        return arguments

    # --- leave ----------------------------------------------------------------------------------

    def leave(self) -> list[str]:
        """Removes all that `accept` made. Returns what is still there: nothing, if it could."""
        recent = self.launches.ids(self.name, since=self.clock() - UNLISTED_SECONDS)
        ids = to_end(self.ec2, of_hunt(self.name), recent)
        end(self.ec2, ids)
        for reservation in removal.RESERVATION.find(self.ec2, self.name):
            removal.RESERVATION.remove(self.ec2, reservation)
        wait_until_ended(self.ec2, ids)
        self.launches.ended(self.launches.ids(self.name))
        self.network.remove()
        return self.leftovers()

    def leftovers(self) -> list[str]:
        found = [i["InstanceId"] for i in instances(self.ec2, of_hunt(self.name))]
        there = self.reservation()
        return [*found, *([there] if there else []), *self.network.leftovers()]
