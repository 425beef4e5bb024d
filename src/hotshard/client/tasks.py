"""The registry for asyncio: one task reads Redis."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final, Self

from hotshard.client.router import Router
from hotshard.client.steps import Follow, Pause, ReadMeta, ReadSnapshot, Step
from hotshard.doors.redis.layout import DEFAULT_NAMESPACE
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.doors.redis.real import RedisReader
from hotshard.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from hotshard.client.states import RegistryState
    from hotshard.doors.clock import Clock
    from hotshard.doors.redis.contract import RegistryReader

#: A task that was cancelled and goes on is cancelled again after this: see ``close``.
_CANCEL_AGAIN_S: Final = 0.1


class AsyncRegistry(Router):
    """Routes as the detector publishes them, followed by one task of the running loop.

    ::

        async with AsyncRegistry("redis://localhost", topics=["orders"]) as registry:
            producer = shard(AIOKafkaProducer(...), registry)

    The parameters are those of :class:`~hotshard.client.threads.Registry`; ``on_state`` is called in the
    loop. Routing needs no loop and may be done from any thread. A bootstrap file is read when the object
    is made.

    Raises:
        SettingsError: the address, the namespace or a topic cannot be right.

    """

    def __init__(  # noqa: PLR0913 - each a choice of the user's, with a default
        self,
        url: str | MemoryRegistry,
        topics: Iterable[str] | None = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        start_timeout_s: float = 2.0,
        stale_after_s: float = 10.0,
        bootstrap: str | Path | None = None,
        on_state: Callable[[RegistryState], object] | None = None,
        options: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(
            topics=topics, stale_after_s=stale_after_s, bootstrap=bootstrap, on_state=on_state, clock=clock
        )
        self._reader: RegistryReader
        if isinstance(url, MemoryRegistry):
            self._reader = url.reader()
        else:
            self._reader = RedisReader(url, namespace, options)
        self._start_timeout_s = start_timeout_s
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> RegistryState:
        """Begin to follow the registry; the state after the first look. Does nothing when it runs."""
        if self._task is None:
            settled = asyncio.Event()
            self._follower.begin_again()
            self._task = asyncio.create_task(self._run(settled), name="hotshard-registry")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._start_timeout_s):
                    await settled.wait()
        return self.state

    async def close(self) -> None:
        """End the task. The last routes stay in force."""
        task, self._task = self._task, None
        if task is not None:
            # Where redis-py swallows the first, the door raises it when the read has ended, over a second later.
            while not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=_CANCEL_AGAIN_S)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, settled: asyncio.Event) -> None:
        try:
            while True:
                await self._turn(settled)
        finally:
            await self._reader.reset()

    async def _turn(self, settled: asyncio.Event) -> None:
        """Carry out one step."""
        refused = False
        try:
            await self._carry_out(self._follower.next_step(self._clock.monotonic_s()))
        except Exception as error:  # noqa: BLE001 - redis-py raises more than its own errors (its issue 4287)
            self._follower.failed(error)
            refused = isinstance(error, RefusedError)
        self._swap()
        self._tell()
        if self._follower.reached or refused:
            settled.set()  # after a refusal waiting longer would not help

    async def _carry_out(self, step: Step) -> None:
        reader, follower = self._reader, self._follower
        match step:
            case ReadSnapshot():
                follower.snapshot_read(await reader.snapshot(step.topics), self._clock.monotonic_s())
            case ReadMeta():
                follower.meta_read(await reader.meta(step.topics), self._clock.monotonic_s())
            case Follow():
                follower.changes_read(await reader.changes(step.after, step.wait_s), self._clock.monotonic_s())
            case Pause():
                await reader.reset()
                await asyncio.sleep(step.wait_s)
