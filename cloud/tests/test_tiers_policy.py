"""Stacks of tiers are made and removed with the policy `tiers`, and with no action less."""

import base64
import json

import pytest
from conftest import ME, REGION, admin
from minimal import entries, first_of_each, watch, without
from test_tiers_stacks import HOST, SSH, Sides

from tickpath_cloud import policy
from tickpath_cloud.errors import CloudError
from tickpath_cloud.tiers import check, endpoint, members, stacks

MANAGED_POLICY_CHARACTERS = 6144  # IAM counts no white space
DENIED = "not authorized|DELETE_FAILED|UnauthorizedOperation|AccessDenied"


class Limited(Sides):
    """One account for both sides, with a policy; `admin` prepares what a stack is told."""

    def __init__(self, world, server, monkeypatch):
        self.world, self.server, self.monkeypatch = world, server, monkeypatch
        monkeypatch.setattr(stacks.time, "sleep", lambda seconds: None)
        admin(server).create_key_pair(KeyName="ops")

    def allow(self, document):
        self.world.add_key("me", ME, document)

    def make(self, kind, name, asked):
        side = self.stacks("me")
        side.plan(kind, name, asked, 100)
        return side.deploy(kind, name, asked)

    def venue(self, **more):
        return self.make("exchange", "venue", {**HOST, "SecondZone": f"{REGION}b", **more})

    def one(self, way, **more):
        return self.make("client", "c1", {**HOST, **SSH, "Way": way, **more})

    def look(self, made, target):
        self.stacks("me")
        return check.check(REGION, made.outputs["Instance"], target)

    def end(self, *names):
        for name in names:
            assert self.stacks("me").destroy(name) == []


def appliance(sides):
    venue = sides.venue()
    held = venue.outputs
    made = sides.one(
        "appliance", ExchangeVpc=held["VpcId"], ExchangeRouteTable=held["RouteTable"],
        ExchangeSecurityGroup=held["SecurityGroup"],
    )  # fmt: skip
    sides.look(made, venue.outputs["Address"])
    sides.end("c1", "venue")


def behind_endpoint(sides):
    venue = sides.venue(ClientPrincipal=f"arn:aws:iam::{ME}:root")
    sides.one("endpoint", ServiceName=venue.outputs["ServiceName"])
    assert endpoint.Service(REGION, "venue", sides.world.now).accept(ME)
    sides.end("c1", "venue")


def edge_through_nat(sides):
    certificate = sides.client("admin", "acm").request_certificate(DomainName="x.example")
    prefixes = admin(sides.server).create_managed_prefix_list(
        PrefixListName="cloudfront", MaxEntries=5, AddressFamily="IPv4"
    )["PrefixList"]["PrefixListId"]
    sides.venue(
        EdgeCertificate=certificate["CertificateArn"], CloudFrontPrefixes=prefixes,
        EdgeName="x.example",
    )  # fmt: skip
    sides.look(sides.one("edge-through-nat"), "198.51.100.200")
    sides.end("c1", "venue")


def transit_gateway(sides):
    gateway = admin(sides.server).create_transit_gateway()["TransitGateway"]["TransitGatewayId"]
    sides.one("transit-gateway", TransitGateway=gateway)
    sides.end("c1")


def shared_subnet(sides):
    organization = "arn:aws:organizations::1:organization/o-a"
    sides.world.ram.organizations[organization] = {ME, "222222222222"}
    sides.venue(SharedWith="222222222222")
    sides.end("venue")


def multicast(sides):
    made = sides.make("hosts", "c1", {**HOST, **SSH, "Multicast": "static", "Strategy": "cluster"})
    assert made.outputs["Domain"] and not members.members(REGION, "c1", sides.world.now).others
    sides.end("c1")


ACTS = (multicast, transit_gateway, appliance, behind_endpoint, edge_through_nat, shared_subnet)
PIECES = [
    pytest.param(number, action, id=f"{number}-{action}")
    for number, action in first_of_each(policy.policy("tiers"))
]


@pytest.fixture
def limited(world, server, monkeypatch):
    return Limited(world, server, monkeypatch)


def test_the_policy_is_enough_and_minimal(limited, monkeypatch):
    needed = watch(monkeypatch, policy.policy("tiers"))
    limited.allow(policy.policy("tiers"))
    for act in ACTS:
        act(limited)
    assert sorted(needed) == sorted(entries(policy.policy("tiers")))


@pytest.mark.parametrize(("number", "action"), PIECES)
def test_without_an_action_the_verbs_end(limited, number, action):
    limited.allow(without(policy.policy("tiers"), number, action))
    with pytest.raises(CloudError, match=DENIED):
        for act in ACTS:
            act(limited)


def test_a_stack_launches_no_type_that_the_policy_does_not_name(limited):
    """An identity that could deploy a stack could launch metal for $4 an hour."""
    limited.allow(policy.policy("tiers"))
    with pytest.raises(CloudError, match=DENIED):
        limited.venue(InstanceType="c7i.metal-24xl")


def test_the_exchange_of_a_stack_is_no_root_and_takes_any_token_only_if_asked(limited):
    limited.allow(policy.policy("tiers"))
    started = []
    for more in ({}, {"AnyToken": "true"}):
        limited.venue(**more)
        [instance] = [i for i in limited.world.instances.values() if i._state.name == "running"]
        started.append(str(base64.b64decode(instance.user_data), "utf-8").splitlines()[-1])
        limited.end("venue")
    as_user = "exec runuser -u tickpath -- /usr/local/bin/tickpath exchange"
    assert started[0] == f"{as_user} --tokens /etc/tickpath/tokens.toml --listen 0.0.0.0:8888"
    assert started[1] == f"{as_user} --any-token --listen 0.0.0.0:8888"


def test_only_by_a_stack_and_only_by_ours(limited):
    limited.allow(policy.policy("tiers"))
    ec2, api = limited.client("me", "ec2"), limited.client("me", "cloudformation")
    with pytest.raises(Exception, match="UnauthorizedOperation"):
        ec2.create_vpc(CidrBlock="10.1.0.0/16")
    with pytest.raises(Exception, match="AccessDenied"):
        api.delete_stack(StackName="payroll")


@pytest.mark.parametrize("verb", policy.VERBS)
def test_a_policy_fits_into_a_managed_policy(verb):
    text = json.dumps(policy.policy(verb), separators=(",", ":"))
    assert len(text) <= MANAGED_POLICY_CHARACTERS
