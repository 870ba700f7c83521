"""Both accounts play the whole flow: owner and receiver, and a third that lies."""

import functools
from dataclasses import replace
from decimal import Decimal

import botocore.client
import pytest
from conftest import REGION, admin, use

from tickpath_cloud import ec2, policy
from tickpath_cloud.errors import CloudError
from tickpath_cloud.launches import Launches
from tickpath_cloud.share import offer, owner, receiver

OWNER, RECEIVER, LIAR = "111111111111", "222222222222", "333333333333"
OWNER_CIDR, POOL = "10.0.0.0/16", "10.64.0.0/22"


class Two:
    """The two sides, each with its own credentials alone."""

    def __init__(self, world, server, monkeypatch, path):
        self.world, self.server, self.monkeypatch, self.path = world, server, monkeypatch, path
        self.audit = []
        for key, account in (("owner", OWNER), ("receiver", RECEIVER), ("liar", LIAR)):
            world.add_key(f"{key}-admin", account, None)
        self.allow("owner", policy.policy("share-owner"))
        self.allow("receiver", policy.policy("share-receiver"))
        self.ec2 = {a: self.admin(a) for a in ("owner", "receiver", "liar")}
        self.settings = self._owner_network()
        self.receiver_settings = receiver.Settings(
            image="ami-12345678", instance_type="c7i.large", budget=Decimal(20),
            ssh_from="198.51.100.7/32", count=2, key_name="ops",
        )  # fmt: skip

    def allow(self, key, document):
        account = {"owner": OWNER, "receiver": RECEIVER}[key]
        self.world.add_key(key, account, document)

    def admin(self, who):
        return admin(self.server, f"{who}-admin")

    def _owner_network(self):
        ec2 = self.ec2["owner"]
        vpc = ec2.create_vpc(CidrBlock=OWNER_CIDR)["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(
            VpcId=vpc, CidrBlock="10.0.1.0/24", AvailabilityZone=f"{REGION}a"
        )["Subnet"]["SubnetId"]  # fmt: skip
        table = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])
        group = ec2.create_security_group(GroupName="gateways", Description="g", VpcId=vpc)
        return owner.Settings(
            name="venue", region=REGION, vpc=vpc, subnet=subnet, pool=POOL, ports=(8888,),
            route_tables=(table["RouteTables"][0]["RouteTableId"],), feed_ports=(9000,),
            security_group=group["GroupId"],
        )  # fmt: skip

    # --- the two sides, fresh as a process of its own would be ----------------------------------

    def _use(self, key):
        """Clients hold no state; making one takes longer than all that it is asked here."""
        use(self.monkeypatch, self.server, key)
        for module in (owner, receiver):
            made = functools.partial(_client, key)
            self.monkeypatch.setattr(module, "client", made)

    def owner(self, **changes):
        self._use("owner")
        settings = replace(self.settings, **changes)
        return owner.Owner(settings, self.world.now, self.audit.append)

    def grant(self, to=RECEIVER, **asked):
        # The gateways run in the group: that decides its zone.
        side = self.owner()
        made = side.grant(owner.request(to, **asked))
        self._gateway(made)
        file = self.path / "x.offer.json"
        made.write(file)
        return offer.read(file)

    def _gateway(self, made):
        group = self.world.groups[made.group]
        if not group.live():
            self.ec2["owner"].run_instances(
                MinCount=1, MaxCount=1, ImageId="ami-12345678", SubnetId=self.settings.subnet,
                InstanceType="c7i.large", Placement={"GroupId": made.group},
            )  # fmt: skip

    def receiver(self, made, **changes):
        self._use("receiver")
        settings = replace(self.receiver_settings, **changes)
        launches = Launches(self.path / "receiver.launches.jsonl")
        return receiver.Receiver(settings, made, self.world.now, launches)

    # --- what there is --------------------------------------------------------------------------

    def rules(self):
        found = self.ec2["owner"].describe_security_groups(
            GroupIds=[self.settings.security_group]
        )["SecurityGroups"][0]["IpPermissions"]  # fmt: skip
        return sorted((r["CidrIp"], p["FromPort"]) for p in found for r in p["IpRanges"])

    def routes(self):
        found = self.ec2["owner"].describe_route_tables(
            RouteTableIds=list(self.settings.route_tables)
        )["RouteTables"][0]["Routes"]  # fmt: skip
        return [r["DestinationCidrBlock"] for r in found if r.get("VpcPeeringConnectionId")]

    def events(self, name):
        return [event for event in self.audit if event["event"] == name]

    def vpc(self, who, cidr, *others):
        known = self.ec2[who].create_vpc(CidrBlock=cidr)["Vpc"]["VpcId"]
        for other in others:
            self.ec2[who].associate_vpc_cidr_block(VpcId=known, CidrBlock=other)
        return known

    def ask(self, who, vpc):
        """A peering request by hand, without the tool."""
        made = self.ec2[who].create_vpc_peering_connection(
            VpcId=vpc, PeerVpcId=self.settings.vpc, PeerOwnerId=OWNER, PeerRegion=REGION
        )["VpcPeeringConnection"]  # fmt: skip
        return made["VpcPeeringConnectionId"]

    def state(self, peering):
        found = self.ec2["owner"].describe_vpc_peering_connections(
            VpcPeeringConnectionIds=[peering]
        )["VpcPeeringConnections"][0]  # fmt: skip
        return found["Status"]["Code"]

    def nothing_left(self, made):
        assert self.receiver(made).leave() == []
        for instance in self.world.instances.values():
            if instance._state.name != "terminated":
                self.world.end(instance)  # the gateway
        assert self.owner().destroy() == []
        assert self.rules() == [] and self.routes() == [] and not self.world.groups
        vpcs = self.ec2["receiver"].describe_vpcs()["Vpcs"]
        assert all(vpc["IsDefault"] for vpc in vpcs)
        assert all(r["State"] == "cancelled" for r in self.world.reservations.values())


