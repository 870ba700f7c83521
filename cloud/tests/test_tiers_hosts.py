"""The template `hosts`: multicast groups, placement, two regions. Arms on hardware of their own."""

import json
import os
import subprocess
import sys
from decimal import Decimal
from importlib import resources
from pathlib import Path

import pytest
from conftest import REGION, admin
from killer import Killer
from test_tiers_stacks import HOST, SSH, Sides

from fake_aws.world import ON_DEMAND
from tickpath_cloud import cli
from tickpath_cloud.errors import CloudError
from tickpath_cloud.money import dollars
from tickpath_cloud.tiers import check, hosts, members
from tickpath_cloud.tiers.stacks import template

FAR = "us-east-1"
ASKED = {**HOST, **SSH}
BYTES_MAX, RESOURCES_MAX = 51_200, 500  # of a template in a request of CloudFormation
INVENTORY = resources.files("tickpath_cloud").joinpath("inventories", "tiers.aws_ec2.yml")


class Both(Sides):
    """One account in two regions; what is made for hosts is counted, too."""

    def there(self, key, region=REGION):
        ec2 = self.client(key, "ec2", region)
        gateways = ec2.describe_transit_gateways()["TransitGateways"]
        made = [g["TransitGatewayId"] for g in gateways]
        made += [*self.world.domains, *self.world.groups]
        return sorted(map(str, [*super().there(key, region), *made]))


@pytest.fixture
def sides(world, server, monkeypatch):
    return Both(world, server, monkeypatch)


def read(text, directory):
    from cfnlint.decode import cfn_yaml

    file = directory / "template.yaml"
    file.write_text(text)
    return file, cfn_yaml.load(str(file))


# --- the text -----------------------------------------------------------------------------------


@pytest.mark.parametrize("multicast", hosts.HOSTS_MAX)
def test_as_many_hosts_as_a_request_carries(tmp_path, multicast):
    most = hosts.HOSTS_MAX[multicast]
    text = template("hosts", most, multicast)
    assert len(text.encode()) <= BYTES_MAX
    _, held = read(text, tmp_path)
    assert len(held["Resources"]) <= RESOURCES_MAX
    prefix = "Static" if multicast == hosts.STATIC else ""
    made = [name for name in held["Resources"] if name.startswith(f"{prefix}Host")]
    assert made == [f"{prefix}Host{n:03}" for n in range(1, most + 1)]
    with pytest.raises(CloudError, match=rf"it is 1 to {most} with Multicast={multicast}"):
        template("hosts", most + 1, multicast)
    with pytest.raises(CloudError, match="client has one host"):
        template("client", 2)


def test_members_are_registered_after_their_subnet_and_their_host(tmp_path):
    """CloudFormation makes at once what does not depend on each other, and deletes it so."""
    from cfnlint import lint_file

    file, held = read(template("hosts", 2, hosts.STATIC), tmp_path)
    made = held["Resources"]
    assert [str(match) for match in lint_file(file)] == []
    for number in ("001", "002"):
        member = made[f"StaticMember{number}"]
        assert member["DependsOn"] == ["Association", f"StaticHost{number}"]
        assert member["Properties"]["NetworkInterfaceId"] == {"Ref": f"StaticInterface{number}"}
        interfaces = made[f"StaticHost{number}"]["Properties"]["NetworkInterfaces"]
        assert interfaces[0]["NetworkInterfaceId"] == {"Ref": f"StaticInterface{number}"}
    assert made["Source"]["DependsOn"] == ["Association", "Hub"]
    hosts_of = [r["Properties"] for r in made.values() if r["Type"] == "AWS::EC2::Instance"]
    assert all(each["LaunchTemplate"]["LaunchTemplateId"] == {"Ref": "Launch"} for each in hosts_of)


def test_the_template_is_printed_for_so_many_hosts(capsys):
    assert cli.main(["tiers", "template", "hosts", "--hosts", "12"]) == 0
    assert "  Host012: {" in capsys.readouterr().out
    assert cli.main(["tiers", "template", "hosts", "--hosts", "300"]) == 2


# --- the plan -----------------------------------------------------------------------------------


