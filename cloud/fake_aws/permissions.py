"""Enforces identity policies for the actions of a hunt: by action, kind of resource and tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from fake_aws.world import World

Tags = dict[str, str]


@dataclass(frozen=True)
class Need:
    """One resource of a request: all of a request's needs must be allowed."""

    action: str
    kind: str = "*"  # of the resource, such as "instance"
    existing: Tags = field(default_factory=dict)
    requested: Tags = field(default_factory=dict)
    create_action: str | None = None
    via: str | None = None  # the service that asks in the caller's name
    instance_type: str | None = None
    id: str = "id"


def allowed(statements: list[dict], need: Need) -> bool:
    hits = [statement for statement in statements if _matches(statement, need)]
    return bool(hits) and all(statement["Effect"] == "Allow" for statement in hits)


def _matches(statement: dict, need: Need) -> bool:
    actions = _list(statement["Action"])
    if not any(fnmatchcase(need.action.lower(), pattern.lower()) for pattern in actions):
        return False
    if not any(_covers(pattern, need) for pattern in _list(statement["Resource"])):
        return False
    conditions = statement.get("Condition", {})
    return all(
        _holds(operator, _context(need, key), _list(wanted))
        for operator, pairs in conditions.items()
        for key, wanted in pairs.items()
    )


def _covers(pattern: str, need: Need) -> bool:
    if pattern == "*":
        return True
    resource = pattern.rpartition(":")[2]
    return need.kind != "*" and fnmatchcase(f"{need.kind}/{need.id}", resource)


def _context(need: Need, key: str) -> str | None:
    if key.startswith("aws:RequestTag/"):
        return need.requested.get(key.removeprefix("aws:RequestTag/"))
    if key.startswith("aws:ResourceTag/"):
        return need.existing.get(key.removeprefix("aws:ResourceTag/"))
    if key == "aws:CalledVia":
        return need.via
    if key == "ec2:InstanceType":
        return need.instance_type
    return need.create_action if key == "ec2:CreateAction" else None


def _holds(operator: str, value: str | None, wanted: list[str]) -> bool:
    if operator == "StringLike":
        return value is not None and any(fnmatchcase(value, pattern) for pattern in wanted)
    if operator in ("StringEquals", "ForAnyValue:StringEquals"):
        return value in wanted
    raise ValueError(f"the fake does not know the condition {operator}")


def _list(value: Any) -> list:
    return value if isinstance(value, list) else [value]


# --- what a request needs -----------------------------------------------------------------------


# The resource that an action makes, then the resources that it uses.
MAKES = {
    "CreatePlacementGroup": ("placement-group",),
    "CreateSecurityGroup": ("security-group", "vpc"),
    "CreateVpc": ("vpc",),
    "CreateSubnet": ("subnet", "vpc"),
    "CreateInternetGateway": ("internet-gateway",),
    "CreateVpcPeeringConnection": ("vpc-peering-connection", "vpc"),
    "CreateCapacityReservation": ("capacity-reservation", "placement-group"),
}
# Resources that a request names, by their id's prefix.
KINDS = {
    "i-": "instance", "vpc-": "vpc", "subnet-": "subnet", "rtb-": "route-table",
    "igw-": "internet-gateway", "pcx-": "vpc-peering-connection", "sg-": "security-group",
    "vol-": "volume", "snap-": "snapshot", "eni-": "network-interface", "eipalloc-": "elastic-ip",
    "cr-": "capacity-reservation", "vpce-": "vpc-endpoint-service",
}  # fmt: skip
# Resources of these for which an action needs no permission.
ASIDE = {
    "CreateRoute": ("vpc-peering-connection", "internet-gateway"),
    "ReplaceRoute": ("vpc-peering-connection", "internet-gateway"),
}


def needs(
    world: World, service: str, action: str, form: dict[str, Any], account: str
) -> Iterator[Need]:
    if service == "ram":
        yield from _ram_needs(world, action, form)
        return
    if service == "cloudformation":
        yield from _stack_needs(action, form)
        return
    if service != "ec2":
        deletes = f"{service}:{action}" == "logs:DeleteLogGroup"
        yield _log_group(form, account) if deletes else Need(f"{service}:{action}")
        return
    name = f"ec2:{action}"
    made = _specifications(form)
    if action == "RunInstances":
        yield from _run_needs(form, made)
    elif action in MAKES:
        kind, *others = MAKES[action]
        yield Need(name, kind, requested=made.get(kind, {}))
        yield from (Need(name, other) for other in others)
    elif action.startswith(("Describe", "Search")):
        yield Need(name)
    else:
        for kind, tags, known in _named(world, action, form, account):
            yield Need(name, kind, tags, _tags(form, "Tag"), id=known)
        if action == "AcceptVpcPeeringConnection":
            yield Need(name, "vpc", id=_accepter(account, form["VpcPeeringConnectionId"]))
    for kind, tags in made.items():
        yield Need("ec2:CreateTags", kind, requested=tags, create_action=action)


