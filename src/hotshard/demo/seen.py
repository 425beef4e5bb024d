"""What was seen of the records: where they landed, when, and how long the small tenant waited. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.keys import base_key

if TYPE_CHECKING:
    from hotshard.demo.cast import Cast
    from hotshard.demo.desk import Arrived

#: Loads are kept in steps of this length, by the time at which the records were sent.
STEP_MS: Final = 100


class Load(NamedTuple):
    """Records of one partition."""

    others: int
    flood: int

    @property
    def all(self) -> int:
        return self.others + self.flood


@dataclass(slots=True)
class Flood:
    """One flood. Times are the producers' clock, ms since 1970."""

    #: Asked for; its first record comes right after.
    asked_ms: int
    #: When the first and the first suffixed record were sent, as the records say.
    first_ms: int | None = None
    suffixed_ms: int | None = None
    ended_ms: int | None = None


class Seen:
    """Told of every record by the consumer."""

    def __init__(self, cast: Cast) -> None:
        self._cast = cast
        self._steps: dict[int, list[list[int]]] = {}
        self._waits: list[tuple[int, int]] = []
        self._small_waiting: deque[int] = deque()
        self.floods: list[Flood] = []
        #: Records that arrived.
        self.records = 0

    def begin_flood(self, now_ms: int) -> Flood:
        """From now on records of the flooding key belong to a new flood."""
        self.floods.append(Flood(asked_ms=now_ms))
        return self.floods[-1]

    def arrived(self, record: Arrived) -> None:
        self.records += 1
        flooding = base_key(record.key) == self._cast.flood_key
        step = self._steps.setdefault(record.created_ms // STEP_MS, [[0] * self._cast.partitions for _ in range(2)])
        step[flooding][record.partition] += 1
        if flooding:
            self._of_flood(record)
        elif record.key == self._cast.small_key:
            self._small_waiting.append(record.created_ms)

    def handled(self, record: Arrived, now_ms: int) -> None:
        if record.key == self._cast.small_key:
            self._small_waiting.popleft()
            self._waits.append((record.created_ms, now_ms - record.created_ms))

    @property
    def small_wait_ms(self) -> int:
        """How long the small tenant's newest handled record waited."""
        return self._waits[-1][1] if self._waits else 0

    def loads(self, from_ms: int, to_ms: int) -> list[Load]:
        """What was sent to each partition in ``[from_ms, to_ms)``, to the step."""
        sums = [[0] * self._cast.partitions for _ in range(2)]
        for step in range(from_ms // STEP_MS, to_ms // STEP_MS):
            for total, counts in zip(sums, self._steps.get(step, ()), strict=False):
                for partition, count in enumerate(counts):
                    total[partition] += count
        return [Load(*both) for both in zip(*sums, strict=True)]

    def small_waits(self, from_ms: int, to_ms: int, now_ms: int) -> list[int]:
        """How long each record of the small tenant sent in ``[from_ms, to_ms)`` waited; one that still does, so far."""
        waits = [wait for created, wait in self._waits if from_ms <= created < to_ms]
        return waits + [now_ms - created for created in self._small_waiting if from_ms <= created < to_ms]

    def _of_flood(self, record: Arrived) -> None:
        flood = self.floods[-1] if self.floods else None
        if flood is None or record.created_ms < flood.asked_ms:
            return  # a late record of the flood before
        flood.first_ms = _earlier(flood.first_ms, record.created_ms)
        if record.key != self._cast.flood_key:
            flood.suffixed_ms = _earlier(flood.suffixed_ms, record.created_ms)


def _earlier(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)
