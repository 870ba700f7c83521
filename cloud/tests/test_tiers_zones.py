"""The template `zones`: an exchange alone, and exchanges with followers in other zones."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import REGION, admin
from fleet_hosts import Data, settings
from killer import Killer
from namespaces import tickpath
from test_tiers_hosts import Both
from test_tiers_stacks import HOST, SSH

from fake_aws.world import ON_DEMAND
from tickpath_cloud import cli
from tickpath_cloud.errors import CloudError
from tickpath_cloud.fleet.measure import Fleet
from tickpath_cloud.fleet.table import added, table
from tickpath_cloud.money import dollars
from tickpath_cloud.tiers import members, stacks

TWO = {**HOST, **SSH, "SecondZone": f"{REGION}b"}
THREE = {**TWO, "ThirdZone": f"{REGION}c"}
CLUSTER = {**THREE, "Cluster": "true"}
ZONES = {
    "Hub": "a", "Client": "a", "Alone": "a", "Primary": "a", "Follower": "b",
    "ThirdPrimary": "a", "ThirdFollower": "c", "ThirdClient": "a",
    "ClusterPrimary": "a", "ClusterClient": "a", "Member0": "a", "Member1": "b", "Member2": "c",
}  # fmt: skip
OF_TWO, OF_THREE = list(ZONES)[:5], list(ZONES)[:8]
INVENTORY = resources.files("tickpath_cloud").joinpath("inventories", "zones.aws_ec2.yml")


@pytest.fixture
def sides(world, server, monkeypatch):
    return Both(world, server, monkeypatch)


def instances(sides, stack):
    """By the name of the host in the template."""
    wanted = [{"Name": f"tag:{members.STACK}", "Values": [f"tickpath-tiers-{stack}"]}]
    found = admin(sides.server).describe_instances(Filters=wanted)["Reservations"]
    return {
        tag["Value"]: host for reservation in found for host in reservation["Instances"]
        for tag in host["Tags"] if tag["Key"] == members.LOGICAL
    }  # fmt: skip


# --- the plan -----------------------------------------------------------------------------------


WRONG = (
    ({"SecondZone": f"{REGION}a"}, "SecondZone and Zone are both eu-west-1a"),
    ({"ThirdZone": f"{REGION}b"}, "ThirdZone and SecondZone are both eu-west-1b"),
    ({"Cluster": "true"}, "its members are in three zones"),
    ({"Cidr": "10.112.0.0/24"}, "SecondSubnetCidr is 10.112.1.0/24, which is not in Cidr"),
    ({"SecondSubnetCidr": "10.112.0.128/25"}, "SubnetCidr, 10.112.0.0/24, and SecondSubnetCidr"),
    ({"ThirdZone": f"{REGION}c", "ThirdSubnetCidr": "10.112.0.0/23"}, "and ThirdSubnetCidr, 10"),
)


@pytest.mark.parametrize(("more", "why"), WRONG)
def test_what_aws_rejects_or_measures_nothing_fails_in_the_plan(sides, more, why):
    with pytest.raises(CloudError, match=why):
        sides.stacks("admin").plan("zones", "x", {**TWO, **more}, Decimal(50))


def test_the_plan_has_the_price_of_all_hosts(sides):
    one = Decimal(str(ON_DEMAND["c7i.large"]))
    for asked, count in ((TWO, 5), (THREE, 8), (CLUSTER, 13)):
        plan = sides.stacks("admin").plan("zones", "x", asked, Decimal(50))
        assert f"{count} c7i.large, {dollars(count * one)} an hour" in plan
        assert f"costs      {dollars(4 * count * one)} in 240 min" in plan
    with pytest.raises(CloudError, match=r"the budget is \$1"):
        sides.stacks("admin").plan("zones", "x", THREE, Decimal(1))
    with pytest.raises(CloudError, match="zones has one host"):
        sides.stacks("admin").plan("zones", "x", TWO, Decimal(50), 2)


# --- the stack ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "names"), [(TWO, OF_TWO), (THREE, OF_THREE), (CLUSTER, list(ZONES))]
)
def test_each_host_is_in_its_zone_and_destroy_leaves_nothing(sides, asked, names):
    made = sides.stacks("admin").deploy("zones", "pair", {**asked, "Strategy": "cluster"})
    held = instances(sides, "pair")
    assert {name: host["Placement"]["AvailabilityZone"] for name, host in held.items()} == {
        name: f"{REGION}{ZONES[name]}" for name in names
    }
    # A cluster group is in one zone; the fake rejects a host of another one.
    [group] = sides.world.groups.values()
    near = {held[name]["InstanceId"] for name in names if ZONES[name] == "a"}
    assert {instance.id for instance in group.live()} == near
    assert [name for name in held if "PublicIpAddress" in held[name]] == ["Hub"]
    assert held["Hub"]["PublicIpAddress"] == made.outputs["Hub"]
    for output, host in (("PrimaryAddress", "Primary"), ("FollowerAddress", "Follower")):
        assert made.outputs[output] == held[host]["PrivateIpAddress"]
    assert ("ThirdFollowerAddress" in made.outputs) == ("ThirdFollower" in names)
    sides.nothing_is_left(("admin", "pair"))


def test_a_group_in_two_zones_makes_no_stack(sides, monkeypatch):
    """The real AWS ends that stack when half of it is there."""
    text = stacks.template("zones").replace(
        "SubnetId: !Ref SecondSubnet",
        "SubnetId: !Ref SecondSubnet\n      PlacementGroupName: !Ref Group",
    )
    monkeypatch.setattr(stacks, "template", lambda *_: text)
    with pytest.raises(CloudError, match="Placement group pg-"):
        sides.stacks("admin").deploy("zones", "pair", {**TWO, "Strategy": "cluster"})


def test_the_way_to_the_follower_has_no_hop_but_another_zone(sides, capsys):
    made = sides.stacks("admin").deploy("zones", "pair", TWO)
    words = ["tiers", "check", made.outputs["PrimaryInstance"], made.outputs["FollowerAddress"]]
    assert cli.main([*words, "--region", REGION]) == 0
    said = capsys.readouterr().out
    assert "zone" in said and "no way back" not in said, said
    sides.nothing_is_left(("admin", "pair"))


def test_wherever_its_deployment_is_killed_destroy_leaves_nothing(sides, monkeypatch):
    before = sides.there("admin")

    def act(kills):
        sides.stacks("admin").deploy("zones", "pair", THREE)
        assert sides.stacks("admin").destroy("pair") == []

    def after(kills):
        assert sides.stacks("admin").destroy("pair") == []
        assert sides.there("admin") == before, kills

    assert Killer(monkeypatch).everywhere(act, after) == 4


def test_its_hosts_end_themselves(sides):
    sides.stacks("admin").deploy("zones", "pair", {**THREE, "TtlMinutes": "30"})
    sides.world.advance(29 * 60)
    assert {i._state.name for i in sides.world.instances.values()} == {"running"}
    sides.world.advance(120)
    assert {i._state.name for i in sides.world.instances.values()} == {"terminated"}


# --- the inventory that ships, and a fleet over it ----------------------------------------------


def inventory(directory, stack, hub):
    """A copy, as a user owns it."""
    file = directory / "mine.aws_ec2.yml"
    text = Path(str(INVENTORY)).read_text()
    file.write_text(text.replace("198.51.100.10", hub).replace("NAME-OF-STACK", stack))
    return file


def plain(value):
    """Ansible marks a tag's value as unsafe."""
    return value.get("__ansible_unsafe") if isinstance(value, dict) else value