@functools.cache
def _client(key, service, region):
    return ec2.client(service, region)


@pytest.fixture
def two(world, server, monkeypatch, tmp_path):
    return Two(world, server, monkeypatch, tmp_path)


def test_from_grant_to_instances_side_by_side(two):
    made = two.grant(reserve=True)
    assert made.cidr == "10.64.0.0/24" and made.owner_cidrs == (OWNER_CIDR,)
    first = two.receiver(made, reserve=True).accept()
    assert first.state != "active" and len(first.instances) == 2
    assert [opened.grant.account for opened in two.owner().reconcile()] == [RECEIVER]
    assert two.rules() == [("10.64.0.0/24", 8888)] and two.routes() == ["10.64.0.0/24"]
    # Every step twice.
    lines = len(two.audit)
    again = two.receiver(made, reserve=True).accept()
    assert again.state == "active" and again.instances == first.instances
    assert again.reservation == first.reservation is not None
    assert len(two.owner().reconcile()) == 1 and two.grant(reserve=True) == made
    assert len(two.audit) == lines, "a repeated step changes nothing"
    assert f"{made.grant}  {RECEIVER}  {made.cidr}  vpc-" in two.owner().table()
    group = two.world.groups[made.group]
    owners = {i.ec2_backend.account_id for i in group.live()}
    zones = {i.ec2_backend.get_subnet(i.subnet_id).availability_zone_id for i in group.live()}
    assert owners == {OWNER, RECEIVER} and zones == {made.zone_id}
    two.nothing_left(made)
    two.nothing_left(made)


def test_every_instance_is_tagged_private_and_ends_itself(two):
    made = two.grant()
    accepted = two.receiver(made).accept()
    for known in accepted.instances:
        instance = two.world.instances[known]
        assert instance.instance_initiated_shutdown_behavior == "terminate"
        assert instance.metadata_options.http_tokens == "required"
    two.world.advance(25 * 3600)
    assert all(two.world.instances[i]._state.name == "terminated" for i in accepted.instances)


