"""Both networks of `share` against moto as it is: VPCs, peering, routes and rules in two accounts.

moto's RAM knows no tags and no placement groups: grants are a list here. moto lists peerings that
are deleted, and shows every account the requester's tags: whether a peering is marked and withdrawn
is left to the fake. The rest is moto's.
"""

import uuid
from dataclasses import replace

import boto3
import pytest
from conftest import REGION
from killer import Killer
from test_moto import moto  # noqa: F401

from tickpath_cloud import tags
from tickpath_cloud.errors import CloudError
from tickpath_cloud.share import reconcile
from tickpath_cloud.share.network import ReceiverNetwork
from tickpath_cloud.share.offer import Offer

OWNER, RECEIVER, LIAR = "111111111111", "222222222222", "333333333333"
OWNER_CIDR, CIDR, POOL = "10.0.0.0/16", "10.64.0.0/24", "10.64.0.0/16"
NOW = 1_800_000_000.0


class Ram:
    def __init__(self):
        held = {
            reconcile.GRANT: "mm", reconcile.PRINCIPAL: RECEIVER, reconcile.ACCOUNT: RECEIVER,
            reconcile.CIDR: CIDR, reconcile.EXPIRES: tags.rfc3339(NOW + 3600),
        }  # fmt: skip
        self.shares = {"arn:share": held}

    def get_resource_shares(self, **_):
        return {
            "resourceShares": [
                {
                    "resourceShareArn": arn,
                    "tags": [{"key": k, "value": v} for k, v in held.items()],
                }
                for arn, held in self.shares.items()
            ]
        }

    def tag_resource(self, resourceShareArn, tags):  # noqa: N803
        self.shares[resourceShareArn] |= {tag["key"]: tag["value"] for tag in tags}

    def delete_resource_share(self, resourceShareArn):  # noqa: N803
        del self.shares[resourceShareArn]


class Two:
    def __init__(self, url):
        self.url, self.ram, self.now, self.audit = url, Ram(), NOW, []
        self.name = f"share-{uuid.uuid4().hex[:8]}"
        self.ec2 = {account: self.client(account) for account in (OWNER, RECEIVER, LIAR)}
        self.before = {account: self.there(account) for account in self.ec2}
        ec2 = self.ec2[OWNER]
        self.vpc = ec2.create_vpc(CidrBlock=OWNER_CIDR)["Vpc"]["VpcId"]
        of_vpc = [{"Name": "vpc-id", "Values": [self.vpc]}]
        self.table = ec2.describe_route_tables(Filters=of_vpc)["RouteTables"][0]["RouteTableId"]
        self.group = ec2.create_security_group(GroupName="g", Description="g", VpcId=self.vpc)
        self.zone = ec2.describe_availability_zones()["AvailabilityZones"][0]
        self.offer = Offer(
            grant="mm", region=REGION, owner=OWNER, owner_vpc=self.vpc, owner_cidrs=(OWNER_CIDR,),
            share="arn:share", group="pg-1", group_arn="arn:group/g", zone_id=self.zone["ZoneId"],
            account=RECEIVER, principal=RECEIVER, cidr=CIDR, ports=(8888,), feed_ports=(9000,),
            actions=(), expires=tags.rfc3339(NOW + 3600),
        )  # fmt: skip

    def client(self, account):
        """In the account of an assumed role, as moto tells accounts apart."""
        place = {"region_name": REGION, "endpoint_url": self.url}
        keys = {"aws_access_key_id": "moto", "aws_secret_access_key": "fake"}
        role = f"arn:aws:iam::{account}:role/x"
        assumed = boto3.client("sts", **place, **keys).assume_role(
            RoleArn=role, RoleSessionName="test"
        )
        held = assumed["Credentials"]
        return boto3.client(
            "ec2", aws_access_key_id=held["AccessKeyId"], **place,
            aws_secret_access_key=held["SecretAccessKey"], aws_session_token=held["SessionToken"],
        )  # fmt: skip

    def there(self, account):
        ec2 = self.ec2[account]
        found = [v["VpcId"] for v in ec2.describe_vpcs()["Vpcs"]]
        found += [s["SubnetId"] for s in ec2.describe_subnets()["Subnets"]]
        gateways = ec2.describe_internet_gateways()["InternetGateways"]
        return found + [g["InternetGatewayId"] for g in gateways]

    def network(self, account=RECEIVER, **changes):
        made = replace(self.offer, **changes)
        return ReceiverNetwork(self.ec2[account], made, self.name, "", "", "198.51.100.7/32")

    def accept(self, account=RECEIVER, **changes):
        """The part of `share accept` that makes networks; the peering."""
        network = self.network(account, **changes)
        vpc = network.vpc()
        subnet, peering = network.subnet(vpc, self.zone["ZoneName"]), network.peering(vpc)
        network.routes(vpc, subnet, peering["VpcPeeringConnectionId"])
        network.security_group(vpc)
        return peering["VpcPeeringConnectionId"]

    def reconcile(self):
        network = reconcile.Network(
            REGION, self.vpc, (self.table,), self.group["GroupId"], (8888,), POOL
        )
        return reconcile.Reconciler(
            network, self.ec2[OWNER], self.ram, lambda: self.now, self.audit.append
        ).run()

    def lets_in(self):
        """Rules and routes of the owner's side."""
        ec2 = self.ec2[OWNER]
        group = ec2.describe_security_groups(GroupIds=[self.group["GroupId"]])["SecurityGroups"][0]
        table = ec2.describe_route_tables(RouteTableIds=[self.table])["RouteTables"][0]
        rules = [
            (r["CidrIp"], p["FromPort"]) for p in group["IpPermissions"] for r in p["IpRanges"]
        ]
        return rules, [
            r["DestinationCidrBlock"] for r in table["Routes"] if r.get("VpcPeeringConnectionId")
        ]

    def state(self, peering):
        [found] = self.ec2[OWNER].describe_vpc_peering_connections(
            VpcPeeringConnectionIds=[peering]
        )["VpcPeeringConnections"]  # fmt: skip
        return found["Status"]["Code"]