def test_the_inventory_names_exchanges_followers_and_traders(sides, tmp_path):
    made = sides.stacks("admin").deploy("zones", "pair", CLUSTER)
    file = inventory(tmp_path, "pair", made.outputs["Hub"])
    words = [Path(sys.executable).with_name("ansible-inventory"), "-i", str(file), "--list"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ)
    found = json.loads(done.stdout)
    held = found["_meta"]["hostvars"]
    assert sorted(held) == sorted(f"pair-{name}" for name in ZONES), done.stderr
    groups = {name: sorted(found[name]["hosts"]) for name in ("exchanges", "followers", "members")}
    assert groups == {
        "exchanges": ["pair-Alone", "pair-ClusterPrimary", "pair-Primary", "pair-ThirdPrimary"],
        "followers": ["pair-Follower", "pair-ThirdFollower"],
        "members": ["pair-Member0", "pair-Member1", "pair-Member2"],
    }
    wanted = {
        "tickpath_fleet_peer": {
            "pair-Client": "pair-Alone", "pair-Hub": "pair-Primary",
            "pair-ThirdClient": "pair-ThirdPrimary", "pair-ClusterClient": "pair-ClusterPrimary",
        },
        "tickpath_fleet_follower": {
            "pair-Primary": "pair-Follower", "pair-ThirdPrimary": "pair-ThirdFollower",
        },
        "tickpath_fleet_replicate": {
            "pair-Alone": "alone", "pair-Primary": "sync", "pair-ThirdPrimary": "sync",
            "pair-ClusterPrimary": "cluster",
        },
    }  # fmt: skip
    for key, values in wanted.items():
        assert {name: plain(v[key]) for name, v in held.items() if key in v} == values, key
    assert all(
        made.outputs["Hub"] in json.dumps(v["ansible_ssh_common_args"]) for v in held.values()
    )


