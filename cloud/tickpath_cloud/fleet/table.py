"""The fleet's report: a line for each host, the merged record, the spread."""

from __future__ import annotations

from tickpath_cloud.fleet.measure import Line
from tickpath_cloud.records import Series, marks, us

COLUMNS = ("p50", "p99")


def table(lines: list[Line], merged: Line | None, gateways: dict[str, dict]) -> str:
    """Slowest host first: it is the one to look at."""
    head = f"{'host':<24} {'count':>10} {'p50 us':>10} {'p50 interval':>19} {'p99 us':>10}"
    measured = sorted(
        ((line, line.figures) for line in lines if line.figures), key=lambda pair: -pair[1].p50_ns
    )
    out = [head, *(_row(line.host, figures, line.why) for line, figures in measured)]
    if merged is not None and merged.figures is not None:
        out.append(_row("merged", merged.figures))
    counted = [figures.p50_ns for line, figures in measured if not line.why]
    if len(counted) > 1:
        low, high = min(counted), max(counted)
        held = all(figures.holds("p50") for line, figures in measured if not line.why)
        out.append(
            f"spread of the p50 over {len(counted)} hosts: {us(low)} to {us(high)} us, "
            f"x {high / low:.2f}{'' if held else '?'}"
        )
    out += [_gateway(host, said) for host, said in gateways.items()]
    out += [f"{line.host:<24} FAILED: {line.why}" for line in lines if not line.figures]
    return "\n".join(out + marks([figures for _, figures in measured], COLUMNS))


def _row(host: str, figures: Series, why: str = "") -> str:
    return (
        f"{host:<24} {figures.count:>10} {figures.cell('p50'):>10} {figures.interval():>19} "
        f"{figures.cell('p99'):>10}  {why}"
    ).rstrip()


def _gateway(host: str, said: dict) -> str:
    """How long bytes were inside its process; the hop's system calls and network are not in it."""
    ways = []
    for way, to in (("to_exchange", "the exchange"), ("to_client", "clients")):
        held = said[way]["residence_ns"]
        cells = (us(held[name]) if held[name] is not None else "-" for name in COLUMNS)
        ways.append(f"to {to} {' / '.join(cells)}")
    return f"{host:<24} gateway, us inside it (p50 / p99): {', '.join(ways)}"


def figures(lines: list[Line], merged: Line | None, gateways: dict[str, dict]) -> dict:
    """The report for programs. Nanoseconds."""
    return {
        "gateways": gateways,
        "hosts": [_entry(line) for line in lines],
        "merged": merged.figures.to_json() if merged and merged.figures else None,
    }


def _entry(line: Line) -> dict:
    """`why` says why the host is not part of the merged record."""
    held = line.figures.to_json() if line.figures else {}
    return {"host": line.host, **held, "why": line.why}
