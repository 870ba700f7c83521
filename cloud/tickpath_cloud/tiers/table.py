"""The tiers' table: figures of each load and tier beside those of the documents."""

from __future__ import annotations

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
    head = (
        f"{'load':<10} {'tier':<16} {'count':>9} {'p50 us':>10} {'p50 interval':>19} "
        + " ".join(f"{name.replace('_', '.') + ' us':>10}" for name in COLUMNS[1:])
        + f" {'added us':>10}"
        + (f" {'/ floor':>8}" if (has_floor := _has_floor(loads)) else "")
        + "  documents"
    )
    lines = [head]
    for load in loads:
        fastest: Series | None = None
        for tier, series in measured(load):
            fastest = fastest or series
            lines.append(_line(load.name, tier, series, fastest, has_floor))
        lines += [
            f"{load.name:<10} {row.tier:<16} FAILED: {row.why}"
            for row in load.rows
            if row.series is None
        ]
    lines += marks([series for load in loads for _, series in measured(load)], COLUMNS)
    return "\n".join(lines + [_overlap(load) for load in loads if len(measured(load)) > 1])


def measured(load: Load) -> list[tuple[str, Series]]:
    """The fastest first."""
    found = [(row.tier, row.series) for row in load.rows if row.series is not None]
    return sorted(found, key=lambda pair: pair[1].p50_ns)


def _has_floor(loads: list[Load]) -> bool:
    return any(series.ratio is not None for load in loads for _, series in measured(load))


def _line(load: str, tier: str, series: Series, fastest: Series, has_floor: bool) -> str:
    cells = [f"{series.cell('p50'):>10} {series.interval():>19}"]
    cells += [f"{series.cell(name):>10}" for name in COLUMNS[1:]]
    mark = "" if series.holds("p50") and fastest.holds("p50") else "?"
    added = f"{us(series.p50_ns - fastest.p50_ns)}{mark}"
    if series.regimes_ns or fastest.regimes_ns:  # no difference of figures between two regimes
        added = "-"
    over = f" {series.over_floor():>8}" if has_floor else ""
    beside = DOCUMENTS.get(tier, "")
    line = f"{load:<10} {tier:<16} {series.count:>9} {' '.join(cells)} {added:>10}{over}"
    return f"{line}  {beside}".rstrip()


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
