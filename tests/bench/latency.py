"""From the first record of a flood to the registry entry: ``python -m tests.bench.latency``.

A worker with default settings reads live traffic: so many records a second in small batches, keys all alike. Again
and again a key that was never there before, of a tenant that was never there, takes a share of it, the rest giving
way, until it stands in Redis as hot; that is looked for every few milliseconds. The time runs from the timestamp of
the flood's first record, taken before its batch is built, until an answer of Redis has the entry. A flood begins two
to three seconds after the end of the one before, whose key has all but left the short view then and takes no part in
its share: at a moment that has nothing to do with panes or windows. No cool-down is waited for, as no key comes twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import sys
import time
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import redis.asyncio

from hotshard.core.partitioners import partition_of
from hotshard.core.wire.route import HotKind
from hotshard.doors.redis.layout import Layout
from tests.bench import machine
from tests.bench.filling import Traffic
from tests.bench.parts import percentile, rounded, say, servers
from tests.bench.rounds import observing_group, running, settings_text
from tests.bench.watching import Patience, StoppedError
from tests.support.topics import create_topic, producing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aiokafka import AIOKafkaProducer

    from tests.bench.parts import Figures, Say
    from tests.bench.rounds import Place

_NAME: Final = "latency"
_LOOK_S: Final = 0.005
_VALUE: Final = b"thirteen byte"
_ASSIGNED_WITHIN_S: Final = 60.0
#: A flood that is not found within this is told as such.
_GIVE_UP_S: Final = 15.0
#: The long view, of 10 s, must be full of the traffic as it is.
_WARM_S: Final = 12.0
#: The short view is 2 s long, a pane one: floods begin at any moment of a pane's second.
_PAUSE_S: Final = (2.0, 3.0)


@dataclass(frozen=True)
class Floods:
    """So many of them, of one kind."""

    share: float
    per_s: int
    floods: int
    #: Every partition gets a batch each tick: of what is sent meanwhile.
    tick_s: float = 0.02


@dataclass
class Flood:
    """A key that has its share of the traffic."""

    key: bytes
    share: float
    #: The moment that its first record is stamped with.
    began_s: float | None = None


class Pump:
    """Sends live traffic, batch by batch, on time."""

    def __init__(self, producer: AIOKafkaProducer, topic: str, partitions: int) -> None:
        self._producer = producer
        self._topic = topic
        self._partitions = partitions
        self._place = partition_of("murmur2", partitions)
        self._keys = [b"t%03d\x1f%08d" % (rank % 200, rank) for rank in range(10_000)]
        self._places = [self._place(key) for key in self._keys]
        self._draw = random.Random(4711)  # noqa: S311 - traffic, no secrets
        self._tick_s = 1.0
        self._per_tick = 0
        self.flood: Flood | None = None
        self.sent = 0
        #: Ticks that came late: the machine did not keep up.
        self.late = 0

    def pace(self, per_s: int, tick_s: float) -> None:
        """Send so many a second from now on, in ticks of this length."""
        self._tick_s, self._per_tick = tick_s, round(per_s * tick_s)

    async def run(self) -> None:
        next_s = time.monotonic()
        while True:
            await self._tick()
            next_s += self._tick_s
            wait_s = next_s - time.monotonic()
            if wait_s < -self._tick_s:
                self.late += 1
                next_s = time.monotonic()
            await asyncio.sleep(max(0.0, wait_s))

    async def _tick(self) -> None:
        flood = self.flood
        flooded = round(self._per_tick * flood.share) if flood else 0
        batches: list[Any] = [self._producer.create_batch() for _ in range(self._partitions)]
        now_s, now_ms = time.monotonic(), time.time_ns() // 1_000_000
        if flood and flood.began_s is None:
            flood.began_s = now_s
        for at in self._draw.choices(range(len(self._keys)), k=self._per_tick - flooded):
            batches[self._places[at]].append(timestamp=now_ms, key=self._keys[at], value=_VALUE)
        if flood:
            batch = batches[self._place(flood.key)]
            for _ in range(flooded):
                batch.append(timestamp=now_ms, key=flood.key, value=_VALUE)
        for partition, batch in enumerate(batches):
            if batch.record_count():
                await self._producer.send_batch(batch, self._topic, partition=partition)
        self.sent += self._per_tick


class Watch:
    """Begins floods, and looks for their keys in the registry."""

    def __init__(self, client: redis.asyncio.Redis, topic: str, pump: Pump) -> None:
        self._client = client
        self._hot = Layout(_NAME).hot(topic)
        self._pump = pump
        self._numbers = count()

    async def flood(self, share: float) -> float | None:
        """One flood of a new key; the seconds until it stood in Redis, None when it did not."""
        number = next(self._numbers)
        flood = Flood(b"f%04d\x1fkey-%04d" % (number, number), share)
        field = f"{HotKind.KEY.value}:".encode() + flood.key
        await asyncio.sleep(random.uniform(*_PAUSE_S))  # noqa: S311 - not a secret
        self._pump.flood = flood
        until_s = time.monotonic() + _GIVE_UP_S
        try:
            while time.monotonic() < until_s:
                if await self._client.hexists(self._hot, field) and flood.began_s is not None:
                    return time.monotonic() - flood.began_s
                await asyncio.sleep(_LOOK_S)
        finally:
            self._pump.flood = None
        return None


async def measure(place: Place, kinds: Mapping[str, Floods], tell: Say) -> dict[str, Figures]:
    """Let one worker run, flood after flood, one kind after the other; what was seen of each."""
    topic, partitions = place.traffic.topic, place.traffic.partitions
    await create_topic(place.bootstrap, topic, partitions)
    settings = place.folder / f"{_NAME}.toml"
    settings.write_text(settings_text(place, _NAME))
    command = ["-m", "hotshard", "worker", "--settings", str(settings)]
    found: dict[str, Figures] = {}
    async with (
        producing(place.bootstrap, linger_ms=0, enable_idempotence=False) as producer,
        place.group(observing_group(_NAME)) as group,
        running(place, _NAME, command) as child,
        redis.asyncio.from_url(place.redis_url) as client,
    ):
        await Patience(_ASSIGNED_WITHIN_S, lambda: child.running).until(group.assigned, "it has partitions")
        pump = Pump(producer, topic, partitions)
        watch = Watch(client, topic, pump)
        pumping: asyncio.Task[None] | None = None
        try:
            for name, kind in kinds.items():
                pump.pace(kind.per_s, kind.tick_s)
                pumping = pumping or asyncio.create_task(pump.run())
                await asyncio.sleep(_WARM_S)
                found[name] = await _all_of(kind, pump, watch, child.pid)
                if pumping.done() or not child.running:
                    raise StoppedError("or the traffic ended")
                tell(f"{_NAME}: {name}: {found[name]}")
        finally:
            if pumping is not None:
                pumping.cancel()
                await asyncio.gather(pumping, return_exceptions=True)
    return found


async def _all_of(kind: Floods, pump: Pump, watch: Watch, worker: int) -> Figures:
    sent, late, used_s, began_s = pump.sent, pump.late, machine.cpu_s(worker), time.monotonic()
    taken = [await watch.flood(kind.share) for _ in range(kind.floods)]
    took_s, after_s = time.monotonic() - began_s, machine.cpu_s(worker)
    cores = None if used_s is None or after_s is None else (after_s - used_s) / took_s
    beside = {"worker_cores": cores, "late_ticks": pump.late - late, "records_per_s": (pump.sent - sent) / took_s}
    return rounded({**summary(taken), **beside})


def summary(taken: Sequence[float | None]) -> dict[str, float | None]:
    """Seconds of the floods that were found; None where none was."""
    found = [each for each in taken if each is not None]
    return {
        "floods": len(taken),
        "missed": len(taken) - len(found),
        "p50_s": percentile(found, 50),
        "p99_s": percentile(found, 99),
        "most_s": max(found, default=None),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.latency", description=__doc__)
    parser.add_argument("--floods", type=int, default=100)
    parser.add_argument("--share", type=float, default=0.3)
    parser.add_argument("--per-s", type=int, default=50_000)
    parser.add_argument("--partitions", type=int, default=12)
    options = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    with servers(_NAME) as ground:
        place = ground.place(Traffic(topic="live", records=0, partitions=options.partitions))
        kind = Floods(options.share, options.per_s, options.floods)
        found = asyncio.run(measure(place, {_NAME: kind}, say))
    sys.stdout.write(json.dumps(found[_NAME]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
