"""The registry in a real Redis: the detector's door, and a reader for tasks and one for threads."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

from redis import exceptions as foreign

from hotshard.core.wire.command import MAX_COMMAND_BYTES, Command, Page, StreamId, hear, read_id, write_command
from hotshard.doors.cancelling import cancelled_all_the_same
from hotshard.doors.redis import asking, entries, scripts
from hotshard.doors.redis.commands import COMMANDS_LENGTH, FIELD
from hotshard.doors.redis.contract import Beat
from hotshard.doors.redis.desk import desk_commands, desk_of
from hotshard.doors.redis.layout import DEFAULT_NAMESPACE, LOG_ENTRY_BYTES, LOG_LENGTH, SCHEMA, Layout
from hotshard.doors.redis.link import Link, wait_ms
from hotshard.errors import HotshardError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    import redis
    import redis.asyncio

    from hotshard.core.wire.route import HotEntry, TopicState
    from hotshard.doors.redis.contract import Desk, RawChange, RawHash, RawSnapshot

_Answer = TypeVar("_Answer")

#: A snapshot of all topics is taken again when topics appeared meanwhile, this often at most.
_ATTEMPTS: Final = 3


def _sha(script: str) -> str:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()  # the name Redis gives a script


_SHAS: Final = {script: _sha(script) for script in (scripts.PUBLISH, scripts.BEAT, scripts.COMMANDS)}


class _Asynchronous:
    """One client, made when needed; errors come out as hotshard's own."""

    def __init__(self, url: str, namespace: str, options: Mapping[str, Any] | None) -> None:
        self._layout = Layout(namespace)
        self._link = Link(url, options)
        self._client: redis.asyncio.Redis | None = None

    async def _ask(self, work: Callable[[redis.asyncio.Redis], Awaitable[_Answer]]) -> _Answer:
        try:
            with cancelled_all_the_same():
                return await self._at_the_right_node(work)
        except HotshardError:
            raise
        except Exception as error:  # redis-py also raises TypeError and AttributeError on a reset connection (4287)
            await self._drop()
            self._link.home()
            raise self._link.explain(error) from error

    async def _at_the_right_node(self, work: Callable[[redis.asyncio.Redis], Awaitable[_Answer]]) -> _Answer:
        try:
            return await work(self._connected())
        except foreign.MovedError as moved:
            await self._drop()
            self._link.moved(moved)
            return await work(self._connected())

    async def _command(self, *parts: Any) -> Any:  # noqa: ANN401 - as redis-py takes and gives it
        async def work(client: redis.asyncio.Redis) -> Any:  # noqa: ANN401
            return await client.execute_command(*parts)  # type: ignore[no-untyped-call]  # redis-py leaves it so

        return await self._ask(work)

    def _connected(self) -> redis.asyncio.Redis:
        if self._client is None:
            self._client = self._link.asynchronous()
        return self._client

    async def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):  # a connection that cannot even be closed is gone as well
                await client.aclose()


