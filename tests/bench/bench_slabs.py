"""How fast slabs come through Faust, against aiokafka's getmany alone, on the same topic of a real Apache Kafka.

Run: ``python -m tests.bench.bench_slabs [--records 3000000] [--rounds 3] [--value 13] [--codec lz4] [--batch-kb 16]``
Rounds are interleaved and timed from the assignment. Nothing is counted but records.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import resource
import statistics
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener

from hotshard.demo.servers import ApacheKafka
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.job.quiet import limit_loggers
from hotshard.job.transport import AsIs, quiet_app, slab_transport
from tests.support.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

_PARTITIONS = 12
_KEYS = 100_000
_TOPIC = "bench"
_GROUPS = itertools.count()


class Measured(NamedTuple):
    """Records a second, by the clock and by the time of the processor."""

    wall: float
    cpu: float


class Watch:
    """A clock that starts at the assignment."""

    def __init__(self) -> None:
        self._wall = self._cpu = 0.0

    def start(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self, records: int) -> Measured:
        return Measured(
            records / (time.perf_counter() - self._wall), records / max(1e-9, time.process_time() - self._cpu)
        )


def zipf_keys(records: int, exponent: float = 1.2) -> Iterator[bytes]:
    """Keys by a Zipf law, from a table of draws that is long enough not to show."""
    chance = random.Random(7)  # noqa: S311 - a benchmark
    weights = [1 / (rank**exponent) for rank in range(1, _KEYS + 1)]
    draws = chance.choices([b"tenant-%02d\x1fentity-%06d" % (n % 50, n) for n in range(_KEYS)], weights, k=500_000)
    return itertools.islice(itertools.cycle(draws), records)


async def fill(bootstrap: str, records: int, value: bytes, batch_bytes: int, codec: str | None) -> None:
    """Produce whole batches, which is quick."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, max_batch_size=batch_bytes, compression_type=codec, max_request_size=2**22
    )
    await producer.start()
    batches: dict[int, Any] = defaultdict(producer.create_batch)
    acks: list[Any] = []
    for number, key in enumerate(zipf_keys(records)):
        partition = number % _PARTITIONS
        while batches[partition].append(timestamp=None, key=key, value=value) is None:
            acks.append(await producer.send_batch(batches.pop(partition), _TOPIC, partition=partition))
    for partition, batch in batches.items():
        acks.append(await producer.send_batch(batch, _TOPIC, partition=partition))
    await asyncio.gather(*acks)
    await producer.stop()


class _Started(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def on_partitions_revoked(self, revoked: Any) -> None:  # noqa: ANN401
        """Nothing to give back."""

    def on_partitions_assigned(self, assigned: Any) -> None:  # noqa: ANN401
        if assigned:
            self._watch.start()


async def by_getmany(bootstrap: str, records: int) -> Measured:
    """Read with aiokafka alone."""
    watch, seen = Watch(), 0
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=f"getmany{next(_GROUPS)}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        fetch_max_wait_ms=100,
    )
    await consumer.start()
    consumer.subscribe([_TOPIC], listener=_Started(watch))
    while seen < records:
        seen += sum(map(len, (await consumer.getmany(timeout_ms=200)).values()))
    measured = watch.stop(seen)
    await consumer.stop()
    return measured


async def by_slabs(bootstrap: str, records: int, *, slabs: bool = True) -> Measured:
    """Read as slabs, or joined from records, through Faust."""
    watch, seen, done = Watch(), 0, asyncio.Event()
    connection = KafkaConnection(bootstrap_servers=(bootstrap,))
    app = quiet_app(f"slabs{next(_GROUPS)}", connection)
    app.transport = slab_transport(
        app, topics=frozenset({_TOPIC}), connection=connection, slabs=slabs, on_stock=lambda _: None
    )

    async def count(stream: Any) -> None:  # noqa: ANN401 - Faust's stream
        nonlocal seen
        async for event in stream.events():
            seen += len(event.value)
            if seen >= records:
                done.set()

    async def begin(*_: Any, **__: Any) -> None:  # noqa: ANN401 - Faust's signal
        watch.start()

    app.agent(app.topic(_TOPIC, schema=AsIs(), acks=False))(count)
    app.on_partitions_assigned.connect(begin)
    await app.start()
    await done.wait()
    measured = watch.stop(seen)
    await app.stop()
    return measured


async def measure(bootstrap: str, arguments: argparse.Namespace) -> None:
    """Fill the topic, then measure in turns."""
    await create_topic(bootstrap, _TOPIC, _PARTITIONS, {"retention.ms": "-1"})
    began = time.perf_counter()
    await fill(bootstrap, arguments.records, b"v" * arguments.value, arguments.batch_kb * 1024, arguments.codec)
    print(f"filled in {time.perf_counter() - began:.1f} s")  # noqa: T201
    ways: dict[str, Callable[[str, int], Awaitable[Measured]]]
    ways = {"getmany": by_getmany, "slabs through Faust": by_slabs}
    if arguments.stock:
        ways["records joined"] = lambda at, n: by_slabs(at, n, slabs=False)
    found: dict[str, list[Measured]] = defaultdict(list)
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            found[name].append(await way(bootstrap, arguments.records))
            print(f"{name:20} {found[name][-1].wall:12,.0f} /s {found[name][-1].cpu:12,.0f} /CPU s")  # noqa: T201
    base = statistics.median(m.wall for m in found["getmany"])
    for name, measured in found.items():
        wall, cpu = (statistics.median(column) for column in zip(*measured, strict=True))
        print(f"median {name:20} {wall:12,.0f} /s {cpu:12,.0f} /CPU s  {wall / base:.2f} x getmany")  # noqa: T201
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak_mb:.0f} MB")  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--value", type=int, default=13, help="bytes of a value")
    parser.add_argument("--batch-kb", type=int, default=16)
    parser.add_argument("--codec", choices=["gzip", "snappy", "lz4", "zstd"])
    parser.add_argument("--stock", action="store_true", help="measure joined records, too")
    arguments = parser.parse_args()
    limit_loggers()
    with ApacheKafka() as kafka:
        asyncio.run(measure(kafka.bootstrap, arguments))


if __name__ == "__main__":
    main()
