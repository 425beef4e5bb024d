"""How fast a partition's records are counted, without Kafka: run by hand, ``python tests/bench/bench_counting.py``.

Prints records a second on one core for several streams, of which only the counting and cutting is timed. The clock
by which panes are cut goes on by a second every million records, however slow the machine is; the first second,
before any pane is cut, is not in the figures. ``--profile`` shows where it goes. Keys are made anew for each slab, as
a parser makes them: fresh in the processor's cache, their hashes not remembered.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.partitioners import murmur2
from hotshard.core.slab import Slab
from hotshard.core.topic import Load, TopicSpec
from hotshard.core.wire.pane import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

_WINDOW_MS = 10_000
_CHECK_MS = 100
_PER_MS = 1000
#: Records before the figures begin.
_BEFORE = 1_200_000
_TENANTS = 200


@dataclass(frozen=True)
class Stream:
    """What is sent: ``distinct`` keys by Zipf 1.2 (or all different), in slabs of ``slab`` records."""

    name: str
    records: int = 3_000_000
    partitions: int = 12
    distinct: int | None = 100_000
    key_bytes: int = 13
    value_bytes: int = 13
    slab: int = 3_000
    load: Load = Load.RECORDS
    computed: bool = False
    unkeyed: float = 0.0
    #: Routed keys, of 8 shards each.
    routed: int = 0
    #: Records per second of event time; a backlog is cut by it. None: all is from now.
    per_s: float | None = None


STREAMS = (
    Stream("zipf"),
    Stream("zipf, 1M keys", distinct=1_000_000),
    Stream("zipf, 20 routes", routed=20),
    Stream("zipf, bytes", load=Load.BYTES),
    Stream("zipf, computed", computed=True),
    Stream("zipf, backlog of 20k/s", per_s=20_000),
    Stream("zipf, 1,000 partitions", partitions=1000, slab=100),
    Stream("zipf, 1 KB values", value_bytes=1000),
    Stream("zipf, slabs of 12", slab=12, records=2_000_000),
    Stream("zipf, slabs of 150", slab=150),
    Stream("all different", distinct=None),
    Stream("keys of 300 bytes", key_bytes=300, records=2_000_000),
    Stream("half without key", unkeyed=0.5),
    Stream("no keys at all", unkeyed=1.0),
)


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass
class Run:
    """A stream being counted, and what it took."""

    stream: Stream
    panes: int = 0
    early: int = 0
    size: int = 0
    slabs: int = 0
    spent_ns: int = 0
    records: int = 0
    #: What is left out: time spent, slabs and records of the first second.
    before: tuple[int, int, int] = (0, 0, 0)
    begun_ms: int = field(default_factory=wall_ms)
    profile: cProfile.Profile | None = None
    parts: list[PartitionPanes] = field(default_factory=list)

    def feed(self) -> None:
        """Count it all as a worker does."""
        self.parts = [_panes(self.stream, partition, self.begun_ms) for partition in range(self.stream.partitions)]
        aliases = _aliases(self.stream.routed)
        checked = self.begun_ms
        for slab in slabs(self.stream, self.begun_ms):
            if self.records >= _BEFORE and not any(self.before):
                self.before = (self.spent_ns, self.slabs, self.records)
            now_ms = self._now_ms()
            self._start()
            part = self.parts[slab.partition]
            part.add(slab, now_ms, aliases)
            if part.waiting:
                self._publish(part)
            if now_ms - checked >= _CHECK_MS:
                checked = now_ms
                self._check(now_ms)
            self._stop()
            self.slabs += 1
            self.records += len(slab)
        self._start()
        for part in self.parts:
            part.seal(self._now_ms())
            self._publish(part)
        self._stop()

    def _now_ms(self) -> int:
        return self.begun_ms + self.records // _PER_MS

    def figures(self) -> tuple[float, float]:
        """Nanoseconds a record, and a slab."""
        spent_ns, slabs, records = self.before
        return (self.spent_ns - spent_ns) / (self.records - records), (self.spent_ns - spent_ns) / (self.slabs - slabs)

    def _check(self, now_ms: int) -> None:
        for part in self.parts:
            if part.due(now_ms):
                part.seal(now_ms)
                self._publish(part)
            elif version := part.early(now_ms):
                self.early += 1
                self.size += len(encode(version))

    def _publish(self, part: PartitionPanes) -> None:
        while pane := part.publishable():
            self.panes += 1
            self.size += len(encode(pane))
            part.committed(pane.end)

    def _start(self) -> None:
        if self.profile:
            self.profile.enable()
        self.spent_ns -= time.thread_time_ns()

    def _stop(self) -> None:
        self.spent_ns += time.thread_time_ns()
        if self.profile:
            self.profile.disable()


def _panes(stream: Stream, partition: int, now_ms: int) -> PartitionPanes:
    return PartitionPanes(
        spec=TopicSpec(name="t", sources=("t",), load=stream.load),
        source="t",
        partition=partition,
        worker="w",
        start=0,
        generation=1,
        now_ms=now_ms,
        window_ms=_WINDOW_MS,
        partition_of=_place if stream.computed else None,
    )


@lru_cache(maxsize=65_536)
def _place(key: bytes) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % 32


def _key(number: int) -> bytes:
    return b"t%04d\x1f%07d" % (number % _TENANTS, number % 10**7)


def _aliases(routed: int) -> dict[bytes, bytes]:
    return {_key(n) + tail: _key(n) for n in range(routed) for tail in (b"", *(b"\x1f%d" % s for s in range(8)))}


def slabs(stream: Stream, now_ms: int) -> Iterator[Slab]:
    """The stream's slabs, partitions taking turns; keys are made when a slab is."""
    draw = random.Random(7)  # noqa: S311  # traffic, no secrets
    columns: list[list[int]] = [[] for _ in range(stream.partitions)]
    homes = [draw.randrange(stream.partitions) for _ in range(1 << 16)]
    for number in _ids(stream, draw):
        columns[homes[number & 0xFFFF]].append(number)
    for start in range(0, max(map(len, columns)), stream.slab):
        for partition, column in enumerate(columns):
            if part := column[start : start + stream.slab]:
                yield _slab(stream, partition, start, part, _times(stream, now_ms, len(column) - start, len(part)))


