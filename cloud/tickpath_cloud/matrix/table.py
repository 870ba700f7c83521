"""The table of a matrix."""

from __future__ import annotations

from tickpath_cloud import columns
from tickpath_cloud.matrix.measure import Row

HEAD = (
    "type", "image", "tuning", "ENA", "placement", "p50 us", "interval", "p99 us", "noise",
    "gap us", "$/h", "us per $/h", "features",
)  # fmt: skip
WORDS = ("image", "tuning", "ENA", "placement", "features")


def table(rows: list[Row]) -> str:
    """Fastest first. The last column but one compares with the cheapest type that has a figure."""
    measured = sorted((r for r in rows if r.p50_us is not None), key=lambda r: r.p50_us or 0.0)
    cheapest = min(measured, key=lambda r: (r.features.price, r.p50_us), default=None)
    cells = [_cells(row, cheapest) for row in measured]
    cells += [[*_names(row), row.why] for row in rows if row.p50_us is None]
    return "\n".join(columns.table(HEAD, cells, WORDS))


def _names(row: Row) -> list[str]:
    cell = row.cell
    return [cell.type, cell.image, cell.tuning, cell.ena, cell.placement]


def _cells(row: Row, cheapest: Row | None) -> list[str]:
    between = "-" if row.interval_us is None else "{:.2f}-{:.2f}".format(*row.interval_us)
    return [
        *_names(row), _number(row.p50_us), between, _number(row.p99_us), _share(row.lost),
        _number(row.gap_us), f"{row.features.price:.4f}", worth(row, cheapest), str(row.features),
    ]  # fmt: skip


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
