"""The hunt's own decisions against invented worlds, as often as you like.

Spread and noise are assumptions, stated in `World`: published data have ranges, no distributions.
`expect` is what `hunt --dry-run` prints. `naive` is the hunter to beat: it spends the same money on
more places, pings each once and keeps the one that looks best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from tickpath_cloud.hunt import figures
from tickpath_cloud.hunt.decide import (
    Action,
    Decide,
    Keep,
    Launch,
    Measure,
    Release,
    Settle,
    Wait,
    next_action,
)
from tickpath_cloud.hunt.settings import SETTLE_SECONDS, Settings
from tickpath_cloud.hunt.state import CONFIRMING, FRESH, Event, State

NAIVE_SECONDS = 190  # that a place of the naive hunter is billed: launch, one ping, end
LIMITS = (16, 32, 64, 128, 256)  # places of the curve
HOURS = 12  # of neighbours that are drawn


@dataclass(frozen=True)
class World:
    """Standard deviations of log latency."""

    p50_us: float = 165.0
    placements: float = 0.15
    flow: float = 0.05  # between connections of one placement: paths through the network
    block: float = 0.04  # between blocks of one placement
    drift: float = 0.02  # of the target between rounds, a random walk
    connections: int = 8  # fresh ones in each block
    heavy: bool = False  # Student's t with 3 degrees of freedom instead of normal blocks
    slow: float = 0.0  # share of the noise's variance that is an AR(1) process
    slow_seconds: float = 600.0
    jumps: float = 0.0  # share of the places that become slower or faster for good
    jump: float = 0.2
    within_seconds: float = 2 * 3600.0  # when they do
    neighbours: float = 0.0  # share of the hours in which a place has a noisy neighbour
    neighbour: float = 0.1  # that costs this much
    source: str = "assumed, not measured"

    @property
    def noise(self) -> float:
        return math.hypot(self.block, self.flow / math.sqrt(self.connections))

    def in_words(self) -> str:
        return (
            f"{self.source}: placements differ by {self.placements:.0%}, connections by "
            f"{self.flow:.0%}, blocks by {self.block:.0%}, the target drifts by {self.drift:.0%} "
            f"a round (standard deviations)"
        )


WORLDS = {
    "independent": World(),
    "heavy tails": World(heavy=True),
    "slow noise": World(slow=0.5),
    "jumps": World(jumps=0.1),
    "noisy neighbours": World(neighbours=0.2),
}


class Places:
    """The hidden truth of one world's places, and their noise, by number."""

    def __init__(self, world: World, places: int, random: np.random.Generator) -> None:
        self.world, self.random = world, random
        self.base = math.log(world.p50_us) + random.normal(0, world.placements, places)
        self.slow = random.normal(0, 1, places)
        self.slow_at = np.zeros(places)
        signs = random.choice([-1.0, 1.0], places) * math.log1p(world.jump)
        self.jump = np.where(random.random(places) < world.jumps, signs, 0.0)
        self.jump_at = random.uniform(0, world.within_seconds, places)
        self.busy = random.random((places, HOURS)) < world.neighbours

    def truth(self, which: np.ndarray, now: float) -> np.ndarray:
        """Log latency in the long run, as the place is now."""
        usual = self.world.neighbours * math.log1p(self.world.neighbour)
        return self.base[which] + np.where(self.jump_at <= now, self.jump, 0.0)[which] + usual

    def then(self, which: np.ndarray, times: list[float]) -> np.ndarray:
        """Mean log latency at these times, with the jumps until the last and the neighbours."""
        usual = self.world.neighbours * math.log1p(self.world.neighbour)
        hours = [min(int(at / 3600), HOURS - 1) for at in times]
        busy = self.busy[which][:, hours].mean(axis=1) * math.log1p(self.world.neighbour)
        return self.truth(which, max(times)) - usual + busy

    def blocks(self, which: np.ndarray, now: float) -> np.ndarray:
        """Log latency that one block of each shows, without the target's level."""
        world, count = self.world, len(which)
        share = np.exp(-(now - self.slow_at[which]) / world.slow_seconds)
        fresh = self.random.normal(0, 1, count)
        self.slow[which] = share * self.slow[which] + np.sqrt(1 - share**2) * fresh
        self.slow_at[which] = now
        white = self.random.normal(0, 1, count)
        if world.heavy:
            white = self.random.standard_t(3, count) / math.sqrt(3)
        noise = math.sqrt(1 - world.slow) * white + math.sqrt(world.slow) * self.slow[which]
        busy = self.busy[which, min(int(now / 3600), HOURS - 1)] * math.log1p(world.neighbour)
        stay = self.base[which] + np.where(self.jump_at <= now, self.jump, 0.0)[which]
        return stay + busy + world.noise * noise


