"""What can be seen from outside: the coordinator's word on a group, what the worker wrote to Kafka, and Redis.

Nothing here asks the worker. Moments are seconds of ``time.monotonic``.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import GroupCoordinatorNotAvailableError, GroupLoadInProgressError

from hotshard.core.wire import pane, state
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.doors.kafka.real import AioKafka
from hotshard.doors.redis.layout import Layout, meta_fields
from hotshard.errors import HotshardError, MissingTopicError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import redis.asyncio

    from hotshard.doors.kafka.contract import Log

#: A moment is known this exactly.
LOOK_EVERY_S: Final = 0.02
_ANSWER_WITHIN_MS: Final = 120_000


class StoppedError(Exception):
    """A contestant ended, or was not done in time."""


@dataclass
class Patience:
    """How long is waited, and for whom."""

    within_s: float
    alive: Callable[[], bool]

    async def until(self, seen: Callable[[], Awaitable[bool]], what: str) -> float:
        """Return the moment at which ``seen`` is first true; raises StoppedError."""
        late_s = time.monotonic() + self.within_s
        while not await seen():
            if not self.alive():
                raise StoppedError(f"ended before this was so: {what}")
            if time.monotonic() > late_s:
                raise StoppedError(f"not within {self.within_s:.0f} s: {what}")
            await asyncio.sleep(LOOK_EVERY_S)
        return time.monotonic()


class Group:
    """A consumer group that reads one topic."""

    def __init__(self, client: Any, name: str, topic: str, partitions: int) -> None:  # noqa: ANN401 - as support.admin
        self._client = client
        self._name = name
        self._places = frozenset(TopicPartition(topic, number) for number in range(partitions))
        self._coordinator: int | None = None

    async def assigned(self, members_least: int = 1) -> bool:
        """Whether the coordinator has given all partitions to members that have joined, at least so many."""
        answer = await self._ask(lambda at: self._client.describe_consumer_groups([self._name], at))
        if answer is None or not answer[0].groups:
            return False
        _, _, status, _, _, members, *_ = answer[0].groups[0]
        given = {place for member in members for place in _assignment(member)}
        return status == "Stable" and len(members) >= members_least and self._places <= given

    async def committed(self) -> dict[int, int]:
        """The group's offsets, by partition."""
        found = await self._ask(lambda at: self._client.list_consumer_group_offsets(self._name, at, list(self._places)))
        return {place.partition: at.offset for place, at in (found or {}).items()}

    async def has_committed(self, ends: dict[int, int]) -> bool:
        """Whether the group's offsets are these."""
        return await self.committed() == ends

    async def _ask(self, question: Callable[[int], Awaitable[Any]]) -> Any | None:  # noqa: ANN401
        try:
            if self._coordinator is None:
                self._coordinator = await self._client.find_coordinator(self._name)
            return await question(self._coordinator)
        except (GroupCoordinatorNotAvailableError, GroupLoadInProgressError):
            return None  # the broker's first group makes it create its topic of offsets


def _assignment(member: tuple[Any, ...]) -> list[TopicPartition]:
    """The partitions of a member as DescribeGroups tells it: its assignment is the last of its fields."""
    data = bytes(member[-1])
    return ConsumerProtocolMemberAssignment.decode(data).partitions() if data else []


@dataclass
class Written:
    """What the worker wrote: versions of panes by where they start, and the newest head."""

    panes: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    #: Offset of the newest pane message heard.
    last_pane_at: int = -1
    head: state.TopicHead | None = None

    def hear_panes(self, logs: list[Log]) -> None:
        for log in logs:
            message = pane.decode(log.value or b"")
            if isinstance(message, pane.Pane):
                self.panes[message.partition, message.start] = (message.end, message.records)
                self.last_pane_at = log.offset

    def hear_state(self, logs: list[Log]) -> None:
        for log in logs:
            if state.decode_key(log.key)[1] is None and log.value is not None:
                self.head = state.decode_head(log.value)

    def records(self, ends: dict[int, int]) -> int:
        """Records in the panes that tile every partition from 0 to its end, or -1: they do not."""
        records = 0
        for partition, end in ends.items():
            position = 0
            while position != end:
                position, more = self.panes.get((partition, position), (-1, 0))
                if position < 0:
                    return -1
                records += more
        return records

    def decided(self, ends: dict[int, int]) -> state.TopicHead | None:
        """The newest head, if every record's pane was heard and what it led to was said."""
        heard = self.records(ends) >= 0 and self.head is not None and self.head.done > self.last_pane_at
        return self.head if heard else None


@asynccontextmanager
async def listening(bootstrap: str, panes_topic: str, state_topic: str) -> AsyncIterator[Written]:
    """Give what the worker writes, as it comes. An error inside goes out as it is, not as a group of one."""
    written = Written()
    reader = AioKafka(KafkaConnection(bootstrap_servers=(bootstrap,)), client_id="bench").reader()

    async def follow(topic: str, hear: Callable[[list[Log]], None]) -> None:
        while True:
            try:
                async for logs in reader.follow(topic):
                    hear(logs)
            except MissingTopicError:
                await asyncio.sleep(LOOK_EVERY_S)

    try:
        async with asyncio.TaskGroup() as tasks:
            both = [
                tasks.create_task(follow(panes_topic, written.hear_panes)),
                tasks.create_task(follow(state_topic, written.hear_state)),
            ]
            yield written
            for task in both:
                task.cancel()
    except* (StoppedError, HotshardError) as errors:
        first = errors.exceptions[0]
    else:
        return
    raise first


async def redis_holds(client: redis.asyncio.Redis, namespace: str, head: state.TopicHead) -> bool:
    """Whether Redis holds what this head says, or something newer."""
    epoch, version, _ = meta_fields(head.topic)
    found = await client.hmget(Layout(namespace).meta, [epoch, version])
    return tuple(int(value or -1) for value in found) >= (head.registry_epoch, head.state_version)


async def begin_at_zero(bootstrap: str, group: str, topic: str, partitions: int) -> None:
    """Commit the beginning for a group that has no members."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    await consumer.start()
    try:
        places = [TopicPartition(topic, number) for number in range(partitions)]
        consumer.assign(places)
        await consumer.commit(dict.fromkeys(places, 0))
    finally:
        await consumer.stop()


async def end_offsets(bootstrap: str, topic: str, partitions: int) -> dict[int, int]:
    """Where each partition ends. A new topic of very many takes a while until all of them answer."""
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, request_timeout_ms=_ANSWER_WITHIN_MS)
    await consumer.start()
    try:
        found = await consumer.end_offsets([TopicPartition(topic, number) for number in range(partitions)])
    finally:
        await consumer.stop()
    return {place.partition: offset for place, offset in found.items()}
