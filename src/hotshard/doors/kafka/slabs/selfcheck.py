"""Before the hook is trusted: it and aiokafka read the same synthetic bytes, and must agree."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.consumer.fetcher import READ_COMMITTED, READ_UNCOMMITTED, FetchResult, PartitionRecords
from aiokafka.record.memory_records import MemoryRecords

from hotshard.core.fields import FieldReader
from hotshard.core.slab import Slab
from hotshard.core.topic import Field, Place
from hotshard.doors.kafka.slabs.hook import SlabBuffer
from hotshard.doors.kafka.slabs.sample import ABORT, COMMIT, Record, batch, marker
from hotshard.doors.kafka.slabs.stock import join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hotshard.doors.kafka.slabs.parser import DamageError

_TP = TopicPartition("self-check", 0)


class Case(NamedTuple):
    """Bytes as a broker would answer them to a fetch at ``position``."""

    name: str
    data: bytes
    position: int = 0
    aborted: tuple[tuple[int, int], ...] = ()


class Outcome(NamedTuple):
    """What reading came to: the columns, and where it ended."""

    keys: list[bytes | None]
    sizes: list[int]
    timestamps: list[int]
    tenants: list[bytes | None]
    discriminators: list[bytes | None]
    damaged: int
    end: int


class SelfCheckError(Exception):
    """The hook reads otherwise than aiokafka does."""


def cases() -> list[Case]:
    """The cases of the self-check; add one here when a broker answers something new."""
    plain = [Record(b"a", b"1", 1000), Record(None, b"22", 1001), Record(b"", None, 999, [(b"h", b"x"), (b"i", None)])]
    rows = [Record(b"k%d" % n, b"v" * n, 2000 + n) for n in range(12)]
    parts = [Record(b"a", b'{"d":%d}' % n, 1000, [(b"h", b"t%d" % (n % 2))][: n % 3]) for n in range(7)]
    interleaved = (
        batch(0, rows[:2], producer=7, transactional=True)
        + batch(2, rows[2:4], producer=8, transactional=True)
        + batch(4, rows[4:5])
        + marker(5, 7, ABORT)
        + batch(6, rows[5:7], producer=7, transactional=True)
        + marker(8, 8, COMMIT)
        + marker(9, 7, COMMIT)
        + batch(10, rows[7:9])
    )
    return [
        Case("plain", batch(0, plain) + batch(3, rows)),
        Case("gzip", batch(0, plain, gzipped=True) + batch(3, rows, gzipped=True)),
        Case("from the middle of a batch", batch(0, rows) + batch(12, plain), position=5),
        Case("the broker's time", batch(0, rows, append_ms=5000)),
        Case("compacted", batch(0, [Record(delta=2), Record(delta=7)], last_delta=11) + batch(20, plain)),
        Case("transactions", interleaved, aborted=((7, 0),)),
        Case("nothing but an aborted transaction", interleaved[: len(batch(0, rows[:2]))], aborted=((7, 0),)),
        Case("fields", batch(0, [*parts, *plain]) + batch(10, parts, gzipped=True), position=3),
        Case("many at once", batch(0, rows) + batch(12, rows[:1] * 99), position=9),
        Case("cut off", batch(0, plain) + batch(3, rows)[:-5]),
    ]


def self_check() -> None:
    """Raise SelfCheckError, or whatever a missing name raises, when the hook cannot be trusted. About 2 ms.

    ``sound.keep_bytes`` must have been called: what is checked is what the fetcher will use.
    """
    fields = FieldReader(Field(Place.HEADER, "h"), Field(Place.JSON, "d"))
    for case, committed, reader in product(cases(), (False, True), (None, fields)):
        stock, ours = read_stock(case, reader, committed=committed), read_hooked(case, reader, committed=committed)
        if stock != ours:
            raise SelfCheckError(f"{case.name} (read_committed={committed}): {ours} instead of {stock}")


def read_stock(case: Case, fields: FieldReader | None = None, *, committed: bool) -> Outcome:
    """Read as aiokafka does."""
    records = _fetched(case, MemoryRecords, committed=committed)
    got = list(records)
    return _outcome(join(_TP, case.position, records.next_fetch_offset, got, fields=fields), records)


def read_hooked(case: Case, fields: FieldReader | None = None, *, committed: bool) -> Outcome:
    """Read through the hook as the fetcher does, from its buffer on."""
    readers = {} if fields is None else {_TP.topic: fields}
    buffer = SlabBuffer(frozenset({_TP.topic}), lambda _: None, _raise_damage, _raise, limit=5, fields=readers)
    records, assigned = _fetched(case, fetcher.MemoryRecords, committed=committed), _Assigned(case.position)
    buffer[_TP] = result = FetchResult(_TP, assignment=assigned, partition_records=records, backoff=0)
    got: list[Slab] = []
    while result.has_more():
        got += result.getall(1)
    if assigned.position != records.next_fetch_offset:
        raise SelfCheckError(f"{case.name}: position {assigned.position}, not {records.next_fetch_offset}")
    return _outcome(got, records)


class _Assigned:
    """As much of an assignment, and of the state of its one partition, as a FetchResult looks at."""

    active = True
    paused = False

    def __init__(self, position: int) -> None:
        self.position = position

    def state_value(self, _: TopicPartition) -> _Assigned:
        return self

    def consumed_to(self, position: int) -> None:
        self.position = position


def _fetched(case: Case, kind: Callable[[bytes], Any], *, committed: bool) -> Any:  # noqa: ANN401 - aiokafka has no types
    level = READ_COMMITTED if committed else READ_UNCOMMITTED
    data = kind(case.data)
    return PartitionRecords(_TP, data, list(case.aborted), case.position, None, None, True, level)  # noqa: FBT003


def _outcome(read: Iterable[Slab], records: Any) -> Outcome:  # noqa: ANN401
    outcome, damaged = Outcome([], [], [], [], [], 0, 0), 0
    for slab in read:
        if type(slab) is not Slab:
            raise SelfCheckError(f"{type(slab).__name__} instead of a slab")
        outcome.keys.extend(slab.keys)
        outcome.sizes.extend(slab.sizes)
        outcome.timestamps.extend(slab.timestamps)
        outcome.tenants.extend(slab.tenants or ())
        outcome.discriminators.extend(slab.discriminators or ())
        damaged += slab.damaged
    return outcome._replace(damaged=damaged, end=records.next_fetch_offset)


def _raise(failure: Exception) -> None:
    raise failure


_raise_damage: Callable[[TopicPartition, DamageError], None] = lambda _, damage: _raise(damage)  # noqa: E731
