"""Ways to place an instance: strategies of placement groups, dedicated hardware or host."""

from __future__ import annotations

from collections.abc import Sequence

from tickpath_cloud.errors import CloudError

CLUSTER, SPREAD, PARTITION, DEDICATED, NONE = KINDS = (
    "cluster", "spread", "partition", "dedicated", "none",
)  # fmt: skip
SHARED, HOST = "shared", "host"  # of arms with the id of something that exists
ABOUT = {
    CLUSTER: "a cluster group of its own",
    SPREAD: "racks of their own, 7 to a spread group",
    PARTITION: "partitions, 7 to a group",
    DEDICATED: "hardware that no other account uses, in a cluster group of its own",
    NONE: "no group",
}
# AWS: a spread group has at most 7 running instances in a zone, a partition group 7 partitions.
GROUP_MAX = 7
SPOT, ON_DEMAND = "spot", "on-demand"
_MARKETS = {DEDICATED: (DEDICATED,), HOST: (ON_DEMAND,)}  # a price of its own; no spot on a host


def markets(kind: str) -> tuple[str, ...]:
    """Ways to buy an instance that is placed so."""
    return _MARKETS.get(kind, (SPOT, ON_DEMAND))


def check(key: str, placements: Sequence[str]) -> None:
    if isinstance(placements, str) or not placements:
        raise CloudError(f'{key} is {placements!r}: write a list, such as ["cluster", "spread"]')
    if unknown := [kind for kind in placements if kind not in KINDS]:
        raise CloudError(f"{key} has {unknown[0]!r}: known are {', '.join(KINDS)}")


def group(kind: str, arm: str, place: int) -> tuple[str, str]:
    """The end of a group's name, which is its role, and its strategy; empty: none of ours."""
    if kind in (CLUSTER, DEDICATED):
        return arm, CLUSTER
    if kind in (SPREAD, PARTITION):
        return f"{kind}-{place // GROUP_MAX + 1}", kind
    return "", ""


def is_for_many(role: str) -> bool:
    """Whether arms share the group of this role: it lives as long as any of them."""
    return role.startswith((f"{SPREAD}-", f"{PARTITION}-"))


def partition(place: int) -> int:
    return place % GROUP_MAX + 1


def in_words(kind: str, group: str | None, place: int) -> str:
    """Where a kept instance is, and thereby what can be launched next to it."""
    return {
        NONE: "in no group",
        SPREAD: f"on a rack of its own in {group}",
        PARTITION: f"in partition {partition(place)} of {group}",
        DEDICATED: f"on dedicated hardware in {group}",
        HOST: f"on {group}",
    }.get(kind, f"in {group}")
