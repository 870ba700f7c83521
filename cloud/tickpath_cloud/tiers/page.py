"""The tiers' page: one self-contained file, p50 to p99.9 of each tier drawn as SVG."""

from __future__ import annotations

import math
from html import escape

from tickpath_cloud.tiers.measure import COLUMNS, Row, table

WIDTH, HEIGHT, LEFT, TOP = 860, 320, 70, 20
COLOURS = ("#3867b5", "#1a7f4b", "#b5651d", "#8a2be2", "#b22222", "#5f6b6d")
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; background: #fff }
pre { background: #f5f5f2; padding: .8rem; overflow-x: auto }
text { font: 12px system-ui, sans-serif; fill: #333 }
"""


def page(rows: list[Row]) -> str:
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>tiers</title><style>{STYLE}</style><h1>Tiers, measured at the same time</h1>",
        f"<pre>{escape(table(rows))}</pre>",
    ]
    for load in dict.fromkeys(row.load for row in rows):
        of_load = [row for row in rows if row.load == load and row.figures]
        if of_load:
            parts += [f"<h2>Load {escape(load)}</h2>", _drawing(of_load)]
    return "\n".join(parts)


def _drawing(rows: list[Row]) -> str:
    values = [v for row in rows for name in COLUMNS if (v := (row.figures or {}).get(name))]
    low, high = min(values), max(values)
    span = math.log(high / low) or 1.0
    step = (WIDTH - LEFT - 180) / (len(COLUMNS) - 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - 2 * TOP) * (1 - math.log(value / low) / span)

    lines = [f"<svg viewBox='0 0 {WIDTH} {HEIGHT + 20}' role=img aria-label='percentiles'>"]
    for number, name in enumerate(COLUMNS):
        x = LEFT + number * step
        lines.append(f"<text x={x:.0f} y={HEIGHT + 14}>{name.replace('_', '.')}</text>")
    for value in (low, high):
        lines.append(f"<text x=0 y={y(value) + 4:.0f}>{value / 1000:.1f} us</text>")
    for number, row in enumerate(rows):
        colour = COLOURS[number % len(COLOURS)]
        points = [
            (LEFT + i * step, y(value))
            for i, name in enumerate(COLUMNS)
            if (value := (row.figures or {}).get(name))
        ]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        lines.append(f"<polyline points='{path}' fill=none stroke='{colour}' stroke-width=2 />")
        lines += [f"<circle cx={a:.1f} cy={b:.1f} r=3 fill='{colour}' />" for a, b in points]
        lines.append(
            f"<text x={points[-1][0] + 10:.0f} y={points[-1][1] + 4:.0f}>{escape(row.tier)}</text>"
        )
    return "\n".join([*lines, "</svg>"])
