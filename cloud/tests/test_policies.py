"""Each verb works with its policy, and with no action less."""

from dataclasses import replace

import pytest
from conftest import ME, REGION, Hunt, admin, use
from minimal import entries, first_of_each, watch, without
from test_sweep import audits, left_by_a_receiver

from tickpath_cloud import policy, sweep
from tickpath_cloud.aws import client
from tickpath_cloud.errors import CloudError
from tickpath_cloud.journal import Journal
from tickpath_cloud.matrix import measure as matrix
from tickpath_cloud.matrix.cells import Matrix


def act_hunt(hunt):
    """Spot is asked first and rejected, so that all prices are needed; the winner is kept.

    One arm is a dedicated host.
    """
    hunt.run()
    hunt.cloud.destroy()


def act_destroy(hunt):
    assert hunt.cloud.destroy() == []


def act_sweep(hunt):
    """Twice: groups are free only when their instances have ended."""
    ec2, logs, now = hunt.cloud.ec2, client("logs", REGION), hunt.world.now
    for _ in range(2):
        found = sweep.find(ec2, now()) + sweep.log_groups(logs, now())
        rejected = sweep.remove(ec2, [left for left in found if left.orphan], logs)
        if rejected:
            raise CloudError("\n".join(rejected))
    assert sweep.find(ec2, now()) == []


class Answers:
    """Hosts that answer every command with one record."""

    def settle(self, arms):
        return arms, {}

    def playbook(self, path, arms):
        return {}

    def run(self, commands):
        return dict.fromkeys(commands, "no record")


def act_matrix(hunt):
    """A pair in a placement group of its own, and one on a dedicated host."""
    asked = Matrix(
        images={"ubuntu": "ami-12345678"}, tunings={"none": ""}, pair=True,
        placements=("cluster", *hunt.config.dedicated_hosts),
    )  # fmt: skip
    config = replace(hunt.config, instance_types=("c6i.large",))
    with Journal(hunt.path.with_name("matrix.jsonl")) as journal:
        rows = matrix.measure(config, asked, "test-1", Answers(), hunt.world.now, journal)
    assert [row.why for row in rows] == ["no record"] * 2 and hunt.alive() == []


ACTS = {"matrix": act_matrix, "hunt": act_hunt, "destroy": act_destroy, "sweep": act_sweep}


PIECES = [
    pytest.param(verb, number, action, id=f"{verb}-{number}-{action}")
    for verb in ACTS
    for number, action in first_of_each(policy.policy(verb))
]


@pytest.fixture
def small(config, world, tmp_path, monkeypatch, server):
    """Made by `admin`, where the verb is to find something."""
    monkeypatch.setattr("tickpath_cloud.instances.WAIT_SECONDS", 4)
    ec2 = admin(server)
    zone = ec2.describe_subnets(SubnetIds=list(config.subnets))["Subnets"][0]["AvailabilityZone"]
    host = ec2.allocate_hosts(InstanceFamily="c6i", Quantity=1, AvailabilityZone=zone)["HostIds"]
    config = replace(
        config, arms=2, dedicated_hosts=tuple(host), finalists=2, spot=True, key_name="ops",
        looks=(8,),
    )  # fmt: skip
    world.no_capacity[("c6i.large", "spot")] = "InsufficientInstanceCapacity"
    return Hunt(config, world, tmp_path)


def prepared(small, verb, monkeypatch, server):
    if verb in ("hunt", "matrix"):
        return
    use(monkeypatch, server, "admin")
    small.run()
    if verb == "sweep":
        left_by_a_receiver(small.world, server)
        audits(server, small.world)
        small.world.offset += 24 * 3600  # the anchor's own timer failed: it is an orphan
    use(monkeypatch, server, "me")


def attempt(small, verb, document, monkeypatch, server):
    prepared(small, verb, monkeypatch, server)
    small.world.add_key("me", ME, document)
    use(monkeypatch, server, "me")
    fresh = Hunt(small.config, small.world, small.path.parent)
    ACTS[verb](fresh)


@pytest.mark.parametrize("verb", ACTS)
def test_the_policy_is_enough_and_minimal(small, verb, monkeypatch, server):
    needed = watch(monkeypatch, policy.policy(verb))
    attempt(small, verb, policy.policy(verb), monkeypatch, server)
    assert sorted(needed) == sorted(entries(policy.policy(verb)))


@pytest.mark.parametrize(("verb", "number", "action"), PIECES)
def test_without_an_action_the_verb_ends(small, verb, number, action, monkeypatch, server):
    less = without(policy.policy(verb), number, action)
    with pytest.raises(CloudError, match=r"UnauthorizedOperation|AccessDenied"):
        attempt(small, verb, less, monkeypatch, server)


def test_others_instances_are_out_of_reach(small, server, monkeypatch):
    ec2 = admin(server)
    subnet = small.config.subnets[0]
    theirs = ec2.run_instances(MinCount=1, MaxCount=1, ImageId="ami-12345678", SubnetId=subnet)
    mine = Hunt(small.config, small.world, small.path.parent).cloud
    with pytest.raises(CloudError, match="UnauthorizedOperation"):
        mine.end([theirs["Instances"][0]["InstanceId"]])
