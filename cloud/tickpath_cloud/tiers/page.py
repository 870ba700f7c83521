"""The tiers' page: one self-contained file, p50 to p99.9 of each tier drawn as SVG."""

from __future__ import annotations

import math
from html import escape

from tickpath_cloud import look
from tickpath_cloud.records import Series
from tickpath_cloud.tiers.measure import Load
from tickpath_cloud.tiers.table import COLUMNS, measured, table

WIDTH, HEIGHT, LEFT, RIGHT, TOP = 860, 320, 70, 180, 20
LABEL_APART = 15  # of names beside the curves
STEPS = (1, 2, 5)  # of the scale, in each decade
COLOURS = 6  # of curves; more take the first ones again
STYLE = """
body { max-width: 76rem; }
pre { font-size: 13px; }
svg { max-width: 860px; }
.grid { stroke: var(--rule); }
.c0 { --curve: var(--blue); } .c1 { --curve: var(--green); } .c2 { --curve: #a05614; }
.c3 { --curve: #8a2be2; } .c4 { --curve: #b22222; } .c5 { --curve: var(--quiet); }
@media screen and (prefers-color-scheme: dark) { .c2 { --curve: #f0a35e; } .c3 { --curve: #c79bff; }
  .c4 { --curve: #ff8a80; } }
polyline, circle { stroke: var(--curve); stroke-width: 2; fill: none; }
circle { fill: var(--paper); }
circle.holds, svg .name { fill: var(--curve); }
"""


def page(loads: list[Load], ways: str = "") -> str:
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>tiers</title><style>{look.STYLE}{STYLE}</style>",
        "<h1>Tiers, measured at the same time</h1>",
        f"<pre>{escape(table(loads))}</pre>",
    ]
    for load in loads:
        if of_load := measured(load):
            parts += [f"<h2>Load {escape(load.name)}</h2>", _drawing(of_load)]
    if ways:
        parts.append(f"<h2>Hops on each way</h2><pre>{escape(ways)}</pre>")
    return "\n".join(parts)


class Scale:
    """Logarithmic, of all the drawing's values in ns; y in pixels."""

    def __init__(self, values: list[float]) -> None:
        self.low, self.high = min(values) / 1.1, max(values) * 1.1

    def y(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return TOP + (HEIGHT - 2 * TOP) * (1 - share)

    def ticks(self) -> list[float]:
        first, last = (math.floor(math.log10(end)) for end in (self.low, self.high))
        every = [step * 10.0**decade for decade in range(first, last + 1) for step in STEPS]
        return [tick for tick in every if self.low <= tick <= self.high]


def _drawing(tiers: list[tuple[str, Series]]) -> str:
    scale = Scale([v for _, series in tiers for name in COLUMNS if (v := series.drawn(name))])
    step = (WIDTH - LEFT - RIGHT) / (len(COLUMNS) - 1)
    lines = [
        f"<svg viewBox='0 0 {WIDTH} {HEIGHT + 20}' role=img "
        "aria-label='percentiles of each tier; a hollow point does not hold'>"
    ]
    for number, name in enumerate(COLUMNS):
        lines.append(
            f"<text x={LEFT + number * step:.0f} y={HEIGHT + 14} text-anchor=middle>"
            f"{name.replace('_', '.')}</text>"
        )
    for tick in scale.ticks():
        y = scale.y(tick)
        lines.append(f"<line class=grid x1={LEFT} x2={WIDTH - RIGHT} y1={y:.1f} y2={y:.1f} />")
        lines.append(f"<text x={LEFT - 12} y={y + 4:.0f} text-anchor=end>{tick / 1000:g} us</text>")
    ends: list[float] = []
    for number, (tier, series) in enumerate(reversed(tiers)):  # the slowest name is the topmost
        lines += _curve(tier, series, scale, step, number % COLOURS, ends)
    return "\n".join([*lines, "</svg>"])


def _curve(
    tier: str, series: Series, scale: Scale, step: float, colour: int, ends: list[float]
) -> list[str]:
    """A tier's line; its name stands below the names that are there, whose heights are `ends`."""
    points = [
        (LEFT + i * step, scale.y(value), series.holds(name))
        for i, name in enumerate(COLUMNS)
        if (value := series.drawn(name))
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    lines = [f"<g class=c{colour}><polyline points='{path}' />"]
    lines += [
        f"<circle cx={x:.1f} cy={y:.1f} r=4{' class=holds' if holds else ''} />"
        for x, y, holds in points
    ]
    x, y, _ = points[-1]
    ends.append(max([y, *(end + LABEL_APART for end in ends)]))
    at = f"x={x + 12:.0f} y={ends[-1] + 4:.0f}"
    lines.append(f"<text class=name {at}>{escape(tier)}</text></g>")
    return lines
