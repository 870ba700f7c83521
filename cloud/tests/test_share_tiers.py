"""Across accounts: the peering of `share accept` carries more than one tier."""

import functools
from dataclasses import replace

import pytest
from conftest import REGION, session
from test_share import Two

from tickpath_cloud import policy
from tickpath_cloud.tiers import check, stacks
from tickpath_cloud.tiers.stacks import Stacks


@pytest.fixture
def two(world, server, monkeypatch, tmp_path):
    monkeypatch.setattr(stacks.time, "sleep", lambda seconds: None)
    made = functools.cache(
        lambda service, region: session("receiver-admin").client(service, endpoint_url=server.url)
    )
    for module in (stacks, check):
        monkeypatch.setattr(module, "client", made)
    return Two(world, server, monkeypatch, tmp_path)


def test_a_client_of_the_tier_peering_beside_the_one_in_the_group(two):
    made = two.grant()
    accepted = two.receiver(made).accept()
    assert two.owner().reconcile()
    gateway = next(i for i in two.world.groups[made.group].live() if i.id not in accepted.instances)
    ec2 = two.ec2["receiver"]
    ec2.create_key_pair(KeyName="ops")
    [subnet] = ec2.describe_subnets(Filters=[{"Name": "cidr-block", "Values": [made.cidr]}])[
        "Subnets"
    ]
    tiers = Stacks(REGION, two.world.now)
    second = tiers.deploy(
        "same-vpc", "second",
        {"VpcId": subnet["VpcId"], "SubnetId": subnet["SubnetId"], "Image": "ami-12345678",
         "SshFrom": "198.51.100.7/32", "KeyName": "ops"},
    )  # fmt: skip
    grouped = two.world.groups[made.group].live()
    for instance in (*accepted.instances, second.outputs["Instance"]):
        way = check.check(REGION, instance, gateway.private_ip)
        assert way.hops == (f"peering {accepted.peering}",)
        assert (two.world.instances[instance] in grouped) == (instance in accepted.instances)
    assert tiers.destroy("second") == []
    two.nothing_left(made)


def test_the_reconciler_leaves_the_way_back_of_a_stack_alone(two, monkeypatch):
    """The stack's network once lay in the guide's pool, of which the reconciler owns the routes."""
    two.settings = replace(two.settings, pool="10.64.0.0/16")
    admin = functools.cache(
        lambda service, region: session("owner-admin").client(service, endpoint_url=two.server.url)
    )
    for module in (stacks, check):
        monkeypatch.setattr(module, "client", admin)
    two.ec2["owner"].create_key_pair(KeyName="ops")
    tiers = Stacks(REGION, two.world.now)
    tiers.deploy(
        "client", "c1",
        {"Way": "peering", "Image": "ami-12345678", "Zone": f"{REGION}a", "KeyName": "ops",
         "SshFrom": "198.51.100.7/32", "ExchangeVpc": two.settings.vpc,
         "ExchangeRouteTable": two.settings.route_tables[0],
         "ExchangeSecurityGroup": two.settings.security_group},
    )  # fmt: skip
    before = two.routes(), two.rules()
    made = two.grant()
    two.receiver(made).accept()
    assert two.owner().reconcile()
    assert set(before[0]) < set(two.routes()) and set(before[1]) < set(two.rules())
    two.owner().revoke(made.grant)
    assert (two.routes(), two.rules()) == before


def test_from_an_empty_account(two, monkeypatch):
    """As the guide says it: group and stack first, whose outputs are owner.toml; with policies."""
    statements = [s for verb in ("share-owner", "tiers") for s in policy.policy(verb)["Statement"]]
    two.allow("owner", {"Statement": statements})
    two.ec2["owner"].create_key_pair(KeyName="ops")
    made = functools.cache(
        lambda service, region: session("owner").client(service, endpoint_url=two.server.url)
    )
    monkeypatch.setattr(stacks, "client", made)
    group = [{"Key": "tickpath:grant", "Value": "venue"}]
    made("ec2", REGION).create_placement_group(
        GroupName="matching", Strategy="cluster",
        TagSpecifications=[{"ResourceType": "placement-group", "Tags": group}],
    )  # fmt: skip
    tiers = Stacks(REGION, two.world.now)
    asked = {"Image": "ami-12345678", "Zone": f"{REGION}a", "SecondZone": f"{REGION}b"}
    found = tiers.deploy("exchange", "venue", {**asked, "PlacementGroup": "matching"}).outputs
    two.settings = replace(
        two.settings, group="matching", vpc=found["VpcId"], subnet=found["SubnetId"],
        route_tables=(found["RouteTable"],), security_group=found["SecurityGroup"],
    )  # fmt: skip
    made_offer = two.grant()
    accepted = two.receiver(made_offer).accept()
    assert two.owner().reconcile()
    way = check.check(REGION, accepted.instances[0], found["Address"])
    assert way.hops == (f"peering {accepted.peering}",)
    assert two.receiver(made_offer).leave() == []
    assert two.owner().destroy() == ["placement group matching: instances are in it"]
    assert tiers.destroy("venue") == []
    made("ec2", REGION).delete_placement_group(GroupName="matching")
    assert not two.world.groups
