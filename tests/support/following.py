"""A follower driven by hand over a registry in memory, on a clock that the test turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.client.following import CHECK_S, Follower
from hotshard.client.steps import Follow, Pause, ReadMeta, ReadSnapshot
from hotshard.doors.clock import ManualClock
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.errors import HotshardError

if TYPE_CHECKING:
    from hotshard.client.states import RegistryState
    from hotshard.core.wire.route import TopicState

STALE_AFTER_S = 10.0


class Driven:
    """``settle`` takes the follower to where it only waits; ``wait`` lets time pass and does so again."""

    def __init__(self, topics: list[str] | None = None) -> None:
        self.clock = ManualClock()
        self.registry = MemoryRegistry(self.clock)
        self.follower = Follower(topics, STALE_AFTER_S)
        self._reader = self.registry.blocking_reader()

    def publish(self, state: TopicState) -> bool:
        return self.registry.store.publish(state)

    def beat(self, state: TopicState) -> bool:
        return self.registry.store.beat(state.topic, state.epoch, state.version)

    def settle(self) -> None:
        for _ in range(100):
            if not self._step():
                return
        raise AssertionError("the follower never comes to rest")

    def wait(self, seconds: float = CHECK_S) -> None:
        self.clock.advance(seconds)
        self.settle()

    def sends(self, topic: str) -> dict[bytes, set[bytes]]:
        """The keys that records of each routed key are sent under."""
        found = self.follower.tables.get(topic)
        spreads = found.keys.items() if found is not None else ()
        return {base: {spread.pick(None).key for _ in range(len(spread))} for base, spread in spreads}

    def state(self) -> RegistryState:
        return self.follower.state(self.clock.monotonic_s())

    def _step(self) -> bool:
        """Carry out one step; False when it was a wait in which nothing came."""
        follower, now_s = self.follower, self.clock.monotonic_s()
        step = follower.next_step(now_s)
        try:
            match step:
                case ReadSnapshot():
                    follower.snapshot_read(self._reader.snapshot(step.topics), now_s)
                case ReadMeta():
                    follower.meta_read(self._reader.meta(step.topics), now_s)
                case Follow():
                    changes = self._reader.changes(step.after, 0.0)
                    follower.changes_read(changes, now_s)
                    return bool(changes) or not isinstance(follower.next_step(now_s), Follow)
                case Pause():
                    return False
        except HotshardError as error:
            follower.failed(error)
        return True
