"""The prior of a hunt: from the journals of one's own hunts for the same target, or published.

Each journal says how much places and blocks differed. A hunt of many places counts more, and the
published figures stay in as a few places' worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from tickpath_cloud import journal
from tickpath_cloud.config import Config, load
from tickpath_cloud.errors import CloudError
from tickpath_cloud.hunt import figures
from tickpath_cloud.hunt.belief import NOISE, NOISE_WEIGHT, SPREAD_WEIGHT, Prior
from tickpath_cloud.hunt.state import State

PLACES_MIN = 6  # a hunt of fewer places says little about how much they differ
PUBLISHED = 0.15  # spread; see Settings.spread


@dataclass(frozen=True)
class Own:
    """Standard deviations of log latency, from so many hunts and places."""

    prior: Prior
    hunts: int
    places: int
    left_out: tuple[str, ...] = ()  # journals that could not be read, and why

    def __str__(self) -> str:
        if not self.hunts:
            return f"places differ by {self.prior.spread:.0%} (published)"
        return (
            f"places differ by {self.prior.spread:.1%}, blocks by {self.prior.noise:.1%}, from "
            f"{self.hunts} of your hunts for this target ({self.places} places)"
        )


def own(directory: Path, config: Config) -> Own:
    """From the hunts below a directory that had the same region, target and scenario."""
    spread2, noise2 = SPREAD_WEIGHT * PUBLISHED**2, NOISE_WEIGHT * NOISE**2
    weight, blocks, hunts, places = SPREAD_WEIGHT, NOISE_WEIGHT, 0, 0
    left_out = []
    for path in sorted(directory.glob("*/hunt.jsonl")):
        try:
            if not _is_like(load(path.with_name("hunt.toml")), config):
                continue
            state = fold(path)
        except (CloudError, LookupError, TypeError, ValueError, AttributeError) as error:
            left_out.append(f"{path.parent}: {error}")
            continue
        measured = {arm for found in state.rounds for arm in found.p50}
        if len(measured) < PLACES_MIN:
            continue
        found, count = figures.belief_of(state), sum(len(r.p50) for r in state.rounds)
        spread2 += len(measured) * found.spread**2
        noise2 += count * found.noise**2
        weight, blocks = weight + len(measured), blocks + count
        hunts, places = hunts + 1, places + len(measured)
    prior = Prior(math.sqrt(spread2 / weight), math.sqrt(noise2 / blocks))
    return Own(prior, hunts, places, tuple(left_out))


def _is_like(other: Config, config: Config) -> bool:
    """Latencies differ otherwise: another target, or another thing that is measured."""
    return all(
        getattr(other, key) == getattr(config, key)
        for key in ("region", "target", "addresses", "scenario")
    )


def fold(path: Path) -> State:
    """The state after a journal, whatever this version would have decided."""
    events = journal.read(path)
    if not events or events[0]["event"] != "planned":
        raise CloudError("its journal has no plan")
    state = State.begin(events[0])
    for event in events[1:]:
        state.apply(event)
    return state
