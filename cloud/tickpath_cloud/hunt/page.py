"""The report page of a hunt: one self-contained file, the elimination drawn as SVG."""

from __future__ import annotations

import math
from html import escape

from tickpath_cloud import look
from tickpath_cloud.hunt import table
from tickpath_cloud.hunt.decide import ranking
from tickpath_cloud.hunt.state import State
from tickpath_cloud.money import dollars

WIDTH, ROW, LEFT, RIGHT = 960, 22, 110, 150
ROWS = 100  # of the drawing
STYLE = """
body { max-width: 62rem; }
.out text { fill: var(--quiet); }
.out circle, .out line { fill: var(--quiet); stroke: var(--quiet); }
.in circle, .in line { fill: var(--blue); stroke: var(--blue); }
.kept circle, .kept line { fill: var(--green); stroke: var(--green); }
"""


def page(state: State, now: float) -> str:
    measured = [arm for arm in state.arms if any(arm in r.p50 for r in state.rounds)]
    settings = state.settings
    return "\n".join([
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>hunt {escape(settings.hunt)}</title><style>{look.STYLE}{STYLE}</style>",
        f"<h1>Hunt {escape(settings.hunt)}</h1>",
        f"<pre>{escape(table.result(state, now))}</pre>",
        "<h2>Elimination</h2>",
        "<p>What is believed of each placement's p50 after all rounds, with its 95 % interval, "
        "best first. Grey placements were dropped, blue ones were finalists, green ones are kept. "
        f"{_more(measured)}</p>",
        _drawing(state, ranking(state, measured)[:ROWS])
        if measured
        else "<p>No arm was measured.</p>",
        "<h2>How to read it</h2>",
        f"<p>{len(state.rounds)} rounds counted, {state.void_rounds} were void because the control "
        f"probe moved by more than {settings.drift_limit:.0%} within them. A placement that was "
        "measured once is drawn nearer to the others than its figure said, since the best figure "
        "of many is partly luck. The figures of the kept arms above come from fresh rounds alone. "
        f"Spent {dollars(state.spent(now))} of {dollars(settings.budget)}.</p>",
        _failures(state),
    ])  # fmt: skip


def _drawing(state: State, order: list[str]) -> str:
    rows = []
    for name in order:
        blocks = sum(name in r.p50 for r in state.rounds)
        rows.append((name, table.believed(state, name), blocks))
    low, high = min(f.low for _, f, _ in rows), max(f.high for _, f, _ in rows)
    span = math.log(high / low) or 1.0

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / low) / span

    height = ROW * (len(rows) + 1)
    lines = [f"<svg viewBox='0 0 {WIDTH} {height}' role=img aria-label='elimination'>"]
    for number, (name, found, blocks) in enumerate(rows):
        y = ROW * number + ROW // 2
        kind = "kept" if name in state.decided else "in" if _finalist(state, name) else "out"
        lines.append(
            f"<g class={kind}><text x=0 y={y + 4}>{escape(name)}</text>"
            f"<line x1={x(found.low):.1f} x2={x(found.high):.1f} y1={y} y2={y} stroke-width=2 />"
            f"<circle cx={x(found.value):.1f} cy={y} r=4 />"
            f"<text x={WIDTH - RIGHT + 10} y={y + 4}>{found.value / 1000:.1f} us, "
            f"{blocks} blocks</text></g>"
        )
    lines.append(f"<text x={LEFT} y={height - 6}>{low / 1000:.1f} us</text>")
    lines.append(
        f"<text x={WIDTH - RIGHT} y={height - 6} text-anchor=end>{high / 1000:.1f} us (log)</text>"
    )
    return "\n".join([*lines, "</svg>"])


def _more(measured: list[str]) -> str:
    left = len(measured) - ROWS
    return f"{left} more placements, all worse, are not drawn." if left > 0 else ""


def _finalist(state: State, name: str) -> bool:
    return bool(state.eliminations) and name in state.eliminations[-1]["left"]


def _failures(state: State) -> str:
    failed = [arm for arm in state.everyone() if arm.why]
    if not failed:
        return ""
    rows = "".join(f"<li>{escape(arm.name)}: {escape(arm.why)}</li>" for arm in failed)
    return f"<h2>Arms that failed</h2><ul>{rows}</ul>"
