"""Where partitions begin to be counted: at the committed offset, which is committed where there is none yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hotshard.core.panes.cutting import start_offset
from hotshard.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from faust.types import TP


class Offsets(Protocol):
    """What is asked of the consumer about offsets."""

    async def commit_once(self, offsets: Mapping[TP, int], generation: int) -> bool: ...

    async def committed(self, places: Collection[TP]) -> Mapping[TP, int]: ...

    async def earliest(self, places: Collection[TP]) -> Mapping[TP, int]: ...

    async def latest(self, places: Collection[TP]) -> Mapping[TP, int]: ...


class Starts:
    """``new`` are sources that are new to a group which has members already: their partitions begin at the end."""

    def __init__(self, new: Iterable[str]) -> None:
        self._new = set(new)

    async def find(self, offsets: Offsets, places: Mapping[TP, int | None], generation: int) -> Mapping[TP, int]:
        """The start of each partition, each of them committed; ``places`` says what is known of its watermark.

        A partition without a committed offset appeared after the group began (a new group commits its start
        for all of them beforehand): it begins at its earliest record.

        Raises:
            UnavailableError, RefusedError: of Kafka.

        """
        if not places:
            return {}
        committed = await offsets.committed(places)
        earliest = await offsets.earliest(places)
        new = [place for place in places if place.topic in self._new and place not in committed]
        begun = {**(await offsets.latest(new) if new else {}), **committed}
        starts = {
            place: start_offset(begun.get(place), earliest[place], watermark) for place, watermark in places.items()
        }
        fresh = {place: start for place, start in starts.items() if committed.get(place) != start}
        # Before anything is counted from there: a pane that starts at a committed offset confirms the one before.
        if fresh and not await offsets.commit_once(fresh, generation):
            raise UnavailableError(
                "the start offsets could not be committed; check that Kafka's group coordinator runs"
            )
        self._new -= {place.topic for place in places}
        return starts
