"""Across accounts: the peering of `share accept` carries more than one tier."""

import functools

import pytest
from conftest import REGION, session
from test_share import Two

from tickpath_cloud.tiers import check, stacks
from tickpath_cloud.tiers.stacks import Stacks


@pytest.fixture
def two(world, server, monkeypatch, tmp_path):
    monkeypatch.setattr("tickpath_cloud.share.receiver.VISIBLE_SECONDS", 0)
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
