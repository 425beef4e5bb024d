"""Kafka in memory: offsets, control records, transactions, fencing and outages as the real one has them.

Part of the package, so that users can test against it. One event loop, no threads.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hotshard.doors.clock import Clock, SystemClock
from hotshard.doors.kafka.contract import GroupLook
from hotshard.doors.kafka.memory_cluster import Cluster, Transaction
from hotshard.doors.kafka.stretch_memory import MemoryStretchReader
from hotshard.errors import FencedError, TopicMismatchError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from hotshard.core.fields import FieldReader
    from hotshard.doors.kafka.contract import Log, Out, TopicWanted


class MemoryKafka:
    """See :class:`~hotshard.doors.kafka.contract.Kafka`; ``cluster`` has dials that make trouble.

    ``timeout_s`` is how long a reader waits for an open transaction.
    """

    def __init__(self, *, clock: Clock | None = None, timeout_s: float = 1.0) -> None:
        self.cluster = Cluster(clock or SystemClock())
        self._timeout_s = timeout_s

    def publisher(self) -> MemoryPublisher:
        return MemoryPublisher(self.cluster)

    def speaker(self, transactional_id: str, *, transactional: bool = True) -> MemorySpeaker:
        return MemorySpeaker(self.cluster, transactional_id, transactional=transactional)

    def reader(self) -> MemoryReader:
        return MemoryReader(self.cluster, self._timeout_s)

    def admin(self) -> MemoryAdmin:
        return MemoryAdmin(self.cluster)

    def stretches(self, *, committed: bool = False, fields: FieldReader | None = None) -> MemoryStretchReader:
        return MemoryStretchReader(self.cluster, committed=committed, fields=fields)


class MemoryPublisher:
    """See :class:`~hotshard.doors.kafka.contract.Publisher`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def start(self) -> None:
        self._cluster.check_up()

    async def publish(self, outs: Sequence[Out]) -> None:
        await asyncio.sleep(0)
        self._cluster.write(outs)

    async def stop(self) -> None: ...


class MemorySpeaker:
    """See :class:`~hotshard.doors.kafka.contract.Speaker`."""

    def __init__(self, cluster: Cluster, transactional_id: str, *, transactional: bool) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._transactional = transactional
        self._epoch: int | None = None
        self._fenced = False

    async def take(self) -> None:
        self._epoch = None
        self._fenced = False
        await asyncio.sleep(0)
        self._cluster.check_up()
        self._epoch = self._cluster.take(self._id) if self._transactional else 0

    async def say(self, outs: Sequence[Out]) -> tuple[int | None, ...]:
        if self._fenced:
            raise FencedError
        if self._epoch is None:
            raise UnavailableError(f"transactional id {self._id} must be taken (again) before it speaks")
        epoch, self._epoch = self._epoch, None
        try:
            await asyncio.sleep(0)
            offsets = self._say(outs, epoch)
        except FencedError:
            self._fenced = True
            raise
        self._epoch = epoch
        return offsets

    def _say(self, outs: Sequence[Out], epoch: int) -> tuple[int, ...]:
        if not self._transactional:
            return self._cluster.write(outs)
        self._cluster.check_epoch(self._id, epoch)
        return self._cluster.write(outs, Transaction()) if outs else ()

    async def stop(self) -> None:
        self._epoch = None


class MemoryReader:
    """See :class:`~hotshard.doors.kafka.contract.Reader`."""

    def __init__(self, cluster: Cluster, timeout_s: float) -> None:
        self._cluster = cluster
        self._timeout_s = timeout_s

    async def read_all(self, topic: str, partition: int) -> list[Log]:
        log = self._cluster.partition(topic, partition)
        end = len(log.slots)
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        while log.stable() < end:
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                raise UnavailableError(f"topic {topic!r} has an open transaction at offset {log.stable()}")
            await self._cluster.change(left_s)
        self._cluster.check_up()
        return log.committed(0, end)

    async def follow(
        self, topic: str, from_offsets: Mapping[int, int] | None = None
    ) -> AsyncGenerator[list[Log], None]:
        partitions = self._cluster.partitions(topic)
        positions = dict(from_offsets or {})
        while True:
            found: list[Log] = []
            for number, partition in enumerate(() if self._cluster.down else partitions):
                stable = partition.stable()
                found += partition.committed(positions.get(number, 0), stable)
                positions[number] = max(stable, positions.get(number, 0))
            if found:
                yield found
            else:
                await self._cluster.change(0.05)

    async def stop(self) -> None: ...


class MemoryAdmin:
    """See :class:`~hotshard.doors.kafka.contract.Admin`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def partitions(self, topic: str) -> int | None:
        return self._cluster.count(topic)

    async def ensure(self, wanted: TopicWanted, *, exact: bool = False) -> int:
        count = await self.partitions(wanted.name)
        if count is None:
            self._cluster.create(wanted)
            count = wanted.partitions
        if exact and count != wanted.partitions:
            raise TopicMismatchError(
                f"topic {wanted.name!r} has {count} partitions and the settings say {wanted.partitions};"
                " set the real count, or another topic name"
            )
        return count

    async def start_offsets(self, topic: str) -> dict[int, int]:
        return {number: partition.first for number, partition in enumerate(self._cluster.partitions(topic))}

    async def end_offsets(self, topic: str) -> dict[int, int]:
        return {number: len(partition.slots) for number, partition in enumerate(self._cluster.partitions(topic))}

    async def stable_offsets(self, topic: str) -> dict[int, int]:
        return {number: partition.stable() for number, partition in enumerate(self._cluster.partitions(topic))}

    async def group(self, group: str, topic: str) -> GroupLook:
        self._cluster.partitions(topic)
        return self._cluster.groups.get((group, topic), GroupLook(committed={}, members=0))

    async def stop(self) -> None: ...
