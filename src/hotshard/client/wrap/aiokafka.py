"""One ``aiokafka.AIOKafkaProducer``, sending records of routed keys to their shards."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from aiokafka.errors import KafkaError, MessageSizeTooLargeError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from hotshard.client.routed import Spread
    from hotshard.client.router import Router
    from hotshard.client.wrap import Discriminate, Header

#: Kafka is asked for partition counts out of turn at most this often.
_LOOK_AGAIN_S: Final = 5.0


def wrap(
    producer: Any,  # noqa: ANN401 - aiokafka has no types
    registry: Router,
    *,
    discriminator: Discriminate | None,
    text_keys: bool,
) -> ShardedAIOKafkaProducer:
    # Where that name is gone there may be a serializer, so keys are left alone unless the user vouches for them.
    serialized = getattr(producer, "_key_serializer", wrap) is not None
    return ShardedAIOKafkaProducer(producer, registry, discriminator, routes_keys=text_keys or not serialized)


class _Target(NamedTuple):
    key: str | bytes
    partition: int | None
    headers: list[Header]


class ShardedAIOKafkaProducer:
    """Has every method and attribute of the producer it wraps. ``send_batch`` is passed on as it is."""

    def __init__(
        self,
        producer: Any,  # noqa: ANN401 - aiokafka has no types
        registry: Router,
        discriminator: Discriminate | None,
        *,
        routes_keys: bool,
    ) -> None:
        #: The producer itself.
        self.wrapped = producer
        self._registry = registry
        self._discriminator = discriminator
        self._routes_keys = routes_keys
        self._look_from_s = 0.0

    async def send(  # noqa: PLR0913, PLR0917 - aiokafka's own signature
        self,
        topic: str,
        value: Any = None,  # noqa: ANN401 - a serializer may take anything
        key: Any = None,  # noqa: ANN401
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[Header] | None = None,
    ) -> asyncio.Future[Any]:
        """As :meth:`aiokafka.AIOKafkaProducer.send`."""
        own = None if headers is None else list(headers)
        target = None if key is None or partition is not None else self._target(topic, value, key, own or [])
        sent: asyncio.Future[Any]
        if target is not None:
            try:
                sent = await self.wrapped.send(topic, value, target.key, target.partition, timestamp_ms, target.headers)
            except Exception as error:  # noqa: BLE001 - told apart in the next line
                self._unless_ours(error)
            else:
                return sent
        sent = await self.wrapped.send(topic, value, key, partition, timestamp_ms, own)
        return sent

    async def send_and_wait(  # noqa: PLR0913, PLR0917 - aiokafka's own signature
        self,
        topic: str,
        value: Any = None,  # noqa: ANN401 - a serializer may take anything
        key: Any = None,  # noqa: ANN401
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[Header] | None = None,
    ) -> Any:  # noqa: ANN401 - aiokafka's RecordMetadata
        """As :meth:`aiokafka.AIOKafkaProducer.send_and_wait`."""
        return await (await self.send(topic, value, key, partition, timestamp_ms, headers))

    async def __aenter__(self) -> Self:
        await self.wrapped.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.wrapped.__aexit__(*error)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the producer has
        if name == "wrapped":  # not there yet: a copy of this object is being made
            raise AttributeError(name)
        return getattr(self.wrapped, name)

    def _target(self, topic: str, value: Any, key: Any, headers: list[Header]) -> _Target | None:  # noqa: ANN401
        """Where the record is to go instead; None where it stays as it is. Never raises."""
        routable = self._routes_keys and isinstance(key, str | bytes)
        if not routable:
            return None
        try:
            found = self._registry.find(topic, key)
            if found is None or not self._has_its_partitions(topic, found):
                return None
            told = self._discriminator
            routed = found.pick(None if told is None else told(key, value, headers))
            return _Target(routed.key, routed.partition, [*headers, *routed.headers])
        except Exception as error:  # noqa: BLE001 - routing never makes a send fail
            self._registry.route_failed(error)
            return None

    def _has_its_partitions(self, topic: str, found: Spread[Any]) -> bool:
        """Whether partitions that are given are of the count that the producer sees; it sees none before its first."""
        if found.partition_count is None:
            return True
        seen = self.wrapped.client.cluster.partitions_for_topic(topic)
        if not seen or len(seen) == found.partition_count:
            return True
        self._registry.route_outdated(topic, len(seen))
        if len(seen) < found.partition_count:
            self._look_again()
        return False

    def _look_again(self) -> None:
        """A plan for more partitions is news: the producer would hear of them within five minutes only."""
        now_s = time.monotonic()
        if now_s >= self._look_from_s:
            self._look_from_s = now_s + _LOOK_AGAIN_S
            self.wrapped.client.force_metadata_update()

    def _unless_ours(self, error: Exception) -> None:
        """Raise what would have happened without routing too.

        Else the record is to be sent again on its base key: the longer key or the headers made it too
        large, the partition does not exist, or the key serializer refused the suffix. aiokafka raises
        these before it has taken the record.
        """
        if isinstance(error, KafkaError) and not isinstance(error, MessageSizeTooLargeError):
            raise error
        self._registry.route_failed(error)
