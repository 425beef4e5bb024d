"""How often Redis is written at most, whatever the traffic. Pure: times are seconds of a clock that never goes back.

Event time runs faster than the clock while a backlog is read, so the bound is in the time of whoever writes.

- **Something new** of a topic (a key turned hot or cold, a plan changed, a person's order) goes out at once:
  :data:`TOPIC_AT_ONCE` times on end, and :data:`TOPIC_PER_BEAT` a beat beyond that.
- **Figures** of what stands anyway are refreshed once a beat at most, and only while half of what may be written
  is left, so that they never keep something new waiting.
- **All topics** of a worker together are published :data:`ALL_AT_ONCE` times on end, and :data:`ALL_PER_BEAT` a
  beat beyond that. What waits is not lost: the newest state of a topic is what goes out.

So within any T beats (of a second each) a topic is published at most ``5 + 2 T`` times, and all together at most
``50 + 20 T`` times. A publish is one call of a script, atomic, which runs at most seven commands that write, for up
to 500 changed fields of a hash (:mod:`hotshard.doors.redis.scripts`). A beat is one such command for up to 100 topics.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hotshard.core.wire.route import TopicState

TOPIC_AT_ONCE: Final = 5
TOPIC_PER_BEAT: Final = 2
ALL_AT_ONCE: Final = 50
ALL_PER_BEAT: Final = 20


class Budget:
    """So much at once, and then so much a second: within any T seconds at most ``at_once + per_s * T``."""

    __slots__ = ("_at_once", "_at_s", "_left", "_per_s")

    def __init__(self, at_once: int, per_s: float) -> None:
        self._at_once, self._per_s = at_once, per_s
        self._left, self._at_s = float(at_once), 0.0

    def wait_s(self, now_s: float, least: float = 1.0) -> float:
        """The seconds until ``least`` is left; at most all of it can ever be."""
        return max(0.0, (least - self._left_at(now_s)) / self._per_s)

    def half_s(self, now_s: float) -> float:
        """The seconds until half of it is left."""
        return self.wait_s(now_s, self._at_once / 2)

    def spend(self, now_s: float) -> None:
        """To be called only where there is nothing to wait for."""
        self._left, self._at_s = self._left_at(now_s) - 1.0, now_s

    def _left_at(self, now_s: float) -> float:
        return min(self._at_once, self._left + (now_s - self._at_s) * self._per_s)


class Pacing:
    """When the state of a topic may be published; ``beat_s`` are the seconds of a beat."""

    def __init__(self, beat_s: float) -> None:
        self._beat_s = beat_s
        self._all = Budget(ALL_AT_ONCE, ALL_PER_BEAT / beat_s)
        self._topics: defaultdict[str, Budget] = defaultdict(partial(Budget, TOPIC_AT_ONCE, TOPIC_PER_BEAT / beat_s))
        self._published_s: dict[str, float] = {}

    def wait_s(self, topic: str, now_s: float, *, is_news: bool) -> float:
        """The seconds until the topic may be published; 0: now."""
        own = self._topics[topic]
        if is_news:
            return max(own.wait_s(now_s), self._all.wait_s(now_s))
        since_s = now_s - self.published_s(topic)
        return max(self._beat_s - since_s, own.half_s(now_s), self._all.half_s(now_s))

    def published(self, topic: str, now_s: float) -> None:
        """The topic is about to be published, whatever comes of it."""
        self._topics[topic].spend(now_s)
        self._all.spend(now_s)
        self._published_s[topic] = now_s

    def published_s(self, topic: str) -> float:
        """When it was published last."""
        return self._published_s.get(topic, -self._beat_s)


def is_news(told: TopicState | None, state: TopicState) -> bool:
    """Whether ``state`` says more than new figures of what is hot; ``told`` is what was published last."""
    if told is None or told.epoch != state.epoch:
        return True
    if (told.mode, told.orders, told.routes) != (state.mode, state.orders, state.routes):
        return True
    return _hot(told) != _hot(state)


def _hot(state: TopicState) -> set[tuple[str, str | None, str | None]]:
    return {(entry.kind, entry.key, entry.key_b64) for entry in state.hot}
