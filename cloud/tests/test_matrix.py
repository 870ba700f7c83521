"""The matrix against the fake AWS, with hosts that answer as their type would."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from conftest import admin, use

from tickpath_cloud import policy
from tickpath_cloud.errors import CloudError
from tickpath_cloud.journal import Journal
from tickpath_cloud.matrix import measure as matrix
from tickpath_cloud.matrix.cells import Matrix, cells, check, features
from tickpath_cloud.matrix.table import table, worth

P50_US = {"c6i.large": 30, "c7i.metal-24xl": 20}
TABLE = Matrix(
    images={"ubuntu": "ami-12345678", "rocky": "ami-87654321"},
    tunings={"none": "", "tuned": "tune.yml"},
)
ONE = replace(TABLE, images={"ubuntu": "ami-12345678"}, tunings={"none": ""})


class Hosts:
    """`cells`: what was launched; tuning takes a tenth."""

    def __init__(self, cells):
        self.cells = {cell.name: cell for cell in cells}
        self.tuned = []
        self.silent = set()
        self.commands = {}

    def settle(self, arms):
        return arms, {arm: "ssh: the host does not answer" for arm in arms if arm in self.silent}

    def playbook(self, path, arms):
        assert path == Path("tune.yml")
        self.tuned += arms
        return {}

    def run(self, commands):
        for arm, command in commands.items():
            self.commands[arm] = f"{self.commands.get(arm, '')}\n{command}"
        return {arm: self.answer(arm, command) for arm, command in commands.items()}

    def answer(self, arm, command):
        if " exchange " in command:
            return {"listening": "0.0.0.0:8888"}
        if " noise " in command:
            core = {"seconds": 2.0, "lost_ns": 4_000_000, "max_ns": 9_000}
            return {"noise": {"cores": [core]}}
        p50 = 1000 * P50_US[self.cells[arm].type] * (0.9 if arm in self.tuned else 1)
        pooled = {"count": 5000, "p50": p50, "p99": 2 * p50}
        series = {"name": "order", "kind": "service", "pooled": pooled, "interval": {}}
        return {"scenario": "s", "subjects": [{"name": "rust", "series": [series]}]}


@pytest.fixture
def wide(config, world, server, monkeypatch):
    world.policies["me"] = policy.policy("matrix")["Statement"]
    use(monkeypatch, server, "me")
    return replace(config, instance_types=tuple(P50_US), budget=Decimal(100))


@pytest.fixture
def run(wide, world, tmp_path):
    def run(asked, hosts, config=wide):
        with Journal(tmp_path / "matrix.jsonl") as journal:
            return matrix.measure(config, asked, "m", hosts, world.now, journal)

    return run


def test_one_table_of_all_cells_and_nothing_left(run, wide, world):
    hosts = Hosts(cells(wide, TABLE))
    hosts.silent = {"cell-02"}
    rows = run(TABLE, hosts)
    launched = list(world.instances.values())
    assert len(launched) == 8 and {i.image_id for i in launched} == set(TABLE.images.values())
    assert not world.groups
    assert [i._state.name for i in launched] == ["terminated"] * 8
    figures = {(r.cell.type, r.cell.image, r.cell.tuning): r.p50_us for r in rows}
    assert figures["c7i.metal-24xl", "rocky", "tuned"] == 18
    assert figures["c6i.large", "ubuntu", "none"] == 30
    assert rows[1].p50_us is None and "ssh" in rows[1].why
    text = table(rows).splitlines()
    assert "c7i.metal-24xl" in text[1] and "metal" in text[1] and "0.20%" in text[1]
    assert "does not answer" in text[-1]


def test_microseconds_per_dollar_against_the_cheapest(run, wide):
    rows = run(ONE, Hosts(cells(wide, ONE)))
    more = Decimal("4.284") - Decimal("0.085")
    assert worth(rows[1], rows[0]) == f"{10 / float(more):.2f}"


def test_a_pair_shares_a_group_and_a_port_that_nobody_else_reaches(run, wide, world, server):
    pairs = replace(ONE, pair=True)
    hosts = Hosts(cells(wide, pairs))
    seen = {}

    def look():
        for group in world.groups.values():
            seen[group.name] = sorted(i.private_ip for i in group.live())
        found = admin(server).describe_security_groups(
            Filters=[{"Name": "group-name", "Values": ["tickpath-m"]}]
        )["SecurityGroups"][0]["IpPermissions"]  # fmt: skip
        seen["open"] = [
            (rule["FromPort"], len(rule["UserIdGroupPairs"]), rule["IpRanges"]) for rule in found
        ]

    original = hosts.settle
    hosts.settle = lambda arms: (look(), original(arms))[1]
    rows = run(pairs, hosts)
    assert [row.p50_us for row in rows] == [30, 20]
    assert (8888, 1, []) in seen["open"]
    ranges = [block["CidrIp"] for _, _, blocks in seen["open"] for block in blocks]
    assert ranges == [wide.ssh_from]
    for cell in ("cell-01", "cell-02"):
        both = seen[f"tickpath-m-{cell}"]
        assert len(both) == 2
        # The client's command names the exchange, by its private address.
        [address] = [a for a in both if f"--connect {a}:8888" in hosts.commands[cell]]
        assert address
    assert not world.groups, "nothing is left"


def test_a_cell_whose_exchange_fails_has_failed(run, wide):
    hosts = Hosts(cells(wide, ONE))
    hosts.silent = {"cell-02-exchange"}
    rows = run(replace(ONE, pair=True), hosts)
    assert rows[0].p50_us == 30 and "does not answer" in rows[1].why


def test_hosts_that_did_not_settle_are_ended_before_the_others_are_measured(run, wide, world):
    """One of them may have no timer, and a controller that dies later would leave it running."""
    hosts = Hosts(cells(wide, ONE))
    hosts.silent = {"cell-02-exchange"}
    alive = []
    original = hosts.run

    def look(commands):
        alive.append(sum(i._state.name == "running" for i in world.instances.values()))
        return original(commands)

    hosts.run = look
    run(replace(ONE, pair=True), hosts)
    assert alive[0] == 2 and len(world.instances) == 4


def test_settings_of_the_adapter(run, wide, world, monkeypatch):
    """Types without ENA Express are a line and no instance."""
    import botocore.client

    asked = []
    original = botocore.client.BaseClient._make_api_call

    def call(self, operation, arguments):
        if operation == "RunInstances" and "NetworkInterfaces" in arguments:
            asked.append(arguments["NetworkInterfaces"][0])
        found = original(self, operation, arguments)
        if operation == "DescribeInstanceTypes":
            for entry in found["InstanceTypes"]:
                metal = entry["InstanceType"].endswith("metal-24xl")
                entry.setdefault("NetworkInfo", {})["EnaSrdSupported"] = metal
                entry["PhcSupport"] = "supported" if metal else "unsupported"
        return found

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", call)
    ena = {"default": {}, "express": {"express": True}, "queues": {"queues": 4}}
    rows = run(replace(ONE, ena=ena), Hosts(cells(wide, replace(ONE, ena=ena))))
    assert [row.why for row in rows] == ["", "c6i.large has no ENA Express", "", "", "", ""]
    assert [a.get("EnaQueueCount") for a in asked] == [4, None, 4]
    assert asked[1]["EnaSrdSpecification"]["EnaSrdEnabled"] is True
    assert len(world.instances) == 5 and "PTP, ENA Express" in table(rows)
    with pytest.raises(CloudError, match="unknown key 'turbo'"):
        Matrix(images={}, tunings={}, ena={"x": {"turbo": 1}})


def test_everything_goes_when_it_fails_on_the_way(run, wide, world):
    hosts = Hosts(cells(wide, TABLE))

    def fail(commands):
        raise RuntimeError("on the way")

    hosts.run = fail
    with pytest.raises(RuntimeError, match="on the way"):
        run(TABLE, hosts)
    assert all(i._state.name == "terminated" for i in world.instances.values())


class Killed(BaseException):
    """Not an Exception: nothing in the program may catch it."""


def test_resumes_after_it_was_killed_at_any_step(run, wide, world, monkeypatch):
    """Before each line of the journal: acted, not written down."""
    original = Journal.append
    lives = 0

    def append(self, event):
        nonlocal written
        if written:
            raise Killed
        written = True
        original(self, event)

    monkeypatch.setattr(Journal, "append", append)
    while True:
        written, lives = False, lives + 1
        try:
            rows = run(replace(ONE, pair=True), Hosts(cells(wide, ONE)))
            break
        except Killed:
            continue
    assert lives >= 7 and [row.p50_us for row in rows] == [30, 20]
    assert len(world.instances) == 4, "no instance was launched twice"
    assert all(i._state.name == "terminated" for i in world.instances.values())
    written = False
    assert [r.p50_us for r in run(replace(ONE, pair=True), None)] == [30, 20], "it was over"


def test_the_budget_counts_the_worst_case(run, wide, server):
    with pytest.raises(CloudError, match="worst case"):
        run(TABLE, Hosts([]), replace(wide, budget=Decimal(1)))
    assert not admin(server).describe_instances()["Reservations"]
    one = check(wide, ONE, cells(wide, ONE), features(wide, ONE))
    two = check(wide, replace(ONE, pair=True), cells(wide, ONE), features(wide, ONE))
    assert "makes 2 instances" in one and "makes 4 instances, in 2 pairs" in two
