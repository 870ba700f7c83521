"""The hunt's own decisions against an invented zone, as often as you like.

The spread is an assumption, stated in `World`: there are no published data on it. `expect` is what
`hunt --dry-run` prints; `one_shot` is what public hunters do, for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from tickpath_cloud.hunt.decide import (
    Action,
    Decide,
    Keep,
    Launch,
    Measure,
    Release,
    Settle,
    next_action,
)
from tickpath_cloud.hunt.settings import Settings
from tickpath_cloud.hunt.state import FRESH, Event, State


@dataclass(frozen=True)
class World:
    """Standard deviations of log latency."""

    p50_us: float = 165.0
    placements: float = 0.15
    flow: float = 0.05  # between connections of one placement: paths through the network
    block: float = 0.04  # between blocks of one placement
    drift: float = 0.02  # of the target between rounds, a random walk
    connections: int = 8  # fresh ones in each block

    def in_words(self) -> str:
        return (
            f"assumed, not measured: placements differ by {self.placements:.0%}, connections by "
            f"{self.flow:.0%}, blocks by {self.block:.0%}, the target drifts by {self.drift:.0%} "
            f"a round (standard deviations)"
        )


@dataclass(frozen=True)
class Outcome:
    regret: float  # the winner's latency over the best placement's, less 1
    error: float  # the reported p50 of the winner over its true one, less 1
    hours: float
    cost: Decimal
    because: str


class Zone:
    """Executes a hunt's actions in no time."""

    def __init__(self, settings: Settings, world: World, seed: int) -> None:
        self.settings, self.world = settings, world
        self.random = np.random.default_rng(seed)
        names = [*settings.arm_names(), "control-1"]
        spread = np.exp(self.random.normal(0, world.placements, len(names)))
        self.truth = dict(zip(names, world.p50_us * spread, strict=True))
        self.now = 0.0
        self.level = 0.0
        self.levels: dict[str, list[float]] = {}

    def _block(self, arms: list[str]) -> np.ndarray:
        world = self.world
        noise = math.hypot(world.block, world.flow / math.sqrt(world.connections))
        truth = np.array([self.truth[arm] for arm in arms])
        return truth * np.exp(self.level + self.random.normal(0, noise, len(arms)))

    def do(self, action: Action) -> Event:
        match action:
            case Launch(arm, candidate, zone):
                return {"event": "launched", "arm": arm, "instance": f"i-{arm}", "group": arm,
                        "zone": zone, "price": str(candidate.price)}  # fmt: skip
            case Settle(arms):
                self.now += 90
                return {"event": "settled", "ready": list(arms), "unreachable": {}}
            case Measure(number, stage, arms, control):
                self.now += self.settings.round_seconds(len(arms))
                self.level += self.random.normal(0, self.world.drift)
                self.levels.setdefault(stage, []).append(self.level)
                p50 = self._block([control, *arms, control])
                blocks = {
                    arm: {"p50_ns": 1000 * us, "p99_us": 1.6 * us, "count": 10_000}
                    for arm, us in zip(arms, p50[1:-1], strict=True)
                }
                return {"event": "round", "number": number, "control": [p50[0], p50[-1]],
                        "blocks": blocks, "failed": {}, "gone": []}  # fmt: skip
            case Release(arms):
                return {"event": "released", "arms": list(arms)}
            case Keep(arms):
                return {"event": "kept", "arms": list(arms)}
            case Decide(event):
                return event


def play(settings: Settings, world: World, seed: int) -> Outcome:
    """One whole hunt."""
    zone = Zone(settings, world, seed)
    state = State.begin({"settings": settings.to_json(), "at": 0.0})
    state.settings = replace(settings, seed=seed)
    while (action := next_action(state, zone.now)) is not None:
        event = zone.do(action)
        state.apply({**event, "at": zone.now})
    winner = state.decided[0]
    best = min(truth for arm, truth in zone.truth.items() if arm in state.arms)
    logs = state.stage_logs(FRESH, [winner])[winner]
    claim = math.exp(float(np.mean(logs))) / 1000 if logs else math.nan
    # The winner's true value while its figure was taken.
    truth = zone.truth[winner] * math.exp(float(np.mean(zone.levels.get(FRESH, [0.0]))))
    return Outcome(
        zone.truth[winner] / best - 1,
        claim / truth - 1,
        zone.now / 3600,
        state.spent(zone.now),
        state.stopped or "",
    )


@dataclass(frozen=True)
class Expectation:
    hunts: int
    best: float  # share that found the best placement
    within_3_percent: float
    regret_p95: float
    bias: float  # mean error of the winner's reported p50
    error: float  # mean absolute error
    hours: float
    cost_mean: Decimal
    cost_max: Decimal


def expect(settings: Settings, world: World, hunts: int) -> Expectation:
    return summary([play(settings, world, seed) for seed in range(hunts)])


def summary(outcomes: list[Outcome]) -> Expectation:
    regret = np.array([o.regret for o in outcomes])
    error = np.array([o.error for o in outcomes])
    claimed = error[~np.isnan(error)]
    costs = [o.cost for o in outcomes]
    return Expectation(
        len(outcomes),
        float(np.mean(regret == 0)),
        float(np.mean(regret <= 0.03)),
        float(np.quantile(regret, 0.95)),
        float(claimed.mean()) if claimed.size else math.nan,
        float(np.abs(claimed).mean()) if claimed.size else math.nan,
        float(np.mean([o.hours for o in outcomes])),
        sum(costs, Decimal(0)) / len(costs),
        max(costs),
    )


def one_shot(arms: int, world: World, hunts: int, figure: str = "p99") -> Expectation:
    """Public hunters: 91 pings of each instance, once, and the best figure wins and is reported."""
    return summary(list(_one_shots(arms, world, hunts, figure)))


def _one_shots(arms: int, world: World, hunts: int, figure: str) -> Iterator[Outcome]:
    for seed in range(hunts):
        random = np.random.default_rng(seed)
        truth = world.p50_us * np.exp(random.normal(0, world.placements, arms))
        block = random.normal(0, world.block, (arms, 1))
        ping = random.normal(0, math.hypot(world.flow, 0.10), (arms, 91))
        pings = truth[:, None] * np.exp(block + ping)
        # 1.5 % of pings meet a stall.
        stalls = random.random((arms, 91)) < 0.015
        pings = pings + stalls * random.exponential(1.5, (arms, 91)) * truth[:, None]
        claims = np.quantile(pings, 0.99 if figure == "p99" else 0.5, axis=1)
        winner = int(np.argmin(claims))
        error = math.nan if figure == "p99" else claims[winner] / truth[winner] - 1
        yield Outcome(truth[winner] / truth.min() - 1, error, arms * 100 / 3600, Decimal(0), figure)
