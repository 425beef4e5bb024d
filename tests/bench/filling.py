"""The records everybody reads: made and produced once, by two processes, like two producers."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaProducer

from hotshard.core.partitioners import partition_of
from tests.support.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

_VALUE: Final = b"thirteen byte"
#: Records drawn at once.
_CHUNK: Final = 20_000
#: Records stamped at once, less than two milliseconds of filling.
_STAMPED: Final = 500
_PRODUCERS: Final = 2


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Records of ``tenants`` tenants with keys by Zipf's law, each on the partition of its key, in batches as sent."""

    topic: str
    records: int
    partitions: int = 12
    distinct: int = 100_000
    tenants: int = 200
    exponent: float = 1.2
    #: What a producer fills before it sends; 16 KB is the default of Kafka's own.
    batch_bytes: int = 16_384

    def __str__(self) -> str:
        return (
            f"{self.records:,} records of {len(_VALUE)}-byte values in {self.partitions} partitions, batches of "
            f"{self.batch_bytes:,} bytes, {self.tenants} tenants, Zipf {self.exponent} over {self.distinct:,} keys"
        )

    def keys(self) -> list[bytes]:
        """All keys, the most frequent first."""
        return [b"t%03d\x1f%08d" % (rank % self.tenants, rank) for rank in range(self.distinct)]

    def ranks(self, producer: int) -> Iterator[list[int]]:
        """The ranks of the keys one of the producers sends, in order; the same ones every time."""
        draw = random.Random(producer)  # noqa: S311 - traffic, no secrets
        weights = list(accumulate(rank**-self.exponent for rank in range(1, self.distinct + 1)))
        everybody = range(self.distinct)
        left = len(range(producer, self.records, _PRODUCERS))
        while left:
            count = min(left, _CHUNK)
            yield draw.choices(everybody, cum_weights=weights, k=count)
            left -= count


def fill(bootstrap: str, traffic: Traffic) -> None:
    """Make the topic and produce everything; blocks until all is acknowledged."""
    asyncio.run(create_topic(bootstrap, traffic.topic, traffic.partitions, {"retention.ms": "-1"}))
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_PRODUCERS, mp_context=spawned) as pool:
        for done in [pool.submit(_produce, bootstrap, traffic, number) for number in range(_PRODUCERS)]:
            done.result()


def _produce(bootstrap: str, traffic: Traffic, producer: int) -> None:
    asyncio.run(_Sender(traffic).send(bootstrap, producer))


class _Sender:
    """Fills batches by itself: ``send`` per record would take ten times as long."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._keys = traffic.keys()
        place = partition_of("murmur2", traffic.partitions)
        self._places = [place(key) for key in self._keys]
        self._open: list[Any] = []
        self._full: list[tuple[int, Any]] = []

    async def send(self, bootstrap: str, number: int) -> None:
        size = self._traffic.batch_bytes
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=size, enable_idempotence=False)
        await producer.start()
        try:
            self._open = [producer.create_batch() for _ in range(self._traffic.partitions)]
            for ranks in self._traffic.ranks(number):
                for start in range(0, len(ranks), _STAMPED):
                    self._pack(producer, ranks[start : start + _STAMPED], time.time_ns() // 1_000_000)
                await self._hand_over(producer)
            self._full += enumerate(self._open)
            await self._hand_over(producer)
            await producer.flush()
        finally:
            await producer.stop()

    def _pack(self, producer: AIOKafkaProducer, ranks: list[int], now_ms: int) -> None:
        for rank in ranks:
            place = self._places[rank]
            while self._open[place].append(timestamp=now_ms, key=self._keys[rank], value=_VALUE) is None:
                self._full.append((place, self._open[place]))
                self._open[place] = producer.create_batch()

    async def _hand_over(self, producer: AIOKafkaProducer) -> None:
        full, self._full = self._full, []
        for place, batch in full:
            if batch.record_count():
                await producer.send_batch(batch, self._traffic.topic, partition=place)
