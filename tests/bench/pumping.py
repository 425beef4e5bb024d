"""Steady live traffic on many partitions, in small batches as producers send them."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaProducer

from hotshard.core.partitioners import partition_of
from tests.bench.watching import Patience, end_offsets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

_TICK_S: Final = 0.02
#: So many batches are sent each tick; with more partitions than that each of them waits longer for its next. A broker
#: looks at all partitions of a fetch that waits whenever one of them gets a batch: many small ones stop it.
_AT_ONCE: Final = 24
_KEYS_EACH: Final = 50
_FLOWS_WITHIN_S: Final = 120.0
_VALUE: Final = b"thirteen byte"


def keys_of(partitions: int, each: int = _KEYS_EACH) -> list[list[bytes]]:
    """So many keys that lie on each partition."""
    place = partition_of("murmur2", partitions)
    keys: list[list[bytes]] = [[] for _ in range(partitions)]
    short = partitions
    for rank in count():
        if not short:
            return keys
        key = b"t%03d\x1f%08d" % (rank % 200, rank)
        mine = keys[place(key)]
        if len(mine) < each:
            mine.append(key)
            short -= len(mine) == each
    raise AssertionError


class Pump:
    """Sends ``per_s`` records a second, spread evenly over the partitions of ``topics``, on time.

    ``ever_new``: each record has a key of its own, else each partition has a few.
    """

    def __init__(
        self, producer: AIOKafkaProducer, topics: Mapping[str, int], per_s: int, *, ever_new: bool = False
    ) -> None:
        self._producer = producer
        self._ever_new = ever_new
        pools = {partitions: keys_of(partitions) for partitions in set(topics.values())}
        self._places: list[tuple[str, int, Sequence[bytes]]] = [
            (topic, number, pools[partitions][number])
            for topic, partitions in topics.items()
            for number in range(partitions)
        ]
        self._turns = -(-len(self._places) // _AT_ONCE)
        self._per_batch = per_s * _TICK_S * self._turns / len(self._places)
        self._draw = random.Random(4711)  # noqa: S311 - traffic, no secrets
        self.sent = 0
        #: Ticks that came late: the machine did not keep up.
        self.late = 0
        #: Batches that were not acknowledged.
        self.failed = 0

    async def run(self) -> None:
        next_s = time.monotonic()
        for tick in count():
            await self._tick(self._places[tick % self._turns :: self._turns])
            next_s += _TICK_S
            wait_s = next_s - time.monotonic()
            if wait_s < -_TICK_S:
                self.late += 1
                next_s = time.monotonic()
            await asyncio.sleep(max(0.0, wait_s))

    async def _tick(self, places: Sequence[tuple[str, int, Sequence[bytes]]]) -> None:
        now_ms = time.time_ns() // 1_000_000
        for topic, partition, keys in places:
            whole, part = divmod(self._per_batch, 1)
            records = int(whole) + (self._draw.random() < part)
            if not records:
                continue
            batch: Any = self._producer.create_batch()
            for key in self._new_keys(records) if self._ever_new else self._draw.choices(keys, k=records):
                batch.append(timestamp=now_ms, key=key, value=_VALUE)
            acknowledged = await self._producer.send_batch(batch, topic, partition=partition)
            acknowledged.add_done_callback(self._look_at)
            self.sent += records

    def _look_at(self, acknowledged: asyncio.Future[Any]) -> None:
        self.failed += not acknowledged.cancelled() and acknowledged.exception() is not None

    def _new_keys(self, records: int) -> list[bytes]:
        return [b"t%03d\x1f%08d" % (rank % 200, rank) for rank in range(self.sent, self.sent + records)]


@asynccontextmanager
async def pumping(
    bootstrap: str, topics: Mapping[str, int], per_s: int, *, ever_new: bool = False
) -> AsyncIterator[Pump]:
    """Traffic flows inside; the first second of it has been sent. Waits until all partitions have leaders."""
    for topic, partitions in topics.items():
        await end_offsets(bootstrap, topic, partitions)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=0, enable_idempotence=False)
    await producer.start()
    try:
        pump = Pump(producer, topics, per_s, ever_new=ever_new)
        task = asyncio.create_task(pump.run())

        async def flows() -> bool:
            return pump.sent >= per_s

        try:
            await Patience(_FLOWS_WITHIN_S, lambda: not task.done()).until(flows, "traffic flows")
            yield pump
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    finally:
        await producer.stop()
