# ruff: noqa: SLF001 - aiokafka's private names are what this is about
"""The hook yields slabs for our topics, tells when it cannot, and is compared with aiokafka before it is trusted."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher
from aiokafka.consumer.fetcher import FetchError, FetchResult, PartitionRecords
from aiokafka.structs import ConsumerRecord

from hotshard.core.slab import Slab
from hotshard.doors.kafka.slabs import selfcheck
from hotshard.doors.kafka.slabs.hook import SlabBuffer
from hotshard.doors.kafka.slabs.sample import Record, batch
from hotshard.doors.kafka.slabs.sound import KeptRecords
from hotshard.doors.kafka.slabs.stock import join

if TYPE_CHECKING:
    from hotshard.doors.kafka.slabs.parser import DamageError

_TP = TopicPartition("ours", 1)


class _Told:
    def __init__(self) -> None:
        self.damage: list[tuple[TopicPartition, DamageError]] = []
        self.failures: list[Exception] = []

    def buffer(self) -> SlabBuffer:
        return SlabBuffer(
            frozenset({"ours"}),
            lambda slab: setattr(slab, "generation", 9),
            lambda tp, damage: self.damage.append((tp, damage)),
            self.failures.append,
        )


def _result(data: bytes, tp: TopicPartition = _TP) -> FetchResult:
    records = PartitionRecords(tp, KeptRecords(data), [], 0, None, None, True, 0)  # noqa: FBT003 - aiokafka's
    return FetchResult(tp, assignment=None, partition_records=records, backoff=0)


def _taken(buffer: SlabBuffer, tp: TopicPartition = _TP) -> list[Any]:
    return list(buffer[tp]._partition_records)


def test_a_result_of_our_topic_yields_stamped_slabs() -> None:
    buffer = _Told().buffer()
    buffer[_TP] = _result(batch(0, [Record()] * 3))
    (slab,) = _taken(buffer)
    assert (slab.topic, slab.partition, slab.start, slab.end, slab.generation) == ("ours", 1, 0, 3, 9)
    assert buffer[_TP]._partition_records.next_fetch_offset == 3


def test_results_of_other_topics_yield_records() -> None:
    other, buffer = TopicPartition("theirs", 0), _Told().buffer()
    buffer[other] = _result(batch(0, [Record()] * 3), other)
    assert [type(item) for item in _taken(buffer, other)] == [ConsumerRecord] * 3


def test_an_error_is_left_as_it_is() -> None:
    told, error = _Told(), FetchError(error=ValueError(), backoff=0)
    buffer = told.buffer()
    buffer[_TP] = error
    assert buffer[_TP] is error
    assert not told.failures


def test_a_result_that_cannot_be_swapped_yields_records_and_the_failure_is_told() -> None:
    told, result = _Told(), _result(batch(0, [Record()] * 3))
    del result._partition_records._check_crcs
    buffer = told.buffer()
    buffer[_TP] = result
    result._partition_records._check_crcs = True
    assert [type(item) for item in _taken(buffer)] == [ConsumerRecord] * 3
    assert [type(failure) for failure in told.failures] == [AttributeError]


def test_damage_is_told_and_something_is_yielded_for_it() -> None:
    told = _Told()
    buffer = told.buffer()
    buffer[_TP] = _result(batch(0, [Record()] * 3) + batch(3, [Record()], codec=7))
    slab, mark = _taken(buffer)
    assert (slab.start, slab.end, mark.start, mark.end) == (0, 3, 3, 3)
    assert [(tp, damage.position) for tp, damage in told.damage] == [(_TP, 3)]
    assert buffer[_TP]._partition_records.next_fetch_offset == 3


@pytest.fixture
def bytes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "MemoryRecords", KeptRecords)


@pytest.mark.usefixtures("bytes_are_kept")
def test_the_self_check_passes_with_the_pinned_aiokafka() -> None:
    selfcheck.self_check()


@pytest.mark.usefixtures("bytes_are_kept")
@pytest.mark.parametrize("name", ["_records", "_check_crcs", "_isolation_level", "_aborted_transactions"])
def test_the_self_check_fails_when_a_name_it_needs_is_gone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    class Renamed(PartitionRecords):  # type: ignore[misc]  # aiokafka has no types
        def __getattribute__(self, wanted: str) -> Any:  # noqa: ANN401
            if wanted == name and selfcheck_reads:
                raise AttributeError(wanted)
            return super().__getattribute__(wanted)

    selfcheck_reads = True
    monkeypatch.setattr(selfcheck, "PartitionRecords", Renamed)
    with pytest.raises(AttributeError, match=name):
        selfcheck.self_check()


@pytest.mark.usefixtures("bytes_are_kept")
def test_the_self_check_fails_when_the_hook_reads_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    def dearer(tp: Any, start: int, end: int, records: Any, **more: Any) -> Any:  # noqa: ANN401
        for slab in join(tp, start, end, records, **more):
            slab.sizes = [size + 1 for size in slab.sizes]
            yield slab

    monkeypatch.setattr(selfcheck, "join", dearer)
    with pytest.raises(selfcheck.SelfCheckError, match="plain"):
        selfcheck.self_check()


def test_the_hook_knows_the_fetcher_it_was_made_for() -> None:
    assert "_records = collections.OrderedDict()" in inspect.getsource(fetcher.Fetcher.__init__)


def _record(offset: int, key: bytes | None = b"k", value: bytes | None = b"v", at: int | None = 7) -> ConsumerRecord:
    return ConsumerRecord("ours", 1, offset, at, 0, key, value, None, 0, 0, ())


def test_joined_records_tile_from_the_position_before_to_the_one_after() -> None:
    slabs = list(join(_TP, 2, 12, [_record(n) for n in (3, 4, 8)], limit=2))
    assert [(slab.start, slab.end, len(slab)) for slab in slabs] == [(2, 5, 2), (5, 12, 1)]


def test_joined_records_keep_nulls_and_sizes() -> None:
    (slab,) = join(_TP, 0, 4, [_record(0, None, None), _record(1, b"", b"12"), _record(2, b"3", None, None)])
    assert (slab.keys, slab.sizes, slab.timestamps) == ([None, b"", b"3"], [0, 2, 1], [7, 7, -1])


def test_no_records_and_another_position_join_to_an_empty_slab() -> None:
    assert list(join(_TP, 4, 6, [])) == [Slab("ours", 1, 4, 6, -1, -1)]
    assert list(join(_TP, 6, 6, [])) == []


def test_records_below_the_position_are_left_out_when_joining() -> None:
    (slab,) = join(_TP, 5, 7, [_record(n) for n in (3, 4, 5, 6)])
    assert (slab.start, slab.end, len(slab)) == (5, 7, 2)
