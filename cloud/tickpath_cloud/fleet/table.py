"""The fleet's report: a line for each host; merged records and the spread of each path."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tickpath_cloud import columns
from tickpath_cloud.fleet.measure import Line, by_path
from tickpath_cloud.records import Series, marks, us

COLUMNS = ("p50", "p99")
# Paths to an exchange that has a follower, such as exchange-sync-eu-west-1b.
COPIED = re.compile(r"(exchange|gateway)-(?:async|sync|cluster)(?:-|$)")
HEAD = ("host", "count", "p50 us", "p50 interval", "p99 us", "why")


@dataclass(frozen=True)
class Added:
    """How much later orders are acknowledged that have a copy. Differences of two p50s."""

    path: str
    to: str  # path of an exchange without a copy
    p50_ns: float | None  # None: one of them lies between two regimes
    holds: bool

    def __str__(self) -> str:
        if self.p50_ns is None:
            return f"{self.path} and {self.to}: no difference of the p50 between two regimes"
        mark = "" if self.holds else "?"
        return f"{self.path} adds to the p50 of {self.to}: {us(self.p50_ns)} us{mark}"


def added(lines: list[Line], merged: list[Line]) -> list[Added]:
    """Each path with a copy against one without: with a journal, or if there is none, without."""
    of_path = {path: held[0].figures for path, held in by_path(lines).items()}
    of_path |= {line.path: line.figures for line in merged if line.figures}
    found = []
    for path, figures in of_path.items():
        if (copied := COPIED.match(path)) is None or figures is None:
            continue
        for base in (f"{copied[1]}-alone", copied[1]):
            if (before := of_path.get(base)) is not None:
                regimes = figures.regimes_ns or before.regimes_ns
                more = None if regimes else figures.p50_ns - before.p50_ns
                holds = figures.holds("p50") and before.holds("p50")
                found.append(Added(path, base, more, holds))
                break
    return found


def table(
    lines: list[Line], merged: list[Line], gateways: dict[str, dict], copies: dict[str, dict]
) -> str:
    """Slowest host first: it is the one to look at."""
    measured = sorted(
        ((line, line.figures) for line in lines if line.figures), key=lambda pair: -pair[1].p50_ns
    )
    rows = [_row(line.host, figures, line.why) for line, figures in measured]
    rows += [_row(line.host, line.figures) for line in merged if line.figures]
    out = columns.table(HEAD, rows, ("why",))
    out[0] = out[0].removesuffix("why").rstrip()
    out += [
        _spread(path, [line.figures for line in of_path if line.figures])
        for path, of_path in by_path(lines).items()
        if len(of_path) > 1
    ]
    out += [str(more) for more in added(lines, merged)]
    out += [_gateway(host, said) for host, said in gateways.items()]
    out += [_copy(host, said) for host, said in copies.items()]
    out += [f"{line.host:<24} FAILED: {line.why}" for line in (*lines, *merged) if not line.figures]
    return "\n".join(out + marks([figures for _, figures in measured], COLUMNS))


def _spread(path: str, held: list[Series]) -> str:
    values = [figures.p50_ns for figures in held]
    mark = "" if all(figures.holds("p50") for figures in held) else "?"
    return (
        f"spread of the p50 over {len(held)} hosts, {path}: {us(min(values))} to "
        f"{us(max(values))} us, x {max(values) / min(values):.2f}{mark}"
    )


def _row(host: str, figures: Series, why: str = "") -> list[str]:
    return [
        host, str(figures.count), figures.cell("p50"), figures.interval(), figures.cell("p99"), why,
    ]  # fmt: skip


def _gateway(host: str, said: dict) -> str:
    """How long bytes were inside its process; the hop's system calls and network are not in it."""
    ways = []
    for way, to in (("to_exchange", "the exchange"), ("to_client", "clients")):
        held = said[way]["residence_ns"]
        cells = (us(held[name]) if held[name] is not None else "-" for name in COLUMNS)
        ways.append(f"to {to} {' / '.join(cells)}")
    return f"{host:<24} gateway, us inside it (p50 / p99): {', '.join(ways)}"


def _copy(host: str, said: dict) -> str:
    """More than one connection: the follower was away for a time."""
    return (
        f"{host:<24} copy: the follower has {said['replicated']} of {said['records']} records, "
        f"connections {said['connections']}"
    )


def figures(
    lines: list[Line], merged: list[Line], gateways: dict[str, dict], copies: dict[str, dict]
) -> dict:
    """The report for programs. Nanoseconds."""
    return {
        "hosts": [_entry(line) for line in lines],
        "merged": [_entry(line) for line in merged],
        "added": [
            {"path": one.path, "to": one.to, "p50": one.p50_ns, "holds": one.holds}
            for one in added(lines, merged)
        ],
        "gateways": gateways,
        "copies": copies,
    }


def _entry(line: Line) -> dict:
    """`why` says why a host is not part of the merged record."""
    held = line.figures.to_json() if line.figures else {}
    return {"host": line.host, "path": line.path, **held, "why": line.why}
