"""A stretch of a topic, read once: from offsets found by time to the ends as they stood at the beginning.

No group is joined and nothing is committed, so nobody who reads the topic notices.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from hotshard.doors.files.contract import Progress
from hotshard.doors.kafka.stretch_lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hotshard.core.slab import Slab


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is read of a topic: offsets ``[starts, ends)`` of each of its partitions."""

    topic: str
    starts: Mapping[int, int]
    ends: Mapping[int, int]

    @property
    def offsets(self) -> int:
        return sum(self.ends[partition] - start for partition, start in self.starts.items())


class StretchReader(Protocol):
    """Reads stretches. Raises what every door to Kafka raises: see :mod:`hotshard.doors.kafka.contract`."""

    async def find(self, topic: str, since_ms: int | None) -> Stretch:
        """The stretch from the first record that is not older (None: from the first there is) to the end as of now."""
        ...

    async def fetch(self, topic: str, wanted: Mapping[int, tuple[int, int]]) -> Mapping[int, Iterable[Slab]]:
        """Some slabs of wanted partitions, from the first of their two offsets on and never beyond the second.

        At least one partition moves on. Each gives slabs that tile what they cover; they are unpacked as they
        are taken, and must be before the next call.
        """
        ...

    async def stop(self) -> None: ...


class StretchRecords:
    """See :class:`~hotshard.doors.files.contract.Records`. Runs an event loop of its own, so not within another.

    Raises:
        UnavailableError, RefusedError, MissingTopicError: when it is made, and when it is iterated.

    """

    format: Final = "kafka"
    has_times = True

    def __init__(
        self, reader: StretchReader, topic: str, *, now_ms: int, last_ms: int | None, has_tenants: bool = False
    ) -> None:
        """``last_ms`` is how far back the stretch reaches; None for all there is."""
        self.has_tenants = has_tenants
        self._reader = reader
        self._runner = asyncio.Runner()
        self._rows = 0
        self._skipped = 0
        self._complaint: str | None = None
        self._closed = False
        try:
            self.stretch = self._runner.run(reader.find(topic, None if last_ms is None else now_ms - last_ms))
        except BaseException:
            self.close()
            raise
        self._lanes = Lanes(self.stretch.starts, self.stretch.ends, now_ms)

    @property
    def progress(self) -> Progress:
        total = self.stretch.offsets
        return Progress(total - self._lanes.left, total, "offsets", self._rows)

    @property
    def skipped(self) -> int:
        return self._skipped

    @property
    def complaint(self) -> str | None:
        return self._complaint

    @property
    def damage(self) -> str | None:
        return None

    def __iter__(self) -> Iterator[Slab]:
        while not self._lanes.done:
            if wanted := self._lanes.wanted():
                self._lanes.put(self._runner.run(self._reader.fetch(self.stretch.topic, wanted)))
            else:
                slab = self._lanes.take()
                self._note(slab)
                yield slab

    def _note(self, slab: Slab) -> None:
        self._rows += len(slab) + slab.skipped
        self._skipped += slab.skipped
        if slab.skipped and self._complaint is None:
            self._complaint = f"partition {slab.partition} is damaged between offsets {slab.start} and {slab.end}"

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with self._runner:
            self._runner.run(self._reader.stop())