WRONG = (
    ("hosts", 257, {}, "--hosts is 257: it is 1 to 256"),
    ("hosts", 61, {"Multicast": "static"}, "it is 1 to 60 with Multicast=static"),
    ("hosts", 7, {"Strategy": "spread"}, "at most 7 instances in a zone, and the hub is one"),
    ("hosts", 1, {"Strategy": "spread", "Tenancy": "dedicated"}, "no dedicated instance into"),
    ("hosts", 1, {"Tenancy": "host"}, "a dedicated host takes both"),
    ("hosts", 1, {"HostId": "h-1"}, "a dedicated host takes both"),
    ("hosts", 1, {"Tenancy": "host", "HostId": "h-1", "Strategy": "cluster"}, "no placement group"),
    ("hosts", 250, {"SubnetCidr": "10.112.0.0/24"}, "256 addresses: 250 hosts need 257"),
    ("hosts", 1, {"PeerVpc": "vpc-1", "PeerCidr": "10.112.2.0/24"}, "overlaps PeerCidr"),
    ("client", 1, {"Way": "peering", "Cidr": "10.0.4.0/24", "SubnetCidr": "10.0.4.0/25"},
     "overlaps ExchangeCidr, 10.0.0.0/16"),
    ("client", 1, {"Way": "peering", "Partition": "3"}, "Partition: name its group"),
    ("client", 1, {"Way": "appliance", "Tenancy": "dedicated"}, "the appliance has none"),
    ("client", 2, {"Way": "peering"}, "client has one host"),
)  # fmt: skip


def test_what_aws_rejects_fails_in_the_plan(sides):
    for kind, count, asked, why in WRONG:
        with pytest.raises(CloudError, match=why):
            sides.stacks("admin").plan(kind, "x", {**ASKED, **asked}, Decimal(500), count)


def test_the_plan_has_the_price_of_each_kind_of_host(sides):
    one = Decimal(str(ON_DEMAND["c7i.large"]))
    back = {
        "Peering": "pcx-1",
        "PeerCidr": "10.1.0.0/24",
        "RouteTable": "rtb-1",
        "SecurityGroup": "sg-1",
    }
    cases = (
        ("hosts", 9, {}, ("10 c7i.large", f"costs      {dollars(40 * one)} in")),
        ("hosts", 120, {"Multicast": "igmp"},
         ("121 c7i.large", "Transit Gateway attachment, $0.05", "100 members of a multicast group",
          "until `tiers destroy`")),
        ("hosts", 1, {"Tenancy": "dedicated"}, ("2 c7i.large", "in the region, $8.00 at most")),
        ("hosts", 1, {"Tenancy": "host", "HostId": "h-1"}, ("with or without", "costs      $0")),
        ("way-back", 1, back, ("of way-back.yaml", "costs      $0.00 in 240 min")),
    )  # fmt: skip
    for kind, count, asked, said in cases:
        every = back if kind == "way-back" else {**ASKED, **asked}
        plan = sides.stacks("admin").plan(kind, "x", every, Decimal(500), count)
        assert all(text in plan for text in said), plan
    assert "quota" not in plan and "hosts  " not in plan


# --- a multicast group --------------------------------------------------------------------------


def interfaces(sides, stack):
    """By the name of the host in the template."""
    wanted = [{"Name": f"tag:{members.STACK}", "Values": [f"tickpath-tiers-{stack}"]}]
    found = admin(sides.server).describe_instances(Filters=wanted)["Reservations"]
    return {
        tag["Value"]: host["NetworkInterfaces"][0]["NetworkInterfaceId"]
        for reservation in found for host in reservation["Instances"]
        for tag in host["Tags"] if tag["Key"] == members.LOGICAL
    }  # fmt: skip


def asks(sides, capsys, *words):
    sides.stacks("admin")
    status = cli.main(["tiers", *words, "--region", REGION])
    return status, capsys.readouterr().out


def test_registered_members_of_a_group(sides, capsys):
    made = sides.stacks("admin").deploy("hosts", "group", {**ASKED, "Multicast": "static"}, 3)
    [domain] = sides.world.domains.values()
    assert made.outputs["Domain"] == domain.id and domain.static_sources and not domain.igmp
    held = interfaces(sides, "group")
    assert sorted(held) == ["Hub", *(f"StaticHost{n:03}" for n in (1, 2, 3))]
    assert domain.sources == {("239.1.2.3", held["Hub"])}
    assert domain.members == {("239.1.2.3", held[f"StaticHost{n:03}"]) for n in (1, 2, 3)}
    status, said = asks(sides, capsys, "members", "group")
    assert (status, said) == (0, "239.1.2.3: 3 of 3 hosts are members (static)\n")
    sides.nothing_is_left(("admin", "group"))


