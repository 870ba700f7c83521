"""Additions to moto's EC2: placement groups, capacity errors, client tokens, zone ids."""

from __future__ import annotations

import traceback
from datetime import datetime
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instances import Instance, InstancePlacement
from moto.ec2.models.subnets import Subnet
from moto.ec2.responses import EC2Response
from moto.ec2.utils import filter_dict_attribute_mapping

from fake_aws.world import ON_DEMAND, SPOT_SHARE, WORLD, Group, hexadecimal

_run_instances = EC2Response.run_instances
_describe_instances = EC2Response.describe_instances
_terminate_instances = EC2Response.terminate_instances


def visible(self: Any) -> list[Group]:
    account = self.current_account
    return [
        g for g in WORLD.groups.values()
        if g.region == self.region and (g.owner == account or account in g.shared_with)
    ]  # fmt: skip


def described(group: Group) -> dict:
    return {
        "GroupName": group.name, "GroupId": group.id, "GroupArn": group.arn,
        "Strategy": group.strategy, "State": "available", "Tags": group.tags,
    }  # fmt: skip


def create_placement_group(self: Any) -> ActionResult:
    self.error_on_dryrun()
    name = self._get_param("GroupName")
    mine = [g for g in visible(self) if g.owner == self.current_account]
    if any(group.name == name for group in mine):
        raise EC2ClientError(
            "InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists."
        )
    specifications = self._get_param("TagSpecifications", [])
    group = Group(
        hexadecimal(WORLD, "pg-"), name, self.current_account, self.region,
        self._get_param("Strategy", "cluster"),
        [tag for entry in specifications for tag in entry.get("Tags", [])],
        WORLD.draw_latency_us(), partition_count=int(self._get_param("PartitionCount") or 0),
    )  # fmt: skip
    WORLD.groups[group.id] = group
    return ActionResult({"PlacementGroup": described(group)})


def describe_placement_groups(self: Any) -> ActionResult:
    found = visible(self)
    for wanted in self._get_param("GroupIds", []):
        if wanted not in [group.id for group in found]:
            raise unknown_group(wanted)
    if ids := self._get_param("GroupIds", []):
        found = [group for group in found if group.id in ids]
    if names := self._get_param("GroupNames", []):
        found = [group for group in found if group.name in names]
    for entry in self._get_param("Filters", []):
        found = [group for group in found if _passes(group, entry)]
    return ActionResult({"PlacementGroups": [described(group) for group in found]})


def delete_placement_group(self: Any) -> ActionResult:
    self.error_on_dryrun()
    name = self._get_param("GroupName")
    for group in list(WORLD.groups.values()):
        if name in (group.name, group.id) and group.owner == self.current_account:
            if group.live():
                raise EC2ClientError(
                    "InvalidPlacementGroup.InUse", f"The placement group {name} is in use."
                )
            del WORLD.groups[group.id]
            return ActionResult({})
    raise unknown_group(name)


def run_instances(self: Any) -> Any:
    group = _group_of(self, visible(self))
    self.error_on_dryrun()
    token = self._get_param("ClientToken")
    request = _without_token(self)
    if token and (before := WORLD.tokens.get((self.current_account, token))):
        if before[0] != request:
            raise EC2ClientError(
                "IdempotentParameterMismatch", "The client token was used with other arguments."
            )
        return before[1]
    kind = self._get_param("InstanceType", "m1.small")
    market = self._get_param("InstanceMarketOptions.MarketType") or "on-demand"
    if code := WORLD.no_capacity.get((kind, market)):
        raise EC2ClientError(code, f"We currently do not have sufficient {kind} capacity.")
    if group is not None and group.zone_id is not None:
        reject_wrong_zone(group, _zone(self))
    _reject_wrong_placement(self, group)
    response = _run_instances(self)
    for instance in _instances(response):
        if not self._get_param("BlockDeviceMappings", []):
            for device in instance.block_device_mapping.values():
                device.delete_on_termination = False  # as the image has it
        _place(instance, group, self._get_param("Placement", {}))
        instance.client_token = token
        _start(instance)
    if token:
        WORLD.tokens[(self.current_account, token)] = (request, response)
    return response