def _ids(stream: Stream, draw: random.Random) -> list[int]:
    if stream.distinct is None:
        return list(range(stream.records))
    weights = list(accumulate(1 / rank**1.2 for rank in range(1, stream.distinct + 1)))
    return draw.choices(range(stream.distinct), cum_weights=weights, k=stream.records)


def _times(stream: Stream, now_ms: int, left: int, count: int) -> list[int]:
    if stream.per_s is None:
        return [now_ms] * count
    step_ms = 1000 * stream.partitions / stream.per_s
    return [now_ms - 3_600_000 - round((left - index) * step_ms) for index in range(count)]


def _slab(stream: Stream, partition: int, start: int, numbers: list[int], timestamps: list[int]) -> Slab:
    pad = b"x" * (stream.key_bytes - 13)
    unkeyed = int(stream.unkeyed * 10)
    return Slab(
        topic="t",
        partition=partition,
        start=start,
        end=start + len(numbers),
        generation=1,
        high_watermark=1 << 60,
        keys=[None if index % 10 < unkeyed else _key(number) + pad for index, number in enumerate(numbers)],
        sizes=[stream.value_bytes + stream.key_bytes] * len(numbers),
        timestamps=timestamps,
    )


def measure(stream: Stream, rounds: int) -> str:
    runs = [Run(stream) for _ in range(rounds)]
    for run in runs:
        run.feed()
    best = min(runs, key=Run.figures)
    record_ns, slab_ns = best.figures()
    return (
        f"{stream.name:24} {1000 / record_ns:6.2f} M records/s  {slab_ns / 1000:8.1f} us/slab  "
        f"{best.panes:5} panes  {best.early:5} early versions  {best.size / 1e6:6.2f} MB said"
    )


def show_profile(stream: Stream) -> None:
    run = Run(stream, profile=cProfile.Profile())
    run.feed()
    pstats.Stats(run.profile).sort_stats("tottime").print_stats(25)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the stream of this name")
    parser.add_argument("--records", type=int, help="as many records of each stream")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many is shown")
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    for stream in STREAMS:
        if asked.only in {None, stream.name}:
            chosen = replace(stream, records=asked.records or stream.records)
            if asked.profile:
                show_profile(chosen)
            else:
                print(measure(chosen, asked.rounds), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
