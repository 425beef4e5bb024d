"""Slabs of several partitions as one stream, roughly in the order of time.

A fetch brings as much of a quiet partition as of a busy one, which may be an hour of the one and a second of the
other. Handed on like that, a window of the stream would hold the hour beside the second. So the partition that is
furthest behind in time is always next, and only up to a little beyond the one after it.
"""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hotshard.core.slab import Slab

#: Partitions are kept together as well as this, in event time; no closer, for the sake of speed, than
_STEP_MS: Final = 1000
#: what gives slabs of so many records,
_RECORDS_A_SLAB: Final = 200
#: but so many steps are made in any case.
_STEPS: Final = 60
#: The time of a run of records is the median of so many of them: one with a wrong clock must not decide.
_CLOCK_RECORDS: Final = 3
#: So many are handed on together in any case.
_LEAST_RECORDS: Final = 4
_NEVER: Final = 1 << 63


class _Lane:
    """One partition: the slab that is being handed out, and from which of its records on."""

    __slots__ = ("at", "end", "position", "slab", "slabs")

    def __init__(self, position: int, end: int) -> None:
        self.position = position
        self.end = end
        self.slabs: Iterator[Slab] = iter(())
        self.slab: Slab | None = None
        self.at = 0

    def clock_ms(self, slab: Slab) -> int:
        times = sorted(slab.timestamps[self.at : self.at + _CLOCK_RECORDS])
        return times[len(times) // 2] if times else -1

    def piece(self, slab: Slab, until_ms: int) -> Slab:
        """Records up to that time: a few at least, as times may stand in any order."""
        stop = bisect_right(slab.timestamps, until_ms, lo=min(self.at + _LEAST_RECORDS, len(slab)))
        piece = slab.part(self.at, stop)
        self.at = stop
        if stop == len(slab):
            self.slab, self.at = next(self.slabs, None), 0
        self.position = piece.end
        return piece


class Lanes:
    """Where each partition stands, and what has been fetched of it. ``now_ms`` ends the time that is read."""

    def __init__(self, starts: Mapping[int, int], ends: Mapping[int, int], now_ms: int) -> None:
        self._lanes = {number: _Lane(start, ends[number]) for number, start in starts.items() if start < ends[number]}
        self._offsets = sum(lane.end - lane.position for lane in self._lanes.values())
        self._hungry = set(self._lanes)
        self._next: list[tuple[int, int]] = []
        self._now_ms = now_ms
        self._step_ms: int | None = None

    @property
    def done(self) -> bool:
        return not self._hungry and not self._next

    @property
    def left(self) -> int:
        """Offsets not handed out yet."""
        return sum(lane.end - lane.position for lane in self._lanes.values())

    def wanted(self) -> dict[int, tuple[int, int]]:
        """Where to read on in partitions of which nothing is left, and where they end; no slab is given until then."""
        return {number: (self._lanes[number].position, self._lanes[number].end) for number in self._hungry}

    def put(self, found: Mapping[int, Iterable[Slab]]) -> None:
        """What was fetched of wanted partitions."""
        for number, slabs in found.items():
            lane = self._lanes[number]
            lane.slabs = iter(slabs)
            lane.slab, lane.at = next(lane.slabs, None), 0
            self._queue(number, lane)

    def take(self) -> Slab:
        """The next slab; nothing may be wanted."""
        self._step_ms = self._step_ms or self._step()
        _, number = heappop(self._next)
        lane = self._lanes[number]
        until_ms = self._next[0][0] + self._step_ms if self._next else _NEVER
        assert lane.slab is not None  # noqa: S101 -- it is queued
        piece = lane.piece(lane.slab, until_ms)
        self._queue(number, lane)
        return piece

    def _queue(self, number: int, lane: _Lane) -> None:
        self._hungry.discard(number)
        if lane.slab is not None:
            heappush(self._next, (lane.clock_ms(lane.slab), number))
        elif lane.position < lane.end:
            self._hungry.add(number)

    def _step(self) -> int:
        span_ms = max(self._now_ms - min((clock for clock, _ in self._next if clock >= 0), default=self._now_ms), 0)
        for_speed = _RECORDS_A_SLAB * len(self._lanes) * span_ms // self._offsets
        return max(_STEP_MS, min(for_speed, span_ms // _STEPS))
