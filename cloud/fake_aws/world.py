"""The state behind the fake: accounts, clock, prices, capacity, the truth about places."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fake_aws.ram import Ram

ON_DEMAND = {  # US dollars per hour, near the public ones of us-east-1 in 2026
    "c7i.large": 0.08925, "c6i.large": 0.085, "c6in.large": 0.1134, "m7i.large": 0.1008,
    "c7i.24xlarge": 4.284, "c7i.metal-24xl": 4.284, "m5zn.metal": 3.9641,
}  # fmt: skip
SPOT_SHARE = 0.4
DEDICATED_SHARE = 1.06
BY_HOUR = {  # by product family or operation; usage -> price, with what is no hour of ours
    "Load Balancer-Network": {"LCUUsage": 0.006, "LoadBalancerUsage": 0.0225},
    "Load Balancer-Application": {"LCUUsage": 0.008, "LoadBalancerUsage": 0.0225},
    "VpcEndpoint": {"VpcEndpoint-Bytes": 0.01, "VpcEndpoint-Hours": 0.01},
    "NAT Gateway": {"RegionalNatGateway-Hours": 9.0, "NatGateway-Bytes": 0.045,
                    "NatGateway-Hours": 0.045},
    "gp3": {"EBS:VolumeP-IOPS.gp3": 0.0055, "EBS:VolumeUsage.gp3": 0.088},
    "VPCPublicIPv4Address": {"PublicIPv4:IdleAddress": 0.004, "PublicIPv4:InUseAddress": 0.005},
    "TransitGatewayVPC": {"TransitGateway-Bytes": 0.02, "TransitGateway-Hours": 0.05},
}  # fmt: skip


@dataclass
class Group:
    """A placement group; its latency to the target is what a hunt must find out."""

    id: str
    name: str
    owner: str
    region: str
    strategy: str
    tags: list[dict[str, str]]
    latency_us: float
    zone_id: str | None = None  # of a cluster, once it has an instance
    partitions: dict[int, float] = field(default_factory=dict)  # their latency in us
    partition_count: int = 0
    shared_with: set[str] = field(default_factory=set)
    members: list[Any] = field(default_factory=list)

    @property
    def arn(self) -> str:
        return f"arn:aws:ec2:{self.region}:{self.owner}:placement-group/{self.name}"

    def live(self) -> list[Any]:
        ended = ("terminated", "shutting-down")
        return [instance for instance in self.members if instance._state.name not in ended]


class World:
    """The state of the fake; `reset` begins anew."""

    def __init__(self, seed: int = 1) -> None:
        self.reset(seed)

    def reset(self, seed: int = 1) -> None:
        self.random = np.random.default_rng(seed)
        self.offset = 0.0
        self.policies: dict[str, list[dict] | None] = {}  # by access key; None: anything
        self.accounts: dict[str, str] = {}  # by access key
        self.groups: dict[str, Group] = {}
        self.instances: dict[str, Any] = {}
        self.latency_us: dict[str, float] = {}  # of instances
        self.hosts_us: dict[str, float] = {}  # of dedicated hosts
        self.ends_at: dict[str, float] = {}
        self.tokens: dict[tuple[str, str], tuple[dict, Any]] = {}
        self.reservations: dict[str, dict[str, Any]] = {}  # of capacity
        self.domains: dict[str, Any] = {}  # of multicast
        self.ram = Ram(self)
        self.addresses: list[str] | None = None  # a pool; None: moto's own
        self.no_capacity: dict[tuple[str, str], str] = {}  # (type, market) -> error code
        self.throttle: dict[str, int] = {}  # action -> number of next calls to throttle
        self.lag_describes = 0  # calls of DescribeInstances before a new instance is listed
        self.described: dict[str, int] = {}  # instance -> such answers so far
        self.errors: dict[str, list[str]] = {}  # action -> codes of its next answers
        self.lasting: dict[str, str] = {}  # request of the SDK -> code of its repetitions, too
        self.lost: dict[str, int] = {}  # action -> number of answers to lose after it was done
        self.quota_vcpus = 1000.0
        self.calls: list[str] = []
        self.draw_latency_us = self._draw_latency_us
        self.on_launch: Callable[[Any], None] = lambda instance: None
        self.on_end: Callable[[Any], None] = lambda instance: None

    # --- time -----------------------------------------------------------------------------------

    def now(self) -> float:
        return time.time() + self.offset

    def advance(self, seconds: float) -> None:
        """The clock runs on; hosts whose own timer has run out shut down."""
        self.offset += seconds
        for instance_id in [i for i, at in self.ends_at.items() if at <= self.now()]:
            self.shut_down(instance_id)

    def shut_down(self, instance_id: str) -> None:
        """The host's own `shutdown`: terminates only if the host was launched so."""
        instance = self.instances[instance_id]
        self.ends_at.pop(instance_id, None)
        if instance._state.name in ("terminated", "stopped"):
            return
        if instance.instance_initiated_shutdown_behavior == "terminate":
            self.end(instance)
        else:
            instance.stop()

    def end(self, instance: Any) -> None:
        if instance._state.name != "terminated":
            instance.terminate()
        self.ends_at.pop(instance.id, None)
        self.on_end(instance)

    def set_timer(self, instance_id: str, script: str) -> None:
        """The fake reads a host's script as far as its `shutdown -P +MINUTES`, or the plan's."""
        found = re.search(r"(?:shutdown -P \+|tickpath-end/plan )(\d+)", script)
        if found:
            self.ends_at[instance_id] = self.now() + 60 * int(found[1])

    # --- accounts and places --------------------------------------------------------------------

    def add_key(self, key: str, account: str, policy: dict | None) -> None:
        self.accounts[key] = account
        self.policies[key] = None if policy is None else policy["Statement"]

    def zone_ids(self, account: str, ids: list[str]) -> list[str]:
        """Zone names mean other zones in other accounts."""
        if len(ids) < 2:
            return ids
        turn = int(hashlib.sha1(account.encode()).hexdigest(), 16) % len(ids)
        return ids[turn:] + ids[:turn]

    def _draw_latency_us(self) -> float:
        return float(165 * np.exp(self.random.normal(0, 0.15)))

    def running(self, role: str) -> str | None:
        """The latest live instance with this role tag."""
        for instance in reversed(list(self.instances.values())):
            if instance._state.name == "running" and _role(instance) == role:
                return instance.id
        return None


def _role(instance: Any) -> str | None:
    tags = instance.get_tags()
    return next((tag["value"] for tag in tags if tag["key"] == "tickpath:role"), None)


def hexadecimal(world: World, prefix: str) -> str:
    return prefix + "".join(world.random.choice(list("0123456789abcdef"), 17))


WORLD = World()  # one per process: moto's own state is global
