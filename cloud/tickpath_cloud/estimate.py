"""The gain of a change, in microseconds, from public figures or the user's own records."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from tickpath_cloud import columns
from tickpath_cloud.errors import CloudError
from tickpath_cloud.records import read_record

LAYERS = {
    1: "region and zone",
    2: "network path and placement",
    3: "instance",
    4: "operating system",
    5: "application",
}


@dataclass(frozen=True)
class Place:
    layer: int
    low_us: float
    high_us: float
    source: str
    public: bool = True


@dataclass(frozen=True)
class Row:
    layer: int
    change: str
    low_us: float
    high_us: float
    source: str
    public: bool


def estimate(at: str, measured: Mapping[str, Path]) -> list[Row]:
    """Every change from the place `at`, in the order of the layers; intervals of the p50."""
    figures = tomllib.loads(resources.files(__package__).joinpath("figures.toml").read_text())
    places = {name: _place(entry) for name, entry in figures["place"].items()}
    for name, path in measured.items():
        places[_known(name, places)] = _measured(places[name].layer, path)
    here = places[_known(at, places)]
    rows = [
        Row(
            min(here.layer, place.layer),
            f"{at} -> {name}",
            here.low_us - place.high_us,
            here.high_us - place.low_us,
            place.source if place.source == here.source else f"{here.source}; {place.source}",
            place.public and here.public,
        )
        for name, place in places.items()
        if name != at and here.high_us > place.low_us
    ]
    for change in figures["change"]:
        low, high = change["gain_us"]
        rows.append(Row(change["layer"], change["name"], low, high, change["source"], True))
    return sorted(rows, key=lambda row: (row.layer, -row.high_us))


def first_layer(rows: list[Row]) -> int:
    """The layer to work on: the one that can bring most for sure, or at all if none is sure."""
    return max(rows, key=lambda row: (max(row.low_us, 0.0), row.high_us)).layer


def _place(entry: dict) -> Place:
    low, high = entry["round_trip_us"]
    return Place(entry["layer"], low, high, entry["source"], entry.get("public", True))


def _known(name: str, places: Mapping[str, Place]) -> str:
    if name not in places:
        raise CloudError(f"unknown place {name!r}: use one of {', '.join(places)}")
    return name


def _measured(layer: int, path: Path) -> Place:
    main = read_record(path).main
    low, high = main.p50_interval_ns or (main.p50_ns, main.p50_ns)
    return Place(layer, low / 1000, high / 1000, f"measured: {path}")


def table(at: str, rows: list[Row]) -> str:
    cells = []
    for row in rows:
        gain = f"{row.low_us:,.0f} to {row.high_us:,.0f}" if row.high_us >= 100 else (
            f"{row.low_us:.1f} to {row.high_us:.1f}"
        )  # fmt: skip
        mark = "" if row.public else "  (NO PUBLIC FIGURE: a wide guess)"
        cells.append([f"{row.layer} {LAYERS[row.layer]}", row.change, gain, f"{row.source}{mark}"])
    head = ("layer", "change", "gain in p50, us", "source")
    lines = columns.table(head, cells, ("change", "source"))
    layer = first_layer(rows)
    lines.append(
        f"\nWork on layer {layer} first: {LAYERS[layer]}. A negative low end means that the "
        f"change may make it worse.\nFrom {at}; `--measured PLACE=RUN` replaces a public figure "
        "by your own record."
    )
    return "\n".join(lines)
