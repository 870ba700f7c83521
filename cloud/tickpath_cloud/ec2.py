"""EC2 behind the hunt: probes in groups of their own. Every call may be repeated."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import boto3
from botocore.config import Config as SdkConfig
from botocore.exceptions import BotoCoreError, ClientError, WaiterError

from tickpath_cloud import tags
from tickpath_cloud.config import Config
from tickpath_cloud.errors import CloudError, Refused
from tickpath_cloud.hunt.decide import Launch
from tickpath_cloud.hunt.run import Launched, NoCapacity
from tickpath_cloud.hunt.settings import Settings
from tickpath_cloud.launches import Launches, token

NO_CAPACITY = {
    "InsufficientInstanceCapacity", "InsufficientHostCapacity", "InsufficientCapacity",
    "SpotMaxPriceTooLow", "MaxSpotInstanceCountExceeded", "VcpuLimitExceeded",
    "InstanceLimitExceeded", "Unsupported",
}  # fmt: skip
DENIED = {"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"}
LIVE = ["pending", "running", "stopping", "stopped", "shutting-down"]
WAIT_SECONDS, POLL_SECONDS = 300, 2
UNLISTED_SECONDS = 600  # by then AWS lists what was launched
UNDECIDED = {"InternalError", "InternalFailure", "ServiceUnavailable", "Unavailable"}
EXCHANGE = "-exchange"  # ends the name of a pair's second host


def client(service: str, region: str) -> Any:
    """The SDK retries what is throttled, with growing pauses."""
    retries = {"mode": "standard", "total_max_attempts": 8}
    return boto3.client(service, region_name=region, config=SdkConfig(retries=retries))


def call(operation: Callable[..., Any], **arguments: Any) -> Any:
    """One request; its errors as ours."""
    try:
        return operation(**arguments)
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"]["Message"]
        if code in DENIED:
            name = error.operation_name
            message = (
                f"not allowed to call {name}: give this identity the policy that "
                f"`tickpath-cloud policy` prints. {message}"
            )
        kind = NoCapacity if code in NO_CAPACITY else Refused
        raise kind(code, message) from error
    except WaiterError:
        raise
    except BotoCoreError as error:
        raise CloudError(f"AWS can't be reached or there are no credentials: {error}") from error


def pages(ec2: Any, operation: str, key: str, **arguments: Any) -> list[dict]:
    paginator = ec2.get_paginator(operation)
    return [e for page in call(lambda: list(paginator.paginate(**arguments))) for e in page[key]]


def of_hunt(hunt: str) -> list[dict]:
    return [{"Name": f"tag:{tags.HUNT}", "Values": [hunt]}]


def instances(ec2: Any, filters: list[dict]) -> list[dict]:
    """Those that still exist."""
    live = [*filters, {"Name": "instance-state-name", "Values": LIVE}]
    found = pages(ec2, "describe_instances", "Reservations", Filters=live)
    return [instance for reservation in found for instance in reservation["Instances"]]


def wait_until_running(ec2: Any, ids: list[str]) -> list[str]:
    """By id: AWS's lists of instances lag behind. Returns those that run; others have ended."""
    left = list(ids)
    while left:
        try:
            waiter = ec2.get_waiter("instance_running")
            call(waiter.wait, InstanceIds=left, WaiterConfig={
                "Delay": POLL_SECONDS, "MaxAttempts": WAIT_SECONDS // POLL_SECONDS,
            })  # fmt: skip
            return left
        except WaiterError as error:
            gone = ended(ec2, left)
            if not gone:
                raise CloudError(
                    f"{', '.join(left)} did not start in {WAIT_SECONDS} s: {error}"
                ) from error
            left = [known for known in left if known not in gone]
    return left


def ended(ec2: Any, ids: list[str]) -> set[str]:
    """By a filter: an id that AWS does not list yet is no error then."""
    if not ids:
        return set()
    wanted = [
        {"Name": "instance-id", "Values": ids},
        {"Name": "instance-state-name", "Values": ["shutting-down", "terminated", "stopped"]},
    ]
    found = pages(ec2, "describe_instances", "Reservations", Filters=wanted)
    return {i["InstanceId"] for reservation in found for i in reservation["Instances"]}


def user_data(ttl_seconds: int) -> str:
    """The instance ends itself, whether or not anybody is left to end it."""
    return f"#!/bin/sh\nshutdown -P +{max(ttl_seconds // 60, 1)}\n"


