"""Stretches of the Kafka in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.slab import Slab
from hotshard.doors.kafka.stretch import Stretch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.fields import FieldReader
    from hotshard.doors.kafka.memory_cluster import Cluster, MemoryPartition


class MemoryStretchReader:
    """See :class:`~hotshard.doors.kafka.stretch.StretchReader`; a call gives ``offsets`` of a partition at most."""

    def __init__(
        self, cluster: Cluster, *, committed: bool, fields: FieldReader | None = None, offsets: int = 100
    ) -> None:
        self._cluster = cluster
        self._committed = committed
        self._fields = fields
        self._offsets = offsets

    async def find(self, topic: str, since_ms: int | None) -> Stretch:
        logs = dict(enumerate(self._cluster.partitions(topic)))
        ends = {number: log.stable() if self._committed else len(log.slots) for number, log in logs.items()}
        return Stretch(topic, {number: _start(log, ends[number], since_ms) for number, log in logs.items()}, ends)

    async def fetch(self, topic: str, wanted: Mapping[int, tuple[int, int]]) -> Mapping[int, list[Slab]]:
        return {number: [self._slab(topic, number, *span)] for number, span in wanted.items()}

    def _slab(self, topic: str, number: int, start: int, end: int) -> Slab:
        end = min(end, start + self._offsets)
        log = self._cluster.partition(topic, number)
        logs = log.committed(start, end) if self._committed else log.all(start, end)
        slab = Slab(topic, number, start, end, generation=0, high_watermark=end)
        for each in logs:
            slab.keys.append(each.key)
            slab.sizes.append(len(each.key or b"") + len(each.value or b""))
            slab.timestamps.append(each.timestamp_ms)
        if self._fields is not None:  # messages in memory have no headers
            found = self._fields.read([()] * len(logs), [each.value for each in logs])
            slab.tenants, slab.discriminators, slab.damaged = found
        return slab

    async def stop(self) -> None: ...


def _start(log: MemoryPartition, end: int, since_ms: int | None) -> int:
    if since_ms is None:
        return log.first
    return next((each.offset for each in log.all(log.first, end) if each.timestamp_ms >= since_ms), end)
