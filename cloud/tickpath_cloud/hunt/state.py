"""The state of a hunt: a fold over its journal. No I/O, no clock; every event has its time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tickpath_cloud import placement
from tickpath_cloud.hunt.settings import Candidate, Settings
from tickpath_cloud.money import Lease, fee, spent

Event = dict[str, Any]

# States of an arm.
WAITING, LAUNCHED, READY, ELIMINATED, FAILED, KEPT = (
    "waiting", "launched", "ready", "eliminated", "failed", "kept",
)  # fmt: skip
SCREENING, CONFIRMING, FRESH = "screening", "confirming", "fresh"


@dataclass
class Arm:
    name: str
    status: str = WAITING
    why: str = ""
    tried: int = 0  # candidates that had no capacity
    instance: str | None = None
    group: str | None = None
    zone: str | None = None
    lease: Lease | None = None
    failures: int = 0
    address: str = ""  # of the target, if it has several: the one that was nearest when screened
    number: int = 0  # from 0, in the order of the waves

    @property
    def alive(self) -> bool:
        return self.lease is not None and self.lease.ended is None


@dataclass
class Round:
    """Log p50 in ns and p99 in us by arm; the control probe's log p50 is a mean of two."""

    stage: str
    at: float
    p50: dict[str, float]
    p99: dict[str, float | None]
    control: tuple[str, float]