def test_zone_names_differ_and_the_wrong_zone_is_rejected(two):
    made = two.grant()
    side = two.receiver(made)
    assert side.zone() != f"{REGION}a", "the fake gives the accounts different names"
    vpc = two.vpc("receiver", made.cidr)
    wrong = two.ec2["receiver"].create_subnet(
        VpcId=vpc, CidrBlock="10.64.0.0/25", AvailabilityZone=f"{REGION}a"
    )["Subnet"]["SubnetId"]  # fmt: skip
    with pytest.raises(CloudError, match=f"the placement group in {made.zone_id}"):
        two.receiver(made, vpc=vpc, subnet=wrong).accept()
    assert not two.receiver(made).instances()
    right = two.ec2["receiver"].create_subnet(
        VpcId=vpc, CidrBlock="10.64.0.128/25", AvailabilityZone=side.zone()
    )["Subnet"]["SubnetId"]  # fmt: skip
    assert len(two.receiver(made, vpc=vpc, subnet=right).accept().instances) == 2
    # AWS itself rejects, were our check not there.
    with pytest.raises(botocore.exceptions.ClientError, match="is in"):
        two.ec2["receiver"].run_instances(
            MinCount=1, MaxCount=1, ImageId="ami-12345678", SubnetId=wrong,
            Placement={"GroupId": made.group},
        )  # fmt: skip


def test_a_liar_is_rejected(two):
    made = two.grant()
    stranger = two.ask("liar", two.vpc("liar", made.cidr))
    secondary = two.ask("receiver", two.vpc("receiver", made.cidr, "10.64.3.0/24"))
    other = two.ask("receiver", two.vpc("receiver", "10.64.2.0/24"))
    # That one fits: its VPC is bound, and no second one gets in.
    honest = two.ask("receiver", two.vpc("receiver", made.cidr))
    assert [opened.peering for opened in two.owner().reconcile()] == [honest]
    second = two.ask("receiver", two.vpc("receiver", made.cidr))
    two.owner().reconcile()
    states = [two.state(peering) for peering in (stranger, secondary, other, second)]
    assert states == ["rejected"] * 4
    why = {event["peering"]: event["why"] for event in two.events("refused")}
    assert "account 333333333333 has no grant" in why[stranger]
    assert "10.64.3.0/24" in why[secondary] and "10.64.2.0/24" in why[other]
    assert "is bound to" in why[second]
    assert two.rules() == [(made.cidr, 8888)] and two.routes() == [made.cidr]


def test_a_vpc_named_in_the_grant_is_the_only_one(two):
    mine = two.vpc("receiver", "10.64.0.0/24")
    made = two.grant(vpc=mine)
    other = two.ask("receiver", two.vpc("receiver", made.cidr))
    right = two.ask("receiver", mine)
    assert [opened.peering for opened in two.owner().reconcile()] == [right]
    assert two.state(other) == "rejected"


def test_a_second_network_added_later_ends_the_peering(two):
    made = two.grant()
    vpc = two.vpc("receiver", made.cidr)
    peering = two.ask("receiver", vpc)
    assert two.owner().reconcile()
    two.ec2["receiver"].associate_vpc_cidr_block(VpcId=vpc, CidrBlock="10.64.3.0/24")
    assert two.owner().reconcile() == []
    assert two.state(peering) == "deleted" and two.rules() == [] and two.routes() == []
    assert "10.64.3.0/24" in two.events("withdrawn")[0]["why"]


def test_overlapping_networks_never_become_a_request(two):
    two.grant()
    peering = two.ask("receiver", two.vpc("receiver", "10.0.5.0/24"))
    assert two.owner().reconcile() == [] and two.state(peering) == "failed"


