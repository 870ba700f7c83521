"""Settings of a hunt. Written once into the journal's first line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from tickpath_cloud.errors import CloudError


@dataclass(frozen=True)
class Candidate:
    """One way to launch a probe: an instance type, bought on demand or on the spot market."""

    type: str
    market: str  # "spot" | "on-demand"
    price: Decimal  # US dollars per hour when the plan was made

    def to_json(self) -> dict[str, str]:
        return {"type": self.type, "market": self.market, "price": str(self.price)}

    @staticmethod
    def of(data: dict[str, str]) -> Candidate:
        return Candidate(data["type"], data["market"], Decimal(data["price"]))


@dataclass(frozen=True)
class Settings:
    """Durations are in seconds, shares are fractions, money is in US dollars."""

    hunt: str
    arms: int
    candidates: tuple[Candidate, ...]
    budget: Decimal
    zones: tuple[str, ...] = ("zone",)  # ids, such as euw1-az1
    shared_groups: tuple[str, ...] = ()  # ids of groups that other accounts share with this one
    keep: int = 2
    finalists: int = 6
    halving_rounds: int = 4  # per stage
    looks: tuple[int, ...] = (10, 20, 40)  # after these rounds confirmation may stop
    fresh_rounds: int = 16
    block_seconds: float = 10.0
    probes_at_once: int = 2  # on the target
    indifference: float = 0.03
    confidence: float = 0.95
    drift_limit: float = 0.25  # of the control probe within one round
    void_rounds_max: int = 6
    failures_max: int = 2  # blocks of one arm in a row
    p99_limit_us: float | None = None
    ttl_seconds: int = 4 * 3600
    keep_seconds: int = 24 * 3600
    seed: int = 1

    def __post_init__(self) -> None:
        checks = [
            (self.arms + len(self.shared_groups) >= 2, "arms", "a hunt compares at least 2 arms"),
            (self.keep >= 1, "keep", "keep at least 1"),
            (self.finalists > self.keep, "finalists", "more finalists than arms to keep"),
            (bool(self.candidates), "candidates", "name at least one instance type"),
            (self.budget > 0, "budget", "a budget in US dollars above 0"),
            (self.ttl_seconds >= 600, "ttl_seconds", "instances live at least 600 s"),
            (min(self.looks) >= 6, "looks", "an interval needs at least 6 rounds"),
            (self.fresh_rounds >= 6, "fresh_rounds", "an interval needs at least 6 rounds"),
            (self.probes_at_once >= 1, "probes_at_once", "at least 1"),
            (self.block_seconds > 0, "block_seconds", "above 0"),
        ]
        for good, key, what in checks:
            if not good:
                raise CloudError(f"{key} is {getattr(self, key)}: {what}")

    def arm_names(self) -> list[str]:
        own = [f"arm-{i:02}" for i in range(1, self.arms + 1)]
        return own + [f"shared-{i:02}" for i in range(1, len(self.shared_groups) + 1)]

    def round_seconds(self, arms: int) -> float:
        """Control, arms a few at once, control; provisioning is not in it."""
        return self.block_seconds * (2 + -(-arms // self.probes_at_once))

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        data["candidates"] = [candidate.to_json() for candidate in self.candidates]
        data["budget"] = str(self.budget)
        return data

    @staticmethod
    def of(data: dict[str, Any]) -> Settings:
        known = dict(data)
        known["candidates"] = tuple(Candidate.of(entry) for entry in data["candidates"])
        known["budget"] = Decimal(data["budget"])
        for key in ("zones", "shared_groups", "looks"):
            known[key] = tuple(data[key])
        return Settings(**known)
