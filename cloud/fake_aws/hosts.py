"""Hosts without machines: they answer with their placement's hidden latency, and noise."""

from __future__ import annotations

import math

from fake_aws.world import World
from tickpath_cloud.hunt.decide import Measure
from tickpath_cloud.hunt.run import Block, RoundResult
from tickpath_cloud.hunt.simulate import World as Spread


class SimulatedHosts:
    """The `Hosts` of `make demo-cloud` and of most tests; the fake's clock runs as they measure."""

    def __init__(self, world: World, at_once: int = 4) -> None:
        self.world, self.at_once = world, at_once
        self.unreachable: set[str] = set()
        self.spread = Spread()
        self.level = 0.0  # of the target's drift

    def settle(self, arms: list[str]) -> tuple[list[str], dict[str, str]]:
        self.world.advance(60)
        ready = [arm for arm in arms if arm not in self.unreachable and self._instance(arm)]
        return ready, {arm: "ssh: connection refused" for arm in arms if arm not in ready}

    def sleep(self, seconds: float) -> None:
        self.world.advance(seconds)

    def measure(self, action: Measure) -> RoundResult:
        self.level += self.world.random.normal(0, self.spread.drift)
        first = self._block(action.control, action.block_seconds)
        blocks, failed = {}, {}
        for arm in action.arms:
            block = self._block(arm, action.block_seconds / self.at_once)
            if block is None:
                failed[arm] = "ssh: connection timed out"
            else:
                blocks[arm] = block
        last = self._block(action.control, action.block_seconds)
        if last is None:
            failed[action.control] = "ssh: connection timed out"
        control = (first.p50_ns if first else None, last.p50_ns if last else None)
        return RoundResult(control, blocks, failed)

    def _block(self, arm: str, seconds: float) -> Block | None:
        self.world.advance(seconds)
        instance = self._instance(arm)
        if instance is None:
            return None
        spread = self.spread
        p50 = self.world.latency_us[instance] * math.exp(
            self.level + self.world.random.normal(0, spread.noise)
        )
        return Block(1000 * p50, 1.6 * p50, 10_000)

    def blocks(
        self, arms: list[str], block_seconds: float, addresses: dict[str, str]
    ) -> tuple[dict[str, Block], dict[str, str]]:
        found = {arm: self._block(arm, block_seconds / len(arms)) for arm in arms}
        dead = {arm: "ssh: connection timed out" for arm, block in found.items() if block is None}
        return {arm: block for arm, block in found.items() if block is not None}, dead

    def keep(self, arms: list[str], seconds: int) -> dict[str, str]:
        failed = {}
        for arm in arms:
            instance = self._instance(arm)
            if instance is None:
                failed[arm] = "ssh: connection timed out"
            else:
                self.world.set_timer(instance, f"shutdown -P +{seconds // 60}")
        return failed

    def _instance(self, arm: str) -> str | None:
        return self.world.running(arm)
