"""The live table of a hunt, and the words at its end."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from statistics import median

from tickpath_cloud import columns, placement
from tickpath_cloud.hunt import figures
from tickpath_cloud.hunt.decide import ranking
from tickpath_cloud.hunt.figures import Figure, Move
from tickpath_cloud.hunt.noise import Interval
from tickpath_cloud.hunt.state import FAILED, KEPT, READY, Arm, State
from tickpath_cloud.money import dollars

ROWS = 12


def table(state: State, now: float) -> str:
    settings = state.settings
    measured = {arm for r in state.rounds for arm in r.p50}
    order = ranking(state, [n for n in state.arms if n in measured])
    live = [n for n in order if state.arms[n].status in (READY, KEPT)]
    left = _seconds_left(state, now)
    lines = [
        f"{settings.hunt}: {state.stage}, wave {state.waves}, round {state.stage_rounds}, "
        f"{len(live)} of {len(state.arms)} arms so far, "
        f"spent {dollars(state.spent(now))} of {dollars(settings.budget)}, "
        f"{left / 60:.0f} min until the probes end themselves"
    ]
    lines += [f"  {line}" for line in columns.table(HEAD, [_row(state, n) for n in live[:ROWS]])]
    if len(live) > ROWS:
        lines.append(f"  and {len(live) - ROWS} more")
    return "\n".join(lines)


HEAD = ("arm", "p50 us", "interval", "p99 us", "blocks", "zone")


def _row(state: State, name: str) -> list[str]:
    found = believed(state, name)
    p99 = state.p99_us(name)
    between = f"{found.low / 1000:.1f}-{found.high / 1000:.1f}"
    blocks = sum(name in r.p50 for r in state.rounds)
    return [
        name, f"{found.value / 1000:.1f}", between, "-" if p99 is None else f"{p99:.1f}",
        str(blocks), state.arms[name].zone or "-",
    ]  # fmt: skip


def believed(state: State, name: str) -> Interval:
    """Belief about a place's p50 in ns, at the target's level of the last round."""
    found = figures.belief_of(state)
    middle = float(found.levels[-1]) + found.score()[name]
    half = 1.96 * found.doubts()[name]
    return Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half))


def _seconds_left(state: State, now: float) -> float:
    began = [arm.lease.began for arm in state.everyone() if arm.lease and arm.alive]
    return max(min(began, default=now) + state.settings.ttl_seconds - now, 0)


def winners(state: State) -> list[tuple[str, Figure]]:
    """The kept arms with their figures, from fresh rounds alone."""
    found = []
    for name in state.decided:
        figure = figures.figure(state, name)
        if figure is not None and state.arms[name].status != FAILED:
            found.append((name, figure))
    return found


def between(found: Interval) -> str:
    if not found.known:
        return "too few blocks for an interval"
    return f"{found.low / 1000:.1f} to {found.high / 1000:.1f}"


def moved(move: Move) -> str:
    at = datetime.fromtimestamp(move.at, UTC).strftime("%H:%M UTC")
    return f"moved by {math.expm1(move.size):+.0%} at {at}; its figure is from then on"


def result(state: State, now: float) -> str:
    settings = state.settings
    reasons = {
        "separation": "the kept arms are separated from the rest",
        "indifference": f"the rest may be better by at most {settings.indifference:.0%}",
        "rounds": "NOT CONFIRMED: finalists are closer than the rounds could tell",
        "budget": "NOT CONFIRMED: the budget was reached",
        "time": "NOT CONFIRMED: the probes' time ran out",
        "drift": "NOT CONFIRMED: the target or the path changed too often",
        "control lost": "NOT CONFIRMED: the control probe died repeatedly",
        "no arm left": "nothing to keep: no arm could be measured",
    }
    because = state.stopped or ""
    said = reasons.get(because, because)
    if any(figure.move for _, figure in winners(state)):
        said += ", BUT a kept arm moved since: hunt again"
    lines = [f"{settings.hunt}: {said}; spent {dollars(state.spent(now))}"]
    for name, figure in winners(state):
        arm = state.arms[name]
        lines.append(
            f"  kept {name}: {figure.interval.value / 1000:.1f} us p50 "
            f"({between(figure.interval)}, {figure.rounds} fresh blocks), {arm.instance} "
            f"{_where(state, arm)}, {arm.zone}{f', to {arm.address}' if arm.address else ''}"
        )
        if figure.move:
            lines.append(f"    {name} {moved(figure.move)}")
    if because:
        lines += [f"  {searched(state)}", *by_placement(state)]
    if not winners(state):
        lines += [f"  kept {name}: no fresh figure" for name in state.decided]
    return "\n".join(lines)


def _where(state: State, arm: Arm) -> str:
    kind, place = state.settings.placement(arm.name)
    return placement.in_words(kind, arm.group, place)


def by_placement(state: State) -> list[str]:
    """A line for each way in which arms were placed, if there were several."""
    found: dict[str, list[float]] = {}
    for name in {arm for r in state.rounds for arm in r.p50}:
        value = believed(state, name).value / 1000
        found.setdefault(state.settings.placement(name)[0], []).append(value)
    if len(found) < 2:
        return []
    return [
        f"  {kind:<9} {len(us):>3} places: best {min(us):.1f} us, median {median(us):.1f} us p50"
        for kind, us in sorted(found.items(), key=lambda pair: min(pair[1]))
    ]


def searched(state: State) -> str:
    """How many places, and why no more."""
    reasons = {
        "gain": "another wave promised less than gain_min",
        "arms": "no more arms were allowed",
        "budget": "another wave would have left too little money for the confirmation",
        "time": "another wave would have left too little time for the confirmation",
        "failures": "no arm of the last wave could be measured",
    }
    measured = {arm for r in state.rounds for arm in r.p50}
    last = state.eliminations[-1]["why"] if state.eliminations else None
    why = f": {reasons[last]}" if last in reasons else ""
    found = f"{len(measured)} places in {state.waves} waves{why}"
    if measured:
        spread = figures.belief_of(state).spread
        found += f"; places differ by {spread:.0%} (standard deviation)"
    return found
