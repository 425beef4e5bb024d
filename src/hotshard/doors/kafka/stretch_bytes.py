"""From the answer to a fetch to slabs that never pass the end of a stretch. Pure: bytes in, slabs out."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aiokafka.errors import BrokerResponseError, for_code

from hotshard.core.slab import Slab
from hotshard.doors.kafka.slabs.parser import SLAB_RECORDS, Batches, DamageError, Reading, Rescue, slabs
from hotshard.doors.kafka.slabs.sound import KeptRecords
from hotshard.doors.kafka.slabs.tolerant import TolerantBatches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotshard.core.fields import FieldReader

_FRAME: Final = struct.Struct(">qi")  # the first offset of a batch, and the length of what follows


class Part(NamedTuple):
    """A partition's part of the answer to a fetch."""

    partition: int
    error: type[BrokerResponseError]
    high_watermark: int
    #: Aborted transactions as (producer id, first offset).
    aborted: list[tuple[int, int]]
    data: bytes


class Wish(NamedTuple):
    """What of the records of a stretch is wanted."""

    #: Only those of committed transactions, and those of none.
    committed: bool = False
    #: What tenants and discriminators are read by, where they do not stand in the key.
    fields: FieldReader | None = None
    #: Records in a slab at most.
    limit: int = SLAB_RECORDS


class Span(NamedTuple):
    """Offsets of a partition that are wanted."""

    topic: str
    partition: int
    start: int
    end: int


def parts_of(response: Any) -> list[Part]:  # noqa: ANN401 -- aiokafka has no types
    """The parts of a FetchResponse of any version."""
    return [
        Part(partition, for_code(code), high_watermark, _aborted(response.API_VERSION, rest), bytes(rest[-1] or b""))
        for _, partitions in response.topics
        for partition, code, high_watermark, *rest in partitions
    ]


def _aborted(version: int, rest: list[Any]) -> list[tuple[int, int]]:
    """Each version of the response holds them somewhere else (as aiokafka's fetcher knows it)."""
    if version < 4:
        return []
    found = rest[2] if version >= 11 else rest[-2]
    return sorted(((producer, first) for producer, first in found or ()), key=lambda transaction: transaction[1])


def unpacked(span: Span, part: Part, wish: Wish) -> Iterator[Slab] | None:
    """Slabs that tile ``span`` from its start as far as the data reach; None when they do not bring it further.

    A stretch ends where a batch ends, so that whole batches are within it or beyond.
    """
    data = _before(part.data, span.end)
    if data:
        return _stamped(span, _slabs(span, part, data, wish))
    if part.data or part.high_watermark <= span.start:
        # what comes next lies beyond; or the log has become shorter, as when its topic was made again
        return iter((nothing(span, span.end),))
    return None


def nothing(span: Span, end: int) -> Slab:
    """Offsets without records, up to ``end``."""
    return Slab(span.topic, span.partition, span.start, end, generation=0, high_watermark=span.end)


def _before(data: bytes, end: int) -> bytes:
    """The whole batches that begin before an offset."""
    at = 0
    while len(data) - at >= _FRAME.size:
        base, length = _FRAME.unpack_from(data, at)
        if base >= end or length <= 0 or at + _FRAME.size + length > len(data):
            break
        at += _FRAME.size + length
    return data if at == len(data) else data[:at]


def _slabs(span: Span, part: Part, data: bytes, wish: Wish) -> Iterator[Slab]:
    """By aiokafka's parser; from where it fails on tolerantly."""

    def reading(batches: Batches, position: int, rescue: Rescue | None = None) -> Reading:
        return Reading(
            topic=span.topic,
            partition=span.partition,
            batches=batches,
            position=position,
            read_committed=wish.committed,
            aborted=[*part.aborted],
            rescue=rescue,
            fields=wish.fields,
        )

    try:
        yield from slabs(reading(KeptRecords(data), span.start), wish.limit)
    except DamageError as damage:
        batches = TolerantBatches(data, span.end, fields=wish.fields)
        yield from slabs(reading(batches, damage.position, batches.rescue), wish.limit)


def _stamped(span: Span, found: Iterator[Slab]) -> Iterator[Slab]:
    end = span.start
    for slab in found:
        slab.generation, slab.high_watermark, end = 0, span.end, slab.end
        yield slab
    if end == span.start:  # a batch wholly before it: the position must go on, or it would be asked for again
        yield nothing(span, end + 1)
