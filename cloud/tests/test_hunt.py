"""Whole hunts against the fake AWS, over HTTP with the real SDK."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest
from conftest import REGION, Hunt, admin

from fake_aws.world import ON_DEMAND, SPOT_SHARE
from tickpath_cloud import journal, tags
from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.hunt import table
from tickpath_cloud.hunt.run import replay
from tickpath_cloud.plan import make_plan


def test_keeps_the_best_group_and_leaves_nothing_else(hunt, server):
    planted = iter([150, 170, 130, 190, 100, 115, 210])  # the control probe has the first
    hunt.world.draw_latency_us = lambda: float(next(planted))
    state = hunt.run()
    winner = "arm-04"
    assert state.decided == [winner]
    assert hunt.alive() == [winner]
    groups = admin(server).describe_placement_groups()["PlacementGroups"]
    assert [group["GroupName"] for group in groups] == [f"tickpath-test-1-{winner}"]
    assert winner in table.result(state, hunt.world.now())


def test_every_instance_is_tagged_private_and_ends_itself(hunt, server):
    hunt.run()
    for instance in hunt.world.instances.values():
        held = {tag["key"]: tag["value"] for tag in instance.get_tags()}
        assert held[tags.HUNT] == "test-1" and tags.EXPIRES in held
        assert instance.instance_initiated_shutdown_behavior == "terminate"
        assert instance.metadata_options.http_tokens == "required"
    security = admin(server).describe_security_groups(
        Filters=[{"Name": f"tag:{tags.HUNT}", "Values": ["*"]}]
    )["SecurityGroups"]
    ranges = [r["CidrIp"] for g in security for p in g["IpPermissions"] for r in p["IpRanges"]]
    assert ranges == ["198.51.100.7/32"]


def test_the_winner_outlives_the_hunt_and_then_ends_itself(hunt):
    hunt.run()
    assert len(hunt.alive()) == 1
    hunt.world.advance(1.5 * 3600)
    assert len(hunt.alive()) == 1
    hunt.world.advance(3600)
    assert hunt.alive() == []


def test_all_probes_end_themselves_when_the_controller_dies(hunt):
    def die(state, event):
        if state.stage_rounds == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hunt.run(die)
    assert len(hunt.alive()) == 7
    hunt.world.advance(hunt.plan().settings.ttl_seconds)
    assert hunt.alive() == []


def test_destroy_ends_with_proof_and_may_be_repeated(hunt):
    hunt.run()
    assert hunt.cloud.destroy() == []
    assert hunt.cloud.destroy() == []
    assert hunt.alive() == [] and not hunt.world.groups


def test_spot_prices_are_complete_and_of_now(config, world):
    """The first page alone was read, and the dearest price of 90 days was taken for today's."""
    plan = make_plan(replace(config, spot=True), "test-1", world.now)
    found = plan.settings.candidates
    more = plan.besides.hourly
    shares = [float(c.price - more) / ON_DEMAND[c.type] for c in found if c.market == "spot"]
    assert shares == pytest.approx([SPOT_SHARE] * 2, rel=0.01)


class Killed(BaseException):
    """Not an Exception: nothing in the program may catch it."""


def test_resumes_after_it_was_killed_at_any_step(config, world, tmp_path, monkeypatch):
    """Once before each append: acted, not written down. Odd ones leave half a line."""
    steps, step = 1, 0
    hunt = Hunt(replace(config, arms=4), world, tmp_path)
    original = journal.Journal.append
    count = 0

    def append(self, event):
        nonlocal count
        count += 1
        if count == step + 1:
            if step % 2:
                with self.path.open("ab") as torn:
                    torn.write(json.dumps(event).encode()[:20])
            raise Killed
        original(self, event)

    monkeypatch.setattr(journal.Journal, "append", append)
    kills = 0
    while True:
        count = 0
        try:
            if hunt.path.exists() and journal.read(hunt.path):
                with journal.Journal(hunt.path) as opened:
                    state = hunt.runner(opened).run()
            else:
                with journal.Journal(hunt.path) as opened:
                    state = hunt.runner(opened).run(hunt.plan().settings)
            break
        except Killed:
            kills += 1
            step = 1  # every further life makes one step
    assert kills > 20 and steps
    assert len(world.instances) == 5, "no instance was launched twice"
    assert hunt.alive() == state.decided
    assert len(world.groups) == 1


def test_replays_its_journal_to_the_same_decisions(hunt):
    state = hunt.run()
    events = journal.read(hunt.path)
    assert replay(events).decided == state.decided
    tampered = [dict(event) for event in events]
    for event in tampered:
        if event["event"] == "decided":
            event["winners"] = ["arm-99"]
    with pytest.raises(CloudError, match="this version decides"):
        replay(tampered)


def test_a_second_controller_is_turned_away(hunt):
    with journal.Journal(hunt.path), pytest.raises(CloudError, match="another controller"):
        journal.Journal(hunt.path)


# --- failures -----------------------------------------------------------------------------------


def test_no_capacity_for_one_type_takes_the_next(hunt):
    hunt.world.no_capacity[("c6i.large", "on-demand")] = "InsufficientInstanceCapacity"
    state = hunt.run()
    assert len(state.decided) == 1
    assert {i.instance_type for i in hunt.world.instances.values()} == {"c7i.large"}
    asked = [c for c in hunt.world.calls if c == "ec2:RunInstances"]
    assert len(asked) < 1 + 7 + 4, "a market that rejected three times is left alone"


def test_spot_without_capacity_falls_back_to_on_demand(config, world, tmp_path):
    hunt = Hunt(replace(config, spot=True), world, tmp_path)
    for kind in config.instance_types:
        world.no_capacity[(kind, "spot")] = "InsufficientInstanceCapacity"
    assert len(hunt.run().decided) == 1


