"""The registry for programs with threads, or with none: a daemon thread of its own reads Redis."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Final, Self

from hotshard.client.router import Router
from hotshard.client.steps import Follow, Pause, ReadMeta, ReadSnapshot, Step
from hotshard.doors.redis.layout import DEFAULT_NAMESPACE
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.doors.redis.real import RedisBlockingReader
from hotshard.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from hotshard.client.states import RegistryState
    from hotshard.doors.clock import Clock
    from hotshard.doors.redis.contract import BlockingReader

#: The longest that closing waits for the thread; a connection being made cannot be interrupted.
_JOIN_S: Final = 2.5


class Registry(Router):
    """Routes as the detector publishes them, followed by a daemon thread.

    ::

        with Registry("redis://localhost", topics=["orders"]) as registry:
            routed = registry.route("orders", key, discriminator)

    ``url`` is ``redis://``, ``rediss://`` (also of any node of a cluster) or ``unix://``, or a
    MemoryRegistry in tests. ``topics`` of None follows every topic. ``options`` are passed through to
    redis-py. ``on_state`` is called from the thread with every new state. ``bootstrap`` names a file made
    by :meth:`bootstrap_json`, whose routes hold until Redis is reached. After a fork the child goes on
    with a thread and connections of its own. Starting waits at most ``start_timeout_s`` for the first
    look into the registry, and never fails because of Redis.

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
        self._new_reader = _readers(url, namespace, options)
        self._start_timeout_s = start_timeout_s
        self._running: _Running | None = None

    def start(self) -> RegistryState:
        """Begin to follow the registry; the state after the first look. Does nothing when it runs."""
        if self._running is None:
            running = self._run_anew()
            _LIVE.add(self)
            running.settled.wait(self._start_timeout_s)
        return self.state

    def close(self) -> None:
        """End the thread. The last routes stay in force."""
        running, self._running = self._running, None
        _LIVE.discard(self)
        if running is not None:
            running.end()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run_anew(self) -> _Running:
        self._running = running = _Running(self._new_reader(), self._turn)
        running.thread.start()
        return running

    def _after_fork(self) -> None:
        """In the child, where the thread is gone and the connection is the parent's."""
        if self._running is not None:
            self._follower.begin_again()
            self._run_anew()

    def _turn(self, running: _Running) -> None:
        """Carry out one step."""
        refused = False
        try:
            self._carry_out(self._follower.next_step(self._clock.monotonic_s()), running)
        except Exception as error:  # noqa: BLE001 - redis-py raises more than its own errors (its issue 4287)
            if running.ended.is_set():
                return
            self._follower.failed(error)
            refused = isinstance(error, RefusedError)
        self._swap()
        self._tell()
        if self._follower.reached or refused:
            running.settled.set()  # after a refusal waiting longer would not help

    def _carry_out(self, step: Step, running: _Running) -> None:
        reader, follower = running.reader, self._follower
        match step:
            case ReadSnapshot():
                follower.snapshot_read(reader.snapshot(step.topics), self._clock.monotonic_s())
            case ReadMeta():
                follower.meta_read(reader.meta(step.topics), self._clock.monotonic_s())
            case Follow():
                follower.changes_read(reader.changes(step.after, step.wait_s), self._clock.monotonic_s())
            case Pause():
                reader.reset()
                running.ended.wait(step.wait_s)


class _Running:
    """One thread, what it reads with, and its signals. A fork needs all of it anew."""

    def __init__(self, reader: BlockingReader, turn: Callable[[_Running], None]) -> None:
        self.reader = reader
        self.settled, self.ended = threading.Event(), threading.Event()
        self._turn = turn
        self.thread = threading.Thread(target=self._loop, name="hotshard-registry", daemon=True)

    def end(self) -> None:
        self.ended.set()
        if threading.current_thread() is self.thread:
            return
        until = time.monotonic() + _JOIN_S
        while self.thread.is_alive() and time.monotonic() < until:
            self.reader.interrupt()
            self.thread.join(0.05)

    def _loop(self) -> None:
        while not self.ended.is_set():
            self._turn(self)
        self.reader.reset()


def _readers(
    url: str | MemoryRegistry, namespace: str, options: Mapping[str, Any] | None
) -> Callable[[], BlockingReader]:
    if isinstance(url, MemoryRegistry):
        return url.blocking_reader
    RedisBlockingReader(url, namespace, options)  # a wrong address is told where it was given
    return lambda: RedisBlockingReader(url, namespace, options)


_LIVE: Final[weakref.WeakSet[Registry]] = weakref.WeakSet()


def _after_fork() -> None:
    for registry in list(_LIVE):
        registry._after_fork()  # noqa: SLF001 - its own module


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
