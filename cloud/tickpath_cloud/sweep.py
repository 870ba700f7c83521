"""Finds what hunts and receivers left behind, in a region, by its tags. Removes it when told to.

Resources of a stack are left to CloudFormation: `tiers stacks` lists orphans, `tiers destroy`
removes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tickpath_cloud import placement, removal, tags
from tickpath_cloud.aws import call, drop, pages
from tickpath_cloud.errors import Rejected
from tickpath_cloud.instances import end, instances

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_logs import CloudWatchLogsClient

_STACK = "aws:cloudformation:stack-name"
INSTANCE = "instance"


@dataclass(frozen=True)
class Left:
    kind: str  # instance, or the name of one of removal.ALL
    id: str
    hunt: str
    role: str
    expires: str
    orphan: bool  # past its expiry
    resource: dict

    def __str__(self) -> str:
        state = "ORPHAN, expired" if self.orphan else "expires"
        return f"{self.hunt:<24} {self.role:<10} {self.kind:<16} {self.id}  {state} {self.expires}"


def find(ec2: EC2Client, now: float) -> list[Left]:
    """Everything that carries our tag and still exists, in the order in which AWS lets go."""
    running = _ours(instances(ec2, removal.OURS))
    # A group lives as long as instances of its hunt and role do: anchors get a later expiry.
    # All else of a hunt lives as long as any of its instances.
    held = {(tags.value(i, tags.HUNT), tags.value(i, tags.ROLE)) for i in running}
    hunts = {hunt for hunt, _ in held}
    found = [_left(INSTANCE, i["InstanceId"], i, now, False) for i in running]
    for kind in removal.ALL:
        for resource in _ours(kind.find(ec2)):
            hunt, role = tags.value(resource, tags.HUNT), tags.value(resource, tags.ROLE)
            alone = kind is removal.GROUP and not placement.is_for_many(role or "")
            used = (hunt, role) in held if alone else hunt in hunts
            found.append(_left(kind.name, resource[kind.id], resource, now, used))
    return found


LOG_GROUP = "log group"
LOG_GROUPS = "/tickpath"  # their names begin so


def log_groups(logs: CloudWatchLogsClient, now: float) -> list[Left]:
    """Log groups with our name and tag. Audits of reconcilers are their stacks', and stay."""
    found = []
    named = pages(logs, "describe_log_groups", "logGroups", logGroupNamePrefix=LOG_GROUPS)
    for group in named:
        arn = group["arn"].removesuffix(":*")
        held = call(logs.list_tags_for_resource, resourceArn=arn)["tags"]
        tagged = {**group, "Tags": [{"Key": k, "Value": v} for k, v in held.items()]}
        if tags.HUNT in held:
            found += [_left(LOG_GROUP, g["logGroupName"], g, now, False) for g in _ours([tagged])]
    return found


def _ours(resources: list[dict]) -> list[dict]:
    return [resource for resource in resources if tags.value(resource, _STACK) is None]


def _left(kind: str, name: str, resource: dict, now: float, used: bool) -> Left:
    expires = tags.value(resource, tags.EXPIRES) or ""
    orphan = not used and (not expires or tags.seconds(expires) <= now)
    hunt, role = tags.value(resource, tags.HUNT), tags.value(resource, tags.ROLE)
    return Left(kind, name, hunt or "", role or "", expires, orphan, resource)


def remove(
    ec2: EC2Client, orphans: list[Left], logs: CloudWatchLogsClient | None = None
) -> list[str]:
    """Instances end; what was theirs is an orphan at the next sweep. Returns what AWS rejected."""
    ids = [left.id for left in orphans if left.kind == INSTANCE]
    end(ec2, ids)
    by_name = {kind.name: kind for kind in removal.ALL}
    rejected = []
    for left in orphans:
        if left.kind == INSTANCE:
            continue
        try:
            if logs is not None and left.kind == LOG_GROUP:
                drop(logs.delete_log_group, logGroupName=left.id)
            else:
                by_name[left.kind].remove(ec2, left.resource)
        except Rejected as why:
            rejected.append(f"{left.kind} {left.id}: {why}")
    return rejected
