"""The record of a mesh: mesh.json, whose schema is docs/mesh.schema.json. Nanoseconds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tickpath_cloud import __version__
from tickpath_cloud.errors import CloudError
from tickpath_cloud.mesh import analysis
from tickpath_cloud.mesh.analysis import Level, Matrix, Place
from tickpath_cloud.mesh.asymmetry import Asymmetric, Hidden, asymmetric, hidden
from tickpath_cloud.mesh.closure import Closure, Observed, closure
from tickpath_cloud.mesh.measure import SCENARIO, Measured, Mesh

SCHEMA = 1


@dataclass(frozen=True)
class Found:
    """A mesh and what follows from it. Indexes are those of `names`, the hosts that answered."""

    mesh: Mesh
    names: list[str]
    directed: Matrix  # p50 of round trips, from row to column
    levels: list[Level]
    places: list[Place]
    closure: Closure | None  # none: no triangle of hosts with clocks of their own
    asymmetric: list[Asymmetric]
    hidden: list[Hidden]

    @property
    def clearest(self) -> Level | None:
        return analysis.clearest(self.levels)

    def group_of(self, host: int) -> int | None:
        """Its number at the clearest level, from 0."""
        groups = self.clearest.groups if self.clearest else []
        return next((n for n, group in enumerate(groups) if host in group), None)

    def without(self) -> list[Measured]:
        """Pairs of which there is no figure, in either host's words."""
        return [pair for pair in self.mesh.pairs if pair.series is None]


def found(mesh: Mesh) -> Found:
    names = [host.name for host in mesh.hosts if not host.why]
    number = {name: n for n, name in enumerate(names)}
    directed = np.full((len(names), len(names)), np.nan)
    for pair in mesh.pairs:
        if pair.series is not None and {pair.start, pair.to} <= number.keys():
            directed[number[pair.start], number[pair.to]] = pair.series.p50_ns
    distance = analysis.symmetric(directed)
    known = {
        (number[p.start], number[p.to]): p.ways for p in mesh.pairs
        if p.ways is not None and {p.start, p.to} <= number.keys()
    }  # fmt: skip
    closed = closure(len(names), [
        Observed(start, to, ways.instant) for (start, to), ways in known.items()
        if ways.instant is not None
    ])  # fmt: skip
    return Found(
        mesh, names, directed, analysis.levels(distance), analysis.places(distance), closed,
        asymmetric(known, closed, distance), hidden(known, distance),
    )  # fmt: skip


def read(path: Path) -> tuple[Matrix, set[str]]:
    """p50s in ns from row to column, NaN where unknown; and the regions that its hosts name."""
    try:
        held = json.loads(path.read_text())
        if held["schema"] != SCHEMA:
            raise CloudError(f"{path} has schema {held['schema']}, this version reads {SCHEMA}")
        hosts = [host for host in held["hosts"] if not host["why"]]
        number = {host["name"]: n for n, host in enumerate(hosts)}
        directed = np.full((len(hosts), len(hosts)), np.nan)
        for pair in held["pairs"]:
            if pair["figures"] and {pair["from"], pair["to"]} <= number.keys():
                at = number[pair["from"]], number[pair["to"]]
                directed[at] = float(pair["figures"]["p50_ns"])
        return directed, {host["region"] for host in hosts} - {""}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CloudError(
            f"{path} is no mesh ({error!r}): name a mesh.json of `fleet mesh`"
        ) from error


def to_json(result: Found, started: str) -> dict[str, Any]:
    mesh, asked = result.mesh, result.mesh.settings
    number = {name: n for n, name in enumerate(result.names)}
    return {
        "schema": SCHEMA, "tool": f"tickpath-cloud {__version__}", "started": started,
        "inventory": str(asked.inventory), "scope": asked.scope, "hub": asked.hub or None,
        "scenario": SCENARIO, "seconds": asked.seconds, "slot_seconds": asked.slot_seconds,
        "seed": asked.seed, "settings": list(asked.set),
        "rounds": mesh.rounds, "rounds_again": mesh.rounds_again,
        "hosts": [
            {**vars(host), "cluster": result.group_of(number[host.name])
             if host.name in number else None}
            for host in mesh.hosts
        ],
        "pairs": [_pair(pair) for pair in mesh.pairs],
        "levels": [
            {"within_ns": level.within_ns, "apart_ns": level.apart_ns,
             "clusters": [[result.names[n] for n in group] for group in level.groups]}
            for level in result.levels
        ],
        "places": [
            {"host": result.names[place.host], "worst_ns": place.worst_ns,
             "worst_to": result.names[place.worst_to], "spread_ns": place.spread_ns,
             "median_ns": place.median_ns, "known": place.known, "others": len(result.names) - 1}
            for place in result.places
        ],
        "closure": _closure(result),
        "asymmetric": [
            {"from": result.names[one.start], "to": result.names[one.to],
             "longer_ns": one.longer_ns, "by": one.by}
            for one in result.asymmetric
        ],
        "hidden": [
            {"host": result.names[one.host], "up_to_ns": one.up_to_ns} for one in result.hidden
        ],
    }  # fmt: skip


def _closure(result: Found) -> dict[str, Any] | None:
    found = result.closure
    if found is None:
        return None
    return {
        "triangles": found.triangles, "sum_ns_median": found.median_ns,
        "worst": {"hosts": [result.names[n] for n in found.worst.hosts],
                  "sum_ns": found.worst.sum_ns},
        "sigma_ns": found.sigma_ns,
    }  # fmt: skip


def _pair(pair: Measured) -> dict[str, Any]:
    ways = pair.ways
    held = {
        "from": pair.start, "to": pair.to, "at": pair.at, "why": pair.why,
        "one_way": ways and {
            "forward_ns": ways.forward_ns, "reverse_ns": ways.reverse_ns,
            "error_ns": ways.error_ns,
        },
        "one_way_why": pair.ways_why,
    }  # fmt: skip
    if pair.series is None:
        return {**held, "figures": None}
    series = pair.series
    return {
        **held,
        "figures": {
            "count": series.count, "p50_ns": series.p50_ns, "p99_ns": series.p99_ns,
            "holds_to": series.holds_to, "not_judged": series.not_judged,
        },
    }  # fmt: skip