def test_no_capacity_at_all_ends_the_hunt_with_nothing_left(hunt):
    for kind in hunt.config.instance_types:
        hunt.world.no_capacity[(kind, "on-demand")] = "InsufficientInstanceCapacity"
    state = hunt.run()
    assert state.stopped in ("control lost", "no arm left") and hunt.alive() == []
    assert hunt.cloud.destroy() == []


def test_throttled_calls_are_retried(hunt, monkeypatch):
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *a: 0)
    hunt.world.throttle = {"RunInstances": 5, "DescribeInstances": 3, "CreatePlacementGroup": 2}
    assert len(hunt.run().decided) == 1
    assert sum(hunt.world.throttle.values()) == 0


def test_arms_that_ssh_cannot_reach_are_ended(hunt):
    hunt.hosts.unreachable = {"arm-02", "arm-03"}
    state = hunt.run()
    assert not {"arm-02", "arm-03"} & set(state.decided)
    assert hunt.alive() == state.decided


def test_an_instance_that_dies_in_a_block_costs_its_arm_only(hunt):
    def kill(state, event):
        if event["event"] == "round" and event["number"] == 1:
            hunt.world.shut_down(hunt.world.running("arm-04"))

    state = hunt.run(kill)
    assert state.arms["arm-04"].status == "failed" and len(state.decided) == 1
    assert hunt.alive() == state.decided


def test_a_control_probe_that_dies_is_replaced(hunt):
    def kill(state, event):
        if event["event"] == "round" and event["number"] == 1:
            hunt.world.shut_down(hunt.world.running("control-1"))

    state = hunt.run(kill)
    assert state.control.name == "control-2" and len(state.decided) == 1
    assert hunt.alive() == state.decided


def test_stops_at_the_budget(config, world, tmp_path):
    hunt = Hunt(replace(config, block_seconds=600, looks=(100, 200)), world, tmp_path)
    settings = replace(hunt.plan().settings, budget=Decimal("1.5"), ttl_seconds=10**6)
    with journal.Journal(hunt.path) as opened:
        state = hunt.runner(opened).run(settings)
    assert state.stopped == "budget" and hunt.alive() == state.decided
    assert state.spent(opened.events[-1]["at"]) <= Decimal("1.5")


def test_stops_before_the_probes_end_themselves(config, world, tmp_path):
    hunt = Hunt(replace(config, looks=(1000, 2000), ttl_hours=1), world, tmp_path)
    state = hunt.run()
    assert state.stopped == "time" and len(state.decided) == 1
    assert hunt.alive() == state.decided


def test_rounds_in_which_the_target_jumps_do_not_count(hunt):
    measure = hunt.hosts.measure
    jumps = iter([2.0, 1.0, 2.0] + [1.0] * 1000)

    def jumping(action):
        result = measure(action)
        first, last = result.control
        return replace(result, control=(first, last * next(jumps)))

    hunt.hosts.measure = jumping
    state = hunt.run()
    assert state.void_rounds == 2 and len(state.decided) == 1


def test_arms_over_the_p99_limit_lose(config, world, tmp_path):
    hunt = Hunt(replace(config, p99_limit_us=1.0), world, tmp_path)
    state = hunt.run()
    assert state.decided == [] and hunt.alive() == []


# --- plan and money -----------------------------------------------------------------------------


def test_the_plan_makes_nothing(hunt):
    plan = hunt.plan()
    assert plan.account == "111111111111" and plan.vcpus == 14
    made = ("Create", "Run", "Terminate", "Delete", "Authorize")
    assert not hunt.world.instances and not hunt.world.groups
    assert any(call.split(":")[1].startswith(made) for call in hunt.world.calls), "dry runs"


def test_a_worst_case_over_the_budget_is_rejected(config, world, tmp_path):
    with pytest.raises(CloudError, match="worst case"):
        Hunt(replace(config, budget=Decimal("0.5")), world, tmp_path).plan()


def test_a_quota_that_is_too_small_is_told(hunt):
    hunt.world.quota_vcpus = 8
    with pytest.raises(CloudError, match="14 vCPUs needed"):
        hunt.plan()


def test_everybody_may_not_ssh(config):
    with pytest.raises(CloudError, match="everybody"):
        replace(config, ssh_from="0.0.0.0/0")


# --- shared groups ------------------------------------------------------------------------------


def test_a_shared_group_is_an_arm_and_is_not_deleted(config, world, tmp_path, server):
    theirs = admin(server, "other")
    theirs.create_placement_group(GroupName="exchange", Strategy="cluster")
    group = next(g for g in world.groups.values() if g.owner == "222222222222")
    subnets = admin(server).describe_subnets()["Subnets"]
    group.zone_id = subnets[1]["AvailabilityZoneId"]
    group.latency_us, group.shared_with = 50.0, {"111111111111"}
    both = (subnets[0]["SubnetId"], subnets[1]["SubnetId"])
    hunt = Hunt(replace(config, subnets=both, shared_groups=(group.id,)), world, tmp_path)
    state = hunt.run()
    assert state.decided == ["shared-01"] and state.arms["shared-01"].zone == group.zone_id
    assert hunt.cloud.destroy() == [] and group.id in world.groups


def test_a_group_that_is_not_shared_is_unknown(config, world, tmp_path, server):
    admin(server, "other").create_placement_group(GroupName="exchange", Strategy="cluster")
    group = next(iter(world.groups.values()))
    hunt = Hunt(replace(config, shared_groups=(group.id,)), world, tmp_path)
    with pytest.raises(Rejected, match="InvalidPlacementGroup.Unknown"):
        hunt.run()
    assert group.region == REGION
