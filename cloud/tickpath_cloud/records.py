"""Run records of tickpath: the few figures of run.json that the control plane needs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tickpath_cloud.errors import CloudError


@dataclass(frozen=True)
class Series:
    name: str
    count: int
    p50_ns: float
    p99_ns: float | None  # None: too few samples
    p50_interval_ns: tuple[float, float] | None
    pooled: dict[str, float | None] = field(default_factory=dict)  # p50, p90, p99, p99_9, max, …


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


def parse_record(run: dict[str, Any], where: str) -> Record:
    """Refuses a void record and a smoke test, as every reader of records does."""
    if run.get("void_because"):
        raise CloudError(f"{where} is void: {run['void_because'][0]}")
    if run.get("smoke_test"):
        raise CloudError(f"{where} is a smoke test: make a record without --quick")
    try:
        subject = next(s for s in run["subjects"] if s["name"] not in ("floor", "bare", "hiccup"))
        series = _main(subject["series"])
        pooled = series["pooled"]
        interval = (series.get("interval") or {}).get("p50")
        return Record(
            run["scenario"],
            Series(
                series["name"], pooled["count"], float(pooled["p50"]), pooled.get("p99"),
                (float(interval[0]), float(interval[1])) if interval else None, pooled,
            ),
        )  # fmt: skip
    except (KeyError, StopIteration, TypeError) as error:
        raise CloudError(f"{where} has no series with a p50: measure for longer") from error


def _main(series: list[dict[str, Any]]) -> dict[str, Any]:
    """Response time of orders where there is one (open loop); otherwise the first service time.

    For `endpoint` that is `ping`, or `connect` if the target speaks no WebSocket.
    """
    for kind in ("response", "service"):
        for entry in series:
            if entry.get("kind") == kind:
                return entry
    return series[0]
