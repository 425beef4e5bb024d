"""The real admin, on one client of aiokafka that is opened when it is first needed and again after an error."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Final, TypeVar

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import BrokerResponseError, LeaderNotAvailableError, NoError, TopicAlreadyExistsError, for_code
from aiokafka.protocol.admin import CreateTopicsRequest
from aiokafka.protocol.offset import OffsetRequest

from hotshard.doors.kafka.real_group import look_at_group
from hotshard.doors.kafka.real_link import Link, TopicLook, look_at, require
from hotshard.errors import HotshardError, TopicMismatchError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container

    from hotshard.doors.kafka.contract import GroupLook, TopicWanted

_T = TypeVar("_T")
EARLIEST: Final = -2
LATEST: Final = -1
_AGAIN_S: Final = 0.05


class AioAdmin:
    """See :class:`~hotshard.doors.kafka.contract.Admin`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._client: AIOKafkaClient | None = None
        self._busy = asyncio.Lock()

    async def partitions(self, topic: str) -> int | None:
        look = await self._ask(lambda client: look_at(client, topic), f"describing topic {topic!r}")
        return None if look is None else len(look.leaders)

    async def ensure(self, wanted: TopicWanted, *, exact: bool = False) -> int:
        count = await self.partitions(wanted.name)
        if count is None:
            count = await self._ask(lambda client: _create(client, wanted), f"creating topic {wanted.name!r}")
        if exact and count != wanted.partitions:
            raise TopicMismatchError(
                f"topic {wanted.name!r} has {count} partitions and the settings say {wanted.partitions};"
                " set the real count, or another topic name"
            )
        return count

    async def start_offsets(self, topic: str) -> dict[int, int]:
        return await self._offsets(topic, EARLIEST)

    async def end_offsets(self, topic: str) -> dict[int, int]:
        return await self._offsets(topic, LATEST)

    async def stable_offsets(self, topic: str) -> dict[int, int]:
        return await self._offsets(topic, LATEST, committed=True)

    async def group(self, group: str, topic: str) -> GroupLook:
        async def look(client: AIOKafkaClient) -> GroupLook:
            found = await require(client, topic, self._link.connection)
            return await look_at_group(client, group, topic, found.leaders)

        return await self._ask(look, f"looking at group {group!r}")

    async def stop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _offsets(self, topic: str, which: int, *, committed: bool = False) -> dict[int, int]:
        async def offsets(client: AIOKafkaClient) -> dict[int, int]:
            look = await require(client, topic, self._link.connection)
            return await offsets_at(client, look, topic, which, committed=committed)

        return await self._ask(offsets, f"asking the offsets of {topic!r}")

    async def _ask(self, question: Callable[[AIOKafkaClient], Awaitable[_T]], doing: str) -> _T:
        async with self._busy:
            try:
                async with self._link.connecting(doing):
                    if self._client is None:
                        self._client = AIOKafkaClient(**self._link.kwargs())
                        await self._client.bootstrap()
                    return await answer(self._client, question)
            except (HotshardError, asyncio.CancelledError):
                await self.stop()
                raise


async def answer(client: AIOKafkaClient, question: Callable[[AIOKafkaClient], Awaitable[_T]]) -> _T:
    """Ask again while something is not ready yet, as with a topic just made. The caller limits the time."""
    while True:
        try:
            return await question(client)
        except BrokerResponseError as error:
            if not error.retriable:
                raise
            await asyncio.sleep(_AGAIN_S)


async def _create(client: AIOKafkaClient, wanted: TopicWanted) -> int:
    request = CreateTopicsRequest(
        create_topic_requests=[(wanted.name, wanted.partitions, wanted.replication, [], list(wanted.config.items()))],
        timeout=client._request_timeout_ms,  # noqa: SLF001 -- the limit it was made with
        validate_only=False,
    )
    controller = client.cluster.controller
    node = controller.nodeId if controller is not None else client.get_random_node()
    response = await client.send(node, request)
    for _, code, *text in response.topic_errors:
        error = for_code(code)
        if error not in (NoError, TopicAlreadyExistsError):
            raise error(*filter(None, text))
    return await _leaders_of(client, wanted.name)


async def _leaders_of(client: AIOKafkaClient, topic: str) -> int:
    """Wait until every partition of a new topic has a leader; how many there are. The caller limits the time."""
    while True:
        look = await look_at(client, topic)
        if look is not None and look.leaders and min(look.leaders.values()) >= 0:
            return len(look.leaders)
        await asyncio.sleep(_AGAIN_S)


async def offsets_at(
    client: AIOKafkaClient, look: TopicLook, topic: str, which: int, *, committed: bool = False
) -> dict[int, int]:
    """Offsets by partition: ``EARLIEST``, ``LATEST``, or that of the first record from a time on, -1 for none.

    ``committed`` ends a partition before its first open transaction. Raises KafkaError.
    """
    nodes = by_leader(look)
    answers = [_offsets_of(client, node, topic, parts, which, int(committed)) for node, parts in nodes.items()]
    return {partition: offset for found in await asyncio.gather(*answers) for partition, offset in found}


def by_leader(look: TopicLook, chosen: Container[int] | None = None) -> dict[int, list[int]]:
    """Partitions (all, or those chosen) by the node that leads them. Raises LeaderNotAvailableError."""
    partitions: dict[int, list[int]] = defaultdict(list)
    for partition, leader in look.leaders.items():
        if chosen is not None and partition not in chosen:
            continue
        if leader < 0:
            raise LeaderNotAvailableError(f"partition {partition} has no leader")
        partitions[leader].append(partition)
    return partitions


async def _offsets_of(  # noqa: PLR0913, PLR0917 -- the parts of a request
    client: AIOKafkaClient, node: int, topic: str, partitions: list[int], which: int, level: int
) -> list[tuple[int, int]]:
    request = OffsetRequest(-1, level, [(topic, [(partition, which) for partition in partitions])])
    response = await client.send(node, request)
    found: list[tuple[int, int]] = []
    for _, parts in response.topics:
        for partition, code, *rest in parts:
            error = for_code(code)
            if error is not NoError:
                raise error(f"partition {partition}")
            found.append((partition, rest[-1]))
    return found