def test_peerings_of_the_owner_itself_are_left_alone(two):
    two.grant()
    mine = two.ask("liar", two.vpc("liar", "192.168.7.0/24"))
    two.ec2["owner"].accept_vpc_peering_connection(VpcPeeringConnectionId=mine)
    table = {"RouteTableId": two.settings.route_tables[0], "VpcPeeringConnectionId": mine}
    two.ec2["owner"].create_route(DestinationCidrBlock="192.168.7.0/24", **table)
    two.owner().reconcile()
    assert two.state(mine) == "active" and two.routes() == ["192.168.7.0/24"]


def test_an_expired_grant_opens_nothing_and_closes_what_was_open(two):
    made = two.grant(days=1)
    two.receiver(made).accept()
    assert two.owner().reconcile()
    two.world.advance(86_400)
    vpc = two.vpc("receiver", made.cidr)
    late = two.ask("receiver", vpc)
    assert two.owner().reconcile() == []
    assert two.rules() == [] and two.routes() == [] and two.state(late) == "rejected"
    assert two.events("expired")[0]["grant"] == made.grant
    with pytest.raises(CloudError, match="expired at"):
        two.receiver(made).accept()
    two.ec2["receiver"].delete_vpc(VpcId=vpc)
    two.nothing_left(made)


def test_revoked_in_mid_flow(two):
    made = two.grant()
    accepted = two.receiver(made).accept()
    two.owner().revoke(made.grant)
    two.owner().revoke(made.grant)
    assert two.state(accepted.peering) == "rejected" and two.rules() == []
    with pytest.raises(CloudError, match="not shared with this account"):
        two.receiver(made, count=3).accept()
    # A new grant gives new routes in the place of dead ones.
    again = two.grant()
    assert again.share != made.share
    two.receiver(again).accept()
    assert two.owner().reconcile()
    assert two.receiver(again).accept().state == "active"
    two.nothing_left(again)


def test_networks_of_two_receivers_never_overlap(two):
    first, second = two.grant(), two.grant(LIAR)
    assert (first.cidr, second.cidr) == ("10.64.0.0/24", "10.64.1.0/24")
    two.owner().revoke(first.grant)
    third = two.grant(name="third")
    assert third.cidr == "10.64.0.0/24"
    with pytest.raises(CloudError, match="overlaps 10.64.1.0/24"):
        two.grant(name="fourth", cidr="10.64.1.128/25")
    with pytest.raises(CloudError, match="not in the pool"):
        two.grant(name="fourth", cidr="10.65.0.0/24")
    two.grant(name="five"), two.grant(name="six")
    with pytest.raises(CloudError, match="no free /24"):
        two.grant(name="seven")


def test_roles_users_and_organisations(two):
    role = f"arn:aws:iam::{RECEIVER}:role/Trading"
    made = two.grant(role)
    assert made.account == RECEIVER and made.grant == f"{RECEIVER}-trading"
    assert two.receiver(made).accept().instances
    all_of_us = f"arn:aws:organizations::{OWNER}:organization/o-abc"
    two.world.ram.organizations[all_of_us] = {OWNER, RECEIVER, LIAR}
    with pytest.raises(CloudError, match="--account"):
        owner.request(all_of_us)
    inside = two.grant(all_of_us, account=LIAR, name="inside")
    assert inside.account == LIAR
    with pytest.raises(CloudError, match="name an account"):
        owner.request("somebody")


def test_only_what_was_asked_for_is_allowed(two):
    made = two.grant()
    assert "ec2:CreateCapacityReservation" not in made.actions
    with pytest.raises(CloudError, match="grant --reserve"):
        two.receiver(made, reserve=True).accept()


def test_the_plan_has_prices_and_makes_nothing(two):
    made = two.grant()
    said = two.receiver(made).plan()
    assert "$0.20 an hour, $4.58 at worst" in said and made.zone_id in said
    assert not two.ec2["receiver"].describe_vpc_peering_connections()["VpcPeeringConnections"]
    with pytest.raises(CloudError, match="worst case costs"):
        two.receiver(made, budget=Decimal(1)).plan()
    assert "VPC (the first that fits)" in two.owner().plan(owner.request(LIAR))


