"""Sweep finds what hunts and receivers left, removes orphans, and leaves stacks alone."""

from dataclasses import replace

from conftest import ME, OTHER, REGION, Hunt, admin, session
from test_tiers_stacks import Sides

from tickpath_cloud import sweep, tags
from tickpath_cloud.share.network import ReceiverNetwork
from tickpath_cloud.share.offer import Offer

KINDS = [
    "reservation", "volume", "snapshot", "address", "interface", "peering", "security group",
    "internet gateway", "subnet", "VPC",
]  # fmt: skip


def left_by_a_receiver(world, server):
    """All that `share accept` makes besides instances, by its code. It expires after an hour."""
    owner, ec2 = admin(server, "other"), admin(server)
    zone = ec2.describe_availability_zones()["AvailabilityZones"][0]
    group = ec2.create_placement_group(GroupName="shared", Strategy="cluster")["PlacementGroup"]
    offer = Offer(
        grant="venue", region=REGION, owner=OTHER,
        owner_vpc=owner.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"],
        owner_cidrs=("10.0.0.0/16",), share="", group="", group_arn=group["GroupArn"],
        zone_id=zone["ZoneId"], account=ME, principal=ME, cidr="10.64.0.0/24", ports=(8888,),
        feed_ports=(9000,), actions=(), expires=tags.rfc3339(world.now() + 3600),
    )  # fmt: skip
    network = ReceiverNetwork(ec2, offer, "share-venue", "", "", "198.51.100.7/32")
    vpc = network.vpc()
    subnet, peering = network.subnet(vpc, zone["ZoneName"]), network.peering(vpc)
    network.routes(vpc, subnet, peering["VpcPeeringConnectionId"])
    network.security_group(vpc)
    held = tags.tags("share-venue", "receiver", world.now() + 3600)
    ec2.create_capacity_reservation(
        InstanceType="c7i.large", InstancePlatform="Linux/UNIX", InstanceCount=1,
        AvailabilityZone=zone["ZoneName"], PlacementGroupArn=group["GroupArn"],
        TagSpecifications=[{"ResourceType": "capacity-reservation", "Tags": held}],
    )  # fmt: skip
    loose(ec2, subnet, held)
    return vpc


def loose(ec2, subnet, held):
    """Made by an image's settings or by a person, with our tags."""

    def tagged(kind):
        return {"TagSpecifications": [{"ResourceType": kind, "Tags": held}]}

    volume = ec2.create_volume(AvailabilityZone=f"{REGION}a", Size=8, **tagged("volume"))
    ec2.create_snapshot(VolumeId=volume["VolumeId"], **tagged("snapshot"))
    ec2.allocate_address(Domain="vpc", **tagged("elastic-ip"))
    ec2.create_network_interface(SubnetId=subnet, **tagged("network-interface"))


def audits(server, world):
    """Log groups: of ours, of a stack, of others."""
    logs = session("admin").client("logs", endpoint_url=server.url)
    held = {tag["Key"]: tag["Value"] for tag in tags.tags("venue", "audit", world.now() + 3600)}
    stack = {"aws:cloudformation:stack-name": "reconciler"}
    logs.create_log_group(logGroupName="/tickpath/ours", tags=held)
    logs.create_log_group(logGroupName="/tickpath/stack", tags={**held, **stack})
    logs.create_log_group(logGroupName="/tickpath/untagged")
    logs.create_log_group(logGroupName="/others", tags=held)
    return logs


def test_log_groups_with_our_tags_go_after_their_expiry(world, server):
    logs, ec2 = audits(server, world), admin(server)
    [found] = sweep.log_groups(logs, world.now())
    assert found.id == "/tickpath/ours" and not found.orphan and "audit" in str(found)
    [found] = sweep.log_groups(logs, world.now() + 3601)
    assert found.orphan and sweep.remove(ec2, [found], logs) == []
    assert sweep.log_groups(logs, world.now()) == [] and sweep.remove(ec2, [found], logs) == []
    assert len(logs.describe_log_groups()["logGroups"]) == 3


def orphans(ec2, world):
    return [left for left in sweep.find(ec2, world.now()) if left.orphan]


def test_orphans_are_found_and_what_lives_is_spared(config, world, server, tmp_path):
    hunt = Hunt(replace(config, arms=3, finalists=2, looks=(8,)), world, tmp_path)
    state = hunt.run()
    ec2 = admin(server)
    found = sweep.find(ec2, world.now())
    assert {left.role for left in found} == {state.decided[0], "network"}
    assert not any(left.orphan for left in found)
    world.advance(24 * 3600)
    assert [left.kind for left in orphans(ec2, world)] == ["placement group", "security group"]
    assert sweep.remove(ec2, orphans(ec2, world)) == []
    assert sweep.find(ec2, world.now()) == []


def test_what_a_receiver_left_is_removed_after_its_expiry(world, server):
    ec2 = admin(server)
    before = ec2.describe_vpcs()["Vpcs"]
    left_by_a_receiver(world, server)
    assert [left.kind for left in sweep.find(ec2, world.now())] == KINDS
    assert orphans(ec2, world) == []
    world.advance(3601)
    assert [left.kind for left in orphans(ec2, world)] == KINDS
    assert sweep.remove(ec2, orphans(ec2, world)) == []
    assert sweep.find(ec2, world.now()) == [] and ec2.describe_vpcs()["Vpcs"] == before


def test_a_network_that_instances_use_is_no_orphan(world, server):
    """They may have been started with a later expiry than the offer's."""
    ec2 = admin(server)
    left_by_a_receiver(world, server)
    held = tags.tags("share-venue", "receiver", world.now() + 7200)
    ec2.run_instances(
        MinCount=1, MaxCount=1, ImageId="ami-12345678",
        TagSpecifications=[{"ResourceType": "instance", "Tags": held}],
    )  # fmt: skip
    world.advance(3601)
    assert orphans(ec2, world) == []


def test_what_aws_rejects_is_told_and_the_rest_goes(world, server):
    ec2 = admin(server)
    vpc = left_by_a_receiver(world, server)
    ec2.create_security_group(GroupName="mine", Description="another's", VpcId=vpc)
    world.advance(3601)
    [rejected] = sweep.remove(ec2, orphans(ec2, world))
    assert rejected.startswith(f"VPC {vpc}: ") and "DependencyViolation" in rejected
    assert [left.id for left in sweep.find(ec2, world.now())] == [vpc]


def test_what_belongs_to_a_stack_is_left_to_it(world, server, monkeypatch):
    """Sweep would have ended a stack's instance, and CloudFormation would have missed it."""
    sides = Sides(world, server, monkeypatch)
    sides.exchange()
    ec2 = admin(server)
    tagged = ec2.describe_instances(Filters=[{"Name": "tag-key", "Values": [tags.HUNT]}])
    assert tagged["Reservations"], "the stack hands its tags on"
    assert sweep.find(ec2, world.now() + 365 * 86_400) == []
    sides.nothing_is_left(("admin", "venue"))
