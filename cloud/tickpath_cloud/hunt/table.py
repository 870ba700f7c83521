"""The live table of a hunt, and the words at its end."""

from __future__ import annotations

import math

from tickpath_cloud.hunt import statistics
from tickpath_cloud.hunt.decide import ranking
from tickpath_cloud.hunt.state import FAILED, FRESH, KEPT, READY, State
from tickpath_cloud.money import dollars

ROWS = 12


def table(state: State, now: float) -> str:
    settings = state.settings
    measured = {arm for r in state.rounds for arm in r.p50}
    order = ranking(state, [n for n in state.arms if n in measured])
    live = [n for n in order if state.arms[n].status in (READY, KEPT)]
    left = _seconds_left(state, now)
    lines = [
        f"{settings.hunt}: {state.stage}, round {state.stage_rounds}, {len(live)} of "
        f"{len(state.arms)} arms, spent {dollars(state.spent(now))} of {dollars(settings.budget)}, "
        f"{left / 60:.0f} min until the probes end themselves"
    ]
    lines.append(f"  {'arm':<10} {'p50 us':>9} {'interval':>19} {'p99 us':>9} {'blocks':>6}  zone")
    for name in live[:ROWS]:
        lines.append("  " + _row(state, name))
    if len(live) > ROWS:
        lines.append(f"  and {len(live) - ROWS} more")
    return "\n".join(lines)


def _row(state: State, name: str) -> str:
    logs = [r.p50[name] for r in state.rounds if name in r.p50]
    found = statistics.interval(logs, state.settings.confidence, state.settings.seed)
    p99 = state.p99_us(name)
    high = f"{found.high / 1000:.1f}" if math.isfinite(found.high) else "?"
    between = f"{found.low / 1000:.1f}-{high}"
    return (
        f"{name:<10} {found.value / 1000:>9.1f} {between:>19} "
        f"{f'{p99:.1f}' if p99 is not None else '-':>9} {len(logs):>6}  {state.arms[name].zone}"
    )


def _seconds_left(state: State, now: float) -> float:
    began = [arm.lease.began for arm in state.everyone() if arm.lease and arm.alive]
    return max(min(began, default=now) + state.settings.ttl_seconds - now, 0)


def winners(state: State) -> list[tuple[str, statistics.Interval]]:
    """The kept arms with their figures, from fresh rounds alone."""
    found = []
    for name in state.decided:
        logs = state.stage_logs(FRESH, [name])[name]
        if logs and state.arms[name].status != FAILED:
            settings = state.settings
            found.append((name, statistics.interval(logs, settings.confidence, settings.seed)))
    return found


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
    lines = [f"{settings.hunt}: {reasons.get(because, because)}; spent {dollars(state.spent(now))}"]
    for name, interval in winners(state):
        arm = state.arms[name]
        lines.append(
            f"  kept {name}: {interval.value / 1000:.1f} us p50 ({interval.low / 1000:.1f} to "
            f"{interval.high / 1000:.1f}, fresh blocks), {arm.instance} in {arm.group}, {arm.zone}"
        )
    if not winners(state):
        lines += [f"  kept {name}: no fresh figure" for name in state.decided]
    return "\n".join(lines)
