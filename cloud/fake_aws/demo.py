"""`make demo-cloud`: a hunt without an account. The cloud is the fake, its hosts are simulated."""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import boto3

from fake_aws.hosts import SimulatedHosts
from fake_aws.server import WORLD, Server, environment
from tickpath_cloud.config import Config
from tickpath_cloud.ec2 import Ec2
from tickpath_cloud.hunt import page, simulate, table
from tickpath_cloud.hunt.run import Runner
from tickpath_cloud.hunt.state import Event, State
from tickpath_cloud.journal import Journal
from tickpath_cloud.plan import make_plan
from tickpath_cloud.plan import text as plan_text
from tickpath_cloud.policy import policy

REGION, ACCOUNT, NAME = "eu-west-1", "111111111111", "demo"
FRAME_SECONDS = 0.1  # where a person looks on


def main() -> None:
    server = Server()
    WORLD.add_key("demo", ACCOUNT, policy("hunt"))
    os.environ.update(environment(server.url, "demo", REGION))
    subnet = boto3.client("ec2").describe_subnets()["Subnets"][0]["SubnetId"]
    WORLD.no_capacity[("c6i.large", "spot")] = "InsufficientInstanceCapacity"
    config = Config(
        name=NAME, region=REGION, subnets=(subnet,), image="ami-12345678",
        target="10.0.0.5:8888", budget=Decimal(20), instance_types=("c6i.large", "c7i.large"),
        ssh_from="198.51.100.7/32", spot=True, arms=96,
    )  # fmt: skip
    plan = make_plan(config, NAME, WORLD.now)
    print("A FAKE cloud with simulated hosts. " + simulate.World().in_words() + ".\n")
    print(plan_text(plan) + "\n")
    directory = Path(tempfile.mkdtemp(prefix="tickpath-demo-"))
    truth: dict[str, float] = {}

    def show(state: State, event: Event) -> None:
        for group in WORLD.groups.values():
            truth[group.name.removeprefix(f"tickpath-{NAME}-")] = group.latency_us
        if event["event"] == "no-capacity":
            print(f"{event['arm']}: no capacity for {event['type']} {event['market']}")
        if event["event"] in ("eliminated", "decided"):
            print(table.table(state, event["at"]) + "\n")
        elif event["event"] == "round" and sys.stderr.isatty():
            print(f"\r{state.stage}, round {event['number']} ", end="", file=sys.stderr)
            time.sleep(FRAME_SECONDS)

    cloud, hosts = Ec2(config, NAME, WORLD.now), SimulatedHosts(WORLD)
    with Journal(directory / "hunt.jsonl") as journal:
        state = Runner(journal, cloud, hosts, WORLD.now, show, hosts.sleep).run(plan.settings)
    print(table.result(state, WORLD.now()))
    best = sorted(truth, key=lambda arm: truth[arm])[: config.keep]
    # The target drifted, for all of them alike.
    told = ", ".join(f"{arm} {truth[arm] * math.exp(hosts.level):.1f} us" for arm in best)
    print(
        f"\nThe truth, which the hunt could not see: {told} are the best of {len(truth)}, at the "
        "target's level now."
    )
    (directory / "report.html").write_text(page.page(state, WORLD.now()))
    left = cloud.destroy()
    print(f"destroyed; left: {', '.join(left) or 'nothing'}")
    print(f"page and journal: {directory}/report.html, {directory}/hunt.jsonl")
    server.stop()


if __name__ == "__main__":
    main()
