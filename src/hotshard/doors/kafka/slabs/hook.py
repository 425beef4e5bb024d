"""The hook: what aiokafka's fetcher puts into its buffer is made to yield slabs, for chosen topics only.

It rests on these private names of aiokafka 0.14: ``Fetcher._records`` (an OrderedDict of partition to FetchResult or
FetchError), ``FetchResult._partition_records`` and ``_assignment``; of ``PartitionRecords``: ``_records_iterator``,
``_records``, ``_aborted_transactions``, ``_check_crcs``, ``_isolation_level``, ``next_fetch_offset``; and of
``MemoryRecords`` as a name in the fetcher's module (see ``sound``). The self-check uses every one of them before the
hook is trusted.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from aiokafka.consumer.fetcher import READ_COMMITTED, FetchResult

from hotshard.core.slab import Slab
from hotshard.doors.kafka.slabs.parser import SLAB_RECORDS, DamageError, Reading, slabs
from hotshard.doors.kafka.slabs.sound import KeptRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from aiokafka import TopicPartition

    from hotshard.core.fields import FieldReader

    #: Sets a slab's ``generation`` and ``high_watermark`` at the moment it is handed out.
    Stamp = Callable[[Slab], None]
    #: Told of a batch that could not be read, before reading of its partition stops there.
    OnDamage = Callable[[TopicPartition, DamageError], None]


class SlabBuffer(OrderedDict[Any, Any]):
    """Stands in for ``Fetcher._records``: each FetchResult of our topics yields slabs instead of records.

    ``fields`` reads headers and values, by topic, where anything of them is wanted. When swapping fails, that
    FetchResult yields records as ever and ``on_failure`` is told.
    """

    def __init__(  # noqa: PLR0913
        self,
        topics: frozenset[str],
        stamp: Stamp,
        on_damage: OnDamage,
        on_failure: Callable[[Exception], None],
        limit: int = SLAB_RECORDS,
        *,
        fields: Mapping[str, FieldReader] | None = None,
    ) -> None:
        super().__init__()
        self._fields = fields or {}
        self._topics = topics
        self._stamp = stamp
        self._on_damage = on_damage
        self._on_failure = on_failure
        self._limit = limit

    def __setitem__(self, tp: TopicPartition, result: Any) -> None:  # noqa: ANN401 - FetchResult or FetchError
        if type(result) is FetchResult and tp.topic in self._topics:
            try:
                records, fields = result._partition_records, self._fields.get(tp.topic)  # noqa: SLF001 - see the module
                swap(tp, records, self._stamp, self._on_damage, self._limit, fields)
            except Exception as failure:  # noqa: BLE001 - the stock way is always open
                self._on_failure(failure)
        super().__setitem__(tp, result)


def swap(  # noqa: PLR0913, PLR0917
    tp: Any,  # noqa: ANN401
    records: Any,  # noqa: ANN401
    stamp: Stamp,
    on_damage: OnDamage,
    limit: int,
    fields: FieldReader | None = None,
) -> None:
    """Make ``PartitionRecords`` yield slabs. Raises whatever a missing name raises, and has changed nothing then."""
    reading = Reading(
        topic=tp.topic,
        partition=tp.partition,
        batches=_kept(records._records),  # noqa: SLF001
        position=records.next_fetch_offset,
        check_crcs=records._check_crcs,  # noqa: SLF001
        read_committed=records._isolation_level == READ_COMMITTED,  # noqa: SLF001
        aborted=[(producer, first) for producer, first in records._aborted_transactions],  # noqa: SLF001
        fields=fields,
    )
    if records._records_iterator is None:  # noqa: SLF001
        raise AttributeError("_records_iterator")
    records._records_iterator = _stamped(tp, records, slabs(reading, limit), stamp, on_damage)  # noqa: SLF001


def _kept(batches: Any) -> KeptRecords:  # noqa: ANN401
    if type(batches) is not KeptRecords:
        raise TypeError(f"{type(batches).__name__} keeps no bytes")
    return batches


def _stamped(tp: Any, records: Any, read: Iterator[Slab], stamp: Stamp, on_damage: OnDamage) -> Iterator[Slab]:  # noqa: ANN401
    try:
        for slab in read:
            records.next_fetch_offset = slab.end
            stamp(slab)
            yield slab
    except DamageError as damage:
        on_damage(tp, damage)
        # something must be yielded, or the fetcher would wait for more before it returns
        yield Slab(tp.topic, tp.partition, damage.position, damage.position, generation=-1, high_watermark=-1)
