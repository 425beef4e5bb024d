"""The records everybody reads: made and produced once, by two processes, like two producers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import random
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from threading import BrokenBarrierError
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaProducer

from hotshard.core.partitioners import partition_of
from tests.support.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from multiprocessing.synchronize import Barrier

#: Values are cut from this, so that a codec finds in them what it finds in text, not one run.
_TEXT: Final = b"thirteen byte values, or longer ones where that is asked; order 4711 of basket 17 was paid in full. "
#: Records drawn at once.
_CHUNK: Final = 20_000
#: Records stamped at once, less than two milliseconds of filling.
_STAMPED: Final = 500
_PRODUCERS: Final = 2
#: Where records are stamped as if sent earlier, producers wait for each other after so many: none runs ahead in time.
_STEP: Final = 2_000
_VERY_MANY: Final = 500


class Keys(StrEnum):
    """How often each key comes."""

    ZIPF = "zipf"
    UNIFORM = "uniform"
    DISTINCT = "distinct"  #: every record has a key of its own


class Tenants(StrEnum):
    """Where the tenant of a record stands."""

    KEY = "key"
    HEADER = "header"
    JSON = "json"


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Records of ``tenants`` tenants, each on the partition of its key, in batches as sent."""

    topic: str
    records: int
    partitions: int = 12
    distinct: int = 100_000
    tenants: int = 200
    exponent: float = 1.2
    #: What a producer fills before it sends; 16 KB is the default of Kafka's own.
    batch_bytes: int = 16_384
    value_bytes: int = 13
    keys_are: Keys = Keys.ZIPF
    codec: str | None = None
    tenant_in: Tenants = Tenants.KEY
    #: Stamped as if so many had been sent a second, the last of them when filling begins; None: with the time.
    per_s: int | None = None

    def __str__(self) -> str:
        spread = (
            f"Zipf {self.exponent} over {self.distinct:,} keys"
            if self.keys_are is Keys.ZIPF
            else (f"uniform over {self.distinct:,} keys" if self.keys_are is Keys.UNIFORM else "every key once")
        )
        return (
            f"{self.records:,} records of {self.value_bytes}-byte values in {self.partitions} partitions, batches of "
            f"{self.batch_bytes:,} bytes{f', {self.codec}' if self.codec else ''}, {self.tenants} tenants in the "
            f"{self.tenant_in}, {spread}"
        )

    def key(self, rank: int) -> bytes:
        return b"t%03d\x1f%08d" % (rank % self.tenants, rank)

    def value(self, rank: int) -> bytes:
        """Of the length asked for; JSON where the tenant stands in it."""
        begin = b'{"tenant": "t%03d", "note": "' % (rank % self.tenants) if self.tenant_in is Tenants.JSON else b""
        end = b'"}' if begin else b""
        length = max(0, self.value_bytes - len(begin) - len(end))
        turned = _TEXT[rank % len(_TEXT) :] + _TEXT * (length // len(_TEXT) + 1)
        return begin + turned[:length] + end

    def headers(self, rank: int) -> list[tuple[str, bytes]]:
        return [("tenant", b"t%03d" % (rank % self.tenants))] if self.tenant_in is Tenants.HEADER else []

    def stamp_ms(self, began_ms: int, sent: int) -> int:
        """The time on the next record of one of the producers, which began then and has sent so many."""
        if self.per_s is None:
            return time.time_ns() // 1_000_000
        return began_ms - (self.records - sent * _PRODUCERS) * 1000 // self.per_s

    def ranks(self, producer: int) -> Iterator[Sequence[int]]:
        """The ranks of the keys one of the producers sends, in order; the same ones every time."""
        draw = random.Random(producer)  # noqa: S311 - traffic, no secrets
        weights = list(accumulate(rank**-self.exponent for rank in range(1, self.distinct + 1)))
        everybody = range(self.distinct)
        mine = range(producer, self.records, _PRODUCERS)
        for start in range(0, len(mine), _CHUNK):
            part = mine[start : start + _CHUNK]
            if self.keys_are is Keys.DISTINCT:
                yield part
            else:
                by = weights if self.keys_are is Keys.ZIPF else None
                yield draw.choices(everybody, cum_weights=by, k=len(part))


def config(partitions: int) -> dict[str, str]:
    """How a topic of so many partitions is made.

    The first entry in a partition's two index files takes this broker tens of milliseconds, as it maps them: with
    very many partitions that stops it for most of a minute, so there nothing is indexed before the first megabyte.
    """
    never_old = {"retention.ms": "-1"}
    return never_old if partitions < _VERY_MANY else {**never_old, "index.interval.bytes": str(1 << 20)}


def fill(bootstrap: str, traffic: Traffic) -> None:
    """Make the topic and produce everything; blocks until all is acknowledged."""
    asyncio.run(create_topic(bootstrap, traffic.topic, traffic.partitions, config(traffic.partitions)))
    spawned = multiprocessing.get_context("spawn")
    step = spawned.Barrier(_PRODUCERS)
    with ProcessPoolExecutor(_PRODUCERS, mp_context=spawned, initializer=_keep_step, initargs=(step,)) as pool:
        for done in [pool.submit(_produce, bootstrap, traffic, number) for number in range(_PRODUCERS)]:
            done.result()


#: Where the producers wait for each other, in their processes.
_in_step: list[Barrier] = []


def _keep_step(step: Barrier) -> None:
    _in_step.append(step)


def _produce(bootstrap: str, traffic: Traffic, producer: int) -> None:
    # A topic of many partitions that was made just now has no leaders for a moment.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        asyncio.run(_Sender(traffic).send(bootstrap, producer))
    finally:
        _in_step[0].abort()  # nobody waits for one that is done


class _Sender:
    """Fills batches by itself: ``send`` per record would take ten times as long."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        place = partition_of("murmur2", traffic.partitions)
        made = lru_cache(maxsize=200_000)(self._make)
        #: Partition and parts of the record of a rank, most of them made once.
        self._made = self._make if traffic.keys_are is Keys.DISTINCT else made
        self._place = place
        self._began_ms = time.time_ns() // 1_000_000
        self._open: list[Any] = []
        self._full: list[tuple[int, Any]] = []

    async def send(self, bootstrap: str, number: int) -> None:
        size = self._traffic.batch_bytes
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            max_batch_size=size,
            enable_idempotence=False,
            compression_type=self._traffic.codec,
        )
        await producer.start()
        try:
            self._open = [producer.create_batch() for _ in range(self._traffic.partitions)]
            sent = 0
            for ranks in self._traffic.ranks(number):
                for start in range(0, len(ranks), _STAMPED):
                    part = ranks[start : start + _STAMPED]
                    self._pack(producer, part, self._traffic.stamp_ms(self._began_ms, sent))
                    sent += len(part)
                    if self._traffic.per_s is not None and not sent % _STEP:
                        await self._hand_over(producer)
                        with contextlib.suppress(BrokenBarrierError):
                            await asyncio.to_thread(_in_step[0].wait)
                await self._hand_over(producer)
            self._full += enumerate(self._open)
            await self._hand_over(producer)
            await producer.flush()
        finally:
            await producer.stop()

    def _make(self, rank: int) -> tuple[int, bytes, bytes, list[tuple[str, bytes]]]:
        key = self._traffic.key(rank)
        return self._place(key), key, self._traffic.value(rank), self._traffic.headers(rank)

    def _pack(self, producer: AIOKafkaProducer, ranks: Sequence[int], now_ms: int) -> None:
        for rank in ranks:
            place, key, value, headers = self._made(rank)
            while self._open[place].append(timestamp=now_ms, key=key, value=value, headers=headers) is None:
                self._full.append((place, self._open[place]))
                self._open[place] = producer.create_batch()

    async def _hand_over(self, producer: AIOKafkaProducer) -> None:
        full, self._full = self._full, []
        for place, batch in full:
            if batch.record_count():
                await producer.send_batch(batch, self._traffic.topic, partition=place)
