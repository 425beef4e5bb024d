"""Stepping over what aiokafka cannot read: the batch is fetched once more, as bytes, and read tolerantly.

The second fetch also tells damage from a fault on the way: when it reads well, nothing is skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from aiokafka import TopicPartition
from aiokafka.errors import NoError, for_code
from aiokafka.protocol.fetch import FetchRequest

from hotshard.core.slab import Slab
from hotshard.doors.kafka.slabs.parser import Reading, slabs
from hotshard.doors.kafka.slabs.tolerant import TolerantBatches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from faust.types import TP

    from hotshard.core.fields import FieldReader
    from hotshard.job.transport.group import Group


class Raw(NamedTuple):
    """A partition's part of a fetch response."""

    data: bytes
    aborted: list[tuple[int, int]]


class Read(NamedTuple):
    """What one reading came to, and whether anything was wrong this time."""

    slabs: list[Slab]
    damaged: bool


class Repair:
    """Reads bytes through the client of one ``AIOKafkaConsumer``."""

    def __init__(self, consumer: Any, group: Group, fields: Mapping[str, FieldReader]) -> None:  # noqa: ANN401 - aiokafka has no types
        self._fields = fields
        self._client = consumer._client  # noqa: SLF001
        self._fetcher = consumer._fetcher  # noqa: SLF001
        self._group = group

    async def read(self, tp: TP, position: int, *, one_batch: bool = False) -> Read:
        """Read from ``position`` on, as far as one fetch (or one batch) reaches; empty when the source is silent.

        Slabs are neither stamped nor is the position moved; the last ends behind ``position``. Raises KafkaError.
        """
        raw = await self._fetch(tp, position)
        if raw is None or not raw.data:
            return Read([], damaged=False)
        fields = self._fields.get(tp.topic)
        batches = TolerantBatches(raw.data, self._end(tp), most=1 if one_batch else None, fields=fields)
        reading = Reading(
            topic=tp.topic,
            partition=tp.partition,
            batches=batches,
            position=position,
            check_crcs=bool(self._fetcher._check_crcs),  # noqa: SLF001
            read_committed=self._group.reads_committed,
            aborted=sorted(raw.aborted, key=lambda transaction: transaction[1]),
            rescue=batches.rescue,
            fields=fields,
        )
        found = list(slabs(reading))
        if found:
            return Read(found, damaged=batches.rescued > 0)
        # bytes without even the frame of a batch: there is nothing to go by but the offset itself
        nothing = Slab(*tp, position, position + 1, generation=-1, high_watermark=-1, skipped=1)
        return Read([nothing], damaged=True)

    def _end(self, tp: TP) -> int:
        assignment = self._group.assignment
        state = None if assignment is None else assignment.state_value(TopicPartition(*tp))
        return -1 if state is None or state.highwater is None else int(state.highwater)

    async def _fetch(self, tp: TP, position: int) -> Raw | None:
        leader = self._client.cluster.leader_for_partition(TopicPartition(*tp))
        if leader is None or leader == -1:
            return None
        fetcher = self._fetcher
        wanted = [(tp.topic, [(tp.partition, position, fetcher._max_partition_fetch_bytes)])]  # noqa: SLF001
        level, most = fetcher._isolation_level, fetcher._fetch_max_bytes  # noqa: SLF001
        response = await self._client.send(leader, FetchRequest(0, 1, most, level, wanted))
        for _, partitions in response.topics:
            for _, code, _, *rest in partitions:
                if for_code(code) is not NoError:
                    raise for_code(code)(str(tp))
                return Raw(bytes(rest[-1] or b""), _aborted(response.API_VERSION, rest))
        return None


def _aborted(version: int, rest: list[Any]) -> list[tuple[int, int]]:
    """Aborted transactions, by where each version of the response holds them (as aiokafka's fetcher knows it)."""
    if version < 4:
        return []
    return [(producer, first) for producer, first in (rest[2] if version >= 11 else rest[-2]) or ()]