def reject_wrong_zone(group: Group, zone: str) -> None:
    """A cluster group is in the zone of its first instance."""
    if group.zone_id not in (None, zone):
        raise EC2ClientError(
            "InvalidParameterValue",
            f"Placement group {group.id} is in {group.zone_id}, not in {zone}.",
        )


def _zone(self: Any) -> str:
    nics = self._get_param("NetworkInterfaces", [])
    known = self._get_param("SubnetId") or nics[0]["SubnetId"]
    return self.ec2_backend.get_subnet(known).availability_zone_id


def _reject_wrong_placement(self: Any, group: Group | None) -> None:
    """Rules of AWS's guide: what goes together, and how many instances or partitions."""
    asked = self._get_param("Placement", {})
    tenancy, strategy = asked.get("Tenancy", "default"), group.strategy if group else ""
    if tenancy == "host" and (group or asked.get("HostId") not in self.ec2_backend.hosts):
        raise EC2ClientError("InvalidHostID.NotFound", "The host does not exist, or has a group.")
    if tenancy == "dedicated" and strategy == "spread":
        raise EC2ClientError("InvalidParameterCombination", "No dedicated instances in spread.")
    if group is None or strategy == "cluster":
        return
    number = int(asked.get("PartitionNumber", 0))
    if strategy == "partition" and not 1 <= number <= group.partition_count:
        raise EC2ClientError("InvalidParameterValue", f"The group has no partition {number}.")
    zones = [i.ec2_backend.get_subnet(i.subnet_id).availability_zone_id for i in group.live()]
    if strategy == "spread" and zones.count(_zone(self)) >= 7:
        raise EC2ClientError("InstanceLimitExceeded", "A spread group has 7 instances in a zone.")


def _place(instance: Any, group: Group | None, asked: dict[str, Any]) -> None:
    if (host := asked.get("HostId")) is not None:
        WORLD.latency_us[instance.id] = WORLD.hosts_us.setdefault(host, WORLD.draw_latency_us())
        return
    if group is None or group.strategy == "spread":
        WORLD.latency_us[instance.id] = WORLD.draw_latency_us()
    elif group.strategy == "partition":
        # AWS spreads those that name none evenly.
        number = int(asked.get("PartitionNumber") or len(group.members) % group.partition_count + 1)
        racks = group.partitions.setdefault(number, WORLD.draw_latency_us())
        WORLD.latency_us[instance.id] = racks
    else:
        WORLD.latency_us[instance.id] = group.latency_us
        zone = instance.ec2_backend.get_subnet(instance.subnet_id).availability_zone_id
        group.zone_id = group.zone_id or zone
    if group is None:
        return
    instance.placement.group_name, instance.placement.group_id = group.name, group.id
    instance.placement_group_name, instance.placement_group_id = group.name, group.id
    group.members.append(instance)


def _start(instance: Any) -> None:
    WORLD.instances[instance.id] = instance
    if instance.user_data is not None:
        WORLD.set_timer(instance.id, str(instance.user_data.decode()))
    try:
        WORLD.on_launch(instance)
    except Exception:
        traceback.print_exc()  # the client is only told that there was an internal error
        raise


def describe_instances(self: Any) -> Any:
    """AWS lists an instance only a while after its launch: here, after `lag_describes` calls."""
    asked = self._get_param("InstanceIds", [])
    if WORLD.lag_describes and (hidden := [known for known in asked if _lags(known)]):
        raise EC2ClientError(
            "InvalidInstanceID.NotFound", f"The instance IDs '{', '.join(hidden)}' do not exist"
        )
    response = _describe_instances(self)
    if WORLD.lag_describes and not asked:
        for reservation in response.result["Reservations"]:
            listed = [i for i in reservation.instances if not _lags(i.id)]
            reservation.instances = listed
    return response


def _lags(instance: str) -> bool:
    asked = WORLD.described[instance] = WORLD.described.get(instance, 0) + 1
    return asked <= WORLD.lag_describes