class RedisRegistry(_Asynchronous):
    """:class:`~hotshard.doors.redis.contract.RegistryDoor` and ``CommandDoor`` on a real Redis, 6.2 or later.

    Makes no connection before the first call. ``options`` are passed through to redis-py.

    Raises:
        SettingsError: the address or the namespace is wrong.

    """

    def __init__(
        self, url: str, *, namespace: str = DEFAULT_NAMESPACE, options: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(url, namespace, options)

    async def publish(self, state: TopicState) -> bool:
        routes = [part for route in state.routes for part in (entries.route_field(route), entries.write(route))]
        hot = [part for entry in state.hot for part in (entries.hot_field(entry), entries.write(entry))]
        head = (SCHEMA, state.topic, state.epoch, state.version, LOG_LENGTH, LOG_ENTRY_BYTES, len(state.routes))
        layout, topic = self._layout, state.topic
        keys = (layout.meta, layout.routes(topic), layout.hot(topic), layout.log, layout.orders(topic))
        desk = (entries.write_orders(state.orders), state.mode)
        return bool(await self._run(scripts.PUBLISH, keys, (*head, *desk, *routes, *hot)))

    async def beat(self, topic: str, epoch: int, version: int) -> bool:
        return (await self.beats([Beat(topic, epoch, version)]))[0]

    async def beats(self, beats: Sequence[Beat]) -> tuple[bool, ...]:
        hashes = [key for each in beats for key in (self._layout.routes(each.topic), self._layout.hot(each.topic))]
        told = [part for each in beats for part in each]
        answers = await self._run(scripts.BEAT, (self._layout.meta, *hashes), (SCHEMA, *told))
        return tuple(map(bool, answers))

    async def commands(self, after: StreamId, limit: int = 100) -> Page:
        newest, *flat = await self._run(
            scripts.COMMANDS, (self._layout.commands,), (str(after), limit, MAX_COMMAND_BYTES)
        )
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return Page(read_id(newest), tuple(hear(read_id(place), value) for place, value in pairs))

    async def command(self, command: Command) -> StreamId:
        trim = ("MAXLEN", "~", COMMANDS_LENGTH)
        return read_id(await self._command("XADD", self._layout.commands, *trim, "*", FIELD, write_command(command)))

    async def hot(self, topic: str) -> tuple[HotEntry, ...]:
        return entries.readable_hot(topic, await self._command("HGETALL", self._layout.hot(topic)))

    async def desk(self, topics: Collection[str] | None = None) -> Desk:
        wanted = entries.topics_of(await self._command("HGETALL", self._layout.meta)) if topics is None else topics

        async def work(client: redis.asyncio.Redis) -> Desk:
            async with client.pipeline(transaction=True) as pipe:
                for command in desk_commands(self._layout, sorted(wanted)):
                    pipe.execute_command(*command)
                return desk_of(sorted(wanted), await pipe.execute(raise_on_error=False))

        return await self._ask(work)

    async def close(self) -> None:
        await self._drop()

    async def _run(self, script: str, keys: tuple[str, ...], args: tuple[Any, ...]) -> Any:  # noqa: ANN401 - as it answers
        async def work(client: redis.asyncio.Redis) -> Any:  # noqa: ANN401
            try:
                return await client.evalsha(_SHAS[script], len(keys), *keys, *args)
            except foreign.NoScriptError:
                return await client.eval(script, len(keys), *keys, *args)

        return await self._ask(work)


class RedisReader(_Asynchronous):
    """:class:`~hotshard.doors.redis.contract.RegistryReader` on a real Redis."""

    async def snapshot(self, topics: Collection[str] | None) -> RawSnapshot:
        known = topics if topics is not None else entries.topics_of(await self.meta(None) or {})
        snapshot = await self._snapshot(sorted(known))
        for _ in range(_ATTEMPTS):
            found = entries.topics_of(snapshot.meta or {})
            if topics is not None or found <= snapshot.routes.keys():
                break
            snapshot = await self._snapshot(sorted(found))
        return snapshot

    async def changes(self, after: bytes, wait_s: float) -> list[RawChange]:
        async def work(client: redis.asyncio.Redis) -> Any:  # noqa: ANN401 - as redis-py gives it
            log, count = self._layout.log, asking.CHANGES_AT_ONCE
            return await client.xread({log: after}, count=count, block=wait_ms(client, wait_s))

        return asking.changes_of(await self._ask(work))

    async def meta(self, topics: Collection[str] | None) -> RawHash:
        async def work(client: redis.asyncio.Redis) -> RawHash:
            async with client.pipeline(transaction=False) as pipe:
                pipe.execute_command(*asking.meta_command(self._layout, topics))
                return asking.meta_of(topics, await pipe.execute(raise_on_error=False))

        return await self._ask(work)

    async def reset(self) -> None:
        await self._drop()

    async def _snapshot(self, topics: list[str]) -> RawSnapshot:
        async def work(client: redis.asyncio.Redis) -> RawSnapshot:
            async with client.pipeline(transaction=True) as pipe:
                for command in asking.snapshot_commands(self._layout, topics):
                    pipe.execute_command(*command)
                return asking.snapshot_of(topics, await pipe.execute(raise_on_error=False))

        return await self._ask(work)


class RedisBlockingReader:
    """:class:`~hotshard.doors.redis.contract.BlockingReader` on a real Redis."""

    def __init__(self, url: str, namespace: str, options: Mapping[str, Any] | None) -> None:
        self._layout = Layout(namespace)
        self._link = Link(url, options)
        self._client: redis.Redis | None = None

    def snapshot(self, topics: Collection[str] | None) -> RawSnapshot:
        known = topics if topics is not None else entries.topics_of(self.meta(None) or {})
        snapshot = self._snapshot(sorted(known))
        for _ in range(_ATTEMPTS):
            found = entries.topics_of(snapshot.meta or {})
            if topics is not None or found <= snapshot.routes.keys():
                break
            snapshot = self._snapshot(sorted(found))
        return snapshot

    def changes(self, after: bytes, wait_s: float) -> list[RawChange]:
        def work(client: redis.Redis) -> Any:  # noqa: ANN401 - as redis-py gives it
            log, count = self._layout.log, asking.CHANGES_AT_ONCE
            return client.xread({log: after}, count=count, block=wait_ms(client, wait_s))

        return asking.changes_of(self._ask(work))

    def meta(self, topics: Collection[str] | None) -> RawHash:
        def work(client: redis.Redis) -> RawHash:
            with client.pipeline(transaction=False) as pipe:
                command = asking.meta_command(self._layout, topics)
                pipe.execute_command(*command)  # type: ignore[no-untyped-call]  # redis-py leaves it so
                return asking.meta_of(topics, pipe.execute(raise_on_error=False))

        return self._ask(work)

    def reset(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):  # a connection that cannot even be closed is gone as well
                client.close()

    def interrupt(self) -> None:
        client = self._client
        if client is not None:
            with contextlib.suppress(Exception):  # the thread that uses it may be closing it
                client.connection_pool.disconnect(inuse_connections=True)

    def _snapshot(self, topics: list[str]) -> RawSnapshot:
        def work(client: redis.Redis) -> RawSnapshot:
            with client.pipeline(transaction=True) as pipe:
                for command in asking.snapshot_commands(self._layout, topics):
                    pipe.execute_command(*command)  # type: ignore[no-untyped-call]  # redis-py leaves it so
                return asking.snapshot_of(topics, pipe.execute(raise_on_error=False))

        return self._ask(work)

    def _ask(self, work: Callable[[redis.Redis], _Answer]) -> _Answer:
        try:
            try:
                return work(self._connected())
            except foreign.MovedError as moved:
                self.reset()
                self._link.moved(moved)
                return work(self._connected())
        except HotshardError:
            raise
        except Exception as error:  # redis-py also raises TypeError and AttributeError on a reset connection (4287)
            self.reset()
            self._link.home()
            raise self._link.explain(error) from error

    def _connected(self) -> redis.Redis:
        if self._client is None:
            self._client = self._link.blocking()
        return self._client