class Zone:
    """Executes a hunt's actions in no time."""

    def __init__(self, settings: Settings, world: World, seed: int) -> None:
        self.settings, self.world = settings, world
        names = [*settings.arm_names(), *(f"control-{i}" for i in range(1, 5))]
        self.number = {name: number for number, name in enumerate(names)}
        self.random = np.random.default_rng(seed)
        self.places = Places(world, len(names), self.random)
        self.now = 0.0
        self.level = 0.0
        self.levels: dict[float, float] = {}

    def do(self, action: Action) -> Event | None:
        match action:
            case Launch(arm, candidate, zone):
                return {"event": "launched", "arm": arm, "instance": f"i-{arm}", "group": arm,
                        "zone": zone, "price": str(candidate.price)}  # fmt: skip
            case Settle(arms):
                self.now += SETTLE_SECONDS
                return {"event": "settled", "ready": list(arms), "unreachable": {}}
            case Wait(until):
                self.now = max(self.now, until)
                return None
            case Measure():
                return self._measure(action)
            case Release(arms):
                return {"event": "released", "arms": list(arms)}
            case Keep(arms):
                return {"event": "kept", "arms": list(arms)}
            case Decide(event):
                return event

    def _measure(self, action: Measure) -> Event:
        self.now += self.settings.round_seconds(len(action.arms), action.block_seconds)
        self.level += self.random.normal(0, self.world.drift)
        self.levels[self.now] = self.level
        which = np.array([self.number[name] for name in (action.control, *action.arms)])
        found = self.places.blocks(which, self.now) + self.level
        last = self.places.blocks(which[:1], self.now) + self.level
        p50 = 1000 * np.exp(found)
        return {
            "event": "round", "number": action.number, "block_seconds": action.block_seconds,
            "control": [float(p50[0]), float(1000 * np.exp(last[0]))],
            "blocks": {
                arm: {"p50_ns": ns, "p99_us": 1.6 * ns / 1000, "count": 10_000}
                for arm, ns in zip(action.arms, p50[1:].tolist(), strict=True)
            },
            "failed": {}, "gone": [],
        }  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    latency_us: float  # the winner's, truly, at the end
    regret: float  # over the best that was tried, less 1
    error: float  # the reported p50 of the winner over its true one, less 1
    covered: bool | None  # whether the reported interval has the true one; None: no interval
    claimed: bool  # separation or indifference
    wrong: bool  # the claim is false while the confirmation lasted
    wrong_later: bool  # it is false in the long run
    moved: bool
    places: int
    hours: float
    cost: Decimal
    because: str


def play(settings: Settings, world: World, seed: int) -> Outcome:
    """One whole hunt."""
    zone = Zone(settings, world, seed)
    state = State.begin({"settings": settings.to_json(), "at": 0.0})
    decided_at, rivals = 0.0, []
    while (action := next_action(state, now := zone.now)) is not None:
        event = zone.do(action)
        if event is None:
            continue
        if event["event"] == "decided":
            decided_at, rivals = now, [arm.name for arm in state.live()]
        state.apply({**event, "decided_at": now, "at": zone.now})
    return _outcome(state, zone, decided_at, rivals)


def _outcome(state: State, zone: Zone, decided_at: float, rivals: list[str]) -> Outcome:
    def which(names: list[str]) -> np.ndarray:
        return np.array([zone.number[name] for name in names])

    winner, places = state.decided[0], zone.places
    final = float(places.truth(which([winner]), zone.now)[0])
    best = float(places.truth(which(list(state.arms)), zone.now).min())
    shown = figures.figure(state, winner)
    error, covered = math.nan, None
    if shown is not None:
        since = shown.move.at if shown.move else 0.0
        fresh = [r.at for r in state.rounds if r.stage == FRESH and r.at >= since]
        # A figure is of its time: the target's level and the neighbours then belong to the truth.
        level = float(np.mean([zone.levels[at] for at in fresh]))
        true_ns = 1000 * math.exp(float(places.then(which([winner]), fresh)[0]) + level)
        error = shown.interval.value / true_ns - 1
        if shown.interval.known:
            covered = shown.interval.low <= true_ns <= shown.interval.high
    claimed = state.stopped in ("separation", "indifference")
    rest = [name for name in rivals if name not in state.decided]
    wrong = later = False
    if claimed and rest:
        allowed = 0.0 if state.stopped == "separation" else math.log1p(state.settings.indifference)
        last, others = which(state.decided[-1:]), which(rest)
        seen = [r.at for r in state.rounds if r.stage == CONFIRMING]
        wrong = bool(places.then(last, seen)[0] - places.then(others, seen).min() > allowed)
        late = places.truth(last, decided_at)[0] - places.truth(others, decided_at).min()
        later = bool(late > allowed)
    return Outcome(
        math.exp(final), math.exp(final - best) - 1, error, covered, claimed, wrong, later,
        shown is not None and shown.move is not None, len(state.arms), zone.now / 3600,
        state.spent(zone.now), state.stopped or "",
    )  # fmt: skip


