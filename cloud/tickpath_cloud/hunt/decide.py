"""The next action of a hunt: a pure function of its state and the time. No I/O.

Waves of arms are launched and screened by short blocks; all but the promising are dropped, and
another wave follows while it promises more than it costs. The finalists are then confirmed by
rounds that are spread over time, and the winners measured in fresh rounds, whose figure is free of
the luck that made them win.

See docs/decisions/021-a-hunt-in-waves.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from tickpath_cloud import placement
from tickpath_cloud.hunt import belief, figures
from tickpath_cloud.hunt.noise import BLOCKS_MIN
from tickpath_cloud.hunt.settings import Candidate
from tickpath_cloud.hunt.state import (
    CONFIRMING,
    FAILED,
    FRESH,
    LAUNCHED,
    SCREENING,
    WAITING,
    Event,
    State,
)
from tickpath_cloud.money import fee

CONTROLS_MAX = 3
CLEAN_UP_SECONDS = 120  # time that the budget and the clock leave for ending instances


@dataclass(frozen=True)
class Launch:
    """Idempotent: its token names the hunt, the arm and the candidate."""

    arm: str
    candidate: Candidate
    zone: str
    attempt: int
    placement: str = placement.CLUSTER
    place: int = 0  # among the arms that are placed so; of a shared group or host: which


@dataclass(frozen=True)
class Settle:
    arms: tuple[str, ...]


@dataclass(frozen=True)
class Measure:
    """One round: control, the arms in random order, control."""

    number: int
    stage: str
    arms: tuple[str, ...]
    control: str
    block_seconds: float
    addresses: dict[str, str] = field(default_factory=dict)  # of the target, nearest to an arm


@dataclass(frozen=True)
class Wait:
    """Blocks of one arm are spread over time: noise may be slow."""

    until: float


@dataclass(frozen=True)
class Release:
    """Terminate instances and delete their groups."""

    arms: tuple[str, ...]


@dataclass(frozen=True)
class Keep:
    """Turn winners into anchors: tagged, with a new expiry."""

    arms: tuple[str, ...]


@dataclass(frozen=True)
class Decide:
    """A decision: nothing to do but to write it down."""

    event: Event


Action = Launch | Settle | Measure | Wait | Release | Keep | Decide


def next_action(state: State, now: float) -> Action | None:
    """None: the hunt is over."""
    if state.closed:
        return None
    if state.stage == "closing":
        return _close(state)
    if not state.waves:
        return _wave(state, min(state.settings.wave, state.settings.alive_max - 1))
    if (because := _must_stop(state, now)) is not None:
        return _stop(state, because)
    if (action := _launch(state)) is not None:
        return action
    if releasable := state.to_release():
        return Release(tuple(releasable))
    if state.stage == SCREENING:
        return _screen(state, now)
    if state.stage == CONFIRMING:
        return _confirm(state, now)
    return _measure_again(state, now)


def _must_stop(state: State, now: float) -> str | None:
    settings = state.settings
    alive = [a for a in (*state.around(), state.control) if a.alive and a.lease]
    seconds = settings.screen_seconds if state.stage == SCREENING else settings.block_seconds
    round_seconds = settings.round_seconds(max(len(state.live()), 1), seconds)
    ahead = round_seconds * state.overrun + CLEAN_UP_SECONDS
    if state.spent(now) + _hourly(state) * Decimal(ahead) / 3600 > settings.budget:
        return "budget"
    if alive:
        first = min(arm.lease.began for arm in alive if arm.lease)
        if now + ahead > first + settings.ttl_seconds:
            return "time"
    if state.void_rounds > settings.void_rounds_max:
        return "drift"
    if len(state.old_controls) >= CONTROLS_MAX:
        return "control lost"
    waiting = any(arm.status in (WAITING, LAUNCHED) for arm in state.around())
    if not waiting and not state.live():
        return "no arm left"
    return None


def _hourly(state: State) -> Decimal:
    alive = [a for a in (*state.around(), state.control) if a.alive and a.lease]
    return sum((arm.lease.price for arm in alive if arm.lease), state.settings.region_fee)


def _stop(state: State, because: str) -> Decide:
    if state.stage == FRESH:
        return Decide({"event": "measured-again", "cut_short": because})
    return Decide(_decided(state, because))


def _launch(state: State) -> Action | None:
    everyone = [state.control, *state.around()]
    for arm in everyone:
        if arm.status != WAITING:
            continue
        candidate = state.candidate(arm)
        if candidate is None:
            why = "no capacity for any of the instance types"
            return Decide({"event": "arm-failed", "arm": arm.name, "why": why})
        kind, place = state.settings.placement(arm.name)
        return Launch(arm.name, candidate, state.zone_of(arm), arm.tried, kind, place)
    launched = [arm.name for arm in everyone if arm.status == LAUNCHED]
    return Settle(tuple(launched)) if launched else None


def _measure(state: State, block_seconds: float) -> Measure:
    live = state.live()
    arms, near = tuple(arm.name for arm in live), {a.name: a.address for a in live if a.address}
    number, control = state.rounds_begun + 1, state.control.name
    return Measure(number, state.stage, arms, control, block_seconds, near)


def _measure_spaced(state: State, now: float) -> Action:
    settings = state.settings
    if state.stage_rounds and state.round_began is not None:
        due = state.round_began + settings.round_every_seconds
        if now < due:
            return Wait(due)
    return _measure(state, settings.block_seconds)


def ranking(state: State, arms: list[str]) -> list[str]:
    """Best first: arms that meet the p99 limit, by what is believed of their p50; then others."""
    score = figures.belief_of(state).score()
    worst = float("inf")
    return sorted(arms, key=lambda arm: (not meets_p99(state, arm), score.get(arm, worst), arm))


def meets_p99(state: State, arm: str) -> bool:
    limit = state.settings.p99_limit_us
    if limit is None:
        return True
    p99 = state.p99_us(arm)
    return p99 is not None and p99 <= limit


def _wave(state: State, arms: int) -> Decide:
    begun = len(state.arms)
    return Decide({"event": "wave", "arms": state.names[begun : begun + arms]})


def _screen(state: State, now: float) -> Action:
    settings = state.settings
    if state.screened:
        return _wave(state, _room(state))
    live = [arm.name for arm in state.live()]
    if state.wave_rounds < settings.screen_rounds:
        return _measure(state, settings.screen_seconds)
    ordered = ranking(state, live)
    gain = _gain(state, ordered)
    why = _enough(state, now, gain)
    stay = settings.finalists
    return Decide({
        "event": "eliminated", "arms": ordered[stay:], "left": ordered[:stay],
        "next_stage": SCREENING if why is None else CONFIRMING, "gain": round(gain, 5), "why": why,
    })  # fmt: skip


def _room(state: State) -> int:
    """Arms of the next wave, beside the best so far."""
    settings = state.settings
    live = min(len(state.live()), settings.finalists)
    left = len(state.names) - len(state.arms)
    return min(settings.wave, settings.alive_max - 1 - live, left)


def _gain(state: State, ordered: list[str]) -> float:
    """Expected relative reduction of the best latency by another wave."""
    if not ordered or (places := _room(state)) <= 0:
        return 0.0
    found = figures.belief_of(state)
    best = found.score().get(ordered[0], 0.0)
    return belief.gain(found, best, places, state.settings.screen_rounds)


def _enough(state: State, now: float, gain: float) -> str | None:
    """Why there is no further wave; None if there is one."""
    settings = state.settings
    if _room(state) <= 0:
        return "arms"
    if all(state.arms[name].status == FAILED for name in state.wave_arms):
        return "failures"
    if gain < settings.gain_min:
        return "gain"
    took = max(now - state.wave_began, settings.wave_seconds(_room(state)))
    # The confirmation's first look and half of the fresh rounds must still be possible.
    fresh = max(settings.fresh_rounds // 2, BLOCKS_MIN)
    rounds = settings.looks[0] + fresh
    later = rounds * settings.spaced_seconds(settings.finalists) * min(state.overrun, 3.0)
    price = max(candidate.price for candidate in settings.candidates)
    stays = settings.finalists + 1
    cost = price * (
        Decimal(took) * (_room(state) + stays)
        + Decimal(settings.looks[0] / rounds * later) * (settings.finalists + 1)
        + Decimal(fresh / rounds * later) * (settings.keep + 1)
        + CLEAN_UP_SECONDS * (settings.keep + 1)
    ) / 3600  # fmt: skip
    cost += fee(settings.region_fee, took + later)
    if state.spent(now) + cost > settings.budget:
        return "budget"
    began = [arm.lease.began for arm in (*state.live(), state.control) if arm.lease]
    if now + took + later + CLEAN_UP_SECONDS > min(began, default=now) + settings.ttl_seconds:
        return "time"
    return None


def _confirm(state: State, now: float) -> Action:
    settings = state.settings
    live = [arm.name for arm in state.live()]
    if len(live) <= settings.keep:
        return Decide(_decided(state, "no more arms than are kept"))
    rounds = state.stage_rounds
    due = [look for look in settings.looks if look <= rounds]
    if rounds not in settings.looks and len(due) < len(settings.looks):
        return _measure_spaced(state, now)
    if (because := _confirmed(state, live)) is not None:
        return Decide(_decided(state, because))
    if rounds >= settings.looks[-1]:
        return Decide(_decided(state, "rounds"))
    return _measure_spaced(state, now)


def _confirmed(state: State, live: list[str]) -> str | None:
    """Are the kept arms separated from the rest, or is the rest as good?"""
    settings = state.settings
    ordered = ranking(state, live)
    last_kept = ordered[settings.keep - 1]
    rest = [arm for arm in ordered[settings.keep :] if meets_p99(state, arm)]
    # Each look is a chance to be wrong: they share what may go wrong.
    confidence = 1 - (1 - settings.confidence) / len(settings.looks)
    over = figures.ratios(state, last_kept, rest, confidence)
    if over is None:
        return None  # too few rounds have both
    if all(interval.low > 1 for interval in over.values()):
        return "separation"
    if all(interval.low > 1 / (1 + settings.indifference) for interval in over.values()):
        return "indifference"
    return None


def _decided(state: State, because: str) -> Event:
    """The winners, in the order that all rounds so far say."""
    measured = {arm for r in state.rounds for arm in r.p50}
    live = [arm.name for arm in state.live() if arm.name in measured]
    winners = [a for a in ranking(state, live) if meets_p99(state, a)][: state.settings.keep]
    return {"event": "decided", "because": because, "winners": winners}


def _measure_again(state: State, now: float) -> Action:
    alive = [name for name in state.decided if state.arms[name].status != FAILED]
    if not alive or state.stage_rounds >= state.settings.fresh_rounds:
        return Decide({"event": "measured-again", "cut_short": None})
    return _measure_spaced(state, now)


def _close(state: State) -> Action:
    if releasable := state.to_release():
        return Release(tuple(releasable))
    keep = [n for n in state.decided if state.arms[n].status != FAILED and n not in state.kept]
    if keep:
        return Keep(tuple(keep))
    return Decide({"event": "closed"})
