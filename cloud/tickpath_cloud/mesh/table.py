"""The report in words: places, clusters, what is missing. The page has the same sentences."""

from __future__ import annotations

from statistics import median

from tickpath_cloud import columns
from tickpath_cloud.mesh import analysis
from tickpath_cloud.mesh.asymmetry import CLOCKS, CLOSURE
from tickpath_cloud.mesh.record import Found
from tickpath_cloud.records import us

HEAD = ("place", "worst us", "to", "spread us", "median us", "cluster", "of")
NO_GAP = (
    f"No groups: nowhere does the next step take {analysis.RATIO_MIN:g} times the distance of the "
    "one before. All hosts are about as near to each other."
)
BY = {CLOCKS: "both hosts' clocks", CLOSURE: "closure, if most paths are symmetric"}
ALIKE = 0.05  # places whose slowest round trips differ by less are about as good
MISSING_MAX = 20  # reasons that are printed


def text(found: Found) -> str:
    lines = columns.table(HEAD, rows(found), ("to", "cluster"))
    lines += ["", headline(found), clusters(found), *groups(found), *one_way(found)]
    lines += [f"{host.name:<24} FAILED: {host.why}" for host in found.mesh.hosts if host.why]
    missing = found.without()
    lines += [f"{p.start} to {p.to}: no figure: {p.why}" for p in missing[:MISSING_MAX]]
    if len(missing) > MISSING_MAX:
        lines.append(f"and {len(missing) - MISSING_MAX} more pairs: mesh.json has them")
    return "\n".join([*lines, *disagreeing(found)])


def rows(found: Found) -> list[list[str]]:
    """Hosts as places of a replicator or gateway, best first."""
    of = len(found.names) - 1
    return [
        [found.names[place.host], us(place.worst_ns), found.names[place.worst_to],
         us(place.spread_ns), us(place.median_ns), cluster(found, place.host),
         f"{place.known}/{of}"]
        for place in found.places
    ]  # fmt: skip


def cluster(found: Found, host: int) -> str:
    number = found.group_of(host)
    return "-" if number is None else str(number + 1)


def headline(found: Found) -> str:
    if not found.places:
        return "No round trip was measured."
    best = found.places[0]
    said = (
        f"Best place for a replicator or a gateway: {found.names[best.host]}. Its slowest round "
        f"trip is {us(best.worst_ns)} us, to {found.names[best.worst_to]}."
    )
    alike = sum(place.worst_ns <= (1 + ALIKE) * best.worst_ns for place in found.places[1:])
    if alike:
        more = "1 more is" if alike == 1 else f"{alike} more are"
        said += f" {more} within {ALIKE:.0%} of it: one measurement does not part them."
    if best.known < len(found.names) - 1:
        said += f" Only {best.known} of its {len(found.names) - 1} round trips are known."
    return said


def clusters(found: Found) -> str:
    level = found.clearest
    if level is None:
        return NO_GAP if found.places else ""
    return (
        f"{len(level.groups)} clusters: within {us(level.within_ns)} us of each other, and "
        f"{us(level.apart_ns)} us or more apart (means, x {level.ratio:.1f})."
    )


def groups(found: Found) -> list[str]:
    """A line for each cluster of the clearest level."""
    lines = []
    for number, group in enumerate(found.clearest.groups if found.clearest else [], 1):
        names = ", ".join(found.names[host] for host in group)
        lines.append(f"  cluster {number}: {names}{labels(found, group)}")
    return lines


def labels(found: Found, group: list[int]) -> str:
    """Zones and placement groups of a cluster, where the inventory names them."""
    by_name = {host.name: host for host in found.mesh.hosts}
    held = [by_name[found.names[host]] for host in group]
    kinds = (
        sorted({host.placement_group for host in held} - {""}),
        sorted({host.zone or host.region for host in held} - {""}),
    )
    said = "; ".join(", ".join(names) for names in kinds if names)
    return f" ({said})" if said else ""


def one_way(found: Found) -> list[str]:
    """How well directions are known, whether triangles close, and which paths are asymmetric."""
    held = [pair.ways for pair in found.mesh.pairs if pair.ways]
    errors = [ways.error_ns for ways in held if ways.instant]
    lines = []
    if errors:
        lines.append(
            f"One way: known to +- {us(median(errors))} us (median of {len(errors)} measurements), "
            "by the bracket of both hosts' clocks."
        )
    if len(errors) < len(held):
        lines.append(f"One way: one clock stamps both ends of {len(held) - len(errors)} "
                     "measurements.")  # fmt: skip
    if (closed := found.closure) is not None:
        names = ", ".join(found.names[host] for host in closed.worst.hosts)
        lines.append(
            f"Closure: of {closed.triangles} triangles of hosts half close within "
            f"{us(closed.median_ns)} us; the worst, {names}, lacks {us(abs(closed.worst.sum_ns))} "
            "us."
        )
    return lines + asymmetric(found) + hidden(found)


def asymmetric(found: Found) -> list[str]:
    return [
        f"asymmetric: {found.names[one.start]} to {found.names[one.to]} takes "
        f"{us(one.longer_ns)} us longer than back (by {BY[one.by]})"
        for one in found.asymmetric
    ]


def hidden(found: Found) -> list[str]:
    """An asymmetry that no triangle shows, and how large it may be."""
    if not found.hidden:
        return []
    names = ", ".join(found.names[one.host] for one in found.hidden)
    whose = f"any of {len(found.names)} hosts" if len(found.hidden) == len(found.names) else names
    return [
        "A host whose paths are all longer in the same direction stays hidden: it looks like a "
        "shifted clock, and triangles close. Clocks don't exclude up to "
        f"{us(max(one.up_to_ns for one in found.hidden))} us of that, for {whose}."
    ]


def disagreeing(found: Found) -> list[str]:
    """Pairs whose two rounds say different things."""
    return [
        f"{found.names[a]} and {found.names[b]}: {us(found.directed[a, b])} us measured from the "
        f"first, {us(found.directed[b, a])} us from the second: disturbance, or it changed"
        for a, b in analysis.differing(found.directed)
    ]
