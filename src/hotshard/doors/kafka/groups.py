"""Where a consumer group begins: a new one at the end of its topics, committed before its first member joins."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError

from hotshard.doors.kafka.real_offsets import committed_offsets
from hotshard.errors import MissingTopicError

if TYPE_CHECKING:
    from hotshard.doors.kafka.real_link import Link


class Begun(Enum):
    """How a group stands to a topic."""

    BEFORE = auto()  #: it had offsets of it
    NOW = auto()  #: its beginning, the end of the topic, has just been committed
    BY_MEMBERS = auto()  #: it has none, and as it has members only they can commit: they are to begin at the end


#: The group has members.
_HAS_MEMBERS = (CommitFailedError, IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)


class RealGroups:
    """By a consumer that joins no group, so its commit is taken only while the group has no members."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def begin_at_end(self, group: str, topic: str) -> Begun:
        """Commit the end of every partition of ``topic`` if ``group`` has no offset of it yet.

        A partition that has no offset after that appeared later.

        Raises:
            UnavailableError, RefusedError, MissingTopicError: as every door to Kafka.

        """
        consumer = AIOKafkaConsumer(group_id=group, enable_auto_commit=False, **self._link.kwargs())
        async with self._link.connecting(f"look at the offsets of group {group}"):
            await consumer.start()
        try:
            async with self._link.calling(f"look at the offsets of group {group}"):
                partitions = [TopicPartition(topic, number) for number in await _numbers(consumer, topic)]
                consumer.assign(partitions)
                if await committed_offsets(consumer._coordinator, partitions):  # noqa: SLF001 -- see there
                    return Begun.BEFORE
                ends = await consumer.end_offsets(partitions)
                try:
                    await consumer.commit(ends)
                except _HAS_MEMBERS:
                    return Begun.BY_MEMBERS
                return Begun.NOW
        finally:
            await consumer.stop()


async def _numbers(consumer: AIOKafkaConsumer, topic: str) -> list[int]:
    await consumer._client._wait_on_metadata(topic)  # noqa: SLF001 -- no public call asks for one topic's metadata
    numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        raise MissingTopicError(f"topic {topic!r} does not exist; create it or correct its name")
    return sorted(numbers)