@dataclass(frozen=True)
class Expectation:
    """Over hunts: means, or shares of them."""

    hunts: int
    latency_us: float
    best: float  # found the best of the tried
    within_3_percent: float
    regret_p95: float
    bias: float  # mean error of the winner's reported p50
    error: float  # mean absolute error
    coverage: float  # of the reported interval
    claims: float
    wrong: float  # claims that are false while the confirmation lasted, of all hunts
    wrong_later: float  # that are false in the long run
    moved: float
    places: float
    hours: float
    cost_mean: Decimal
    cost_max: Decimal


def expect(settings: Settings, world: World, hunts: int, first: int = 0) -> Expectation:
    return summary([play(settings, world, seed) for seed in range(first, first + hunts)])


def curve(settings: Settings, world: World, hunts: int) -> list[Expectation]:
    """Expected latency against money: hunts that look at more and more places."""
    limits = [limit for limit in LIMITS if limit < settings.arms] + [settings.arms]
    exist = len(settings.shared_groups) + len(settings.dedicated_hosts)
    return [
        expect(replace(settings, arms=limit, gain_min=0.0), world, hunts)
        for limit in limits
        if limit + exist > settings.finalists
    ]


def summary(outcomes: list[Outcome]) -> Expectation:
    regret = np.array([o.regret for o in outcomes])
    error = np.array([o.error for o in outcomes])
    claimed = error[~np.isnan(error)]
    costs = [o.cost for o in outcomes]
    covered = [o.covered for o in outcomes if o.covered is not None]
    return Expectation(
        len(outcomes),
        float(np.mean([o.latency_us for o in outcomes])),
        float(np.mean(regret <= 1e-12)),
        float(np.mean(regret <= 0.03)),
        float(np.quantile(regret, 0.95)),
        float(claimed.mean()) if claimed.size else math.nan,
        float(np.abs(claimed).mean()) if claimed.size else math.nan,
        float(np.mean(covered)) if covered else math.nan,
        float(np.mean([o.claimed for o in outcomes])),
        float(np.mean([o.wrong for o in outcomes])),
        float(np.mean([o.wrong_later for o in outcomes])),
        float(np.mean([o.moved for o in outcomes])),
        float(np.mean([o.places for o in outcomes])),
        float(np.mean([o.hours for o in outcomes])),
        sum(costs, Decimal(0)) / len(costs),
        max(costs),
    )


def naive(budget: Decimal, price: Decimal, world: World, hunts: int, first: int = 0) -> Expectation:
    """Launches as many places as the money is enough for, pings each once, keeps the best."""
    places = int(budget / (price * NAIVE_SECONDS / 3600))
    return summary([_naive(places, price, world, seed) for seed in range(first, first + hunts)])


def _naive(places: int, price: Decimal, world: World, seed: int) -> Outcome:
    random = np.random.default_rng(seed)
    found = Places(world, places, random)
    everywhere = np.arange(places)
    seen = found.blocks(everywhere, SETTLE_SECONDS)
    winner = int(seen.argmin())
    # As long as a hunt takes, so that both meet the same number of jumps.
    truth = found.truth(everywhere, 3600.0)
    now = found.truth(everywhere, SETTLE_SECONDS)
    wrong = bool(now[winner] > now.min())
    return Outcome(
        math.exp(truth[winner]), math.exp(truth[winner] - truth.min()) - 1,
        math.exp(seen[winner] - now[winner]) - 1, None, True, wrong, wrong, False, places,
        NAIVE_SECONDS / 3600, places * price * NAIVE_SECONDS / 3600, "smallest ping",
    )  # fmt: skip
