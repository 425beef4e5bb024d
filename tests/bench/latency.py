"""From the first record of a flood to the registry entry: ``python -m tests.bench.latency``.

A worker with default settings reads live traffic: so many records a second in small batches, keys all alike. Again
and again a key that was never there before takes a share of it, until it stands in Redis as hot; that is looked
for every few milliseconds. The time is taken from just before the first batch with such a record is handed to the
producer. Floods begin at moments that have nothing to do with panes or windows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import statistics
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import redis.asyncio
from aiokafka import AIOKafkaProducer

from hotshard.core.partitioners import partition_of
from hotshard.demo.servers import ApacheKafka, choose_redis
from hotshard.demo.servers.child import new_folder, remove_folder
from hotshard.doors.redis.layout import Layout
from tests.bench import machine
from tests.bench.filling import Traffic
from tests.bench.rounds import Place, observing_group, running, settings_text
from tests.bench.watching import Patience
from tests.support.topics import create_topic

if TYPE_CHECKING:
    from pathlib import Path

_TICK_S: Final = 0.02
_LOOK_S: Final = 0.005
_VALUE: Final = b"thirteen byte"
_ASSIGNED_WITHIN_S: Final = 60.0
#: A flood that is not found within this is told as such.
_GIVE_UP_S: Final = 15.0
#: The view must be filled, and a flood be forgotten by the short view before the next.
_WARM_S: Final = 12.0
_PAUSE_S: Final = (3.0, 5.0)


@dataclass
class Flood:
    """A key that has its share of the traffic."""

    key: bytes
    share: float
    began_s: float | None = None


class Pump:
    """Sends live traffic, batch by batch, on time."""

    def __init__(self, producer: AIOKafkaProducer, topic: str, per_s: int, partitions: int) -> None:
        self._producer = producer
        self._topic = topic
        self._per_tick = round(per_s * _TICK_S)
        self._partitions = partitions
        self._place = partition_of("murmur2", partitions)
        self._keys = [b"t%03d\x1f%08d" % (rank % 200, rank) for rank in range(10_000)]
        self._places = [self._place(key) for key in self._keys]
        self._draw = random.Random(4711)  # noqa: S311 - traffic, no secrets
        self.flood: Flood | None = None
        self.sent = 0
        #: Ticks that came late: the machine did not keep up.
        self.late = 0

    async def run(self) -> None:
        next_s = time.monotonic()
        while True:
            await self._tick()
            next_s += _TICK_S
            wait_s = next_s - time.monotonic()
            if wait_s < -_TICK_S:
                self.late += 1
                next_s = time.monotonic()
            await asyncio.sleep(max(0.0, wait_s))

    async def _tick(self) -> None:
        flood = self.flood
        flooded = round(self._per_tick * flood.share) if flood else 0
        batches: list[Any] = [self._producer.create_batch() for _ in range(self._partitions)]
        now_ms = time.time_ns() // 1_000_000
        for at in self._draw.choices(range(len(self._keys)), k=self._per_tick - flooded):
            batches[self._places[at]].append(timestamp=now_ms, key=self._keys[at], value=_VALUE)
        if flood:
            batch = batches[self._place(flood.key)]
            for _ in range(flooded):
                batch.append(timestamp=now_ms, key=flood.key, value=_VALUE)
            if flood.began_s is None:
                flood.began_s = time.monotonic()
        for partition, batch in enumerate(batches):
            if batch.record_count():
                await self._producer.send_batch(batch, self._topic, partition=partition)
        self.sent += self._per_tick


async def measure(place: Place, options: argparse.Namespace) -> dict[str, Any]:
    """Let the worker run, flood after flood; what was seen."""
    name, topic = "latency", place.traffic.topic
    await create_topic(place.bootstrap, topic, place.traffic.partitions)
    settings = place.folder / f"{name}.toml"
    settings.write_text(settings_text(place, name))
    producer = AIOKafkaProducer(bootstrap_servers=place.bootstrap, linger_ms=0, enable_idempotence=False)
    await producer.start()
    pump = Pump(producer, topic, options.per_s, place.traffic.partitions)
    command = ["-m", "hotshard", "worker", "--settings", str(settings)]
    async with place.group(observing_group(name)) as group, running(place, name, command) as child:
        await Patience(_ASSIGNED_WITHIN_S, lambda: child.running).until(group.assigned, "it has partitions")
        pumping = asyncio.create_task(pump.run())
        await asyncio.sleep(_WARM_S)
        before, began_s = machine.cpu_s(child.pid), time.monotonic()
        taken = [await _flood(place, pump, name, number, options.share) for number in range(options.floods)]
        after, ended_s = machine.cpu_s(child.pid), time.monotonic()
        pumping.cancel()
    await producer.stop()
    cores = None if before is None or after is None else (after - before) / (ended_s - began_s)
    return _summary(taken, pump, cores) | {"share": options.share, "records_per_s": options.per_s}


async def _flood(place: Place, pump: Pump, namespace: str, number: int, share: float) -> float | None:
    """One flood; the seconds until its key stood in Redis, None when it did not."""
    flood = Flood(b"flood\x1fkey-%04d" % number, share)
    hot = Layout(namespace).hot(place.traffic.topic)
    async with redis.asyncio.from_url(place.redis_url) as client:
        await asyncio.sleep(random.uniform(*_PAUSE_S))  # noqa: S311
        pump.flood = flood
        until_s = time.monotonic() + _GIVE_UP_S
        try:
            while time.monotonic() < until_s:
                if any(flood.key in field for field in await client.hkeys(hot)) and flood.began_s is not None:
                    return time.monotonic() - flood.began_s
                await asyncio.sleep(_LOOK_S)
        finally:
            pump.flood = None
    return None


def _summary(taken: list[float | None], pump: Pump, cores: float | None) -> dict[str, Any]:
    found = sorted(each for each in taken if each is not None)
    cuts = statistics.quantiles(found, n=100, method="inclusive") if len(found) > 1 else [0.0] * 99
    return {
        "floods": len(taken),
        "missed": len(taken) - len(found),
        "p50_s": round(cuts[49], 3),
        "p99_s": round(cuts[98], 3),
        "most_s": round(max(found, default=0.0), 3),
        "worker_cores": None if cores is None else round(cores, 3),
        "late_ticks": pump.late,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.latency", description=__doc__)
    parser.add_argument("--floods", type=int, default=100)
    parser.add_argument("--share", type=float, default=0.3)
    parser.add_argument("--per-s", type=int, default=50_000)
    parser.add_argument("--partitions", type=int, default=12)
    options = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    cores = machine.share_out(pin=True)
    with ExitStack() as stack:
        folder: Path = new_folder("latency")
        stack.callback(remove_folder, folder)
        with machine.on(cores.servers):
            kafka = stack.enter_context(ApacheKafka())
            server = stack.enter_context(choose_redis().server)
            traffic = Traffic(topic="live", records=0, partitions=options.partitions)
            place = Place(kafka.bootstrap, server.url, traffic, folder, cores)
            result = asyncio.run(measure(place, options))
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
