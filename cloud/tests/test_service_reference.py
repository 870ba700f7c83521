"""Every action of every policy, against AWS's own list of actions, resources and conditions.

The fake decides by our idea of IAM. `share-owner` asked for `ram:CreateResourceShare` on a
resource, which that action does not know: the fake allowed it, and AWS always denies it.
"""

import re
from fnmatch import fnmatchcase

import pytest
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER
from policy_sentry.querying.actions import get_action_data, get_actions_for_service

from fake_aws.stack_actions import ACTIONS
from tickpath_cloud.policy import VERBS, policy

FIRST = "us-east-1"  # the region that has all types

GLOBAL = ("aws:CalledVia",)  # of every request; the list has those of single actions
# AWS's permission for shared groups has it, and the list does not.
BEYOND = ("ec2:CreateCapacityReservation", "placement-group")
OF_A_KIND = ("ec2:CreateAction",)  # listed for the action, not for each resource


def actions(statement):
    """Service and action; a pattern is all that it matches."""
    for pattern in statement["Action"]:
        service, name = pattern.split(":")
        known = [action.split(":")[1] for action in get_actions_for_service(service)]
        found = [each for each in known if fnmatchcase(each.lower(), name.lower())]
        assert found, f"AWS has no action {pattern}"
        yield from ((service, each) for each in found)


def rows(service, action):
    return get_action_data(service, action)[service]


def kind_of(arn):
    """The part before the resource's own name, which a slash or a colon divides."""
    return re.split("[/:]", arn.split(":", 5)[5])[0]


def kinds(service, action):
    """Conditions by the kind of resource that a policy may name for the action."""
    found = {}
    for row in rows(service, action):
        if row["resource_arn_format"] != "*":
            kind = kind_of(row["resource_arn_format"])
            found.setdefault(kind, set()).update(row["condition_keys"])
    return found


def named(statement):
    """Kinds of resources that a statement names; empty if it covers all resources."""
    held = (
        statement["Resource"]
        if isinstance(statement["Resource"], list)
        else [statement["Resource"]]
    )
    return {kind_of(arn) for arn in held if arn != "*"}


def keys(statement):
    for pairs in statement.get("Condition", {}).values():
        for key in pairs:
            if key not in GLOBAL:
                head, slash, _ = key.partition("/")
                yield f"{head}/${{TagKey}}" if slash else key


def faults(statement):
    """Why AWS would never allow what the statement means to allow."""
    found, asked = [], named(statement)
    for service, action in actions(statement):
        known = kinds(service, action)
        if asked and not asked & set(known) and (f"{service}:{action}", *asked) != BEYOND:
            found.append(f"{service}:{action} can't be limited to {sorted(asked)}")
        general = set().union(*(row["condition_keys"] for row in rows(service, action)))
        for key in keys(statement):
            limited = [] if key in OF_A_KIND else sorted(asked & set(known))
            if not all(key in known[kind] for kind in limited) or key not in general:
                found.append(f"{service}:{action} on {limited or '*'} knows no {key}")
    return found


def unknown_kinds(statements):
    """Kinds that no action of their statement has."""
    for statement in statements:
        of_actions = set().union(*(kinds(*each) for each in actions(statement)))
        beyond = {BEYOND[1]} if BEYOND[0] in statement["Action"] else set()
        yield from sorted(named(statement) - of_actions - beyond)


@pytest.mark.parametrize("verb", VERBS)
def test_aws_knows_every_action_resource_and_condition(verb):
    assert [fault for each in policy(verb)["Statement"] for fault in faults(each)] == []
    assert list(unknown_kinds(policy(verb)["Statement"])) == []


def test_the_check_finds_what_was_wrong():
    shares = ["arn:aws:ram:*:*:resource-share/*"]
    wrong = {"Action": ["ram:CreateResourceShare"], "Resource": shares}
    assert faults(wrong) == ["ram:CreateResourceShare can't be limited to ['resource-share']"]
    tagged = {"StringLike": {"aws:ResourceTag/x": "*"}}
    wrong = {"Action": ["ec2:DescribeVpcs"], "Resource": ["*"], "Condition": tagged}
    assert faults(wrong) == ["ec2:DescribeVpcs on * knows no aws:ResourceTag/${TagKey}"]
    with pytest.raises(AssertionError, match="no action ec2:CreateMoney"):
        faults({"Action": ["ec2:CreateMoney"], "Resource": ["*"]})


# CloudFormation's list for these two has nothing of what their templates make it do.
BEYOND_SCHEMA = ("AWS::CloudFront::Distribution", "AWS::EC2::Instance")


@pytest.mark.parametrize("kind", sorted(set(ACTIONS) - set(BEYOND_SCHEMA)))
def test_the_fake_s_stacks_ask_for_what_aws_s_types_say(kind):
    """The types' schemas come with cfn-lint: permissions of their handlers to create and delete."""
    handlers = PROVIDER_SCHEMA_MANAGER.get_resource_schema(FIRST, kind).schema["handlers"]
    for verb, ours in zip(("create", "delete"), ACTIONS[kind], strict=True):
        # Either one ends with a read.
        asked = [*handlers[verb]["permissions"], *handlers["read"]["permissions"]]
        known = [pattern.lower() for pattern in asked]
        for action in ours:
            assert any(fnmatchcase(action.lower(), pattern) for pattern in known), (verb, action)