def terminate_instances(self: Any) -> Any:
    self.error_on_dryrun()
    response = _terminate_instances(self)
    ids = self._get_param("InstanceIds", [])
    for instance_id in ids:
        if instance_id in WORLD.instances:
            WORLD.end(WORLD.instances[instance_id])
    return response


def describe_images(self: Any) -> ActionResult:
    """Any image exists. It keeps its volume, as some of the marketplace's do."""
    volume = {"VolumeSize": 8, "VolumeType": "gp3"}
    kept = {"DeviceName": "/dev/sda1", "Ebs": {**volume, "DeleteOnTermination": False}}
    found = [
        {
            "ImageId": known,
            "State": "available",
            "BlockDeviceMappings": [kept],
            "CreationDate": datetime(2026, 1, 1),
        }
        for known in self._get_param("ImageIds", [])
    ]
    return ActionResult({"Images": found})


def describe_spot_price_history(self: Any) -> ActionResult:
    """One price on a page; the dearer ones of the past, too, unless a start is asked for."""
    wanted = self._get_param("InstanceTypes", [])
    shares = [SPOT_SHARE] if self._get_param("StartTime") else [SPOT_SHARE, 2 * SPOT_SHARE]
    found = [
        {"InstanceType": kind, "SpotPrice": f"{ON_DEMAND[kind] * share:.4f}",
         "ProductDescription": "Linux/UNIX", "AvailabilityZone": f"{self.region}a"}
        for kind in wanted if kind in ON_DEMAND for share in shares
    ]  # fmt: skip
    start = int(self._get_param("NextToken") or 0)
    more = {"NextToken": str(start + 1)} if start + 1 < len(found) else {}
    return ActionResult({"SpotPriceHistory": found[start : start + 1], **more})


def availability_zone_id(self: Any) -> str:
    backend = self.ec2_backend
    zones = backend.describe_availability_zones()
    ids = WORLD.zone_ids(backend.account_id, [zone.zone_id for zone in zones])
    names = [zone.name for zone in zones]
    return ids[names.index(self._availability_zone.name)]


def install() -> None:
    """Replaces methods of moto's classes."""
    for method in (
        create_placement_group, describe_placement_groups, delete_placement_group, run_instances,
        terminate_instances, describe_spot_price_history, describe_instances,
        describe_images,
    ):  # fmt: skip
        setattr(EC2Response, method.__name__, method)
    Subnet.availability_zone_id = property(availability_zone_id)
    filter_dict_attribute_mapping["placement-group-name"] = "placement_group_name"
    filter_dict_attribute_mapping["placement-group-id"] = "placement_group_id"
    Instance.placement_group_name = Instance.placement_group_id = None
    InstancePlacement.group_id = None


def unknown_group(name: str) -> EC2ClientError:
    return EC2ClientError(
        "InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown."
    )


def _passes(group: Group, entry: dict) -> bool:
    name, values = entry["Name"], entry["Values"]
    if name.startswith("tag:"):
        return any(t["Key"] == name[4:] and t["Value"] in values for t in group.tags)
    if name == "tag-key":
        return any(t["Key"] in values for t in group.tags)
    attribute = {"group-name": "name", "strategy": "strategy", "group-arn": "arn"}.get(name)
    if attribute is None:
        raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
    return getattr(group, attribute) in values


def _group_of(response: Any, visible: list[Group]) -> Group | None:
    """A group of another account is known by its id only."""
    wanted_id = response._get_param("Placement.GroupId")
    wanted_name = response._get_param("Placement.GroupName")
    if wanted_id and wanted_name:
        raise EC2ClientError(
            "InvalidParameterCombination", "GroupName and GroupId cannot be specified together"
        )
    if not wanted_id and not wanted_name:
        return None
    for group in visible:
        mine = group.owner == response.current_account
        if group.id == wanted_id or (mine and group.name == wanted_name):
            return group
    raise unknown_group(wanted_id or wanted_name)


def _instances(response: Any) -> list[Any]:
    return (response.result if hasattr(response, "result") else response._result).instances


def _without_token(response: Any) -> dict:
    """All parameters, as AWS compares them when a client token is used again."""
    return {key: value for key, value in response.params.items() if key != "ClientToken"}
