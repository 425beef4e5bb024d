"""A fetched run of record batches as slabs: one loop that appends to columns, no object kept per record.

Pure: bytes in, slabs out. Which batches count (aborted transactions, control batches, records below the position)
follows aiokafka's ``PartitionRecords``, with two differences, both on purpose: the position never goes back when a
response begins with a batch wholly below it, and where a batch cannot be read nothing is raised before all that
could be read has been handed out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Protocol

from hotshard.core.slab import Slab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hotshard.core.fields import Extracted, FieldReader

#: Records in one slab at most.
SLAB_RECORDS = 20_000
#: Records whose values are held at once where fields of them are looked for.
_AT_ONCE = 500
#: Where a batch says that it spans no more than this, and has more than so many records, each so many in a row share
#: the timestamp of the last of them.
SHARED_MS = 100
SHARED_FROM = 64
SHARING = 32


class Record(Protocol):
    """What is read of a record of aiokafka's parser."""

    @property
    def offset(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def timestamp(self) -> int | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]: ...


class Batch(Protocol):
    """What is read of a batch of aiokafka's parser.

    ``producer_id`` is None for formats v0 and v1, and only the others have timestamps of their own.
    """

    @property
    def producer_id(self) -> int | None: ...
    @property
    def base_offset(self) -> int: ...
    @property
    def next_offset(self) -> int: ...
    @property
    def first_timestamp(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def is_transactional(self) -> bool: ...
    @property
    def is_control_batch(self) -> bool: ...
    def validate_crc(self) -> bool: ...
    def __iter__(self) -> Iterator[Record]: ...


class Batches(Protocol):
    """Batches one by one; :class:`~hotshard.doors.kafka.slabs.sound.KeptRecords` is the fast way."""

    #: A property for mypy's sake: it may be a function that the object holds.
    @property
    def has_next(self) -> Callable[[], bool]: ...
    def next_batch(self) -> Batch: ...
    def sound(self, batch: Batch) -> bool:
        """Whether the checksum of the batch given last is right."""
        ...


@dataclass(slots=True)
class Columns:
    """Records as columns; ``skipped`` are those that could not be read.

    Tenants and discriminators stay None where they are not asked for. ``damaged`` counts the records whose value is
    no JSON, though a field of it was asked for.
    """

    keys: list[bytes | None] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    timestamps: list[int] = field(default_factory=list)
    tenants: list[bytes | None] | None = None
    discriminators: list[bytes | None] | None = None
    damaged: int = 0
    skipped: int = 0

    def take(self, found: Extracted) -> None:
        """Append the fields of the records that were appended last."""
        if found.tenants is not None:
            self.tenants = self.tenants or []
            self.tenants += found.tenants
        if found.discriminators is not None:
            self.discriminators = self.discriminators or []
            self.discriminators += found.discriminators
        self.damaged += found.damaged

    def cut(self, length: int, damaged: int) -> None:
        """Keep the first ``length`` records, ``damaged`` of which have a value that is no JSON."""
        for column in (self.keys, self.sizes, self.timestamps, self.tenants, self.discriminators):
            if column is not None:
                del column[length:]
        self.damaged = damaged


class Rescue(Protocol):
    """Reads what can be read of the batch that ``next_batch`` gave last, or skips it.

    Appends the records from ``position`` on to ``into``; returns the offset after the batch, above ``position``.
    """

    def __call__(self, position: int, into: Columns, reason: Exception) -> int: ...


@dataclass(slots=True)
class Reading:
    """A fetched run and where reading stands in it."""

    topic: str
    partition: int
    batches: Batches
    #: Offset of the next record wanted; moves on while slabs are taken.
    position: int
    check_crcs: bool = True
    read_committed: bool = False
    #: Aborted transactions as (producer id, first offset), by first offset. Consumed.
    aborted: list[tuple[int, int]] = field(default_factory=list)
    rescue: Rescue | None = None
    #: What is read of headers and values, where anything is.
    fields: FieldReader | None = None
    _aborting: set[int] = field(default_factory=set)

    def passes_over(self, batch: Batch) -> bool:
        """Whether no record of the batch is to be counted: control records, and aborted ones when reading committed."""
        if self.read_committed and batch.producer_id is not None:
            base = batch.base_offset
            while self.aborted and self.aborted[0][1] <= base:
                self._aborting.add(self.aborted.pop(0)[0])
            if batch.is_control_batch:
                # an aborted transaction ends with its own marker, so whatever marker comes next of its producer is it
                self._aborting.discard(batch.producer_id)
            elif batch.is_transactional and batch.producer_id in self._aborting:
                return True
        return batch.is_control_batch


class DamageError(Exception):
    """The batch at ``position`` cannot be read."""

    def __init__(self, position: int, reason: Exception) -> None:
        super().__init__(f"{type(reason).__name__}: {reason}")
        self.position = position


class CrcError(ValueError):
    """The checksum of a batch is wrong."""


def slabs(reading: Reading, limit: int = SLAB_RECORDS) -> Iterator[Slab]:
    """Yield slabs of about ``limit`` records at most that tile ``[position, end of the run)``.

    ``generation`` and ``high_watermark`` are for the caller to set. Where the run holds no records (control batches,
    aborted ones, holes) the last slab carries the position past them, without records. Raises DamageError after the
    slabs of everything before a batch that cannot be read, when there is no ``rescue``.
    """
    slab = _Open(reading)
    while reading.batches.has_next():
        try:
            yield from _read_batch(reading, slab, limit)
        except Exception as reason:
            slab.drop_half_read()
            if reading.rescue is None:
                if slab.anything:
                    yield slab.close()
                raise DamageError(reading.position, reason) from reason
            reading.position = reading.rescue(reading.position, slab.columns, reason)
        slab.whole_batches()
    if slab.anything:
        yield slab.close()


def _read_batch(reading: Reading, slab: _Open, limit: int) -> Iterator[Slab]:
    """Take the next batch into ``slab``; yield it whenever it is full."""
    batch = reading.batches.next_batch()
    if reading.check_crcs and not reading.batches.sound(batch):
        raise CrcError("the checksum is wrong")
    if not reading.passes_over(batch):
        legacy = batch.producer_id is None
        # taken in pieces; iter() of a batch itself may be called only once
        records: Iterator[Record] = islice(batch, None)
        if legacy or batch.base_offset < reading.position:
            position = reading.position
            records = dropwhile(lambda record: record.offset < position, records)
        append = _append_for(reading, batch)
        while True:
            end = append(islice(records, limit - len(slab.columns.keys)), slab.columns)
            if len(slab.columns.keys) < limit:
                break
            reading.position = max(reading.position, end)
            yield slab.close()
    reading.position = max(reading.position, batch.next_offset)


def _append_for(reading: Reading, batch: Batch) -> Callable[[Iterable[Record], Columns], int]:
    """How the records of a batch are appended; it returns the offset after the last, -1 when there was none."""
    if reading.fields:
        return partial(_append_fields, reading.fields)
    if batch.producer_id is None:
        return _append_legacy
    many = batch.next_offset - batch.base_offset > SHARED_FROM
    # The first record's timestamp need not be the least, so those in between are not taken on trust: some are read.
    shared = many and 0 <= batch.max_timestamp - batch.first_timestamp <= SHARED_MS
    return _append_sharing if shared else _append


def _append_sharing(records: Iterable[Record], into: Columns) -> int:
    """Append all, with the timestamps of some. The hot loop: keep it flat."""
    keys, timestamps = into.keys, into.timestamps
    add_key, add_size = keys.append, into.sizes.append
    record: Record | None = None
    records = iter(records)
    while True:
        for record in islice(records, SHARING):
            key, value = record.key, record.value
            add_key(key)
            if key is None:
                add_size(0 if value is None else len(value))
            elif value is None:
                add_size(len(key))
            else:
                add_size(len(key) + len(value))
        if record is None:
            return -1
        added = len(keys) - len(timestamps)
        if not added:
            return record.offset + 1
        timestamps += [record.timestamp] * added  # type: ignore[list-item]  # format v2 always has one


def _append(records: Iterable[Record], into: Columns) -> int:
    """Append all, each with its own timestamp."""
    add_key, add_size, add_timestamp = into.keys.append, into.sizes.append, into.timestamps.append
    record: Record | None = None
    for record in records:
        key, value = record.key, record.value
        add_key(key)
        add_timestamp(record.timestamp)  # type: ignore[arg-type]  # format v2 always has one
        if key is None:
            add_size(0 if value is None else len(value))
        elif value is None:
            add_size(len(key))
        else:
            add_size(len(key) + len(value))
    return -1 if record is None else record.offset + 1


def _append_legacy(records: Iterable[Record], into: Columns) -> int:
    """Do the same for formats v0 and v1, where a record may have no time."""
    before = len(into.timestamps)
    end = _append(records, into)
    seen: list[int | None] = [*into.timestamps[before:]]
    into.timestamps[before:] = [-1 if at is None else at for at in seen]
    return end


def _append_fields(fields: FieldReader, records: Iterable[Record], into: Columns) -> int:
    """Do the same for all formats where headers or values are looked into as well."""
    end, records = -1, iter(records)
    while some := list(islice(records, _AT_ONCE)):
        keys = [record.key for record in some]
        values = [record.value for record in some]
        found = fields.read([record.headers for record in some] if fields.headers else [], values)
        into.keys += keys
        into.sizes += [len(key or b"") + len(value or b"") for key, value in zip(keys, values, strict=True)]
        into.timestamps += [-1 if record.timestamp is None else record.timestamp for record in some]
        into.take(found)
        end = some[-1].offset + 1
    return end


class _Open:
    """The slab being filled; it begins where the one before was closed."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._start = reading.position
        #: Records of batches read to their ends, and how many of these are damaged.
        self._whole = self._damaged = 0
        self.columns = Columns()

    @property
    def anything(self) -> bool:
        return self._reading.position > self._start

    def whole_batches(self) -> None:
        """Remember that all records up to here belong to batches read to their ends."""
        self._whole, self._damaged = len(self.columns.keys), self.columns.damaged

    def drop_half_read(self) -> None:
        self.columns.cut(self._whole, self._damaged)

    def close(self) -> Slab:
        """Return it, up to the reading's position; a new one is open then."""
        at, columns = self._reading, self.columns
        slab = Slab(
            at.topic,
            at.partition,
            self._start,
            at.position,
            generation=-1,
            high_watermark=-1,
            keys=columns.keys,
            sizes=columns.sizes,
            timestamps=columns.timestamps,
            tenants=columns.tenants,
            discriminators=columns.discriminators,
            damaged=columns.damaged,
            skipped=columns.skipped,
        )
        self._start, self._whole, self._damaged, self.columns = at.position, 0, 0, Columns()
        return slab
