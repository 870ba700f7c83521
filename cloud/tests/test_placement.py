"""Arms and cells that are placed otherwise than in cluster groups."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest
from conftest import Hunt, admin
from test_matrix import ONE, Hosts, run, wide  # noqa: F401

from tickpath_cloud import placement, plan, sweep
from tickpath_cloud.errors import CloudError
from tickpath_cloud.hunt import table
from tickpath_cloud.hunt.settings import Candidate, Settings
from tickpath_cloud.matrix.cells import Matrix, cells, check, features
from tickpath_cloud.matrix.table import table as matrix_table

ALL = placement.KINDS


def settings(**changes):
    found = {
        "hunt": "h", "candidates": (Candidate("c6i.large", "on-demand", Decimal(1)),),
        "budget": Decimal(1000), "arms": 40, "placements": ALL, "zones": ("a", "b"),
    }  # fmt: skip
    return Settings(**{**found, **changes})


def test_each_zone_gets_each_placement_and_no_place_twice():
    """Zones and placements went around together: with two of each, a zone had one placement."""
    planned = settings()
    found = [(*planned.placement(f"arm-{i:02}"), i % 2) for i in range(1, 41)]
    assert Counter((kind, zone) for kind, _, zone in found) == {
        (kind, zone): 4 for kind in ALL for zone in (0, 1)
    }
    assert len({(kind, place) for kind, place, _ in found}) == 40
    assert planned.placement("control-1") == ("none", 0)


def test_groups_of_many_have_seven_places():
    asked = [placement.group("spread", f"arm-{i}", i) for i in range(15)]
    assert Counter(asked) == {
        ("spread-1", "spread"): 7, ("spread-2", "spread"): 7, ("spread-3", "spread"): 1,
    }  # fmt: skip
    assert [placement.partition(i) for i in (0, 6, 7)] == [1, 7, 1]


def test_settings_come_back_from_the_journal():
    planned = settings(dedicated_hosts=("h-1",), region_fee=Decimal(2))
    assert Settings.of(planned.to_json()) == planned
    assert planned.arm_names()[:2] == ["host-01", "arm-01"]


@pytest.fixture
def host(config, server, world):
    zone = admin(server).describe_subnets(SubnetIds=list(config.subnets))["Subnets"][0]
    made = admin(server).allocate_hosts(
        InstanceFamily="c7i", Quantity=1, AvailabilityZone=zone["AvailabilityZone"]
    )
    return made["HostIds"][0]


@pytest.fixture
def all_kinds(config, world, tmp_path, host):
    asked = replace(
        config, arms=10, wave=16, placements=ALL, dedicated_hosts=(host,), budget=Decimal(150)
    )
    return Hunt(asked, world, tmp_path)


def told(hunt, arm):
    """Arguments with which it was launched."""
    events = hunt.cloud.launches.events
    [found] = [e["arguments"] for e in events if e["event"] == "request" and e["role"] == arm][-1:]
    return found


def test_a_hunt_over_all_placements_keeps_one_and_destroys_all(all_kinds, world, host):
    world.hosts_us[host] = 50.0
    state = all_kinds.run()
    assert state.decided == ["host-01"] and state.arms["host-01"].group == host
    asked = {arm: told(all_kinds, arm)["Placement"] for arm in state.arms}
    name = "tickpath-test-1"
    assert asked["arm-01"] == {"GroupName": f"{name}-arm-01"}
    assert asked["arm-02"] == {"GroupName": f"{name}-spread-1"} == asked["arm-07"]
    assert asked["arm-03"] == {"GroupName": f"{name}-partition-1", "PartitionNumber": 1}
    assert asked["arm-08"] == {"GroupName": f"{name}-partition-1", "PartitionNumber": 2}
    assert asked["arm-04"] == {"GroupName": f"{name}-arm-04", "Tenancy": "dedicated"}
    assert asked["arm-05"] == {}
    assert asked["host-01"] == {"HostId": host, "Tenancy": "host"}
    assert told(all_kinds, "host-01")["InstanceType"] == "c7i.large", "the host runs no c6i"
    said = table.result(state, world.now())
    assert f"on {host}" in said and "spread      2 places" in said
    assert world.groups == {}, "the kept instance is in none of them"
    assert all_kinds.cloud.destroy() == [] and all_kinds.alive() == []


@pytest.mark.parametrize("kind", ["spread", "partition"])
def test_a_group_of_many_stays_while_a_kept_arm_is_in_it(config, world, tmp_path, kind, server):
    hunt = Hunt(replace(config, placements=(kind,)), world, tmp_path)
    state = hunt.run()
    assert [group.strategy for group in world.groups.values()] == [kind]
    assert "rack of its own" in (said := table.result(state, 0)) or "in partition" in said
    # Its tag has the time of the probes: with that alone it would be an orphan in use.
    world.offset += 5 * 3600
    for orphan in (False, True):
        found = sweep.find(admin(server), world.now())
        assert [left.orphan for left in found if left.kind == "placement group"] == [orphan]
        world.shut_down(state.arms[state.decided[0]].instance)
    assert hunt.cloud.destroy() == [] and world.groups == {}


def test_the_plan_counts_dedicated_prices_and_the_fee_of_the_region(all_kinds):
    made = all_kinds.plan()
    prices = {c.market: c.price - made.besides.hourly for c in made.settings.candidates[::2]}
    assert float(prices["dedicated"] / prices["on-demand"]) == pytest.approx(1.06)
    said = plan.text(made)
    assert "$2.00 an hour for the region" in said and "spread: racks of their own" in said
    without = replace(made.settings, region_fee=Decimal(0))
    assert plan.worst_case(made.settings) - plan.worst_case(without) == 2 * 7  # 6 h and waves


def test_money_that_is_spent_has_the_fee_by_whole_hours(all_kinds):
    state = all_kinds.run()
    before = state.spent(state.began + 3599)
    assert state.spent(state.began + 3601) - before > Decimal(2)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"instance_types": ("c6i.large",)}, "runs c7i alone"),
        ({"dedicated_hosts": ("h-0123456789abcdef0",)}, "not of this account and region"),
    ],
)
def test_a_host_that_can_run_nothing_ends_the_plan(all_kinds, wrong, told):
    all_kinds.config = all_kinds.cloud.config = replace(all_kinds.config, **wrong)
    with pytest.raises(CloudError, match=told):
        all_kinds.plan()


def test_a_host_in_another_zone_ends_the_plan(all_kinds, server):
    other = admin(server).allocate_hosts(
        InstanceFamily="c7i", Quantity=1, AvailabilityZone="eu-west-1c"
    )["HostIds"]
    all_kinds.config = replace(all_kinds.config, dedicated_hosts=tuple(other))
    with pytest.raises(CloudError, match="is in eu-west-1c: add a subnet in that zone"):
        all_kinds.plan()


@pytest.mark.parametrize("wrong", [(), "cluster", ("cluster", "host")])
def test_placements_that_are_none_are_rejected(config, wrong):
    with pytest.raises(CloudError, match="placements"):
        replace(config, placements=wrong)


def test_rows_of_a_matrix(run, wide, world, host):  # noqa: F811
    wide = replace(wide, instance_types=("c6i.large", "c7i.metal-24xl"), budget=Decimal(1000))
    asked = replace(ONE, pair=True, placements=(*ALL, host))
    rows = run(asked, Hosts(cells(wide, asked)), wide)
    assert [r.why for r in rows[:6]] == [""] * 5 + [f"dedicated host {host} does not run c6i.large"]
    assert [row.why for row in rows[6:]] == [""] * 6
    assert float(rows[3].features.price) == pytest.approx(0.085 * 1.06)
    text = matrix_table(rows)
    assert all(kind in text for kind in (*ALL, host))
    assert world.groups == {} and len(world.instances) == 22
    where = [(i.placement.group_name, i.placement.group_id) for i in world.instances.values()]
    assert len(set(where)) == 1 + 2 * 4, "a group for each cell that has one"


def test_a_matrix_counts_the_fee(wide):  # noqa: F811
    wide = replace(wide, budget=Decimal(1000))
    asked = [replace(ONE, placements=p) for p in (("none",), ("dedicated",))]
    said = [check(wide, m, cells(wide, m), features(wide, m)) for m in asked]
    assert "costs $17.5" in said[0] and "costs $26.5" in said[1]
    with pytest.raises(CloudError, match="placements has 'racks'"):
        Matrix(images={}, tunings={}, placements=("racks",))