def test_members_that_join_by_igmp(sides, capsys):
    made = sides.stacks("admin").deploy("hosts", "group", {**ASKED, "Multicast": "igmp"}, 2)
    [domain] = sides.world.domains.values()
    assert domain.igmp and not domain.static_sources and not domain.members and not domain.sources
    status, said = asks(sides, capsys, "members", "group")
    assert status == 3 and said.splitlines() == [
        "239.1.2.3: 0 of 2 hosts are members (none)", "not a member: Host001",
        "not a member: Host002",
    ]  # fmt: skip
    held = interfaces(sides, "group")
    domain.joined |= {("239.1.2.3", held["Host001"]), ("239.9.9.9", held["Host002"])}
    status, said = asks(sides, capsys, "members", "group")
    assert status == 3 and said.endswith("1 of 2 hosts are members (igmp)\nnot a member: Host002\n")
    # Queries come from no address of the network, and only the hub has a public one.
    group = made.outputs["SecurityGroup"]
    [found] = admin(sides.server).describe_security_groups(GroupIds=[group])["SecurityGroups"]
    ranges = {p["IpProtocol"]: [r["CidrIp"] for r in p["IpRanges"]] for p in found["IpPermissions"]}
    assert ranges["2"] == ["0.0.0.0/32"] and ranges["tcp"] == ["198.51.100.7/32"]
    [address] = admin(sides.server).describe_addresses()["Addresses"]
    assert (address["PublicIp"], address["InstanceId"]) == (
        made.outputs["Hub"], made.outputs["HubInstance"],
    )  # fmt: skip
    sides.nothing_is_left(("admin", "group"))


def test_a_stack_without_a_group_has_no_members(sides, capsys):
    sides.stacks("admin").deploy("hosts", "plain", ASKED)
    for name in ("plain", "nowhere"):
        sides.stacks("admin")
        assert cli.main(["tiers", "members", name, "--region", REGION]) == 2
        assert "has no multicast group in eu-west-1" in capsys.readouterr().err
    assert sides.world.domains == {}
    sides.nothing_is_left(("admin", "plain"))


def test_wherever_a_group_s_deployment_is_killed_destroy_leaves_nothing(sides, monkeypatch):
    before = sides.there("admin")
    asked = {**ASKED, "Multicast": "static", "Strategy": "spread"}

    def act(kills):
        sides.stacks("admin").deploy("hosts", "group", asked)
        assert sides.stacks("admin").destroy("group") == []

    def after(kills):
        assert sides.stacks("admin").destroy("group") == []
        assert sides.there("admin") == before, kills

    assert Killer(monkeypatch).everywhere(act, after) == 4


def test_a_member_that_somebody_else_registered_keeps_the_stack_and_is_named(sides):
    """AWS deletes no domain with members: what is left is said, and destroy works afterwards."""
    side = sides.stacks("admin")
    side.deploy("hosts", "group", {**ASKED, "Multicast": "igmp"})
    [domain] = sides.world.domains.values()
    foreign = ("239.1.2.3", interfaces(sides, "group")["Hub"])
    domain.members.add(foreign)
    with pytest.raises(CloudError, match="tickpath-tiers-group is DELETE_FAILED"):
        side.destroy("group")
    [reason] = sides.failures("admin", "group")
    assert f"{foreign[1]} of subnet-" in reason and "is registered" in reason
    domain.members.remove(foreign)
    sides.nothing_is_left(("admin", "group"))


# --- placement ----------------------------------------------------------------------------------


def test_hosts_in_a_placement_group(sides):
    for strategy in ("cluster", "spread", "partition"):
        sides.stacks("admin").deploy("hosts", "placed", {**ASKED, "Strategy": strategy}, 3)
        [group] = sides.world.groups.values()
        assert group.strategy == strategy and len(group.live()) == 4
        if strategy == "partition":
            assert group.partition_count == 7 and sorted(group.partitions) == [1, 2, 3, 4]
        sides.nothing_is_left(("admin", "placed"))


def placed(sides, name):
    """The placement in the stack's launch template."""
    ec2 = admin(sides.server)
    wanted = [{"Name": f"tag:{members.STACK}", "Values": [f"tickpath-tiers-{name}"]}]
    [found] = ec2.describe_launch_templates(Filters=wanted)["LaunchTemplates"]
    known = {"LaunchTemplateId": found["LaunchTemplateId"]}
    [version] = ec2.describe_launch_template_versions(**known)["LaunchTemplateVersions"]
    return version["LaunchTemplateData"]["Placement"]


