"""`hunt --watch`: measures the kept places at a low rate, and says when one has moved.

A place has moved if its last blocks differ from the fresh rounds of its hunt by at least the asked
share, and by more than an interval allows that holds over all looks of a watch together. It knows
slow noise, as the intervals of a hunt do. Blocks stand in watch.jsonl beside the hunt's journal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tickpath_cloud.hunt import noise
from tickpath_cloud.hunt.noise import BLOCKS_MIN, Series
from tickpath_cloud.hunt.run import Block
from tickpath_cloud.hunt.state import FRESH, State
from tickpath_cloud.journal import Journal

WINDOW = 12  # blocks that are compared with the hunt's
CONFIDENCE = 0.95  # of all looks together
FILE = "watch.jsonl"


class Hosts(Protocol):
    def blocks(
        self, arms: list[str], block_seconds: float, addresses: dict[str, str]
    ) -> tuple[dict[str, Block], dict[str, str]]: ...


class Cloud(Protocol):
    def gone(self, arms: list[str]) -> list[str]: ...


@dataclass(frozen=True)
class Change:
    """A change of a place's p50: relative, with its interval."""

    arm: str
    then_us: float
    now_us: float
    low: float
    high: float

    def __str__(self) -> str:
        return (
            f"{self.arm} moved: p50 {self.then_us:.1f} us in the hunt, {self.now_us:.1f} us now "
            f"({self.now_us / self.then_us - 1:+.0%}, {self.low:+.0%} to {self.high:+.0%})"
        )


def change(
    then: list[tuple[float, float]], now: list[tuple[float, float]], confidence: float
) -> tuple[float, float, float] | None:
    """Middle, low and high of a change of log latency; from (time, log p50). None: too few."""
    if len(then) < BLOCKS_MIN or len(now) < BLOCKS_MIN:
        return None
    parts = [np.array(part) for part in (then, now)]
    found = noise.fit([Series(part[:, 0], part[None, :, 1]) for part in parts])
    if found is None:
        return None
    middle = float(parts[1][:, 1].mean() - parts[0][:, 1].mean())
    times = np.concatenate([part[:, 0] for part in parts])
    signs = np.concatenate([np.full(len(then), -1 / len(then)), np.full(len(now), 1 / len(now))])
    half = found.half_width(found.scales(times, signs), confidence)
    return middle, middle - half, middle + half


def confidence_of(looks: int, places: int) -> float:
    """The confidence at one look and place: they share what may go wrong."""
    return 1 - (1 - CONFIDENCE) / looks / places


class Watch:
    def __init__(
        self, state: State, journal: Journal, cloud: Cloud, hosts: Hosts,
        clock: Callable[[], float], show: Callable[[str], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self.state, self.journal, self.cloud, self.hosts = state, journal, cloud, hosts
        self.clock, self.show, self.sleep = clock, show, sleep

    def run(self, every_seconds: float, until: float, share: float) -> list[Change]:
        """Until a place has moved, the time is over, or none of the places runs any more."""
        rounds = max((until - self.clock()) / every_seconds, 1)
        looks = math.ceil(rounds / BLOCKS_MIN)
        while self.clock() < until:
            began = self.clock()
            arms = self.alive()
            if not arms:
                self.show("none of the kept places runs any more: their time is over")
                return []
            self._measure(arms)
            if moved := self.moved(arms, share, looks):
                return moved
            left = min(began + every_seconds, until) - self.clock()
            self.sleep(max(left, 0.0))
        return []

    def alive(self) -> list[str]:
        gone = self.cloud.gone(self.state.decided)
        return [arm for arm in self.state.decided if arm not in gone]

    def _measure(self, arms: list[str]) -> None:
        near = {arm: self.state.arms[arm].address for arm in arms}
        blocks, failed = self.hosts.blocks(arms, self.state.settings.block_seconds, near)
        self.journal.append({
            "event": "watched", "at": self.clock(), "failed": failed,
            "blocks": {arm: vars(block) for arm, block in blocks.items()},
        })  # fmt: skip
        said = [f"{arm} {block.p50_ns / 1000:.1f} us" for arm, block in blocks.items()]
        self.show(", ".join([*said, *(f"{arm}: {why}" for arm, why in failed.items())]))

    def moved(self, arms: list[str], share: float, looks: int) -> list[Change]:
        """Looks after every `BLOCKS_MIN` blocks of a place: fewer looks, narrower intervals."""
        found = []
        for arm in arms:
            watched = [
                (e["at"], math.log(e["blocks"][arm]["p50_ns"]))
                for e in self.journal.events if arm in e["blocks"]
            ]  # fmt: skip
            if len(watched) % BLOCKS_MIN:
                continue
            then = [
                (r.at, r.p50[arm]) for r in self.state.rounds if r.stage == FRESH and arm in r.p50
            ]
            seen = change(then, watched[-WINDOW:], confidence_of(looks, len(arms)))
            if seen is None:
                continue
            middle, low, high = seen
            if (low > 0 or high < 0) and abs(math.expm1(middle)) >= share:
                then_us = math.exp(float(np.mean([log for _, log in then]))) / 1000
                now_us = then_us * math.exp(middle)
                found.append(Change(arm, then_us, now_us, math.expm1(low), math.expm1(high)))
        return found
