"""The table of a matrix."""

from __future__ import annotations

from tickpath_cloud.matrix.measure import Row


def table(rows: list[Row]) -> str:
    """Fastest first. The last column compares with the cheapest type that has a figure."""
    measured = sorted((r for r in rows if r.p50_us is not None), key=lambda r: r.p50_us or 0.0)
    cheapest = min(measured, key=lambda r: (r.features.price, r.p50_us), default=None)
    head = f"{'type':<16} {'image':<12} {'tuning':<10} {'ENA':<10} {'placement':<10}"
    head += f" {'p50 us':>8} {'interval':>17} {'p99 us':>9}"
    lines = [f"{head} {'noise':>7} {'gap us':>9} {'$/h':>8} {'us per $/h':>10}  features"]
    for row in measured:
        cell, known = row.cell, row.features
        between = "-" if row.interval_us is None else "{:.2f}-{:.2f}".format(*row.interval_us)
        lines.append(
            f"{cell.type:<16} {cell.image:<12} {cell.tuning:<10} {cell.ena:<10} "
            f"{cell.placement:<10} "
            f"{row.p50_us:>8.2f} {between:>17} {_number(row.p99_us):>9} "
            f"{_share(row.lost):>7} {_number(row.gap_us):>9} "
            f"{known.price:>8.4f} {worth(row, cheapest):>10}  {known}"
        )
    for row in rows:
        if row.p50_us is None:
            cell = row.cell
            lines.append(
                f"{cell.type:<16} {cell.image:<12} {cell.tuning:<10} {cell.ena:<10} "
                f"{cell.placement:<10} {row.why}"
            )
    return "\n".join(lines)


def worth(row: Row, cheapest: Row | None) -> str:
    """Microseconds of the p50 that a further dollar an hour buys."""
    if cheapest is None or cheapest.p50_us is None or row.p50_us is None:
        return "-"
    more = row.features.price - cheapest.features.price
    return "-" if more <= 0 else f"{(cheapest.p50_us - row.p50_us) / float(more):.2f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"
