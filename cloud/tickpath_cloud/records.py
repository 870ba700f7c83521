"""Run records of tickpath: the few figures of run.json that the control plane needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickpath_cloud.errors import CloudError

RANKS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
BESIDE = ("floor", "bare", "hiccup")  # subjects that tickpath adds
# Meaning of the marks of `Series.cell`, in the words of tickpath's own tables.
DISTURBED = "? does not hold: disturbance may be more than a tenth of it"
REGIMES = "a/b: in the machine's fast and in its slow regime"
UNCERTAIN = "~ fewer than 100 samples lie beyond it; - fewer than 10, not shown"


@dataclass(frozen=True)
class Series:
    name: str
    count: int
    pooled: dict[str, float | None]  # p50, p90, p99, p99_9, max, … in ns; None: too few samples
    p50_interval_ns: tuple[float, float] | None = None  # None: fewer than six runs
    holds_to: float | None = None  # rank up to which figures hold; None: nobody could judge it
    not_judged: str = ""  # why
    uncertain: tuple[str, ...] = ()
    regimes_ns: tuple[float, float] | None = None  # p50 in the fast and in the slow one, if two
    ratio: float | None = None  # p50 over the floor of the same run; None: there is no floor
    ratio_holds: bool = False

    @property
    def p50_ns(self) -> float:
        return float(self.pooled["p50"] or 0.0)

    @property
    def p99_ns(self) -> float | None:
        return self.pooled.get("p99")

    def holds(self, name: str) -> bool:
        return self.holds_to is not None and RANKS[name] <= self.holds_to

    def drawn(self, name: str) -> float | None:
        """The figure in ns; None for a p50 that lies between two regimes."""
        return None if name == "p50" and self.regimes_ns else self.pooled.get(name)

    def cell(self, name: str) -> str:
        """Microseconds, marked as in tickpath's own tables."""
        value = self.pooled.get(name)
        if value is None:
            return "-"
        if name == "p50" and self.regimes_ns:  # a p50 between two regimes is no figure
            return "/".join(map(us, self.regimes_ns))
        before = "~" if name in self.uncertain else ""
        return f"{before}{us(value)}{'' if self.holds(name) else '?'}"

    def over_floor(self) -> str:
        if self.ratio is None:
            return "-"
        return f"{self.ratio:.2f}x{'' if self.ratio_holds else '?'}"

    def interval(self) -> str:
        """The interval of the median over runs."""
        if self.p50_interval_ns is None:
            return "-"
        return "-".join(map(us, self.p50_interval_ns))

    def to_json(self) -> dict[str, Any]:
        """For programs. Nanoseconds."""
        return {
            "series": self.name, "pooled": self.pooled, "p50_interval": self.p50_interval_ns,
            "holds_to": self.holds_to, "not_judged": self.not_judged,
            "uncertain": list(self.uncertain), "p50_regimes": self.regimes_ns,
            "p50_over_floor": self.ratio, "p50_over_floor_holds": self.ratio_holds,
        }  # fmt: skip


def us(value_ns: float) -> str:
    return f"{value_ns / 1000:.2f}"


def marks(series: list[Series], names: tuple[str, ...]) -> list[str]:
    """Lines below a table of these percentiles: what its marks mean."""
    shown = [(one, name) for one in series for name in names if one.pooled.get(name) is not None]
    judged = any(not one.holds(name) and not one.not_judged for one, name in shown)
    reasons = {one.not_judged for one, name in shown if not one.holds(name) and one.not_judged}
    uncertain = any(name in one.uncertain for one, name in shown)
    return [
        *([REGIMES] if any(one.regimes_ns for one in series) else []),
        *([DISTURBED] if judged else []),
        *(f"? not judged: {reason}" for reason in sorted(reasons)),
        *([UNCERTAIN] if uncertain or len(shown) < len(series) * len(names) else []),
    ]


@dataclass(frozen=True)
class Record:
    scenario: str
    main: Series