def _run_needs(form: dict[str, str], made: dict[str, Tags]) -> Iterator[Need]:
    name = "ec2:RunInstances"
    for kind in ("instance", "volume", "network-interface"):
        yield Need(name, kind, requested=made.get(kind, {}))
    yield from (Need(name, kind) for kind in ("image", "subnet", "security-group"))
    if any(key.startswith("Placement.Group") for key in form):
        yield Need(name, "placement-group")
    if "KeyName" in form:
        yield Need(name, "key-pair")


def _stack_needs(action: str, form: dict[str, str]) -> Iterator[Need]:
    name = f"cloudformation:{action}"
    if stack := form.get("StackName"):
        yield Need(name, "stack", id=f"{stack}/id")
    else:
        yield Need(name)
        yield Need("cloudformation:ListStacks")  # of whoever describes all


def _log_group(form: dict[str, Any], account: str) -> Need:
    from moto.logs.models import logs_backends

    name, tags = form["logGroupName"], {}
    for backend in logs_backends[account].values():
        if (group := backend.groups.get(name)) is not None:
            tags = backend.list_tags_for_resource(group.arn.removesuffix(":*"))
    return Need("logs:DeleteLogGroup", "", tags, id=name.removeprefix("/"))


def _ram_needs(world: World, action: str, form: dict[str, Any]) -> Iterator[Need]:
    name = f"ram:{action}"
    requested = {tag["key"]: tag["value"] for tag in form.get("tags", [])}
    if action == "CreateResourceShare":
        yield Need(name, requested=requested)
        if requested:
            yield Need("ram:TagResource", "resource-share", requested=requested)
        # RAM writes the policy of the resource, in the caller's name.
        yield from _policies("PutResourcePolicy", form["resourceArns"])
    elif action == "AcceptResourceShareInvitation":
        yield Need(name, "resource-share-invitation")
    elif action in ("DeleteResourceShare", "TagResource"):
        share = world.ram.shares.get(form["resourceShareArn"])
        yield Need(name, "resource-share", share.tags if share else {}, requested)
        if action == "DeleteResourceShare" and share:
            yield from _policies("DeleteResourcePolicy", share.resources)
    else:
        yield Need(name)


def _policies(action: str, arns: list[str]) -> Iterator[Need]:
    """Only some kinds of resources have a policy."""
    yield from (
        Need(f"ec2:{action}", "placement-group") for arn in arns if "placement-group" in arn
    )


def _named(
    world: World, action: str, form: dict[str, str], account: str
) -> Iterator[tuple[str, Tags, str]]:
    """Resources that a request names, with the tags that they have in this account."""
    from moto.ec2.models import ec2_backends

    for key, value in form.items():
        prefix = value[: value.find("-") + 1]
        kind = KINDS.get(prefix)
        if key == "GroupName":
            groups = [group for group in world.groups.values() if group.name == value]
            pairs = groups[0].tags if groups else []
            yield "placement-group", {tag["Key"]: tag["Value"] for tag in pairs}, value
        elif kind is None or not key.partition(".")[0].endswith("Id"):
            continue
        elif kind == "capacity-reservation":
            held = world.reservations.get(value, {"Tags": []})["Tags"]
            yield kind, {tag["Key"]: tag["Value"] for tag in held}, value
        elif kind not in ASIDE.get(action, ()):
            tags: Tags = {}
            for backend in ec2_backends[account].values():
                pairs = backend.describe_tags(filters={"resource-id": [value]})
                tags |= {tag["key"]: tag["value"] for tag in pairs}
            yield kind, tags, value


def _accepter(account: str, peering: str) -> str:
    """The VPC that is asked for."""
    from moto.ec2.models import ec2_backends

    made = (backend.vpc_pcxs.get(peering) for backend in ec2_backends[account].values())
    return next((found.peer_vpc.id for found in made if found), "id")


def _specifications(form: dict[str, str]) -> dict[str, Tags]:
    found: dict[str, Tags] = {}
    for key, value in form.items():
        if key.startswith("TagSpecification") and key.endswith(".ResourceType"):
            found[value] = _tags(form, key.removesuffix("ResourceType") + "Tag")
    return found


def _tags(form: dict[str, str], prefix: str) -> Tags:
    return {
        value: form.get(key.removesuffix("Key") + "Value", "")
        for key, value in form.items()
        if key.startswith(prefix + ".") and key.endswith(".Key")
    }
