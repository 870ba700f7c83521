"""Each side of `share` works with its policy, and with no action less. The template too."""

import json
import re

import pytest
import yaml
from conftest import use
from minimal import entries, first_of_each, watch, without
from test_share import LIAR, RECEIVER, Two

from tickpath_cloud import policy
from tickpath_cloud.errors import CloudError
from tickpath_cloud.share import owner, reconcile
from tickpath_cloud.share.template import template

POLICIES = {"share-owner": "owner", "share-reconcile": "owner", "share-receiver": "receiver"}


@pytest.fixture
def two(world, server, monkeypatch, tmp_path):
    two = Two(world, server, monkeypatch, tmp_path)
    for key in ("owner", "receiver"):
        two.allow(key, None)
    return two


def requests(two, made):
    """One is let in and later adds a network, one is rejected. Returns the first's VPC."""
    vpc = two.vpc("receiver", made.cidr)
    two.ask("receiver", vpc)
    two.ask("liar", two.vpc("liar", "10.64.2.0/24"))
    return vpc


def act_owner(two, limit):
    limit()
    made = two.grant()
    vpc = requests(two, made)
    assert two.owner().reconcile()
    two.ec2["receiver"].associate_vpc_cidr_block(VpcId=vpc, CidrBlock="10.64.3.0/24")
    assert two.owner().reconcile() == []
    assert made.grant in two.owner().table()
    for instance in two.world.instances.values():
        two.world.end(instance)
    assert two.owner().destroy() == []


def act_reconcile(two, limit):
    made = two.grant(days=1)
    vpc = requests(two, made)
    limit()
    assert two.owner().reconcile()
    two.ec2["receiver"].associate_vpc_cidr_block(VpcId=vpc, CidrBlock="10.64.3.0/24")
    assert two.owner().reconcile() == []
    two.world.advance(86_400)
    two.owner().reconcile()
    assert not [s for s in two.world.ram.shares.values() if s.status == "ACTIVE"]


def act_receiver(two, limit):
    """A second grant replaces the route of the first; the last request is withdrawn by leaving."""
    first = two.grant()
    limit()
    side = two.receiver(first)
    side.plan()
    side.accept()
    two.owner().revoke(first.grant)
    made = two.grant(reserve=True)
    two.receiver(made, reserve=True).accept()
    assert two.receiver(made).leave() == []


ACTS = {
    "share-owner": act_owner, "share-reconcile": act_reconcile, "share-receiver": act_receiver,
}  # fmt: skip


def attempt(two, verb, document):
    ACTS[verb](two, lambda: two.allow(POLICIES[verb], document))


PIECES = [
    pytest.param(verb, number, action, id=f"{verb}-{number}-{action}")
    for verb in POLICIES
    for number, action in first_of_each(policy.policy(verb))
]


@pytest.mark.parametrize("verb", POLICIES)
def test_the_policy_is_enough_and_minimal(two, verb, monkeypatch):
    needed = watch(monkeypatch, policy.policy(verb))
    attempt(two, verb, policy.policy(verb))
    assert sorted(needed) == sorted(entries(policy.policy(verb)))


@pytest.mark.parametrize(("verb", "number", "action"), PIECES)
def test_without_an_action_the_verb_ends(two, verb, number, action):
    less = without(policy.policy(verb), number, action)
    with pytest.raises(CloudError, match=r"UnauthorizedOperation|AccessDenied"):
        attempt(two, verb, less)


def test_the_owner_may_not_end_peerings_that_are_not_of_grants(two):
    two.allow("owner", policy.policy("share-owner"))
    mine = two.ask("liar", two.vpc("liar", "192.168.7.0/24"))
    two.ec2["owner"].accept_vpc_peering_connection(VpcPeeringConnectionId=mine)
    with pytest.raises(Exception, match="UnauthorizedOperation"):
        two.owner().ec2.delete_vpc_peering_connection(VpcPeeringConnectionId=mine)


# --- the template -------------------------------------------------------------------------------


def test_the_template_is_the_reconciler(two, monkeypatch, capsys):
    """Its code runs with its environment and its policy, as the function would."""
    made = two.grant()
    vpc = requests(two, made)
    text = template(two.settings.network)
    loaded = yaml.load(text, Loader=Tags)
    function = loaded["Resources"]["Reconciler"]["Properties"]
    document = role_policy(loaded)
    two.allow("owner", document)
    use(two.monkeypatch, two.server, "owner")
    for key, value in two.settings.network.__dict__.items():
        name = f"TICKPATH_{key.upper()}"
        assert name in function["Environment"]["Variables"]
        text = ",".join(map(str, value)) if isinstance(value, tuple) else value
        monkeypatch.setenv(name, text)
    scope = {"__name__": "index"}
    monkeypatch.setitem(__import__("sys").modules, "index", type(json)("index"))
    exec(compile(function["Code"]["ZipFile"], "index.py", "exec"), scope)
    assert scope["handler"]({}, None) == {"open": [made.grant]}
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"bound", "marked", "accepted", "refused", "rule added", "route added"} == {
        line["event"] for line in said
    }
    assert [line["vpc"] for line in said if line["event"] == "accepted"] == [vpc]
    assert scope["handler"]({}, None) == {"open": [made.grant]} and not capsys.readouterr().out


