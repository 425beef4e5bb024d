"""One ``aiokafka.AIOKafkaProducer``, sending records of routed keys to their shards.

A send costs about ten microseconds, so what is added to all of them is one plain function over what it needs:
a record that is not routed gets the producer's own coroutine.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Self

from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from hotshard.client.wrap.choosing import Chosen

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Container, Coroutine, Iterable

    from hotshard.client.routed import Spread
    from hotshard.client.router import Router
    from hotshard.client.wrap import Discriminate, Header

    _Sent = Coroutine[Any, Any, Any]

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
    return _class_for(producer)(producer, registry, discriminator, routes_keys=text_keys or not serialized)


class ShardedAIOKafkaProducer:
    """Has every method and attribute that the producer has when it is wrapped. ``send_batch`` is passed on as it is.

    ``send`` and ``send_and_wait`` are plain functions that give a coroutine. Of a record that is not routed they read
    ``headers`` that are no list at once: what is no iterable raises TypeError at the call, not at the ``await``.
    """

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
        #: As :meth:`aiokafka.AIOKafkaProducer.send` and :meth:`aiokafka.AIOKafkaProducer.send_and_wait`.
        self.send: Callable[..., Coroutine[Any, Any, asyncio.Future[Any]]] = producer.send
        self.send_and_wait: Callable[..., _Sent] = producer.send_and_wait
        if routes_keys:
            routing = _Routing(producer, registry, discriminator)
            self.send = _sender(registry, producer.send, routing.send)
            self.send_and_wait = _sender(registry, producer.send_and_wait, routing.send_and_wait)

    async def __aenter__(self) -> Self:
        await self.wrapped.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.wrapped.__aexit__(*error)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # noqa: ANN401 - whatever the producer has


class _PassedOn:
    """An attribute of the producer, as it is when it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, wrapper: ShardedAIOKafkaProducer | None, _: object) -> Any:  # noqa: ANN401 - of any type
        return self if wrapper is None else getattr(wrapper.wrapped, self._name)


def _class_for(producer: object) -> type[ShardedAIOKafkaProducer]:
    """With the names of ``producer``: a ``__getattr__`` would make finding ``send`` a percent of a send slower."""
    own = ShardedAIOKafkaProducer
    names = (name for name in dir(producer) if not name.startswith("__") and not hasattr(own, name))
    return type(own.__name__, (own,), {name: _PassedOn(name) for name in names})


def _routed_with(key: object, registry: Router) -> Container[object]:
    """The keys that ``key`` may be among; where it can be none it need not be hashable."""
    if isinstance(key, str):
        return registry.routed_texts
    return registry.routed_bytes if isinstance(key, bytes) else ()


def _sender(registry: Router, bare: Callable[..., _Sent], routed: Callable[..., _Sent]) -> Callable[..., _Sent]:
    """What sends a record with ``routed`` where its key is routed now, and with ``bare`` in all other cases."""

    def send(  # noqa: PLR0913, PLR0917 - aiokafka's own signature
        topic: str,
        value: Any = None,  # noqa: ANN401 - a serializer may take anything
        key: Any = None,  # noqa: ANN401
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Iterable[Header] | None = None,
    ) -> _Sent:
        try:
            if partition is None:
                keys = registry.routed_bytes if type(key) is bytes else _routed_with(key, registry)
                if key in keys:
                    found = registry.find(topic, key)
                    if found is not None:
                        return routed(found, topic, value, key, timestamp_ms, headers)
        except Exception as error:  # noqa: BLE001 - routing never makes a send fail
            registry.route_failed(error)
        if headers is not None and type(headers) is not list:
            headers = list(headers)  # aiokafka takes no others
        return bare(topic, value, key, partition, timestamp_ms, headers)

    return send


class _Routing:
    """Sends the records of keys that are routed, given their spreads."""

    def __init__(self, producer: Any, registry: Router, discriminator: Discriminate | None) -> None:  # noqa: ANN401
        self._producer = producer
        self._send = producer.send
        self._registry = registry
        self._discriminator = discriminator
        self._chosen = Chosen.of(producer)
        self._look_from_s = 0.0

    async def send(  # noqa: PLR0913, PLR0917 - aiokafka's own, and the spread; in one piece, as each call costs a percent
        self,
        found: Spread[Any],
        topic: str,
        value: Any,  # noqa: ANN401
        key: str | bytes,
        timestamp_ms: int | None,
        headers: Iterable[Header] | None,
    ) -> asyncio.Future[Any]:
        own = None if headers is None else list(headers)
        to, partition, marked = None, None, own
        try:
            given, told = found.partition_count, self._discriminator
            if given is None or self._has_partitions(topic, given):
                to, partition, marks = next(found.turn) if told is None else found.pick(told(key, value, own or []))
                marked = [*own, *marks] if own else [*marks]
                if given is None and self._chosen is not None:
                    partition = self._chosen.partition(topic, to)
        except Exception as error:  # noqa: BLE001 - routing never makes a send fail
            self._registry.route_failed(error)
            to = None
        sent: asyncio.Future[Any]
        if to is not None:
            try:
                sent = await self._send(topic, value, to, partition, timestamp_ms, marked)
            except Exception as error:  # noqa: BLE001 - told apart in the next line
                self._unless_ours(error)
            else:
                return sent
        sent = await self._send(topic, value, key, None, timestamp_ms, own)
        return sent

    async def send_and_wait(self, *record: Any) -> Any:  # noqa: ANN401 - as ``send``; aiokafka's RecordMetadata
        return await (await self.send(*record))

    def _has_partitions(self, topic: str, given: int) -> bool:
        """Whether the producer sees as many partitions as were planned for; it sees none before its first record."""
        seen = self._producer.client.cluster.partitions_for_topic(topic)
        if not seen or len(seen) == given:
            return True
        self._registry.route_outdated(topic, len(seen))
        if len(seen) < given:
            self._look_again()
        return False

    def _look_again(self) -> None:
        """A plan for more partitions is news: the producer would hear of them within five minutes only."""
        now_s = time.monotonic()
        if now_s >= self._look_from_s:
            self._look_from_s = now_s + _LOOK_AGAIN_S
            self._producer.client.force_metadata_update()

    def _unless_ours(self, error: Exception) -> None:
        """Raise what would have happened without routing too.

        Else the record is to be sent again on its base key: the longer key or the headers made it too
        large, the partition does not exist, or the key serializer refused the suffix. aiokafka raises
        these before it has taken the record.
        """
        if isinstance(error, KafkaError) and not isinstance(error, MessageSizeTooLargeError):
            raise error
        self._registry.route_failed(error)
