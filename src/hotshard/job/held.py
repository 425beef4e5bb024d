"""The partitions of the sources that this worker holds, and which of them are in doubt."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from faust.types import TP

    from hotshard.core.panes.cutting import PartitionPanes

#: Sealed panes a partition may have waiting for their commit before its slabs have to wait.
MAX_WAITING: Final = 2
#: A slab of a backlog may seal more; all partitions together hold no more than this, or MAX_WAITING each.
MAX_WAITING_ALL: Final = 64


class Held:
    """What is counted per partition, for one generation of the group.

    A partition is *misaligned* when a slab did not follow on: what was counted before it is good and
    still to be committed. It is *doubted* when what was counted, or the outcome of a commit, is not
    known to be good: nothing more of it is counted or published until it is opened anew.
    """

    def __init__(self) -> None:
        self.generation = -1
        self.panes: dict[TP, PartitionPanes] = {}
        self._doubted: set[TP] = set()
        #: What the slab that did not follow on said of the end of what can be read.
        self._misaligned: dict[TP, int] = {}
        self._changed = asyncio.Event()

    def renew(self, generation: int = -1) -> None:
        """Drop everything; what is opened from now on is of this generation (-1: we are in none)."""
        self.generation = generation
        self.panes.clear()
        self._doubted.clear()
        self._misaligned.clear()
        self.changed()

    def open(self, place: TP, panes: PartitionPanes) -> None:
        self.panes[place] = panes

    def holds(self, place: TP, panes: PartitionPanes) -> bool:
        """Whether these panes are still the partition's: while we wait, the group may take and give."""
        return self.panes.get(place) is panes

    def takes_slabs(self, place: TP) -> bool:
        return place not in self._doubted and place not in self._misaligned

    def misplace(self, place: TP, high_watermark: int) -> None:
        self._misaligned[place] = high_watermark

    def doubt(self, places: Iterable[TP]) -> None:
        self._doubted.update(places)

    def trust(self, place: TP) -> None:
        self._doubted.discard(place)
        self._misaligned.pop(place, None)

    @property
    def trusted(self) -> Mapping[TP, PartitionPanes]:
        """The partitions whose panes may be sealed and published."""
        return {place: panes for place, panes in self.panes.items() if place not in self._doubted}

    @property
    def doubted(self) -> Mapping[TP, PartitionPanes]:
        return {place: panes for place, panes in self.panes.items() if place in self._doubted}

    @property
    def misaligned(self) -> Mapping[TP, PartitionPanes]:
        return {place: panes for place, panes in self.trusted.items() if place in self._misaligned}

    def watermark(self, place: TP) -> int | None:
        """Where the partition ends, where a misplaced slab told it."""
        return self._misaligned.get(place)

    def changed(self) -> None:
        """Let those look again who wait for room."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def with_room(self, place: TP) -> PartitionPanes | None:
        """The partition's panes, once there is room for more, or None when it is not held (any more)."""
        while (panes := self.panes.get(place)) is not None and panes.waiting >= MAX_WAITING:
            await self._changed.wait()
        return panes

    async def with_room_in_all(self) -> None:
        """Wait until no more sealed panes are held than there may be in all."""
        while sum(panes.waiting for panes in self.panes.values()) > max(MAX_WAITING_ALL, MAX_WAITING * len(self.panes)):
            await self._changed.wait()
