"""States to publish, and one handle on a registry that is in memory or in a real Redis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import redis

from hotshard.core.topic import Carry, Ordering
from hotshard.core.wire.names import key_text
from hotshard.core.wire.orders import Orders
from hotshard.core.wire.route import EarlierRoute, Epoch, HotEntry, HotKind, Route, RouteState, TopicState
from hotshard.doors.redis.commands import COMMANDS_LENGTH, FIELD
from hotshard.doors.redis.layout import Layout
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.doors.redis.real import RedisBlockingReader, RedisReader, RedisRegistry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.doors.redis.contract import BlockingReader, CommandDoor, RegistryDoor, RegistryReader

TOPIC = "orders"
KEY = "acme\x1fcart-7"


def route(
    key: str | bytes = KEY,
    suffixes: Sequence[str] = ("0", "1"),
    *,
    topic: str = TOPIC,
    state: RouteState = RouteState.ACTIVE,
    ordering: Ordering = Ordering.NONE,
    carry: Carry = Carry.SUFFIX,
    earlier: tuple[EarlierRoute, ...] = (),
    partitions: Sequence[int] | None = None,
    partition_count: int = 64,
    offset: int = 1,
    share: float = 0.3,
) -> Route:
    text, b64 = key_text(key.encode() if isinstance(key, str) else key)
    return Route(
        topic=topic,
        key=text,
        key_b64=b64,
        tenant="acme",
        state=state,
        epoch=Epoch(registry=1, offset=offset),
        suffixes=tuple(suffixes),
        partitions=tuple(range(len(suffixes))) if partitions is None else tuple(partitions),
        partition_count=partition_count,
        partitioner="murmur2",
        carry=carry,
        ordering=ordering,
        since_ms=1,
        changed_ms=1,
        share=share,
        reason="test",
        earlier=earlier,
    )


def hot_entry(name: str = KEY, kind: HotKind = HotKind.KEY, share: float = 0.3) -> HotEntry:
    return HotEntry(
        topic=TOPIC, kind=kind, key=name, since_ms=1, share=share, lower=1, upper=2, load_per_s=3.0, reason="test"
    )


def state(
    version: int,
    *routes: Route,
    epoch: int = 1,
    topic: str = TOPIC,
    hot: tuple[HotEntry, ...] = (),
    orders: Orders | None = None,
    mode: str = "",
) -> TopicState:
    ordered = orders or Orders()
    return TopicState(
        topic=topic, epoch=epoch, version=version, at_ms=1, routes=routes, hot=hot, orders=ordered, mode=mode
    )


@dataclass
class Place:
    """A registry: its doors, a reader of each kind, and ways to damage it past the doors."""

    door: RegistryDoor
    person: CommandDoor
    reader: RegistryReader
    blocking_reader: BlockingReader
    harm: Harm

    async def close(self) -> None:
        await self.reader.reset()
        self.blocking_reader.reset()
        await self.door.close()
        await self.person.close()


class Harm:
    """What somebody with rights of writing can do to a registry."""

    def wipe(self) -> None:
        raise NotImplementedError

    def put_route(self, topic: str, field: bytes, value: bytes) -> None:
        raise NotImplementedError

    def put_meta(self, field: bytes, value: bytes) -> None:
        raise NotImplementedError

    def lose_routes(self, topic: str) -> None:
        raise NotImplementedError

    def spoil_routes(self, topic: str) -> None:
        raise NotImplementedError

    def put_orders(self, topic: str, value: bytes) -> None:
        raise NotImplementedError

    def put_command(self, value: bytes, place: str = "*") -> None:
        """An entry of the commands stream, at a place of one's own or at the next; the stream is kept short."""
        raise NotImplementedError


class HarmInMemory(Harm):
    def __init__(self, registry: MemoryRegistry) -> None:
        self._store = registry.store

    def wipe(self) -> None:
        self._store.wipe()

    def put_route(self, topic: str, field: bytes, value: bytes) -> None:
        self._store.put_route(topic, field, value)

    def put_meta(self, field: bytes, value: bytes) -> None:
        self._store.put_meta(field, value)

    def lose_routes(self, topic: str) -> None:
        self._store.lose_routes(topic)

    def spoil_routes(self, topic: str) -> None:
        self._store.spoil_routes(topic)

    def put_orders(self, topic: str, value: bytes) -> None:
        self._store.put_orders(topic, value)

    def put_command(self, value: bytes, place: str = "*") -> None:
        self._store.add_command({FIELD: value}, place)


class HarmInRedis(Harm):
    """Also gives the raw client and the names of keys."""

    def __init__(self, url: str, namespace: str) -> None:
        self.layout = Layout(namespace)
        self._url = url

    def ask(self, *command: Any) -> Any:  # noqa: ANN401 - as redis-py takes and gives it
        client = redis.Redis.from_url(self._url, protocol=2)
        try:
            return client.execute_command(*command)  # type: ignore[no-untyped-call]  # redis-py leaves it so
        finally:
            client.close()

    def wipe(self) -> None:
        for key in self.ask("KEYS", f"hotshard:{{{self.layout.namespace}}}:*"):
            self.ask("DEL", key)

    def put_route(self, topic: str, field: bytes, value: bytes) -> None:
        self.ask("HSET", self.layout.routes(topic), field, value)

    def put_meta(self, field: bytes, value: bytes) -> None:
        self.ask("HSET", self.layout.meta, field, value)

    def lose_routes(self, topic: str) -> None:
        self.ask("DEL", self.layout.routes(topic))

    def spoil_routes(self, topic: str) -> None:
        self.ask("SET", self.layout.routes(topic), "no hash")

    def put_orders(self, topic: str, value: bytes) -> None:
        self.ask("HSET", self.layout.orders(topic), "orders", value)

    def put_command(self, value: bytes, place: str = "*") -> None:
        self.ask("XADD", self.layout.commands, "MAXLEN", "~", COMMANDS_LENGTH, place, FIELD, value)


def place_in_memory() -> Place:
    registry = MemoryRegistry()
    return Place(registry, registry, registry.reader(), registry.blocking_reader(), HarmInMemory(registry))


def place_in_redis(url: str, namespace: str) -> Place:
    door = RedisRegistry(url, namespace=namespace)
    return Place(
        door,
        door,
        RedisReader(url, namespace, None),
        RedisBlockingReader(url, namespace, None),
        HarmInRedis(url, namespace),
    )
