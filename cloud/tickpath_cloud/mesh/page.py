"""The page of a mesh: one self-contained file that fetches nothing and runs nothing.

Colours are those of tickpath's report pages (crates/report/src/page.css).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from typing import Any

from tickpath_cloud import look
from tickpath_cloud.mesh import analysis, table
from tickpath_cloud.mesh.measure import SCENARIO
from tickpath_cloud.mesh.record import Found
from tickpath_cloud.records import us

SHADES = 8  # of the map
DARK_FROM = 5  # the shade from which on text is light
KINDS = {"hosts": " class=text", "labels": " class=text"}  # of columns whose cells are long
FIGURES_MAX = 16  # hosts whose cells have figures; more have them as titles
STYLE = """
:root { --h0: #e4eef5; --h1: #c5dcea; --h2: #a2c7de; --h3: #7aaed0; --h4: #4f93c0; --h5: #2f76aa;
  --h6: #1a588c; --h7: #0b3a66; }
@media screen and (prefers-color-scheme: dark) { :root { --h0: #16283a; --h1: #17364f;
  --h2: #1a4769; --h3: #205c86; --h4: #2f78a8; --h5: #4c99c9; --h6: #82bfe4; --h7: #d3ecfb; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 66rem; padding: 1.5rem 1.25rem 4rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Arial, sans-serif;
  font-variant-numeric: tabular-nums lining-nums; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; font-weight: 650; }
h2 { font-size: 1.05rem; margin: 2.4rem 0 .5rem; padding-top: .6rem; font-weight: 650;
  border-top: 1px solid var(--rule); }
p { margin: .4rem 0; max-width: 46rem; }
.quiet, caption { color: var(--quiet); font-size: .86rem; }
.bad { color: var(--bad); }
ul { margin: .3rem 0; padding-left: 1.2rem; max-width: 46rem; }
.box { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; line-height: 1.4; }
th { font-weight: 600; text-align: left; }
th, td { padding: .16rem .9rem .16rem 0; white-space: nowrap; }
thead th { border-bottom: 1px solid var(--ink); vertical-align: bottom; }
.n { text-align: right; }
.map th, .map td { padding: .16rem .4rem; border: 1px solid var(--paper); }
.map td { text-align: right; min-width: .9rem; height: .9rem; }
.map.many td { padding: 0; }
.map.many thead th { font-size: .6rem; padding: 0 1px; }
.map.many tbody th { font-size: .7rem; line-height: 1.1; padding-top: 0; padding-bottom: 0; }
td.text { white-space: normal; min-width: 14rem; overflow-wrap: anywhere; }
.map tbody th { position: sticky; left: 0; background: var(--paper); padding-left: 0; }
.map tr.first > * { border-top: 3px solid var(--quiet); }
.map .first-of { border-left: 3px solid var(--quiet); }
.m0 { background: var(--h0); } .m1 { background: var(--h1); } .m2 { background: var(--h2); }
.m3 { background: var(--h3); } .m4 { background: var(--h4); } .m5 { background: var(--h5); }
.m6 { background: var(--h6); } .m7 { background: var(--h7); } .dark { color: var(--paper); }
@media (max-width: 40rem) { body { padding: 1rem .8rem 3rem; font-size: 14.5px; } }
@media print { :root { color-scheme: light; } .box { overflow: visible; } }
"""


def page(found: Found, record: dict[str, Any]) -> str:
    mesh = found.mesh
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
        "style-src 'unsafe-inline'\">",
        f"<title>Mesh of {len(mesh.hosts)} hosts</title>"
        f"<style>{look.PALETTE}{STYLE}</style></head><body>",
        f"<h1>Mesh of {len(mesh.hosts)} hosts</h1>",
        f"<p>{escape(table.headline(found))} {escape(table.clusters(found))}</p>",
        _failed(found),
        "<h2>Round trips by region, zone and placement group</h2>",
        "<p class=quiet>p50 in microseconds, measured from the row's host to the column's. Lines "
        "part hosts of different labels. A stronger colour is farther, an empty cell unknown.</p>",
        *_maps(found),
        "<h2>Clusters</h2>", *_clusters(found),
        "<h2>Places for a replicator or a gateway</h2>",
        "<p class=quiet>Best first: the least slowest round trip to any other host. Spread is "
        "from the nearest to the farthest host.</p>",
        _table(table.HEAD, table.rows(found), ("place", "to", "cluster")),
        *_one_way(found),
        "<h2>How it was measured</h2>", f"<p>{_how(found, record)}</p>",
        _list("Pairs that differ by direction", table.disagreeing(found)),
        _list("Pairs without a figure", [f"{p.start} to {p.to}: {p.why}" for p in found.without()]),
        # Within JSON `<` stands in strings only; so nothing can end the block.
        "<script type='application/json' id=record>"
        f"{json.dumps(record).replace('<', chr(92) + 'u003c')}</script></body></html>",
    ]  # fmt: skip
    return "\n".join(parts)


def _one_way(found: Found) -> list[str]:
    lines = table.one_way(found)
    if not lines:
        return []
    return [
        _list("One way", lines),
        "<p class=quiet>A direction of one pair is known only as well as both hosts' clocks. "
        "Around a triangle of hosts the offsets of the clocks must add up to zero: the rest is "
        "half the sum of its paths' asymmetries.</p>",
    ]


def _failed(found: Found) -> str:
    failed = [host for host in found.mesh.hosts if host.why]
    said = "; ".join(f"{host.name} ({host.why})" for host in failed)
    return f"<p class=bad>Not measured: {escape(said)}</p>" if failed else ""


def _maps(found: Found) -> list[str]:
    """By labels, and by clusters where these are in another order."""
    keys = [_label(found, n) for n in range(len(found.names))]
    by_label = sorted(range(len(found.names)), key=lambda n: (keys[n], found.names[n]))
    made = [_map(found, by_label, [keys[n] for n in by_label])]
    if found.clearest:
        by_cluster = sorted(by_label, key=lambda n: found.group_of(n) or 0)
        if by_cluster != by_label or len(set(keys)) == 1:
            made.append("<h2>Round trips by cluster</h2>")
            made.append(_map(found, by_cluster, [found.group_of(n) for n in by_cluster]))
    return made


def _label(found: Found, number: int) -> tuple[str, str, str]:
    host = next(h for h in found.mesh.hosts if h.name == found.names[number])
    return host.region, host.zone, host.placement_group


def _map(found: Found, order: list[int], keys: Sequence[object]) -> str:
    known = found.directed[found.directed > 0]
    low, high = (float(known.min()), float(known.max())) if known.size else (1.0, 1.0)
    span = math.log(high / low) or 1.0
    many = len(order) > FIGURES_MAX
    first = [at > 0 and keys[at] != keys[at - 1] for at in range(len(order))]
    lines = [f"<div class=box><table class='map{' many' if many else ''}'><thead><tr><th></th>"]
    lines += [f"<th class='n{_of(first[at])}'>{at + 1}</th>" for at in range(len(order))]
    lines.append("</tr></thead><tbody>")
    for at, row in enumerate(order):
        lines.append(f"<tr{' class=first' if first[at] else ''}><th scope=row>{at + 1} "
                     f"{escape(found.names[row])}</th>")  # fmt: skip
        for across, column in enumerate(order):
            value = float(found.directed[row, column])
            if math.isnan(value):
                lines.append(f"<td class='{_of(first[across]).strip()}'></td>")
                continue
            shade = min(int(SHADES * math.log(value / low) / span), SHADES - 1)
            dark = " dark" if shade >= DARK_FROM else ""
            title = escape(f"{found.names[row]} to {found.names[column]}: {us(value)} us", True)
            lines.append(f"<td class='m{shade}{dark}{_of(first[across])}' title='{title}'>"
                         f"{'' if many else _short(value)}</td>")  # fmt: skip
        lines.append("</tr>")
    return "".join([*lines, "</tbody></table></div>"])


def _of(first: bool) -> str:
    return " first-of" if first else ""


def _short(value_ns: float) -> str:
    """Three digits."""
    value = value_ns / 1000
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _clusters(found: Found) -> list[str]:
    if not found.levels:
        return [f"<p>{escape(table.NO_GAP)}</p>"]
    made = [
        "<p class=quiet>Found from round trips alone, whatever the labels say: the two groups with "
        "the least mean round trip become one, again and again. Where the next step takes "
        f"{analysis.RATIO_MIN:g} times the distance of the one before or more, the groups before "
        "it are a level.</p>"
    ]
    for level in found.levels:
        clear = " (the clearest gap)" if level is found.clearest else ""
        rows = [
            [str(number), ", ".join(found.names[n] for n in group),
             table.labels(found, group).strip(" ()") or "-"]
            for number, group in enumerate(level.groups, 1)
        ]  # fmt: skip
        made.append(
            f"<p>{len(level.groups)} clusters up to {us(level.within_ns)} us, "
            f"{us(level.apart_ns)} us or more apart{clear}</p>"
        )
        made.append(_table(("cluster", "hosts", "labels"), rows, ("cluster", "hosts", "labels")))
    return made


def _how(found: Found, record: dict[str, Any]) -> str:
    mesh, asked = found.mesh, found.mesh.settings
    again = f", and {mesh.rounds_again} more for what was missing" if mesh.rounds_again else ""
    return escape(
        f"{record['started']}: {mesh.rounds} rounds in random order (seed {asked.seed}){again}. "
        f"In a round no host is in two pairs. Each measurement is `run {SCENARIO}` over UDP "
        f"for {asked.seconds:g} s, a request each millisecond. All hosts kept one timetable, and "
        "nobody talked to them meanwhile. The other end's cores were not watched, so no figure "
        "is judged against disturbance."
    )


def _table(head: Sequence[str], rows: list[list[str]], left: Sequence[str]) -> str:
    kinds = [KINDS.get(name, "") if name in left else " class=n" for name in head]
    top = "".join(f"<th{kind}>{escape(name)}</th>" for name, kind in zip(head, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>"
                         for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )  # fmt: skip
    return f"<div class=box><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def _list(title: str, lines: list[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h2>{title}</h2><ul>{items}</ul>" if lines else ""