@pytest.fixture
def two(moto):  # noqa: F811
    two = Two(moto.url)
    yield two
    for account in (RECEIVER, LIAR):
        network = two.network(account)
        network.remove()
        left = network.leftovers()
        assert [two.state(peering) for peering in left if peering.startswith("pcx-")] in (
            [], ["deleted"], ["rejected"],
        )  # fmt: skip
        assert [known for known in left if not known.startswith("pcx-")] == []
        assert two.there(account) == two.before[account]


def test_networks_are_joined_once_and_parted_when_the_grant_ends(two):
    peering = two.accept()
    assert two.accept() == peering, "what there is is found, and made once"
    [opened] = two.reconcile()
    assert opened.peering == peering and two.state(peering) == "active"
    assert two.lets_in() == ([(CIDR, 8888)], [CIDR])
    assert two.ram.shares["arn:share"][reconcile.VPC], "bound to the VPC that came"
    lines = len(two.audit)
    [again] = two.reconcile()
    assert again.peering == peering
    assert [e["event"] for e in two.audit[lines:]] in ([], ["marked"]), "nothing is done twice"
    two.now += 3601
    assert two.reconcile() == [] and two.ram.shares == {}
    assert two.lets_in() == ([], [])


def test_wherever_a_receiver_is_killed_leave_leaves_nothing(two, monkeypatch):
    def act(kills):
        two.accept()
        two.network().remove()

    def after(kills):
        network = two.network()
        network.remove()
        assert [known for known in network.leftovers() if not known.startswith("pcx-")] == []
        assert two.there(RECEIVER) == two.before[RECEIVER], f"kill {kills}"

    assert Killer(monkeypatch).everywhere(act, after) >= 24


def test_another_account_and_another_network_are_rejected(two):
    liar, other = two.accept(LIAR), two.accept(cidr="10.65.0.0/24")
    assert two.reconcile() == [] and two.lets_in() == ([], [])
    assert [two.state(peering) for peering in (liar, other)] == ["rejected", "rejected"]
    why = [event["why"] for event in two.audit if event["event"] == "refused"]
    assert sorted(why) == [
        "account 333333333333 has no grant",
        "its networks are 10.65.0.0/24; granted is 10.64.0.0/24 alone",
    ]


def test_a_vpc_with_other_networks_is_said_before_a_subnet_is_made(two):
    two.network(cidr="10.66.0.0/24").vpc()
    with pytest.raises(CloudError, match="lets in a VPC with 10.64.0.0/24 alone"):
        two.accept()
