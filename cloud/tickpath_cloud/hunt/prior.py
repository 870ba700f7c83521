"""The prior of a hunt: from the journals of one's own hunts for the same target, or published.

Each journal says how much places and blocks differed. A hunt of many places counts more, and the
published figures stay in as a few places' worth. A mesh of one's own hosts says how much places
differ, too; its measurements are no blocks of a hunt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tickpath_cloud import journal
from tickpath_cloud.config import Config, load
from tickpath_cloud.errors import CloudError
from tickpath_cloud.hunt import figures
from tickpath_cloud.hunt.belief import NOISE, NOISE_WEIGHT, SPREAD_WEIGHT, Prior
from tickpath_cloud.hunt.state import State
from tickpath_cloud.mesh.record import read

PLACES_MIN = 6  # a hunt of fewer places says little about how much they differ
SPREAD_MIN = 0.01  # that a mesh can tell from its noise
PUBLISHED = 0.15  # spread; see Settings.spread


@dataclass(frozen=True)
class Own:
    """Standard deviations of log latency, and how many hunts and places they come from."""

    prior: Prior
    hunts: int
    places: int
    left_out: tuple[str, ...] = ()  # journals that could not be read, and why
    mesh: int = 0  # hosts of a mesh that was added

    def __str__(self) -> str:
        found = [f"a mesh of {self.mesh} hosts"] if self.mesh else []
        if not self.hunts and not found:
            return f"places differ by {self.prior.spread:.0%} (published)"
        if not self.hunts:
            return f"places differ by {self.prior.spread:.1%}, from {found[0]}"
        found.insert(0, f"{self.hunts} of your hunts for this target ({self.places} places)")
        return (
            f"places differ by {self.prior.spread:.1%}, blocks by {self.prior.noise:.1%}, from "
            f"{' and '.join(found)}"
        )

    def with_mesh(self, path: Path, region: str) -> Own:
        """With what a mesh says. It counts as a hunt of as many places as it has hosts."""
        hosts, spread = of_mesh(path, region)
        weight = SPREAD_WEIGHT + self.places
        mean2 = (weight * self.prior.spread**2 + hosts * spread**2) / (weight + hosts)
        return replace(self, prior=replace(self.prior, spread=math.sqrt(mean2)), mesh=hosts)


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


def of_mesh(path: Path, region: str) -> tuple[int, float]:
    """Hosts of a mesh, and the standard deviation of log round trips to one of them.

    Two directions of a pair differ by noise alone, which is taken out.
    """
    directed, regions = read(path)
    if regions and region not in regions:
        raise CloudError(
            f"{path} is a mesh in {', '.join(sorted(regions))}, and the hunt is in {region}: leave "
            "--mesh out"
        )
    logs = np.log(directed)
    columns = [to[np.isfinite(to)] for to in logs.T]
    columns = [to for to in columns if len(to) >= PLACES_MIN]
    if not columns:
        raise CloudError(
            f"{path}: to no host are {PLACES_MIN} round trips known, which is too few to tell how "
            "much places differ"
        )
    both = (logs - logs.T)[np.triu(np.isfinite(logs) & np.isfinite(logs.T), 1)]
    noise2 = float(np.mean(both**2)) / 2 if both.size else 0.0
    found2 = float(np.mean([to.var(ddof=1) for to in columns])) - noise2
    return len(directed), math.sqrt(max(found2, SPREAD_MIN**2))


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
