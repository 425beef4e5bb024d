"""The consumer: records are fetched as they come, and handled per partition at a fixed speed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Protocol

from hotshard.demo.desk import Arrived, Desk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.doors.clock import Clock

#: The desks are looked after this often.
TICK_S: Final = 0.005
_FETCH_WAIT_MS: Final = 200


class Fetcher(Protocol):
    """What is used of a consumer; its records have ``partition``, ``key`` and ``timestamp``."""

    async def getmany(self, *, timeout_ms: int) -> Mapping[Any, Sequence[Any]]: ...


class Watcher(Protocol):
    """Who is told of every record, when it came and when it was handled."""

    def arrived(self, record: Arrived) -> None: ...

    def handled(self, record: Arrived, now_ms: int) -> None: ...


class PacedConsumer:
    """One desk for each partition, each handling ``per_s`` records a second and no more."""

    def __init__(self, partitions: int, per_s: float, watcher: Watcher, clock: Clock) -> None:
        self._desks = [Desk(per_s) for _ in range(partitions)]
        self._watcher = watcher
        self._clock = clock

    async def run(self, fetcher: Fetcher) -> None:
        """Fetch and handle until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._fetch(fetcher))
            group.create_task(self._handle())

    @property
    def waiting(self) -> list[int]:
        """How many records wait, by partition."""
        return [desk.waiting for desk in self._desks]

    def next_ms(self, partition: int) -> int | None:
        """When the record was sent that is handled next on a partition; None when none waits."""
        return self._desks[partition].oldest_ms()

    async def _fetch(self, fetcher: Fetcher) -> None:
        while True:
            fetched = await fetcher.getmany(timeout_ms=_FETCH_WAIT_MS)
            now_s = self._clock.monotonic_s()
            for records in fetched.values():
                self._take([Arrived(r.partition, r.key, r.timestamp) for r in records], now_s)

    def _take(self, records: list[Arrived], now_s: float) -> None:
        for record in records:
            self._watcher.arrived(record)
        if records:
            self._desks[records[0].partition].arrive(records, now_s)

    async def _handle(self) -> None:
        while True:
            now_s, now_ms = self._clock.monotonic_s(), self._clock.now_ms()
            for desk in self._desks:
                for record in desk.handled(now_s):
                    self._watcher.handled(record, now_ms)
            await asyncio.sleep(TICK_S)
