"""What it costs to read tenants beside the key, without Kafka: run by hand, ``python tests/bench/bench_fields.py``.

Record batches of 500 records are parsed into slabs and counted, as a worker does, on one core. Printed are records a
second of the processor's time for parsing alone, and for both.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import TYPE_CHECKING, NamedTuple

from hotshard.core.fields import FieldReader, parse_field
from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.topic import KeyLayout, TopicSpec
from hotshard.doors.kafka.slabs.parser import Reading, slabs
from hotshard.doors.kafka.slabs.sample import Record, batch
from hotshard.doors.kafka.slabs.sound import KeptRecords

if TYPE_CHECKING:
    from hotshard.core.slab import Slab

_BATCH = 500


class Way(NamedTuple):
    """Where the tenant stands."""

    name: str
    tenant: str
    #: Whether values are JSON; a few hundred bytes of it where ``long``.
    json: bool = False
    long: bool = False


WAYS = (
    Way("in the key", "key"),
    Way("in a header", "header:tenant"),
    Way("in JSON of 60 bytes", "json:customer.id", json=True),
    Way("in JSON of 500 bytes", "json:customer.id", json=True, long=True),
)


def batches(way: Way, records: int) -> list[bytes]:
    draw = random.Random(7)  # noqa: S311 - a benchmark
    weights = [1 / rank**1.2 for rank in range(1, 100_001)]
    numbers = draw.choices(range(100_000), weights, k=records)
    return [
        batch(start, [_record(way, number) for number in numbers[start : start + _BATCH]])
        for start in range(0, records, _BATCH)
    ]


def _record(way: Way, number: int) -> Record:
    tenant = b"t%04d" % (number % 200)
    if way.tenant == "key":
        return Record(b"%s\x1f%07d" % (tenant, number), b"x" * 13)
    if not way.json:
        return Record(b"k%07d" % number, b"x" * 13, headers=[(b"trace", b"0123456789abcdef"), (b"tenant", tenant)])
    items = b",".join(b'"item-%04d"' % n for n in range(35 if way.long else 1))
    return Record(b"k%07d" % number, b'{"customer":{"id":"%s"},"items":[%s],"total":12.5}' % (tenant, items))


def measure(way: Way, data: list[bytes]) -> tuple[float, float]:
    """Nanoseconds a record: parsing, and parsing and counting."""
    field = parse_field(way.tenant)
    fields = None if way.tenant == "key" else FieldReader(field, parse_field("none"))
    layout = KeyLayout.TENANT_ENTITY if fields is None else KeyLayout.ENTITY
    spec = TopicSpec(name="t", sources=("t",), layout=layout, tenant=field)
    panes = PartitionPanes(
        spec=spec, source="t", partition=0, worker="w", start=0, generation=-1, now_ms=0, window_ms=10_000
    )
    parsing = counting = 0
    for part in data:
        start_ns = time.thread_time_ns()
        read = _read(part, panes.position, fields)
        parsing += time.thread_time_ns() - start_ns
        start_ns = time.thread_time_ns()
        for slab in read:
            panes.add(slab, 0, {})
        counting += time.thread_time_ns() - start_ns
    start_ns = time.thread_time_ns()
    panes.seal(0)
    counting += time.thread_time_ns() - start_ns
    records = len(data) * _BATCH
    return parsing / records, (parsing + counting) / records


def _read(data: bytes, position: int, fields: FieldReader | None) -> list[Slab]:
    return list(slabs(Reading("t", 0, KeptRecords(data), position, fields=fields)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5, help="the best of so many is shown")
    asked = parser.parse_args()
    for way in WAYS:
        data = batches(way, asked.records)
        parsing, both = (min(each) for each in zip(*(measure(way, data) for _ in range(asked.rounds)), strict=True))
        print(f"{way.name:24} {1000 / parsing:6.2f} M records/s parsed  {1000 / both:6.2f} M parsed and counted")  # noqa: T201


if __name__ == "__main__":
    main()