def test_arms_on_hardware_of_their_own_and_in_partitions(sides):
    ec2 = admin(sides.server)
    ec2.create_placement_group(GroupName="g", Strategy="partition", PartitionCount=3)
    [group] = sides.world.groups
    [host] = ec2.allocate_hosts(
        AvailabilityZone=f"{REGION}a", InstanceType="c7i.large", Quantity=1
    )["HostIds"]
    arms = {
        "dedicated": ({"Tenancy": "dedicated"}, {"Tenancy": "dedicated"}),
        "host": ({"Tenancy": "host", "HostId": host}, {"Tenancy": "host", "HostId": host}),
        "part": ({"PlacementGroupId": group, "Partition": "2"},
                 {"Tenancy": "default", "GroupId": group, "PartitionNumber": 2}),
        "plain": ({}, {"Tenancy": "default"}),
    }  # fmt: skip
    for name, (asked, wanted) in arms.items():
        side = sides.stacks("admin")
        every = {**ASKED, "Way": "edge", **asked}
        side.plan("client", name, every, Decimal(50))
        side.deploy("client", name, every)
        assert placed(sides, name) == wanted
        if name == "part":
            assert list(sides.world.groups[group].partitions) == [2]
        assert side.destroy(name) == []


# --- two regions --------------------------------------------------------------------------------


def two_regions(sides):
    far = sides.stacks("admin", FAR).deploy(
        "hosts", "far", {**ASKED, "Zone": f"{FAR}a", "Cidr": "10.116.0.0/22",
                         "SubnetCidr": "10.116.0.0/23"},
    )  # fmt: skip
    near = sides.stacks("admin").deploy(
        "hosts", "near", {**ASKED, "PeerVpc": far.outputs["VpcId"], "PeerRegion": FAR},
    )  # fmt: skip
    back = {
        "Peering": near.outputs["Peering"], "PeerCidr": "10.112.0.0/22",
        "RouteTable": far.outputs["RouteTable"], "SecurityGroup": far.outputs["SecurityGroup"],
    }  # fmt: skip
    return near, far, back


def test_hosts_of_two_regions_reach_each_other(sides, capsys, tmp_path):
    sides.client("admin", "ec2", FAR).create_key_pair(KeyName="ops")
    before = {region: sides.there("admin", region) for region in (REGION, FAR)}
    near, far, back = two_regions(sides)
    peering = near.outputs["Peering"]
    ways = [(near, far, REGION, FAR), (far, near, FAR, REGION)]
    to_far = check.check(REGION, near.outputs["HubInstance"], far.outputs["HubAddress"], FAR)
    assert to_far.hops == (f"peering {peering}",)
    assert [w for w in to_far.warnings if "no way back" in w], "its side is not made yet"
    sides.stacks("admin", FAR).deploy("way-back", "back", back)
    for start, to, here, there in ways:
        words = ["check", start.outputs["HubInstance"], to.outputs["HubAddress"]]
        assert cli.main(["tiers", *words, "--region", here, "--target-region", there]) == 0
        said = capsys.readouterr().out.splitlines()
        assert said[1] == f"  peering {peering}"
        assert said[3:] == [f"warning: two regions lie on the way: {here} and {there}"]
    unknown = check.check(REGION, near.outputs["HubInstance"], far.outputs["HubAddress"])
    assert "another account's, or of a region that was not named" in unknown.warnings[0]
    hosts_of_both_regions_are_in_the_inventory(near, far, tmp_path)
    # In any order: a route over a peering that is gone leads nowhere, and goes with its stack.
    assert sides.stacks("admin").destroy("near") == []
    for name in ("back", "far"):
        for _ in range(2):
            assert sides.stacks("admin", FAR).destroy(name) == []
    assert {region: sides.there("admin", region) for region in (REGION, FAR)} == before


def hosts_of_both_regions_are_in_the_inventory(near, far, directory):
    """As Ansible's plugin for EC2 sees them: through the hub of their region."""
    file = directory / "mine.aws_ec2.yml"
    text = Path(str(INVENTORY)).read_text()
    file.write_text(
        text.replace("198.51.100.10", near.outputs["Hub"])
        .replace("198.51.100.20", far.outputs["Hub"])
        .replace("NAME-OF-STACK", "near").replace("ANOTHER", "far")
    )  # fmt: skip
    words = [Path(sys.executable).with_name("ansible-inventory"), "-i", str(file), "--list"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ)
    held = json.loads(done.stdout)["_meta"]["hostvars"]
    assert sorted(held) == ["far-Host001", "far-Hub", "near-Host001", "near-Hub"], done.stderr
    for name, variables in held.items():
        hub = (near if name.startswith("near") else far).outputs["Hub"]
        asked = json.dumps(variables["ansible_ssh_common_args"])  # Ansible marks it as unsafe
        assert f'"-J ubuntu@{hub}"' in asked
        assert "10.11" in json.dumps(variables["ansible_host"])
