"""EC2 behind the hunt: probes in groups of their own. Every call may be repeated."""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tickpath_cloud import dedicated, images, placement, tags
from tickpath_cloud.aws import PAUSES_SECONDS, call, client, drop, pages, pause
from tickpath_cloud.config import Config
from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.hunt.decide import Launch
from tickpath_cloud.hunt.run import Launched, NoCapacity
from tickpath_cloud.hunt.settings import Settings
from tickpath_cloud.instances import (
    UNLISTED_SECONDS,
    end,
    instances,
    of_hunt,
    to_end,
    user_data,
    wait_until_ended,
    wait_until_running,
)
from tickpath_cloud.launches import Launches, token
from tickpath_cloud.reasons import Then, reason

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

EXCHANGE = "-exchange"  # ends the name of a pair's second host


def launch(
    ec2: EC2Client, launches: Launches, name: str, role: str, price: Decimal, now: float,
    make: Callable[[], dict[str, Any]],
) -> list[dict]:  # fmt: skip
    """Instances of the request with this client token. Repeated, it launches no others."""
    arguments = launches.request(name, role, price, make)
    try:
        made = call(ec2.run_instances, **arguments)["Instances"]
    except Rejected as rejected:
        if reason(rejected.code).make is not Then.RETRY:
            launches.rejected(name)
        raise
    launches.launched(name, [instance["InstanceId"] for instance in made], now)
    return made