def launch(
    ec2: Any, launches: Launches, name: str, role: str, price: Decimal, now: float,
    make: Callable[[], dict[str, Any]],
) -> list[dict]:  # fmt: skip
    """Instances of the request with this client token. Repeated, it launches no others."""
    arguments = launches.request(name, role, price, make)
    try:
        made = call(ec2.run_instances, **arguments)["Instances"]
    except Refused as refused:
        if refused.code not in UNDECIDED:
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
        grouped: bool = True,
        launches: Launches | None = None,
    ) -> None:
        """`grouped`: each arm but the control probe has a placement group of its own."""
        self.config, self.hunt, self.clock, self.grouped = config, hunt, clock, grouped
        self.launches = launches or Launches()
        self.ec2 = client("ec2", config.region)
        self.inside_port: int | None = None  # that instances of the hunt open to each other
        self.ena: dict[str, Any] = {}  # of the network adapter: express, queues
        self._subnets: list[dict] | None = None
        self._group: str | None = None

    # --- what there is --------------------------------------------------------------------------

    def subnets(self) -> list[dict]:
        if self._subnets is None:
            asked = list(self.config.subnets)
            found = call(self.ec2.describe_subnets, SubnetIds=asked)["Subnets"]
            self._subnets = sorted(found, key=lambda subnet: asked.index(subnet["SubnetId"]))
        return self._subnets

    def addresses(self) -> dict[str, str]:
        """By arm: where ssh reaches it."""
        return {
            tags.value(i, tags.ROLE) or "": i.get("PublicIpAddress") or i["PrivateIpAddress"]
            for i in instances(self.ec2, of_hunt(self.hunt))
            if i["State"]["Name"] in ("pending", "running")
        }

    def private_addresses(self) -> dict[str, str]:
        """By arm: where other instances reach it."""
        return {
            tags.value(i, tags.ROLE) or "": i["PrivateIpAddress"]
            for i in instances(self.ec2, of_hunt(self.hunt))
            if i["State"]["Name"] in ("pending", "running")
        }

    def gone(self, arms: list[str]) -> list[str]:
        return [arm for arm in arms if arm not in self.addresses()]

    # --- what is made ---------------------------------------------------------------------------

    def launch(self, settings: Settings, action: Launch) -> Launched:
        expires = self.clock() + settings.ttl_seconds
        shared = self._shared_group(settings, action.arm)
        placement: dict[str, str] = {}
        if shared is not None:
            placement["GroupId"] = shared
        elif self.grouped and not action.arm.startswith("control"):
            arm = action.arm.removesuffix(EXCHANGE)  # a pair shares its group
            placement["GroupName"] = self._placement_group(arm, expires)
        refusals: list[Refused] = []
        for subnet in self._subnets_for(action, shared):
            try:
                instance = self._run(settings, action, subnet, placement, expires)
            except Refused as refused:
                wrong_zone = shared is not None and refused.code == "InvalidParameterValue"
                if not wrong_zone:
                    raise
                refusals.append(refused)  # the group is in another zone
                continue
            return Launched(
                instance["InstanceId"], shared or placement.get("GroupName"),
                subnet["AvailabilityZoneId"],
            )  # fmt: skip
        raise CloudError(
            f"placement group {shared} is in none of the zones of your subnets: add a subnet in "
            f"its zone, by zone id. {refusals[-1] if refusals else ''}"
        )

    def _shared_group(self, settings: Settings, arm: str) -> str | None:
        if not arm.startswith("shared-"):
            return None
        return settings.shared_groups[int(arm.removeprefix("shared-")) - 1]

    def _subnets_for(self, action: Launch, shared: str | None) -> list[dict]:
        if shared is not None:
            return self.subnets()
        return [s for s in self.subnets() if s["AvailabilityZoneId"] == action.zone][:1]

    def _placement_group(self, arm: str, expires: float) -> str:
        name = f"tickpath-{self.hunt}-{arm}"
        spec = self._specification("placement-group", arm, expires)
        try:
            call(
                self.ec2.create_placement_group, GroupName=name, Strategy="cluster",
                TagSpecifications=[spec],
            )  # fmt: skip
        except Refused as refused:
            if refused.code != "InvalidPlacementGroup.Duplicate":
                raise
        return name

    def _run(
        self, settings: Settings, action: Launch, subnet: dict, placement: dict, expires: float
    ) -> dict:
        name = token(self.hunt, action.arm, action.attempt, subnet["SubnetId"][-8:])
        return launch(
            self.ec2, self.launches, name, action.arm, action.candidate.price, self.clock(),
            lambda: self.run_arguments(settings, action, subnet, placement, expires),
        )[0]  # fmt: skip

    def run_arguments(
        self, settings: Settings, action: Launch, subnet: dict, placement: dict, expires: float
    ) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "MinCount": 1,
            "MaxCount": 1,
            "ImageId": self.config.image,
            "InstanceType": action.candidate.type,
            **self._interface(subnet["SubnetId"], self.security_group(expires)),
            "Placement": placement,
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

    def _specification(self, kind: str, role: str, expires: float) -> dict:
        return {"ResourceType": kind, "Tags": tags.tags(self.hunt, role, expires)}

    def security_group(self, expires: float) -> str:
        """ssh from the one who hunts; nothing else comes in."""
        if self._group is not None:
            return self._group
        found = call(self.ec2.describe_security_groups, Filters=of_hunt(self.hunt))
        group = next(iter(found["SecurityGroups"]), None)
        if group is None:
            group = call(
                self.ec2.create_security_group,
                GroupName=f"tickpath-{self.hunt}",
                Description="probes of a tickpath hunt",
                VpcId=self.subnets()[0]["VpcId"],
                TagSpecifications=[self._specification("security-group", "network", expires)],
            )
        self._group = group["GroupId"]
        permission = {
            "IpProtocol": "tcp", "FromPort": self.config.ssh_port, "ToPort": self.config.ssh_port,
            "IpRanges": [{"CidrIp": self.config.ssh_from, "Description": "the hunter"}],
        }  # fmt: skip
        if not group.get("IpPermissions"):
            call(
                self.ec2.authorize_security_group_ingress,
                GroupId=self._group,
                IpPermissions=[permission],
            )
        self._open_inside(group)
        return self._group

    def _open_inside(self, group: dict) -> None:
        """Hosts of a pair reach each other, and nobody else reaches that port."""
        port, known = self.inside_port, group["GroupId"]
        rules = group.get("IpPermissions", [])
        if port is None or any(rule.get("UserIdGroupPairs") for rule in rules):
            return
        call(
            self.ec2.authorize_security_group_ingress,
            GroupId=known,
            IpPermissions=[{
                "IpProtocol": "tcp", "FromPort": port, "ToPort": port,
                "UserIdGroupPairs": [{"GroupId": known}],
            }],
        )  # fmt: skip

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
        for arm in arms:
            self.end(instances(self.ec2, self._of_arm(arm)))
        for arm in arms:
            self._wait_until_ended(self._of_arm(arm))
            self.delete_groups([*of_hunt(self.hunt), self._role(arm)])

    def close(self) -> None:
        """The security group goes with the last instance."""
        if not instances(self.ec2, of_hunt(self.hunt)):
            self.delete_security_groups()

    def destroy(self) -> list[str]:
        """Removes all of the hunt. Returns what is still there: nothing, if it could."""
        self.end(instances(self.ec2, of_hunt(self.hunt)))
        self._wait_until_ended(of_hunt(self.hunt))
        self.delete_groups(of_hunt(self.hunt))
        self.delete_security_groups()
        return self.leftovers()

    def leftovers(self) -> list[str]:
        """Names of everything of the hunt that still exists."""
        filters = of_hunt(self.hunt)
        found = [instance["InstanceId"] for instance in instances(self.ec2, filters)]
        groups = call(self.ec2.describe_placement_groups, Filters=filters)["PlacementGroups"]
        found += [group["GroupName"] for group in groups]
        security = call(self.ec2.describe_security_groups, Filters=filters)["SecurityGroups"]
        return found + [group["GroupId"] for group in security]

    def end(self, found: list[dict]) -> None:
        ids = [i["InstanceId"] for i in found if i["State"]["Name"] != "shutting-down"]
        if ids:
            call(self.ec2.terminate_instances, InstanceIds=ids)

    def _wait_until_ended(self, filters: list[dict]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while left := instances(self.ec2, filters):
            if time.monotonic() > deadline:
                names = ", ".join(instance["InstanceId"] for instance in left)
                raise CloudError(f"{names} did not end in {WAIT_SECONDS} s: run destroy again")
            time.sleep(2)

    def delete_groups(self, filters: list[dict]) -> None:
        found = call(self.ec2.describe_placement_groups, Filters=filters)["PlacementGroups"]
        for group in found:
            call(self.ec2.delete_placement_group, GroupName=group["GroupName"])

    def delete_security_groups(self) -> None:
        found = call(self.ec2.describe_security_groups, Filters=of_hunt(self.hunt))
        for group in found["SecurityGroups"]:
            call(self.ec2.delete_security_group, GroupId=group["GroupId"])
        self._group = None

    def _of_arm(self, arm: str) -> list[dict]:
        return [*of_hunt(self.hunt), self._role(arm)]

    def _role(self, arm: str) -> dict:
        return {"Name": f"tag:{tags.ROLE}", "Values": [arm]}
