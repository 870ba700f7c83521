"""The tiers' table: figures of each load and tier beside those of the documents."""

from __future__ import annotations

from tickpath_cloud import columns
from tickpath_cloud.records import Series, marks, us
from tickpath_cloud.tiers.measure import Load

COLUMNS = ("p50", "p90", "p99", "p99_9")
AT_ONCE_MIN = 0.5  # below, tiers may have met different machines and networks
# Names of a tier -> what the documents say of it (001, 000). There are no other public figures.
DOCUMENTS = {
    "shared-group": "001: below 74 us; 98 % below edge and 41 % below peering (p99, high rate)",
    "peering": "001: the base of the 41 %; 000: a common group took 35 % off its TCP p50",
    "endpoint": "no public figure that can be trusted; more hops than peering (000)",
    "edge": "001: the base of the 98 %",
}


def table(loads: list[Load]) -> str:
    """Tiers in the order of their medians; `added us` is against the fastest of its load."""
    has_floor = _has_floor(loads)
    head = [
        "load", "tier", "count", "p50 us", "p50 interval",
        *(f"{name.replace('_', '.')} us" for name in COLUMNS[1:]), "added us",
        *(["/ floor"] if has_floor else []), "documents",
    ]  # fmt: skip
    rows: list[list[str]] = []
    for load in loads:
        fastest: Series | None = None
        for tier, series in measured(load):
            fastest = fastest or series
            rows.append(_cells(load.name, tier, series, fastest, has_floor))
        rows += [
            [load.name, row.tier, f"FAILED: {row.why}"] for row in load.rows if row.series is None
        ]
    lines = columns.table(head, rows, ("tier", "documents"))
    lines += marks([series for load in loads for _, series in measured(load)], COLUMNS)
    return "\n".join(lines + [_overlap(load) for load in loads if len(measured(load)) > 1])


def measured(load: Load) -> list[tuple[str, Series]]:
    """The fastest first."""
    found = [(row.tier, row.series) for row in load.rows if row.series is not None]
    return sorted(found, key=lambda pair: pair[1].p50_ns)


def _has_floor(loads: list[Load]) -> bool:
    return any(series.ratio is not None for load in loads for _, series in measured(load))


def _cells(load: str, tier: str, series: Series, fastest: Series, has_floor: bool) -> list[str]:
    mark = "" if series.holds("p50") and fastest.holds("p50") else "?"
    added = f"{us(series.p50_ns - fastest.p50_ns)}{mark}"
    if series.regimes_ns or fastest.regimes_ns:  # no difference of figures between two regimes
        added = "-"
    return [
        load, tier, str(series.count), series.cell("p50"), series.interval(),
        *(series.cell(name) for name in COLUMNS[1:]), added,
        *([series.over_floor()] if has_floor else []), DOCUMENTS.get(tier, ""),
    ]  # fmt: skip


def _overlap(load: Load) -> str:
    said = f"load {load.name}: all tiers were measured at once for {load.at_once:.0%} of the time"
    if load.at_once < AT_ONCE_MIN:
        said += "; make fewer and longer runs, or compare these tiers with care"
    return said


def figures(loads: list[Load]) -> list[dict]:
    """The table for programs. Nanoseconds."""
    return [
        {
            "load": load.name,
            "at_once": round(load.at_once, 3),
            "tiers": [
                {"tier": row.tier, "failed": row.why}
                if row.series is None
                else {"tier": row.tier, **row.series.to_json()}
                for row in load.rows
            ],
        }
        for load in loads
    ]