def role_policy(loaded):
    """As CloudFormation makes it of the parameters' defaults."""
    held = {key: entry.get("Default") for key, entry in loaded["Parameters"].items()}

    def resolved(value):
        match value:
            case {"Ref": name}:
                default = held[name]
                is_list = loaded["Parameters"][name]["Type"] == "CommaDelimitedList"
                return default.split(",") if is_list else default
            case {"Fn::Join": [delimiter, parts]}:
                return delimiter.join(resolved(parts))
            case {"Fn::Split": [delimiter, text]}:
                return resolved(text).split(delimiter)
            case {"Fn::Sub": text}:
                return re.sub(r"\$\{(\w+)\}", lambda found: held[found[1]], text)
            case dict():
                return {key: resolved(entry) for key, entry in value.items()}
            case list():
                return [resolved(entry) for entry in value]
        return value

    return resolved(loaded["Resources"]["Role"]["Properties"]["Policies"][0]["PolicyDocument"])


@pytest.mark.parametrize("kind", ["vpc", "route-table", "security-group"])
def test_the_role_may_change_only_what_the_template_names(two, kind):
    """It named all route tables, groups and VPCs of the account."""
    made = two.grant()
    requests(two, made)
    document = role_policy(yaml.load(template(two.settings.network), Loader=Tags))
    arns = [a for s in document["Statement"] for a in s["Resource"] if f":{kind}/" in a]
    assert arns and not any(arn.endswith("*") for arn in arns)
    text = re.sub(rf":{kind}/[a-z]+-\w+", f":{kind}/another-one", json.dumps(document))
    two.allow("owner", json.loads(text))
    with pytest.raises(CloudError, match="UnauthorizedOperation"):
        two.owner().reconcile()


class Tags(yaml.SafeLoader):
    """CloudFormation's short forms, kept as they are."""


Tags.add_multi_constructor("!", lambda loader, suffix, node: (suffix, node.value))


def test_the_template_passes_cfn_lint(two, tmp_path):
    from cfnlint import lint_file

    file = tmp_path / "reconciler.yaml"
    file.write_text(template(two.settings.network))
    assert [str(match) for match in lint_file(file)] == []


def test_names_of_grants():
    assert owner.request(RECEIVER).name == RECEIVER
    assert owner.request(f"arn:aws:iam::{LIAR}:user/desk/Ann_B").name == f"{LIAR}-ann-b"
    with pytest.raises(CloudError, match="at most 41"):
        owner.request(LIAR, name="Not A Name")
    with pytest.raises(CloudError, match="not the account of"):
        owner.request(LIAR, account=RECEIVER)


def test_what_a_grant_says_is_checked_exactly():
    """The decision alone: nothing but what AWS attests, and all of it."""
    network = reconcile.Network("r", "vpc-o", ("rtb-o",), "sg-o", (8888,), "10.64.0.0/16")
    grant = reconcile.Grant("g", "arn", LIAR, LIAR, "10.64.1.0/24", None, 100.0)
    asks = {"OwnerId": LIAR, "VpcId": "vpc-1", "CidrBlock": "10.64.1.0/24", "Region": "r"}

    def verdict(now=50.0, bound=None, **changes):
        held = reconcile.Grant(**{**grant.__dict__, "vpc": bound})
        found, why = reconcile.judge([held], {"RequesterVpcInfo": asks | changes}, network, now)
        return why if found is None else "in"

    assert verdict() == "in" and verdict(bound="vpc-1") == "in"
    assert "expired" in verdict(now=100.0) and "bound" in verdict(bound="vpc-2")
    assert "no grant" in verdict(OwnerId=RECEIVER)
    assert "in other" in verdict(Region="other")
    assert "granted is" in verdict(CidrBlock="10.64.0.0/16")
    assert "granted is" in verdict(Ipv6CidrBlockSet=[{"Ipv6CidrBlock": "2001:db8::/56"}])
    assert "granted is" in verdict(CidrBlockSet=[{"CidrBlock": "10.64.9.0/24"}])