@pytest.mark.root
def test_from_the_stack_to_the_cost_of_the_distance_and_back(hosts, sides, tmp_path):
    """The stack's instances are namespaces; the follower's answers are 10 ms late."""
    launched = []

    def launch(instance):
        launched.append(instance.id)
        hosts.launch(SimpleNamespace(id=instance.id, nics=instance.nics, user_data=Data()))

    sides.world.on_launch = launch
    made = sides.stacks("admin").deploy("zones", "pair", TWO)
    assert len(launched) == len(OF_TWO)
    file = inventory(tmp_path, "pair", made.outputs["Hub"])
    # No network of this machine is between it and its namespaces.
    file.write_text(
        file.read_text().replace(f"-J ubuntu@{made.outputs['Hub']}", "-o LogLevel=ERROR")
    )
    here = tmp_path / "here.json"
    here.write_text(json.dumps({"all": {"vars": {
        "ansible_user": "root", "ansible_port": 2222,
        "ansible_ssh_private_key_file": str(hosts.directory / "id"),
        "tickpath_fleet_path": "/mnt/tickpath", "tickpath_fleet_directory": "/mnt/records",
        "tickpath_fleet_exchange_arguments": ["--any-token", "--backend", "block"],
        "tickpath_fleet_follower_arguments": ["--delay-us", "10000"],
        "tickpath_fleet_follower_seconds": 20,
    }}}))  # fmt: skip
    asked = settings(file, binary=tickpath(), doctor=False, extra=("-i", str(here)))
    asked = replace(asked, set=(*asked.set, "seconds=3"))  # some 150 orders, one after the other
    fleet = Fleet(asked, tmp_path / "run")
    lines = {line.host: line for line in fleet.measure()}
    said = (fleet.directory / "ansible.log").read_text()[-3000:]
    assert {line.host: line.path for line in lines.values()} == {
        "pair-Client": "exchange-alone", "pair-Hub": f"exchange-sync-{REGION}b",
    }, [said, lines]  # fmt: skip
    alone, copied = lines["pair-Client"].figures, lines["pair-Hub"].figures
    assert alone and copied and copied.p50_ns > 10_000_000, said
    [cost] = added(list(lines.values()), [])
    assert (cost.path, cost.to) == (f"exchange-sync-{REGION}b", "exchange-alone")
    assert cost.p50_ns == copied.p50_ns - alone.p50_ns
    [(primary, copy)] = fleet.copies().items()
    assert primary == "pair-Primary" and copy["connections"] == 1
    assert copy["records"] == copy["replicated"] > copied.count
    text = table(list(lines.values()), [], fleet.gateways(), fleet.copies())
    assert f"exchange-sync-{REGION}b adds to the p50 of exchange-alone" in text
    follower = json.loads(
        (fleet.directory / "results/pair-Follower.exchange.txt").read_text().splitlines()[-1]
    )
    assert follower["records"] >= copy["records"] and follower["refused"] == 0
    assert fleet.remove(really=False) == dict.fromkeys(
        (f"pair-{n}" for n in OF_TWO), "binary, records"
    )
    sides.nothing_is_left(("admin", "pair"))
    assert hosts.alive() == []
