"""Rounds of measurements between pairs of hosts. No host is in two pairs of a round.

Rounds are those of a tournament in which everybody plays everybody (the circle method): N hosts
need N - 1 rounds for all pairs, N if N is odd, and twice that for both directions.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from tickpath_cloud.errors import CloudError

Pair = tuple[str, str]  # the first measures to the second
Round = list[Pair]
ALL, FAN_OUT, FAN_IN = "all", "fan-out", "fan-in"
SCOPES = (ALL, FAN_OUT, FAN_IN)


def rounds(hosts: list[str], scope: str = ALL, hub: str = "", seed: int = 1) -> list[Round]:
    """In random order, or what changes slowly would look like distance.

    `hub` is the one end of all pairs of a fan. Raises for an unknown hub.
    """
    if scope == ALL:
        there = _tournament(hosts)
        made = there + [[(to, start) for start, to in pairs] for pairs in there]
    elif hub not in hosts:
        raise CloudError(f"the hub {hub!r} is none of the hosts that answer: {', '.join(hosts)}")
    else:
        others = [host for host in hosts if host != hub]
        made = [[(hub, host) if scope == FAN_OUT else (host, hub)] for host in others]
    random.Random(seed).shuffle(made)
    return made


def _tournament(hosts: list[str]) -> list[Round]:
    """Each pair once. One host stays, the others move on by a place each round."""
    around: list[str | None] = [*hosts, *([None] if len(hosts) % 2 else [])]
    made = []
    for number in range(len(around) - 1):
        half = len(around) // 2
        pairs = list(zip(around[:half], reversed(around[half:]), strict=True))
        # Each host is as often the first of a pair as the second, or nearly.
        turned = [(b, a) if number % 2 else (a, b) for a, b in pairs]
        made.append([(a, b) for a, b in turned if a is not None and b is not None])
        around = [around[0], around[-1], *around[1:-1]]
    return made


def again(pairs: Iterable[Pair]) -> list[Round]:
    """Rounds for any pairs: each goes into the first round that has neither of its hosts."""
    made: list[Round] = []
    busy: list[set[str]] = []
    for pair in pairs:
        number = next((n for n, hosts in enumerate(busy) if hosts.isdisjoint(pair)), len(made))
        if number == len(made):
            made.append([])
            busy.append(set())
        made[number].append(pair)
        busy[number].update(pair)
    return made


def turns(made: list[Round], host: str) -> list[tuple[int, str]]:
    """The rounds in which a host measures, from 0, and to whom."""
    return [(n, to) for n, pairs in enumerate(made) for start, to in pairs if start == host]
