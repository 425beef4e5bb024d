"""How often Redis is written at most, whatever the traffic. Pure: times are seconds of a clock that never goes back.

Event time runs faster than the clock while a backlog is read, so the bound is in the time of whoever writes. What
waits is not lost: the newest state of a topic is what goes out. Each :class:`Haste` below has a purse of its own for
all topics of a worker together, so that none holds back another:

- **A plan** (routes, a person's order, the mode) has the largest, so that taking every plan back is quick:
  :data:`PLANS_AT_ONCE` on end, and :data:`PLANS_PER_BEAT` a beat beyond that.
- **A topic that Redis does not hold** (new, or lost there): :data:`WHOLE_AT_ONCE`, and :data:`WHOLE_PER_BEAT` a beat.
- **What is hot** (a key turned hot or cold): :data:`ALL_AT_ONCE`, and :data:`ALL_PER_BEAT` a beat.
- **Figures** of what stands anyway come out of that same purse, once a beat at most, and only while half of it is
  left, so that they never keep something new waiting.

A topic has two purses, one for its plans and one for all the rest, each of :data:`TOPIC_AT_ONCE` on end and
:data:`TOPIC_PER_BEAT` a beat beyond that.

So within any T beats (of a second each) a topic is published at most ``10 + 4 T`` times, its plans alone
``5 + 2 T`` times. All together are published at most ``350 + 170 T`` times: plans ``200 + 100 T``, topics that Redis
does not hold ``100 + 50 T``, all the rest ``50 + 20 T``. A publish is one call of a script, atomic, which runs at most
seven commands that write, for up to 500 changed fields of a hash (:mod:`hotshard.doors.redis.scripts`). One that Redis
answers with "no newer than mine" wrote nothing: all together have it back, the topic has not. A beat is one command
that writes for up to 100 topics, and a topic just taken is asked for once more, up to 100 a call.
"""

from __future__ import annotations

from collections import defaultdict
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hotshard.core.wire.route import TopicState

TOPIC_AT_ONCE: Final = 5
TOPIC_PER_BEAT: Final = 2
ALL_AT_ONCE: Final = 50
ALL_PER_BEAT: Final = 20
PLANS_AT_ONCE: Final = 200
PLANS_PER_BEAT: Final = 100
WHOLE_AT_ONCE: Final = 100
WHOLE_PER_BEAT: Final = 50


class Haste(IntEnum):
    """What of a topic is to be written; the lowest first."""

    PLAN = 0
    HOT = 1
    #: All of it: Redis does not hold the topic, or it is not known whether it does.
    WHOLE = 2
    FIGURES = 3


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

    def give_back(self) -> None:
        """What was spent last turned out not to be needed."""
        self._left += 1.0

    def _left_at(self, now_s: float) -> float:
        return min(self._at_once, self._left + (now_s - self._at_s) * self._per_s)


class Pacing:
    """When the state of a topic may be published; ``beat_s`` are the seconds of a beat."""

    def __init__(self, beat_s: float) -> None:
        self._beat_s = beat_s
        rest = Budget(ALL_AT_ONCE, ALL_PER_BEAT / beat_s)
        self._all = {
            Haste.PLAN: Budget(PLANS_AT_ONCE, PLANS_PER_BEAT / beat_s),
            Haste.WHOLE: Budget(WHOLE_AT_ONCE, WHOLE_PER_BEAT / beat_s),
            Haste.HOT: rest,
            Haste.FIGURES: rest,
        }
        of_topic = partial(Budget, TOPIC_AT_ONCE, TOPIC_PER_BEAT / beat_s)
        self._plans: defaultdict[str, Budget] = defaultdict(of_topic)
        self._rest: defaultdict[str, Budget] = defaultdict(of_topic)
        self._published_s: dict[str, float] = {}

    def wait_s(self, topic: str, now_s: float, haste: Haste) -> float:
        """The seconds until the topic may be published; 0: now."""
        own, every = self._own(topic, haste), self._all[haste]
        if haste is not Haste.FIGURES:
            return max(own.wait_s(now_s), every.wait_s(now_s))
        since_s = now_s - self.published_s(topic)
        return max(self._beat_s - since_s, own.half_s(now_s), every.half_s(now_s))

    def published(self, topic: str, now_s: float, haste: Haste) -> None:
        """The topic is about to be published, whatever comes of it."""
        self._own(topic, haste).spend(now_s)
        self._all[haste].spend(now_s)
        self._published_s[topic] = now_s

    def not_written(self, haste: Haste) -> None:
        """What was just published in this haste changed nothing in Redis: others may be written instead."""
        self._all[haste].give_back()

    def published_s(self, topic: str) -> float:
        """When it was published last."""
        return self._published_s.get(topic, -self._beat_s)

    def _own(self, topic: str, haste: Haste) -> Budget:
        return (self._plans if haste is Haste.PLAN else self._rest)[topic]


def haste_of(told: TopicState, state: TopicState) -> Haste:
    """What ``state`` says beyond ``told``, which was published last."""
    if (told.mode, told.orders, told.routes) != (state.mode, state.orders, state.routes):
        return Haste.PLAN
    if _hot(told) != _hot(state):
        return Haste.HOT
    return Haste.WHOLE if told.epoch != state.epoch else Haste.FIGURES


def _hot(state: TopicState) -> set[tuple[str, str | None, str | None]]:
    return {(entry.kind, entry.key, entry.key_b64) for entry in state.hot}