def read_record(path: Path) -> Record:
    file = path / "run.json" if path.is_dir() else path
    try:
        return parse_record(json.loads(file.read_text()), str(file))
    except (OSError, ValueError) as error:
        raise CloudError(f"{file} is no run record ({error}): name a run's directory") from error


def parse_record(run: dict[str, Any], where: str, wanted: tuple[str, str] | None = None) -> Record:
    """Rejects a void record and a smoke test, as every reader of records does.

    `wanted` is the name and the kind of a series; without it, the main one is taken.
    """
    if run.get("void_because"):
        raise CloudError(f"{where} is void: {run['void_because'][0]}")
    if run.get("smoke_test"):
        raise CloudError(f"{where} is a smoke test: make a record without --quick")
    try:
        subject = next(s for s in run["subjects"] if s["name"] not in BESIDE)
        series = _main(subject["series"], wanted)
        pooled = series["pooled"]
        float(pooled["p50"])  # without one it is no result
        interval = (series.get("interval") or {}).get("p50")
        return Record(
            run["scenario"],
            Series(
                series["name"], pooled["count"], pooled,
                (float(interval[0]), float(interval[1])) if interval else None,
                series.get("holds_to"), series.get("not_judged", ""),
                tuple(series.get("uncertain", ())), _regimes(series), *_over_floor(series),
            ),
        )  # fmt: skip
    except (KeyError, StopIteration, TypeError) as error:
        raise CloudError(f"{where} has no series with a p50: measure for longer") from error


def _regimes(series: dict[str, Any]) -> tuple[float, float] | None:
    found = [one["figures"].get("p50") for one in series.get("regimes") or ()]
    if len(found) != 2 or None in found:
        return None
    return float(found[0]), float(found[1])


def _over_floor(series: dict[str, Any]) -> tuple[float | None, bool]:
    """The ratio of p50 to that of the floor, from pairs, and whether it holds (since schema 3)."""
    over = series.get("over_floor") or {}
    p50 = (over.get("figures") or {}).get("p50")
    holds_to = over.get("holds_to")
    return (float(p50["ratio"]) if p50 else None), holds_to is not None and holds_to >= RANKS["p50"]


def _main(series: list[dict[str, Any]], wanted: tuple[str, str] | None) -> dict[str, Any]:
    """Response time of orders where there is one (open loop); otherwise the first service time.

    For `endpoint` that is `ping`, or `connect` if the target speaks no WebSocket.
    """
    if wanted is not None:
        return next(entry for entry in series if (entry["name"], entry.get("kind")) == wanted)
    for kind in ("response", "service"):
        for entry in series:
            if entry.get("kind") == kind:
                return entry
    return series[0]


# --- when it was measured, by its logs (HdrHistogram log format, one interval a second) ----------

Window = tuple[float, float]  # seconds since the epoch


def windows(record: Path) -> list[Window]:
    """When the subjects of a record were measured, a window for each stretch without a pause."""
    found: list[Window] = []
    for log in sorted(record.glob("*.hlog")):
        for window in _intervals(log):
            if found and window[0] - found[-1][1] < 0.5:
                found[-1] = (found[-1][0], max(found[-1][1], window[1]))
            else:
                found.append(window)
    return found


def _intervals(log: Path) -> Iterator[Window]:
    began = 0.0
    with log.open() as lines:
        for line in lines:
            if line.startswith("#[StartTime:"):
                began = float(line.split()[1])
            elif line.startswith("Tag=") and line[4:].partition(".")[0] not in BESIDE:
                _, start, length, _ = line.split(",", 3)
                yield began + float(start), began + float(start) + float(length)


def at_once(each: list[list[Window]]) -> float:
    """The share of the measured time in which all were measured, 0 to 1."""
    ends = sorted({end for windows in each for window in windows for end in window})
    any_of, all_of = 0.0, 0.0
    for low, high in zip(ends, ends[1:], strict=False):
        busy = sum(any(w[0] <= low and high <= w[1] for w in windows) for windows in each)
        any_of += (high - low) * (busy > 0)
        all_of += (high - low) * (busy == len(each))
    return all_of / any_of if any_of else 0.0