class Killed(BaseException):
    """Not an Exception: nothing in the program may catch it."""


CHANGES = ("Create", "Accept", "Authorize", "Attach", "Run", "Tag", "Delete", "Revoke", "Terminate",
           "Cancel", "Detach", "Reject", "Replace")  # fmt: skip


def test_killed_at_every_step_and_resumed(two, monkeypatch):
    """After each call that changes something, before anything is done with its answer."""
    original, kills, armed = botocore.client.BaseClient._make_api_call, 0, True

    def call(self, operation, arguments):
        nonlocal kills
        answer = original(self, operation, arguments)
        if armed and operation.startswith(CHANGES):
            kills += 1
            raise Killed
        return answer

    def until_done(step):
        for _ in range(100):
            try:
                return step()
            except Killed:
                continue
        return pytest.fail("no life got further than the one before")

    def life():
        nonlocal armed
        made = until_done(lambda: two.owner().grant(owner.request(RECEIVER, reserve=True)))
        armed = False
        two._gateway(made)
        armed = True
        until_done(lambda: two.receiver(made, reserve=True).accept())
        until_done(lambda: two.owner().reconcile())
        assert two.receiver(made, reserve=True).accept().state == "active"
        armed = False
        assert len(two.receiver(made).instances()) == 2 and len(two.world.instances) == 3
        assert two.rules() == [(made.cidr, 8888)] and two.routes() == [made.cidr]
        armed = True
        until_done(lambda: two.owner().revoke(made.grant))
        until_done(lambda: two.receiver(made).leave())
        return made

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", call)
    made = life()
    armed = False
    assert kills >= 25
    two.nothing_left(made)


def test_accepted_twice_before_aws_lists_the_instances_launches_them_once(two, monkeypatch):
    monkeypatch.setattr("botocore.waiter.time.sleep", lambda seconds: None)
    made = two.grant()
    two.world.lag_describes = 4
    first = two.receiver(made).accept()
    two.world.described.clear()  # and now the second, as if it ran at the same time
    assert sorted(two.receiver(made).accept().instances) == sorted(first.instances)
    assert len(first.instances) == 2


def test_aws_need_not_filter_by_the_id_of_a_group(two, monkeypatch):
    """Document 000 filters by placement-group-id; the SDK's list of filters has the name alone."""
    made = two.grant()
    original = botocore.client.BaseClient._make_api_call

    def call(self, name, arguments):
        names = [entry.get("Name", "") for entry in arguments.get("Filters", [])]
        assert not any(known.startswith("placement-group") for known in names)
        found = original(self, name, arguments)
        for reservation in found.get("Reservations", []) if only_names else []:
            for instance in reservation["Instances"]:
                instance["Placement"].pop("GroupId", None)
        return found

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", call)
    only_names = False
    ids = two.receiver(made).accept().instances
    only_names = True  # as an answer of before the id was introduced
    assert two.receiver(made).accept().instances == ids and len(ids) == 2


def test_accept_launches_again_what_has_ended(two):
    made = two.grant()
    first = two.receiver(made).accept()
    two.world.end(two.world.instances[first.instances[0]])
    again = two.receiver(made).accept()
    assert len(again.instances) == 2 and set(again.instances) != set(first.instances)


def test_accept_killed_before_the_answer_launches_the_same_again(two, monkeypatch):
    made = two.grant()
    original, killed = botocore.client.BaseClient._make_api_call, []

    def call(self, name, arguments):
        answer = original(self, name, arguments)
        if name == "RunInstances" and not killed:
            killed.append(name)
            raise Killed
        return answer

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", call)
    with pytest.raises(Killed):
        two.receiver(made).accept()
    two.world.advance(5)
    two.world.lag_describes = 3
    monkeypatch.setattr("botocore.waiter.time.sleep", lambda seconds: None)
    assert len(two.receiver(made).accept().instances) == 2
