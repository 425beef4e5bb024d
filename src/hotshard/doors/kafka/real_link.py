"""What the real publisher, speaker, reader and admin share: the connection, its time limits, a look at a topic."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiokafka.errors import BrokerResponseError, NoError, UnknownTopicOrPartitionError, for_code
from aiokafka.protocol.metadata import MetadataRequest

from hotshard.doors.kafka.real_errors import FOREIGN, explain, translate
from hotshard.errors import MissingTopicError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiokafka.client import AIOKafkaClient

    from hotshard.doors.kafka.connection import KafkaConnection


@dataclass(frozen=True, slots=True)
class Link:
    """A connection, the name it goes by at the broker, and how long one call may take."""

    connection: KafkaConnection
    client_id: str
    timeout_s: float

    def kwargs(self) -> dict[str, Any]:
        """Arguments for aiokafka; a request gets half of a call's time unless the connection says otherwise."""
        request_timeout_ms = max(1000, round(self.timeout_s * 500))
        return {
            "client_id": self.client_id,
            "request_timeout_ms": request_timeout_ms,
            **self.connection.client_kwargs(),
        }

    @contextlib.asynccontextmanager
    async def connecting(self, doing: str) -> AsyncIterator[None]:
        """Bound by the time limit, errors translated and, where it takes a look at the broker, explained."""
        try:
            async with asyncio.timeout(self.timeout_s):
                yield
        except FOREIGN as error:
            raise await explain(error, self.connection, doing) from error

    @contextlib.asynccontextmanager
    async def calling(self, doing: str) -> AsyncIterator[None]:
        """Bound by the time limit, errors translated; aiokafka asserts the states of its transactions."""
        try:
            async with asyncio.timeout(self.timeout_s):
                yield
        except (*FOREIGN, AssertionError) as error:
            raise translate(error, self.connection, doing) from error


@dataclass(frozen=True, slots=True)
class TopicLook:
    """The leader (node id, -1 when there is none) of each partition of a topic."""

    leaders: dict[int, int]


async def require(client: AIOKafkaClient, topic: str, connection: KafkaConnection) -> TopicLook:
    """As :func:`look_at`; MissingTopicError when it does not exist."""
    look = await look_at(client, topic)
    if look is None:
        where = f"Kafka at {connection.address}"
        raise MissingTopicError(f"topic {topic!r} does not exist on {where}; create it or correct its name")
    return look


async def look_at(client: AIOKafkaClient, topic: str) -> TopicLook | None:
    """What the cluster knows of a topic, without creating it; None when it does not exist."""
    response = await client.send(_node_of(client), MetadataRequest([topic], allow_auto_topic_creation=False))
    described = next((entry for entry in response.to_object()["topics"] if entry["topic"] == topic), None)
    if described is None:
        return None
    error: type[BrokerResponseError] = for_code(described["error_code"])
    if error is UnknownTopicOrPartitionError:
        return None
    if error is not NoError:
        raise error(topic)
    return TopicLook({part["partition"]: part["leader"] for part in described["partitions"]})


def _node_of(client: AIOKafkaClient) -> Any:  # noqa: ANN401 -- a node id, or aiokafka's name for the first connection
    node = client.get_random_node()
    return "bootstrap" if node is None else node