class Ec2:
    """The `Cloud` of a hunt."""

    def __init__(
        self,
        config: Config,
        hunt: str,
        clock: Callable[[], float] = time.time,
        *,
        launches: Launches | None = None,
    ) -> None:
        self.config, self.hunt, self.clock = config, hunt, clock
        self.launches = launches or Launches()
        self.ec2 = client("ec2", config.region)
        self.inside_port: int | None = None  # that instances of the hunt open to each other
        self.ena: dict[str, Any] = {}  # of the network adapter: express, queues
        self._subnets: list[dict] | None = None
        self._group: str | None = None
        self._volumes: dict[str, list[dict]] = {}  # by image

    # --- what there is --------------------------------------------------------------------------

    def subnets(self) -> list[dict]:
        if self._subnets is None:
            asked = list(self.config.subnets)
            found = call(self.ec2.describe_subnets, SubnetIds=asked)["Subnets"]
            self._subnets = sorted(found, key=lambda subnet: asked.index(subnet["SubnetId"]))
        return self._subnets

    def volumes(self) -> list[dict]:
        image = self.config.image
        if image not in self._volumes:
            self._volumes[image] = images.volumes(self.ec2, image)
        return self._volumes[image]

    def wait_for(self, arms: list[str]) -> None:
        """Until they run: before, AWS tells no public address of theirs."""
        recent = self.clock() - UNLISTED_SECONDS
        wait_until_running(self.ec2, [i for arm in arms for i in self.launches.ids(arm, recent)])

    def addresses(self) -> dict[str, str]:
        """By arm: where ssh reaches it. One without the address that was asked for is absent."""
        key = "PublicIpAddress" if self.config.reach == "public" else "PrivateIpAddress"
        return {arm: found[key] for arm, found in self._placed().items() if key in found}

    def private_addresses(self) -> dict[str, str]:
        """By arm: where other instances reach it."""
        return {arm: found["PrivateIpAddress"] for arm, found in self._placed().items()}

    def _placed(self) -> dict[str, dict]:
        return {
            tags.value(i, tags.ROLE) or "": i
            for i in instances(self.ec2, of_hunt(self.hunt))
            if i["State"]["Name"] in ("pending", "running")
        }

    def gone(self, arms: list[str]) -> list[str]:
        there = self._placed()
        return [arm for arm in arms if arm not in there]

    # --- what is made ---------------------------------------------------------------------------

    def launch(self, settings: Settings, action: Launch) -> Launched:
        expires = self.clock() + settings.ttl_seconds
        asked = self._placement(settings, action, expires)
        where = asked.get("GroupId") or asked.get("GroupName") or asked.get("HostId")
        rejections: list[Rejected] = []
        for subnet in self._subnets_for(action, asked):
            try:
                instance = self._run(settings, action, subnet, asked, expires)
            except Rejected as rejected:
                elsewhere = asked and rejected.code == "InvalidParameterValue"
                if not elsewhere and reason(rejected.code).make is not Then.NEXT_ZONE:
                    raise
                rejections.append(rejected)  # a group is in one zone alone
                continue
            return Launched(
                instance["InstanceId"], where, subnet["AvailabilityZoneId"],
            )  # fmt: skip
        last = rejections[-1]
        if reason(last.code).make is Then.NEXT_ZONE:
            raise NoCapacity(last.code, f"in none of your subnets: {last}") from last
        if "GroupId" not in asked:
            raise last
        raise CloudError(
            f"placement group {where} is in none of the zones of your subnets: add a subnet in "
            f"its zone, by zone id. {last}"
        )

    def _placement(self, settings: Settings, action: Launch, expires: float) -> dict[str, Any]:
        """The part of the request that says where; its group is made."""
        kind, place = action.placement, action.place
        if kind == placement.SHARED:
            return {"GroupId": settings.shared_groups[place]}
        if kind == placement.HOST:
            return {"HostId": settings.dedicated_hosts[place], "Tenancy": "host"}
        # A pair shares its group.
        role, strategy = placement.group(kind, action.arm.removesuffix(EXCHANGE), place)
        if not role:
            return {}
        asked: dict[str, Any] = {"GroupName": self._placement_group(role, strategy, expires)}
        if kind == placement.PARTITION:
            asked["PartitionNumber"] = placement.partition(place)
        if kind == placement.DEDICATED:
            asked["Tenancy"] = "dedicated"
        return asked

    def _subnets_for(self, action: Launch, asked: dict[str, Any]) -> list[dict]:
        """Subnets, first of the asked zone; of a dedicated host's zone only."""
        if "GroupId" in asked:
            return self.subnets()
        if (known := asked.get("HostId")) is not None:
            zone = self._host(known, action.candidate.type)["AvailabilityZone"]
            return [s for s in self.subnets() if s["AvailabilityZone"] == zone]
        return sorted(self.subnets(), key=lambda s: s["AvailabilityZoneId"] != action.zone)

    def _host(self, known: str, kind: str) -> dict:
        types = self.config.instance_types
        host = dedicated.hosts(self.ec2, [known], types, self.subnets())[known]
        if not dedicated.runs(host, kind):
            raise NoCapacity("OtherHost", f"dedicated host {known} does not run {kind}")
        return host

    def _placement_group(self, role: str, strategy: str, expires: float) -> str:
        name = f"tickpath-{self.hunt}-{role}"
        spec = self._specification("placement-group", role, expires)
        more: dict[str, Any] = {"Strategy": strategy}
        if strategy == placement.PARTITION:
            more["PartitionCount"] = placement.GROUP_MAX
        try:
            call(
                self.ec2.create_placement_group, GroupName=name, TagSpecifications=[spec],
                **more,
            )  # fmt: skip
        except Rejected as rejected:
            if rejected.code != "InvalidPlacementGroup.Duplicate":
                raise
        return name

    def _run(
        self, settings: Settings, action: Launch, subnet: dict, asked: dict, expires: float
    ) -> dict:
        name = token(self.hunt, action.arm, action.attempt, subnet["SubnetId"][-8:])
        return launch(
            self.ec2, self.launches, name, action.arm, action.candidate.price, self.clock(),
            lambda: self.run_arguments(settings, action, subnet, asked, expires),
        )[0]  # fmt: skip

    def run_arguments(
        self, settings: Settings, action: Launch, subnet: dict, asked: dict, expires: float
    ) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "MinCount": 1,
            "MaxCount": 1,
            "ImageId": self.config.image,
            "InstanceType": action.candidate.type,
            **self._interface(subnet["SubnetId"], self.security_group(expires)),
            **images.ending(self.volumes()),
            "Placement": asked,
            "InstanceInitiatedShutdownBehavior": "terminate",
            "UserData": user_data(settings.ttl_seconds),
            "MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled"},
            "TagSpecifications": [
                self._specification(kind, action.arm, expires)
                for kind in ("instance", "volume", "network-interface")
            ],
        }
        if self.config.key_name:
            arguments["KeyName"] = self.config.key_name
        if action.candidate.market == "spot":
            arguments["InstanceMarketOptions"] = {"MarketType": "spot"}
        return arguments

    def _interface(self, subnet: str, security: str) -> dict[str, Any]:
        if not self.ena:
            return {"SubnetId": subnet, "SecurityGroupIds": [security]}
        adapter: dict[str, Any] = {"DeviceIndex": 0, "SubnetId": subnet, "Groups": [security]}
        if "express" in self.ena:
            on = bool(self.ena["express"])
            adapter["EnaSrdSpecification"] = {
                "EnaSrdEnabled": on, "EnaSrdUdpSpecification": {"EnaSrdUdpEnabled": on},
            }  # fmt: skip
        if "queues" in self.ena:
            adapter["EnaQueueCount"] = int(self.ena["queues"])
        return {"NetworkInterfaces": [adapter]}

    def _specification(self, kind: str, role: str, expires: float) -> Any:
        return {"ResourceType": kind, "Tags": tags.tags(self.hunt, role, expires)}

    def security_group(self, expires: float) -> str:
        """ssh from the one who hunts; nothing else comes in."""
        if self._group is not None:
            return self._group
        group = self._found_group() or self._made_group(expires)
        self._group = group["GroupId"]
        permission = {
            "IpProtocol": "tcp", "FromPort": self.config.ssh_port, "ToPort": self.config.ssh_port,
            "IpRanges": [{"CidrIp": self.config.ssh_from, "Description": "the hunter"}],
        }  # fmt: skip
        if not group.get("IpPermissions"):
            self._allow(self._group, permission)
        self._open_inside(group)
        return self._group

    def _open_inside(self, group: dict) -> None:
        """Hosts of a pair reach each other, and nobody else reaches that port."""
        port, known = self.inside_port, group["GroupId"]
        rules = group.get("IpPermissions", [])
        if port is None or any(rule.get("UserIdGroupPairs") for rule in rules):
            return
        self._allow(known, {
            "IpProtocol": "tcp", "FromPort": port, "ToPort": port,
            "UserIdGroupPairs": [{"GroupId": known}],
        })  # fmt: skip

    def _found_group(self) -> dict | None:
        found = pages(
            self.ec2, "describe_security_groups", "SecurityGroups", Filters=of_hunt(self.hunt)
        )
        return next(iter(found), None)

    def _made_group(self, expires: float) -> dict:
        try:
            return call(
                self.ec2.create_security_group,
                GroupName=f"tickpath-{self.hunt}",
                Description="probes of a tickpath hunt",
                VpcId=self.subnets()[0]["VpcId"],
                TagSpecifications=[self._specification("security-group", "network", expires)],
            )
        except Rejected as rejected:
            if rejected.code != "InvalidGroup.Duplicate":
                raise
            # Made a moment ago, by a request whose answer was lost.
            return self._listed_group(rejected)

    def _listed_group(self, rejected: Rejected) -> dict:
        for seconds in PAUSES_SECONDS:
            if (group := self._found_group()) is not None:
                return group
            pause(seconds)
        raise rejected

    def _allow(self, group: str, permission: Any) -> None:
        try:
            call(
                self.ec2.authorize_security_group_ingress, GroupId=group,
                IpPermissions=[permission],
            )  # fmt: skip
        except Rejected as rejected:
            if rejected.code != "InvalidPermission.Duplicate":
                raise

    # --- what is kept and what is ended ---------------------------------------------------------

    def keep(self, arms: list[str], seconds: int) -> None:
        for arm in arms:
            found = instances(self.ec2, self._of_arm(arm))
            expires = tags.tags(self.hunt, arm, self.clock() + seconds)
            ids = [instance["InstanceId"] for instance in found]
            if ids:
                call(self.ec2.create_tags, Resources=ids, Tags=expires)

    def release(self, arms: list[str]) -> None:
        """Ends instances, waits, and deletes the groups that are ours."""
        known = {arm: self._instances(arm) for arm in arms}
        self.end([i for ids in known.values() for i in ids])
        for arm in arms:
            self.delete_groups([*of_hunt(self.hunt), self._role(arm)])

    def close(self) -> None:
        """The security group goes with the last instance, a group of many arms with its last."""
        left = instances(self.ec2, of_hunt(self.hunt))
        self.delete_groups(of_hunt(self.hunt), {i["Placement"].get("GroupName") for i in left})
        if not left:
            self.delete_security_groups()

    def destroy(self) -> list[str]:
        """Removes all of the hunt. Returns what is still there: nothing, if it could."""
        self.end(self._instances())
        self.launches.ended(self.launches.ids())  # also those whose own timers ended them
        self.delete_groups(of_hunt(self.hunt))
        self.delete_security_groups()
        return self.leftovers()

    def leftovers(self) -> list[str]:
        """Names of everything of the hunt that still exists."""
        filters = of_hunt(self.hunt)
        found = [instance["InstanceId"] for instance in instances(self.ec2, filters)]
        groups = call(self.ec2.describe_placement_groups, Filters=filters)["PlacementGroups"]
        found += [group["GroupName"] for group in groups]
        security = pages(self.ec2, "describe_security_groups", "SecurityGroups", Filters=filters)
        return found + [group["GroupId"] for group in security]

    def _instances(self, arm: str | None = None) -> list[str]:
        """By their tags and by the log of launches: AWS's lists lag behind."""
        filters = of_hunt(self.hunt) if arm is None else self._of_arm(arm)
        recent = self.launches.ids(arm, since=self.clock() - UNLISTED_SECONDS)
        return to_end(self.ec2, filters, recent)

    def end(self, ids: list[str]) -> None:
        """Ends instances and waits: until they have ended, their groups are in use."""
        end(self.ec2, ids)
        wait_until_ended(self.ec2, ids)
        self.launches.ended(ids)

    def delete_groups(self, filters: list[Any], used: Container[str | None] = ()) -> None:
        found = call(self.ec2.describe_placement_groups, Filters=filters)["PlacementGroups"]
        for group in found:
            if group["GroupName"] not in used:
                drop(self.ec2.delete_placement_group, GroupName=group["GroupName"])

    def delete_security_groups(self) -> None:
        while (group := self._found_group()) is not None:
            drop(self.ec2.delete_security_group, GroupId=group["GroupId"])
        self._group = None

    def _of_arm(self, arm: str) -> list[Any]:
        return [*of_hunt(self.hunt), self._role(arm)]

    def _role(self, arm: str) -> Any:
        return {"Name": f"tag:{tags.ROLE}", "Values": [arm]}
