"""How fast a partition's records are counted, without Kafka: run by hand, ``python tests/bench/bench_counting.py``.

Prints records a second on one core for several streams; ``--profile NAME`` shows where one of them spends it.
Every record has a key object of its own, as a parser makes them: their hashes are not remembered.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import random
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.partitioners import murmur2
from hotshard.core.slab import Slab
from hotshard.core.topic import Load, TopicSpec
from hotshard.core.wire.pane import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WINDOW_MS = 10_000
_CHECK_MS = 100


@dataclass(frozen=True)
class Stream:
    """What is sent: ``distinct`` keys by Zipf 1.2 (or all different), in slabs of ``slab`` records."""

    name: str
    records: int = 1_000_000
    partitions: int = 12
    distinct: int | None = 100_000
    key_bytes: int = 13
    value_bytes: int = 13
    slab: int = 3_000
    load: Load = Load.RECORDS
    computed: bool = False
    unkeyed: float = 0.0
    routed: int = 0
    #: Records per second of event time; a backlog is cut by it. None: all is from now.
    per_s: float | None = None


STREAMS = (
    Stream("zipf"),
    Stream("zipf, 1M keys", distinct=1_000_000),
    Stream("zipf, 20 routes of 8", routed=20),
    Stream("zipf, bytes", load=Load.BYTES),
    Stream("zipf, computed partitions", computed=True),
    Stream("zipf, backlog of 20k/s", per_s=20_000),
    Stream("zipf, 1,000 partitions", partitions=1000, slab=100),
    Stream("zipf, 1 KB values", value_bytes=1000),
    Stream("zipf, slabs of 12", slab=12, records=300_000),
    Stream("zipf, slabs of 150", slab=150),
    Stream("all different", distinct=None),
    Stream("keys of 300 bytes", key_bytes=300, records=300_000),
    Stream("half without key", unkeyed=0.5),
    Stream("no keys at all", unkeyed=1.0),
)


def slabs(stream: Stream, now_ms: int) -> list[Slab]:
    """The stream's slabs, partitions taking turns."""
    draw = random.Random(7)  # noqa: S311  # traffic, no secrets
    ids = _ids(stream, draw)
    homes = [draw.randrange(stream.partitions) for _ in range(1 << 16)]
    keys: list[list[bytes | None]] = [[] for _ in range(stream.partitions)]
    pad = b"x" * (stream.key_bytes - 13)
    for number in ids:
        key = None if draw.random() < stream.unkeyed else b"t%04d\x1f%07d%b" % (number % 200, number % 10**7, pad)
        keys[homes[number & 0xFFFF]].append(key)
    return list(_dealt(stream, keys, now_ms))


def _ids(stream: Stream, draw: random.Random) -> list[int]:
    if stream.distinct is None:
        return list(range(stream.records))
    weights = list(accumulate(1 / rank**1.2 for rank in range(1, stream.distinct + 1)))
    return draw.choices(range(stream.distinct), cum_weights=weights, k=stream.records)


def _dealt(stream: Stream, keys: list[list[bytes | None]], now_ms: int) -> Iterator[Slab]:
    size = stream.value_bytes + stream.key_bytes
    for start in range(0, max(map(len, keys)), stream.slab):
        for partition, column in enumerate(keys):
            part = column[start : start + stream.slab]
            if not part:
                continue
            behind = (len(column) - start) * 1000 * stream.partitions / stream.per_s if stream.per_s else 0
            step = 1000 * stream.partitions / stream.per_s if stream.per_s else 0
            yield Slab(
                topic="t", partition=partition, start=start, end=start + len(part), generation=1,
                high_watermark=len(column), keys=part, sizes=[size] * len(part),
                timestamps=[now_ms - round(behind - index * step) for index in range(len(part))],
            )  # fmt: skip


def feed(stream: Stream, traffic: list[Slab], now: Callable[[], int]) -> tuple[int, int, int]:
    """Count it all as a worker does, on the machine's clock; panes, early versions and their bytes."""
    spec = TopicSpec(name="t", sources=("t",), load=stream.load)
    place = lru_cache(maxsize=65_536)(lambda key: murmur2(key) % 32)
    panes = [
        PartitionPanes(
            spec=spec, source="t", partition=partition, worker="w", start=0, generation=1, now_ms=now(),
            window_ms=_WINDOW_MS, partition_of=place if stream.computed else None,
        )
        for partition in range(stream.partitions)
    ]  # fmt: skip
    aliases = {
        b"t%04d\x1f%07d%b" % (n, n, tail): b"t%04d\x1f%07d" % (n, n)
        for n in range(stream.routed) for tail in (b"", *(b"\x1f%d" % s for s in range(8)))
    }  # fmt: skip
    said = early = size = 0
    checked = now()
    for slab in traffic:
        now_ms = now()
        panes[slab.partition].add(slab, now_ms, aliases)
        if panes[slab.partition].waiting:
            counts = _publish(panes[slab.partition], now_ms)
            said, size = said + counts[0], size + counts[1]
        if now_ms - checked >= _CHECK_MS:
            checked = now_ms
            for each in panes:
                if each.due(now_ms):
                    each.seal(now_ms)
                    counts = _publish(each, now_ms)
                    said, size = said + counts[0], size + counts[1]
                elif version := each.early(now_ms):
                    early, size = early + 1, size + len(encode(version))
    for each in panes:
        each.seal(now())
        counts = _publish(each, now())
        said, size = said + counts[0], size + counts[1]
    return said, early, size


def _publish(panes: PartitionPanes, now_ms: int) -> tuple[int, int]:
    said = size = 0
    while pane := panes.publishable():
        said, size = said + 1, size + len(encode(pane))
        panes.committed(pane.end, now_ms)
    return said, size


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


def run(stream: Stream) -> str:
    traffic = slabs(stream, wall_ms())
    started = time.process_time()
    said, early, size = feed(stream, traffic, wall_ms)
    spent = time.process_time() - started
    rate = sum(map(len, traffic)) / spent / 1e6
    return f"{stream.name:28} {rate:6.2f} M/s  {len(traffic):7} slabs {said:5} panes {early:4} early {size:9} bytes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the stream of this name")
    parser.add_argument("--records", type=int)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    chosen = [stream for stream in STREAMS if asked.only in (None, stream.name)]
    for stream in [replace(stream, records=asked.records or stream.records) for stream in chosen]:
        if asked.profile:
            traffic = slabs(stream, wall_ms())
            with cProfile.Profile() as profile:
                feed(stream, traffic, wall_ms)
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        else:
            for _ in range(asked.rounds):
                print(run(stream))  # noqa: T201


if __name__ == "__main__":
    main()
