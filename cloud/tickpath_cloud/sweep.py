"""Finds what hunts left behind, in a region, by its tags. Removes it only when told to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tickpath_cloud import tags
from tickpath_cloud.ec2 import LIVE, call, pages

_ANY = [{"Name": "tag-key", "Values": [tags.HUNT]}]


@dataclass(frozen=True)
class Left:
    kind: str  # instance | placement group | security group
    id: str
    hunt: str
    role: str
    expires: str
    orphan: bool  # past its expiry

    def __str__(self) -> str:
        state = "ORPHAN, expired" if self.orphan else "expires"
        return f"{self.hunt:<24} {self.role:<10} {self.kind:<16} {self.id}  {state} {self.expires}"


def find(ec2: Any, now: float) -> list[Left]:
    """Everything that a hunt made and that still exists; instances first."""
    live = [*_ANY, {"Name": "instance-state-name", "Values": LIVE}]
    reservations = pages(ec2, "describe_instances", "Reservations", Filters=live)
    instances = [i for r in reservations for i in r["Instances"]]
    groups = call(ec2.describe_placement_groups, Filters=_ANY)["PlacementGroups"]
    security = call(ec2.describe_security_groups, Filters=_ANY)["SecurityGroups"]
    # A group lives as long as instances of its hunt and role do: anchors get a later expiry.
    held = [(tags.value(i, tags.HUNT), tags.value(i, tags.ROLE)) for i in instances]
    hunts = {hunt for hunt, _ in held}
    found = [_left("instance", i["InstanceId"], i, now, False) for i in instances]
    for group in groups:
        key = (tags.value(group, tags.HUNT), tags.value(group, tags.ROLE))
        found.append(_left("placement group", group["GroupName"], group, now, key in held))
    for group in security:
        used = tags.value(group, tags.HUNT) in hunts
        found.append(_left("security group", group["GroupId"], group, now, used))
    return found


def _left(kind: str, name: str, resource: dict, now: float, used: bool) -> Left:
    expires = tags.value(resource, tags.EXPIRES) or ""
    orphan = not used and (not expires or tags.seconds(expires) <= now)
    hunt, role = tags.value(resource, tags.HUNT), tags.value(resource, tags.ROLE)
    return Left(kind, name, hunt or "", role or "", expires, orphan)


def remove(ec2: Any, orphans: list[Left]) -> None:
    """Instances end; groups that were theirs are orphans at the next sweep."""
    ids = [left.id for left in orphans if left.kind == "instance"]
    if ids:
        call(ec2.terminate_instances, InstanceIds=ids)
    for left in orphans:
        if left.kind == "placement group":
            call(ec2.delete_placement_group, GroupName=left.id)
        elif left.kind == "security group":
            call(ec2.delete_security_group, GroupId=left.id)
