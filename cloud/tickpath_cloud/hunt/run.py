"""The loop: decide, act, write down. Everything it knows is in the journal.

A controller that dies between acting and writing repeats the action when it is resumed, so every
action of `Cloud` and `Hosts` may be repeated: a launch has a client token, ending what has ended
is no error, and a measurement is simply made again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tickpath_cloud.errors import CloudError, Rejected
from tickpath_cloud.hunt.decide import (
    Action,
    Decide,
    Keep,
    Launch,
    Measure,
    Release,
    Settle,
    Wait,
    next_action,
)
from tickpath_cloud.hunt.settings import Settings
from tickpath_cloud.hunt.state import Event, State
from tickpath_cloud.journal import Journal


class NoCapacity(Rejected):
    """The zone has no such instance now; another type or market may do."""


@dataclass(frozen=True)
class Launched:
    instance: str
    group: str | None
    zone: str


@dataclass(frozen=True)
class Block:
    p50_ns: float
    p99_us: float | None  # None: too few samples
    count: int
    address: str = ""  # of the target, HOST:PORT, if it was the nearest of several


@dataclass(frozen=True)
class RoundResult:
    control: tuple[float | None, float | None]  # p50 before and after, ns
    blocks: dict[str, Block]
    failed: dict[str, str]


class Cloud(Protocol):
    def launch(self, settings: Settings, action: Launch) -> Launched: ...
    def release(self, arms: list[str]) -> None: ...
    def keep(self, arms: list[str], seconds: int) -> None: ...
    def gone(self, arms: list[str]) -> list[str]: ...
    def close(self) -> None: ...


class Hosts(Protocol):
    def settle(self, arms: list[str]) -> tuple[list[str], dict[str, str]]: ...
    def measure(self, action: Measure) -> RoundResult: ...
    def keep(self, arms: list[str], seconds: int) -> dict[str, str]: ...


def replay(events: list[Event]) -> State:
    """The state after these events. Checks each decision against what the code decides today."""
    if not events or events[0]["event"] != "planned":
        raise CloudError("the journal has no plan in its first line: nothing was begun")
    state = State.begin(events[0])
    for number, event in enumerate(events[1:], 2):
        action = next_action(state, event["decided_at"])
        if isinstance(action, Decide):
            told = {key: event.get(key) for key in action.event}
            if told != action.event:
                raise CloudError(
                    f"line {number} of the journal says {told}, this version decides "
                    f"{action.event}: resume with the version that began the hunt, or destroy it"
                )
        state.apply(event)
    return state


class Runner:
    def __init__(
        self,
        journal: Journal,
        cloud: Cloud,
        hosts: Hosts,
        clock: Callable[[], float],
        show: Callable[[State, Event], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.journal, self.cloud, self.hosts = journal, cloud, hosts
        self.clock, self.show, self.sleep = clock, show, sleep

    def run(self, settings: Settings | None = None) -> State:
        """Begins with `settings`, or resumes what the journal has."""
        if not self.journal.events:
            if settings is None:
                raise CloudError(f"{self.journal.path} is empty: nothing to resume")
            now = self.clock()
            self.journal.append({"event": "planned", "at": now, "settings": settings.to_json()})
        state = replay(self.journal.events)
        while True:
            decided_at = self.clock()
            action = next_action(state, decided_at)
            if action is None:
                return state
            if isinstance(action, Wait):  # a resumed hunt waits again: nothing to write down
                self.sleep(max(action.until - decided_at, 0.0))
                continue
            event = self._do(state, action)
            event = {**event, "decided_at": decided_at, "at": self.clock()}
            self.journal.append(event)
            state.apply(event)
            self.show(state, event)

    def _do(self, state: State, action: Action) -> Event:
        match action:
            case Decide(event):
                if event["event"] == "closed":
                    self.cloud.close()
                return event
            case Launch():
                return self._launch(state, action)
            case Settle(arms):
                ready, unreachable = self.hosts.settle(list(arms))
                return {"event": "settled", "ready": ready, "unreachable": unreachable}
            case Measure():
                return self._measure(action)
            case Release(arms):
                self.cloud.release(list(arms))
                return {"event": "released", "arms": list(arms)}
            case Keep(arms):
                # The host's own clock first: tags that promise more than the host keeps are a lie.
                failed = self.hosts.keep(list(arms), state.settings.keep_seconds)
                good = [arm for arm in arms if arm not in failed]
                self.cloud.keep(good, state.settings.keep_seconds)
                return {"event": "kept", "arms": list(arms), "failed": failed}
        raise TypeError(f"nobody does {action}")

    def _launch(self, state: State, action: Launch) -> Event:
        candidate = action.candidate
        about = {"arm": action.arm, "type": candidate.type, "market": candidate.market}
        try:
            made = self.cloud.launch(state.settings, action)
        except NoCapacity as rejected:
            return {"event": "no-capacity", **about, "code": rejected.code}
        return {
            "event": "launched", **about, "instance": made.instance, "group": made.group,
            "zone": made.zone, "price": str(candidate.price),
        }  # fmt: skip

    def _measure(self, action: Measure) -> Event:
        result = self.hosts.measure(action)
        gone = self.cloud.gone(list(result.failed)) if result.failed else []
        return {
            "event": "round",
            "number": action.number,
            "block_seconds": action.block_seconds,
            "control": list(result.control),
            "blocks": {arm: vars(block) for arm, block in result.blocks.items()},
            "failed": result.failed,
            "gone": gone,
        }
