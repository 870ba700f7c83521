"""The next action of a hunt: a pure function of its state and the time. No I/O.

Launch probes, wait until they settle, then rounds in which every live arm is measured once:
successive halving down to the finalists, confirmation of these with intervals, and fresh rounds
for the winners, whose figure is then free of the luck that made them win.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from tickpath_cloud.hunt import statistics
from tickpath_cloud.hunt.settings import Candidate
from tickpath_cloud.hunt.state import (
    CONFIRMING,
    FAILED,
    FRESH,
    HALVING,
    LAUNCHED,
    WAITING,
    Event,
    State,
)

CONTROLS_MAX = 3
CLEAN_UP_SECONDS = 300  # time that the budget and the clock leave for ending instances


@dataclass(frozen=True)
class Launch:
    """Idempotent: its token names the hunt, the arm and the candidate."""

    arm: str
    candidate: Candidate
    zone: str
    attempt: int


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


Action = Launch | Settle | Measure | Release | Keep | Decide


def next_action(state: State, now: float) -> Action | None:
    """None: the hunt is over."""
    if state.closed:
        return None
    if state.stage == "closing":
        return _close(state)
    if (because := _must_stop(state, now)) is not None:
        return _stop(state, because)
    if (action := _launch(state)) is not None:
        return action
    if releasable := state.to_release():
        return Release(tuple(releasable))
    if state.stage == HALVING:
        return _halve(state)
    if state.stage == CONFIRMING:
        return _confirm(state)
    return _measure_again(state)


def _must_stop(state: State, now: float) -> str | None:
    settings = state.settings
    alive = [a for a in (*state.arms.values(), state.control) if a.alive and a.lease]
    ahead = settings.round_seconds(max(len(alive) - 1, 1)) * state.overrun + CLEAN_UP_SECONDS
    hourly = sum((arm.lease.price for arm in alive if arm.lease), Decimal(0))
    if state.spent(now) + hourly * Decimal(ahead) / 3600 > settings.budget:
        return "budget"
    if alive:
        first = min(arm.lease.began for arm in alive if arm.lease)
        if now + ahead > first + settings.ttl_seconds:
            return "time"
    if state.void_rounds > settings.void_rounds_max:
        return "drift"
    if len(state.old_controls) >= CONTROLS_MAX:
        return "control lost"
    waiting = any(arm.status in (WAITING, LAUNCHED) for arm in state.arms.values())
    if not waiting and not state.live():
        return "no arm left"
    return None


def _stop(state: State, because: str) -> Decide:
    if state.stage == FRESH:
        return Decide({"event": "measured-again", "cut_short": because})
    return Decide(_decided(state, because))


def _launch(state: State) -> Action | None:
    everyone = [state.control, *state.arms.values()]
    for arm in everyone:
        if arm.status != WAITING:
            continue
        candidate = state.candidate(arm)
        if candidate is None:
            why = "no capacity for any of the instance types"
            return Decide({"event": "arm-failed", "arm": arm.name, "why": why})
        return Launch(arm.name, candidate, state.zone_of(arm), arm.tried)
    launched = [arm.name for arm in everyone if arm.status == LAUNCHED]
    return Settle(tuple(launched)) if launched else None


def _measure(state: State) -> Measure:
    arms = tuple(arm.name for arm in state.live())
    return Measure(state.rounds_begun + 1, state.stage, arms, state.control.name)


def ranking(state: State, arms: list[str]) -> list[str]:
    """Best first: arms that meet the p99 limit, by p50 over all rounds; then those that don't."""
    stages = [r.p50 for r in state.rounds]
    score = statistics.scores(stages, arms)
    return sorted(arms, key=lambda arm: (not meets_p99(state, arm), score[arm], arm))


def meets_p99(state: State, arm: str) -> bool:
    limit = state.settings.p99_limit_us
    if limit is None:
        return True
    p99 = state.p99_us(arm)
    return p99 is not None and p99 <= limit


def _halve(state: State) -> Action:
    settings = state.settings
    live = [arm.name for arm in state.live()]
    if len(live) > settings.finalists:
        if state.stage_rounds < settings.halving_rounds * (1 + len(state.eliminations)):
            return _measure(state)
        ordered = ranking(state, live)
        stay = max(settings.finalists, math.ceil(len(live) / 2))
        next_stage = CONFIRMING if stay <= settings.finalists else HALVING
        return Decide(
            {"event": "eliminated", "arms": ordered[stay:], "left": ordered[:stay],
             "next_stage": next_stage}
        )  # fmt: skip
    return Decide({"event": "eliminated", "arms": [], "left": live, "next_stage": CONFIRMING})


def _confirm(state: State) -> Action:
    settings = state.settings
    live = [arm.name for arm in state.live()]
    if len(live) <= settings.keep:
        return Decide(_decided(state, "no more arms than are kept"))
    rounds = state.stage_rounds
    due = [look for look in settings.looks if look <= rounds]
    if rounds not in settings.looks and len(due) < len(settings.looks):
        return _measure(state)
    if (because := _confirmed(state, live)) is not None:
        return Decide(_decided(state, because))
    if rounds >= settings.looks[-1]:
        return Decide(_decided(state, "rounds"))
    return _measure(state)


def _confirmed(state: State, live: list[str]) -> str | None:
    """Are the kept arms separated from the rest, or is the rest as good?"""
    settings = state.settings
    ordered = ranking(state, live)
    last_kept = ordered[settings.keep - 1]
    rest = [arm for arm in ordered[settings.keep :] if meets_p99(state, arm)]
    logs = state.stage_logs(CONFIRMING, [last_kept, *rest])
    if len(logs[last_kept]) < min(settings.looks):
        return None  # too many rounds lack somebody's block
    # Each look is a chance to be wrong: they share what may go wrong.
    confidence = 1 - (1 - settings.confidence) / len(settings.looks)
    over = statistics.ratios(logs, last_kept, confidence, settings.seed)
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


def _measure_again(state: State) -> Action:
    alive = [name for name in state.decided if state.arms[name].status != FAILED]
    if not alive or state.stage_rounds >= state.settings.fresh_rounds:
        return Decide({"event": "measured-again", "cut_short": None})
    return _measure(state)


def _close(state: State) -> Action:
    if releasable := state.to_release():
        return Release(tuple(releasable))
    keep = [n for n in state.decided if state.arms[n].status != FAILED and n not in state.kept]
    if keep:
        return Keep(tuple(keep))
    return Decide({"event": "closed"})
