"""Settings of a hunt. Written once into the journal's first line."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import Any

from tickpath_cloud import placement
from tickpath_cloud.errors import CloudError

REACH_SECONDS = 8.0  # that a round takes on top of its blocks: ssh, Ansible, reading records
LAUNCHES_A_SECOND = 2.0  # that EC2 refills for RunInstances (its guide, request throttling)
SETTLE_SECONDS = 90.0  # from a launch until hosts answer and have the binary


@dataclass(frozen=True)
class Candidate:
    """One way to launch a probe: an instance type, bought on demand or on the spot market."""

    type: str
    market: str  # "spot" | "on-demand" | "dedicated"
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
    candidates: tuple[Candidate, ...]
    budget: Decimal
    arms: int = 500  # at most: waves end when another one promises too little
    zones: tuple[str, ...] = ("zone",)  # ids, such as euw1-az1
    placements: tuple[str, ...] = (placement.CLUSTER,)  # of arms, in turn
    shared_groups: tuple[str, ...] = ()  # ids of groups that other accounts share with this one
    dedicated_hosts: tuple[str, ...] = ()  # ids of hosts that this account has allocated
    region_fee: Decimal = Decimal(0)  # an hour, once, while any dedicated instance runs
    keep: int = 2
    wave: int = 32  # arms that are launched and screened together
    finalists: int = 4
    gain_min: float = 0.001  # expected relative gain of a wave that is worth its money
    # Log latency between places, before anything was measured. The one public statement is that
    # racks differ by 30 to 67 % to one venue: 0.07 to 0.13, if that is four standard deviations.
    spread: float = 0.15
    noise: float = 0.045  # of one block, likewise
    looks: tuple[int, ...] = (12, 24, 36)  # after these rounds confirmation may stop
    fresh_rounds: int = 24
    screen_seconds: float = 2.0  # of a block while waves are screened
    screen_rounds: int = 1  # of a wave
    targets: int = 1  # addresses of the target, all of which a screening measures to
    block_seconds: float = 10.0  # of a block from the confirmation on
    round_every_seconds: float = 60.0  # from the confirmation on: longer than what noise remembers
    probes_at_once: int = 4  # on the target
    probes_max: int | None = None  # that run at once; None: a wave, the finalists and the control
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
        count = len(self.arm_names())
        checks = [
            (count >= 2, "arms", "a hunt compares at least 2 arms"),
            (count > self.keep, "keep", f"less than the {count} arms, or none of them is dropped"),
            (self.keep >= 1, "keep", "keep at least 1"),
            (self.finalists > self.keep, "finalists", "more finalists than arms to keep"),
            (self.wave >= 2, "wave", "a wave has at least 2 arms"),
            (0 <= self.gain_min < 1, "gain_min", "a share from 0 to below 1, such as 0.001"),
            (0 < self.spread <= 2, "spread", "a share above 0, such as 0.15"),
            (0 < self.noise <= 2, "noise", "a share above 0, such as 0.045"),
            (bool(self.candidates), "candidates", "name at least one instance type"),
            (self.budget > 0, "budget", "a budget in US dollars above 0"),
            (self.ttl_seconds >= 600, "ttl_seconds", "instances live at least 600 s"),
            (bool(self.looks), "looks", "name at least one number of rounds"),
            (min(self.looks, default=6) >= 6, "looks", "an interval needs at least 6 rounds"),
            (self.fresh_rounds >= 6, "fresh_rounds", "an interval needs at least 6 rounds"),
            (self.screen_rounds >= 1, "screen_rounds", "at least 1"),
            (self.targets >= 1, "targets", "at least 1"),
            (self.probes_at_once >= 1, "probes_at_once", "at least 1"),
            (self.block_seconds > 0, "block_seconds", "above 0"),
            (self.screen_seconds > 0, "screen_seconds", "above 0"),
            (self.round_every_seconds >= 0, "round_every_seconds", "0 or more"),
            (
                self.probes_max is None or self.probes_max >= self.finalists + 3,
                "probes_max", f"at least {self.finalists + 3}: the control, {self.finalists} "
                "finalists and 2 new arms",
            ),
        ]  # fmt: skip
        for good, key, what in checks:
            if not good:
                raise CloudError(f"{key} is {getattr(self, key)}: {what}")

    def arm_names(self) -> list[str]:
        """All that may be launched: first what exists, so that the first wave has it."""
        counts = {"shared": len(self.shared_groups), "host": len(self.dedicated_hosts)}
        counts["arm"] = self.arms
        return [f"{kind}-{i:02}" for kind, n in counts.items() for i in range(1, n + 1)]

    def placement(self, arm: str) -> tuple[str, int]:
        """How it is placed; and its number from 0 among those, or of its group or host."""
        kind, _, number = arm.partition("-")
        at = int(number) - 1
        if kind in (placement.SHARED, placement.HOST):
            return kind, at
        if kind != "arm":
            return placement.NONE, 0
        # Neighbours in number are in other zones: each zone gets each placement.
        zones, turns = len(self.zones), len(self.placements)
        around, place = divmod(at, zones)
        return self.placements[around % turns], around // turns * zones + place

    @property
    def alive_max(self) -> int:
        """Probes that run at once, the control probe among them."""
        most = min(self.wave + self.finalists, len(self.arm_names())) + 1
        return most if self.probes_max is None else min(most, self.probes_max)

    def round_seconds(self, arms: int, block_seconds: float) -> float:
        """Control, arms a few at once, control; and reaching the hosts."""
        return REACH_SECONDS + block_seconds * (2 + -(-arms // self.probes_at_once))

    def spaced_seconds(self, arms: int) -> float:
        """From one round of the confirmation, or fresh one, to the next."""
        return max(self.round_seconds(arms, self.block_seconds), self.round_every_seconds)

    def wave_seconds(self, arms: int) -> float:
        launched = arms / LAUNCHES_A_SECOND
        return (
            launched
            + SETTLE_SECONDS
            + self.screen_rounds * self.round_seconds(arms, self.targets * self.screen_seconds)
        )

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        data["candidates"] = [candidate.to_json() for candidate in self.candidates]
        data["budget"], data["region_fee"] = str(self.budget), str(self.region_fee)
        return data

    @staticmethod
    def of(data: dict[str, Any]) -> Settings:
        names = {field.name for field in fields(Settings)}
        if unknown := sorted(set(data) - names):
            raise CloudError(
                f"the journal's settings have {unknown[0]!r}, which this version does not know: "
                "resume with the version that began the hunt, or destroy it"
            )
        known = dict(data)
        known["candidates"] = tuple(Candidate.of(entry) for entry in data["candidates"])
        known["budget"] = Decimal(data["budget"])
        known["region_fee"] = Decimal(data.get("region_fee", 0))
        for key in ("zones", "shared_groups", "looks", "placements", "dedicated_hosts"):
            if key in data:
                known[key] = tuple(data[key])
        return Settings(**known)
