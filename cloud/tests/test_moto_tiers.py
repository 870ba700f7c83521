"""`tiers` against moto: stacks are planned, made, listed and deleted by moto's CloudFormation.

Load balancers of a network, endpoint services, multicast domains, placement groups and CloudFront
are no resources of moto's stacks, and its peerings have one region: those ways are in the fake's
tests (test_tiers_stacks.py, test_tiers_hosts.py).
"""

import boto3
import pytest
from conftest import REGION, networks, use
from killer import Killer
from test_moto import moto  # noqa: F401

from tickpath_cloud import cli

SSH = {"SshFrom": "198.51.100.7/32", "KeyName": "ops"}
EXCHANGE = {"Zone": f"{REGION}a", "SecondZone": f"{REGION}b"}
CLIENT = {"Zone": f"{REGION}a", **SSH}


class Account:
    def __init__(self, url):
        self.ec2 = boto3.client("ec2", endpoint_url=url)
        found = self.ec2.describe_subnets()["Subnets"][0]
        self.vpc, self.subnet = found["VpcId"], found["SubnetId"]
        if not self.ec2.describe_key_pairs()["KeyPairs"]:
            self.ec2.create_key_pair(KeyName="ops")

    def left(self):
        """Ids of whatever costs money, or would be in the way of the next stack."""
        ec2 = self.ec2
        found = networks(ec2)
        found += [a["PublicIp"] for a in ec2.describe_addresses()["Addresses"]]
        nats = ec2.describe_nat_gateways()["NatGateways"]
        found += [n["NatGatewayId"] for n in nats if n["State"] != "deleted"]
        peerings = ec2.describe_vpc_peering_connections()["VpcPeeringConnections"]
        found += [p["VpcPeeringConnectionId"] for p in peerings if p["Status"]["Code"] != "deleted"]
        instances = [i for r in ec2.describe_instances()["Reservations"] for i in r["Instances"]]
        live = [i["InstanceId"] for i in instances if i["State"]["Name"] != "terminated"]
        return sorted(found + live)


@pytest.fixture
def account(moto, monkeypatch):  # noqa: F811
    use(monkeypatch, moto, "moto")
    monkeypatch.setattr("tickpath_cloud.tiers.stacks.time.sleep", lambda seconds: None)
    monkeypatch.setattr("tickpath_cloud.aws.pause", lambda seconds: None)
    return Account(moto.url)


def command(*words):
    return ["tiers", *words, "--region", REGION]


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("same-vpc", SSH),
        ("exchange", EXCHANGE),
        ("client", {"Way": "peering", **CLIENT}),
        ("client", {"Way": "edge-through-nat", **CLIENT}),
        ("hosts", CLIENT),
        ("zones", {**EXCHANGE, "ThirdZone": f"{REGION}c", **SSH}),
    ],
)
def test_a_stack_is_made_and_destroy_leaves_nothing(account, moto, capsys, kind, asked):  # noqa: F811
    held = {**asked, "Image": moto.image}
    if kind == "same-vpc":
        held |= {"VpcId": account.vpc, "SubnetId": account.subnet}
    if asked.get("Way") == "peering":
        held["ExchangeVpc"] = account.vpc
    before = account.left()
    words = [word for pair in held.items() for word in ("--set", "=".join(pair))]
    deploy = command("deploy", kind, "judged", "--budget", "5", *words)
    assert cli.main(deploy) == 0 and account.left() == before, "a plan makes nothing"
    for _ in range(2):  # what is there is not made again
        assert cli.main([*deploy, "--apply"]) == 0, capsys.readouterr().err
        made = account.left()
    assert len(set(made) - set(before)) >= 3
    capsys.readouterr()
    assert cli.main(command("stacks")) == 0
    listed = capsys.readouterr().out
    assert "tickpath-tiers-judged" in listed and "CREATE_COMPLETE" in listed
    assert "ORPHAN" not in listed and listed.count("tickpath-tiers-") == 1
    for _ in range(2):
        assert cli.main(command("destroy", "judged", "--apply")) == 0, capsys.readouterr().err
    assert account.left() == before
    capsys.readouterr()
    assert cli.main(command("stacks")) == 0 and "no stack of tiers" in capsys.readouterr().out


def test_wherever_a_deployment_is_killed_destroy_leaves_nothing(account, moto, monkeypatch):  # noqa: F811
    """Together with the kills of hunts, matrices and receivers these are more than 60."""
    before = account.left()
    words = [
        word for pair in {**EXCHANGE, "Image": moto.image}.items()
        for word in ("--set", "=".join(pair))
    ]  # fmt: skip
    deploy = command("deploy", "exchange", "killed", "--budget", "5", "--apply", *words)
    destroy = command("destroy", "killed", "--apply")

    def act(kills):
        assert cli.main(deploy) == 0 and cli.main(destroy) == 0

    def after(kills):
        assert cli.main(destroy) == 0 and account.left() == before, f"kill {kills}"

    kills = Killer(monkeypatch).everywhere(act, after)
    assert kills == 4, "a stack is one request to make, and one to delete"