@dataclass
class State:
    settings: Settings
    began: float
    arms: dict[str, Arm] = field(default_factory=dict)  # of all waves so far
    current: list[str] = field(default_factory=list)  # arms that still run, or will
    control: Arm = field(default_factory=lambda: Arm("control-1"))
    old_controls: list[Arm] = field(default_factory=list)
    stage: str = SCREENING
    stage_rounds: int = 0
    waves: int = 0
    wave_arms: list[str] = field(default_factory=list)
    wave_began: float = 0.0
    wave_rounds: int = 0
    screened: bool = False  # the wave's losers are dropped
    round_began: float | None = None
    rounds: list[Round] = field(default_factory=list)
    rounds_begun: int = 0
    void_rounds: int = 0
    overrun: float = 1.0  # the slowest round over its planned time
    no_capacity: dict[tuple[str, str, str], int] = field(default_factory=dict)
    stopped: str | None = None
    decided: list[str] = field(default_factory=list)  # the winners, best first
    released: set[str] = field(default_factory=set)  # culled, their groups deleted
    kept: set[str] = field(default_factory=set)
    closed: bool = False
    last_at: float = 0.0  # time of the last event
    eliminations: list[Event] = field(default_factory=list)
    answers: dict[Any, Any] = field(default_factory=dict)  # of figures, until the next round
    names: list[str] = field(default_factory=list)  # of all arms that may be launched
    ended_cost: Decimal = Decimal(0)  # of arms that don't run any more

    @staticmethod
    def begin(event: Event) -> State:
        settings = Settings.of(event["settings"])
        return State(settings, event["at"], names=settings.arm_names())

    def arm(self, name: str) -> Arm:
        return self.control if name == self.control.name else self.arms[name]

    def live(self) -> list[Arm]:
        """Arms that can still win."""
        return [arm for arm in self.around() if arm.status in (READY, KEPT)]

    def around(self) -> list[Arm]:
        """Arms that run or will, without the control probe. A hunt has had hundreds of others."""
        return [self.arms[name] for name in self.current]

    def spent(self, now: float) -> Decimal:
        leases = [arm.lease for arm in (*self.around(), *self.old_controls, self.control)]
        running = spent([lease for lease in leases if lease is not None], now)
        return self.ended_cost + running + fee(self.settings.region_fee, now - self.began)

    def candidate(self, arm: Arm) -> Candidate | None:
        """The next way to launch it; passes over what AWS rejected for several arms of its zone."""
        zone = self.zone_of(arm)
        markets = placement.markets(self.settings.placement(arm.name)[0])
        for candidate in self.settings.candidates[arm.tried :]:
            rejected = self.no_capacity.get((zone, candidate.type, candidate.market), 0)
            if candidate.market in markets and rejected < 3:
                return candidate
            arm.tried += 1
        return None

    def zone_of(self, arm: Arm) -> str:
        """Arms go around the zones. The zone of a shared group is found out by who launches."""
        zones = self.settings.zones
        return zones[arm.number % len(zones)]

    # --- events ---------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        self.last_at = event["at"]
        getattr(self, f"_on_{event['event'].replace('-', '_')}")(event)

    def _on_wave(self, event: Event) -> None:
        for name in event["arms"]:
            self.arms[name] = Arm(name, number=len(self.arms))
            self.current.append(name)
        self.waves, self.wave_arms = self.waves + 1, event["arms"]
        self.wave_began, self.wave_rounds, self.screened = event["at"], 0, False

    def _on_launched(self, event: Event) -> None:
        arm = self.arm(event["arm"])
        arm.status = LAUNCHED
        arm.instance, arm.group, arm.zone = event["instance"], event["group"], event["zone"]
        arm.lease = Lease(Decimal(event["price"]), event["at"])

    def _on_no_capacity(self, event: Event) -> None:
        arm = self.arm(event["arm"])
        arm.tried += 1
        key = (self.zone_of(arm), event["type"], event["market"])
        self.no_capacity[key] = self.no_capacity.get(key, 0) + 1

    def _on_settled(self, event: Event) -> None:
        for name in event["ready"]:
            self.arm(name).status = READY
        for name, why in event["unreachable"].items():
            self._fail(self.arm(name), why)

    def _on_arm_failed(self, event: Event) -> None:
        self._fail(self.arm(event["arm"]), event["why"])

    def _fail(self, arm: Arm, why: str) -> None:
        arm.status, arm.why = FAILED, why
        if arm is self.control:
            self.old_controls.append(arm)
            self.control = Arm(f"control-{len(self.old_controls) + 1}")

    def _on_round(self, event: Event) -> None:
        self.rounds_begun = event["number"]
        if "decided_at" in event:
            self.round_began = event["decided_at"]
            arms = len(event["blocks"]) + len(event["failed"])
            each = self.settings.targets if self.stage == SCREENING else 1
            planned = self.settings.round_seconds(arms, each * event["block_seconds"])
            self.overrun = max(self.overrun, (event["at"] - event["decided_at"]) / planned)
        for name, why in event["failed"].items():
            arm = self.arm(name)
            arm.failures += 1
            if arm.failures >= self.settings.failures_max or event["gone"].count(name):
                self._fail(arm, why)
        if self.is_void(event):
            self.void_rounds += 1
            return
        blocks = {name: block for name, block in event["blocks"].items() if name in self.arms}
        for name, block in blocks.items():
            arm = self.arms[name]
            arm.failures, arm.address = 0, arm.address or block.get("address", "")
        self.answers.clear()
        self.stage_rounds += 1
        self.wave_rounds += 1
        first, last = event["control"]
        self.rounds.append(
            Round(
                self.stage,
                event["at"],
                {name: math.log(block["p50_ns"]) for name, block in blocks.items()},
                {name: block["p99_us"] for name, block in blocks.items()},
                (self.control.name, (math.log(first) + math.log(last)) / 2),
            )
        )

    def is_void(self, event: Event) -> bool:
        """The control probe is measured first and last: a jump between them spoils the round."""
        first, last = event["control"]
        if first is None or last is None or not event["blocks"]:
            return True
        return abs(math.log(last / first)) > self.settings.drift_limit

    def _on_eliminated(self, event: Event) -> None:
        self.eliminations.append(event)
        for name in event["arms"]:
            self.arms[name].status = ELIMINATED
        self.screened = True
        self._enter(event["next_stage"])

    def _on_decided(self, event: Event) -> None:
        self.decided = event["winners"]
        self.stopped = event["because"]
        for arm in self.around():
            if arm.status in (READY, LAUNCHED):
                arm.status = KEPT if arm.name in self.decided else ELIMINATED
        self._enter(FRESH)

    def _enter(self, stage: str) -> None:
        if stage != self.stage:
            self.stage, self.stage_rounds = stage, 0

    def _on_measured_again(self, _event: Event) -> None:
        self.stage = "closing"

    def _on_released(self, event: Event) -> None:
        for arm in (*self.around(), *self.old_controls, self.control):
            if arm.name in event["arms"]:
                self.released.add(arm.name)
                if arm.lease is not None:
                    arm.lease = arm.lease.until(event["at"])
        for name in [name for name in self.current if name in self.released]:
            self.current.remove(name)
            lease = self.arms[name].lease
            self.ended_cost += spent([lease] if lease else [], event["at"])

    def _on_kept(self, event: Event) -> None:
        self.kept.update(event["arms"])

    def _on_closed(self, _event: Event) -> None:
        self.closed = True

    # --- questions ------------------------------------------------------------------------------

    def p99_us(self, arm: str) -> float | None:
        """Median over its blocks."""
        values = sorted(v for r in self.rounds if (v := r.p99.get(arm)) is not None)
        return values[len(values) // 2] if values else None

    def everyone(self) -> list[Arm]:
        return [*self.arms.values(), *self.old_controls, self.control]

    def to_release(self) -> list[str]:
        """Instances that nothing needs any more."""
        gone = [
            arm.name
            for arm in (*self.around(), *self.old_controls)
            if arm.instance is not None
            and arm.status in (ELIMINATED, FAILED)
            and arm.name not in self.released
        ]
        control = self.control
        if self.stage == "closing" and control.instance and control.name not in self.released:
            gone.append(control.name)
        return gone
