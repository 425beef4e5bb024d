"""The real reader."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord, TopicPartition

from hotshard.doors.kafka.contract import Log
from hotshard.doors.kafka.real_errors import FOREIGN, translate
from hotshard.doors.kafka.real_link import Link, look_at, require
from hotshard.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

_FETCH_BYTES: Final = 4 * 1024 * 1024
_POLL_MS: Final = 200
#: How often ``follow`` looks for partitions that were added.
_LOOK_AGAIN_S: Final = 30.0


class AioReader:
    """See :class:`~hotshard.doors.kafka.contract.Reader`. Each call has a consumer of its own."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def read_all(self, topic: str, partition: int) -> list[Log]:
        place = TopicPartition(topic, partition)
        consumer = await self._start(topic, fetch_max_wait_ms=50)
        try:
            consumer.assign([place])
            return await self._to_the_end(consumer, place)
        except FOREIGN as error:
            raise translate(error, self._link.connection, f"reading topic {topic!r}") from error
        finally:
            await consumer.stop()

    async def _to_the_end(self, consumer: AIOKafkaConsumer, place: TopicPartition) -> list[Log]:
        """Read until the position, which also passes control records, is at the first high watermark seen."""
        found: list[Log] = []
        end: int | None = None
        position = -1
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._link.timeout_s
        while end is None or position < end:
            fetched = await consumer.getmany(place, timeout_ms=20)
            found += [_log(record) for record in fetched.get(place, ())]
            if end is None:
                end = consumer.highwater(place)
            before, position = position, await self._position(consumer, place, deadline)
            if position > before:
                deadline = loop.time() + self._link.timeout_s
            elif loop.time() > deadline:
                raise UnavailableError(_stuck(place, position, end, consumer.last_stable_offset(place)))
        return found

    async def _position(self, consumer: AIOKafkaConsumer, place: TopicPartition, deadline: float) -> int:
        async with asyncio.timeout_at(deadline):
            position: int = await consumer.position(place)
        return position

    async def follow(
        self, topic: str, from_offsets: Mapping[int, int] | None = None
    ) -> AsyncGenerator[list[Log], None]:
        consumer = await self._start(topic)
        positions = dict(from_offsets or {})
        loop = asyncio.get_running_loop()
        look_at_s = loop.time()
        try:
            while True:
                if loop.time() >= look_at_s:
                    await self._assign(consumer, topic, positions)
                    look_at_s = loop.time() + _LOOK_AGAIN_S
                try:
                    fetched = await consumer.getmany(timeout_ms=_POLL_MS)
                except FOREIGN as error:
                    raise translate(error, self._link.connection, f"reading topic {topic!r}") from error
                logs = [_log(record) for records in fetched.values() for record in records]
                if logs:
                    positions.update((log.partition, log.offset + 1) for log in logs)
                    yield logs
        finally:
            await consumer.stop()

    async def _assign(self, consumer: AIOKafkaConsumer, topic: str, positions: Mapping[int, int]) -> None:
        """Assign every partition of the topic, if there are new ones."""
        try:
            look = await look_at(consumer._client, topic)  # noqa: SLF001 -- it has no public way to look without creating
        except FOREIGN:
            return  # an outage: those known already are still assigned
        places = {TopicPartition(topic, partition) for partition in look.leaders} if look is not None else set()
        if not places - consumer.assignment():
            return
        consumer.assign(list(places))
        for place in places:
            if place.partition in positions:
                consumer.seek(place, positions[place.partition])

    async def _start(self, topic: str, **options: Any) -> AIOKafkaConsumer:  # noqa: ANN401 -- passed through
        consumer = AIOKafkaConsumer(
            **self._link.kwargs(),
            **options,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            max_partition_fetch_bytes=_FETCH_BYTES,
        )
        try:
            async with self._link.connecting(f"reading topic {topic!r}"):
                await consumer.start()
                await require(consumer._client, topic, self._link.connection)  # noqa: SLF001 -- see above
        except BaseException:
            await consumer.stop()
            raise
        return consumer

    async def stop(self) -> None:
        """Nothing is kept between calls."""


def _log(record: ConsumerRecord[bytes | None, bytes | None]) -> Log:
    return Log(record.topic, record.partition, record.offset, record.key, record.value, record.timestamp)


def _stuck(place: TopicPartition, position: int, end: int | None, stable: int | None) -> str:
    where = f"partition {place.partition} of topic {place.topic!r}"
    if end is not None and stable is not None and position >= stable:
        return f"{where} has an open transaction at offset {stable}; it ends by itself, try again"
    return f"{where} could not be read on from offset {position} to {end}; check that its leader runs"
