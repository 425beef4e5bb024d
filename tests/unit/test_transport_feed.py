"""Fetching, against a fetcher that does what it is told: nothing is lost, doubled or raised."""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaConnectionError, RecordTooLargeError
from aiokafka.structs import ConsumerRecord
from faust.types import TP

from hotshard.core.slab import Slab
from hotshard.job.transport import feed as feed_module
from hotshard.job.transport.feed import Feed
from hotshard.job.transport.options import Options

if TYPE_CHECKING:
    from collections.abc import Collection

_A, _B = TP("t", 0), TP("t", 1)


def _record(tp: TP, offset: int) -> ConsumerRecord:
    return ConsumerRecord(*tp, offset, 1000, 0, b"k%d" % offset, b"v", None, 0, 0, ())


class _Fetcher:
    """Two partitions of ten records each; ``bad`` offsets raise as a damaged batch does, after what came before."""

    def __init__(self, bad: dict[TP, int] | None = None) -> None:
        self._records: OrderedDict[Any, Any] = OrderedDict()
        self.states = {
            tp: SimpleNamespace(position=0, has_valid_position=True, highwater=10, lso=10) for tp in (_A, _B)
        }
        self.bad = bad or {}
        self.errors: list[Exception] = []
        self.end = 10

    async def fetched_records(self, partitions: Collection[TP], timeout: float = 0, max_records: int = 1) -> Any:  # noqa: ANN401, ARG002, ASYNC109
        if self.errors:
            raise self.errors.pop(0)
        drained: dict[TopicPartition, list[Any]] = {}
        for tp in sorted(partitions):
            state = self.states[TP(*tp)]
            got: list[Any] = []
            while state.position + len(got) < self.end and len(got) < max_records:
                if state.position + len(got) == self.bad.get(TP(*tp), -1):
                    raise CorruptRecordException("damaged")
                got.append(_record(TP(*tp), state.position + len(got)))
            state.position += len(got)
            max_records -= len(got)
            if got:
                drained[TopicPartition(*tp)] = got
        return drained

    def seek_to(self, tp: TP, offset: int) -> None:
        self.states[TP(*tp)].position = offset


class _Repair:
    """Skips one record."""

    def __init__(self, fetcher: _Fetcher) -> None:
        self._fetcher = fetcher

    async def read(self, tp: TP, position: int, *, one_batch: bool) -> Any:  # noqa: ANN401, ARG002
        del self._fetcher.bad[tp]
        slab = Slab(*tp, position, position + 1, generation=-1, high_watermark=-1, skipped=1)
        return SimpleNamespace(slabs=[slab], damaged=True)


class _Group:
    generation = 4
    reads_committed = False

    def __init__(self, fetcher: _Fetcher) -> None:
        self.assignment = SimpleNamespace(tps=list(fetcher.states), state_value=lambda tp: fetcher.states[TP(*tp)])

    def readable_end(self, state: Any) -> int:  # noqa: ANN401
        return int(state.highwater)


def _feed(monkeypatch: pytest.MonkeyPatch, fetcher: _Fetcher, *, topics: tuple[str, ...] = ("t",)) -> Feed:
    monkeypatch.setattr(feed_module, "_AFTER_ERROR_S", 0.001)
    monkeypatch.setattr(feed_module, "_LOOK_S", 0.001)
    consumer: Any = SimpleNamespace(_fetcher=fetcher, _client=None)
    options = Options(topics=frozenset(topics), slabs=False, on_stock=lambda _: None)
    made = Feed(consumer, _Group(fetcher), options, {})  # type: ignore[arg-type]  # stands in for a Group
    monkeypatch.setattr(made, "_repair", _Repair(fetcher))
    for tp in fetcher.states:
        made.seek(tp, 0)
    return made


async def _all(feed: Feed, rounds: int = 8) -> dict[TP, list[Any]]:
    found: dict[TP, list[Any]] = {_A: [], _B: []}
    for _ in range(rounds):
        for tp, items in (await feed.fetch([_A, _B], 0.001)).items():
            found[tp].extend(items)
    return found


def _assert_tiled(slabs: list[Slab], end: int = 10) -> None:
    assert [slab.start for slab in slabs] == [0, *(slab.end for slab in slabs[:-1])]
    assert slabs[-1].end == end


async def test_records_of_both_partitions_come_as_stamped_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await _all(_feed(monkeypatch, _Fetcher()))
    for slabs in found.values():
        _assert_tiled(slabs)
        assert {(slab.generation, slab.high_watermark) for slab in slabs} == {(4, 10)}


@pytest.mark.parametrize("bad", [{_B: 0}, {_B: 7}, {_A: 3}, {_A: 9, _B: 9}, {_A: 0, _B: 0}])
async def test_damage_in_one_partition_loses_nothing_of_the_others(
    monkeypatch: pytest.MonkeyPatch, bad: dict[TP, int]
) -> None:
    fetcher, damaged = _Fetcher(bad), dict(bad)
    found = await _all(_feed(monkeypatch, fetcher))
    for tp, slabs in found.items():
        _assert_tiled(slabs)
        skipped = 1 if tp in damaged else 0
        assert sum(slab.skipped for slab in slabs) == skipped
        keys = [b"k%d" % n for n in range(10) if n != damaged.get(tp)]
        assert [key for slab in slabs for key in slab.keys] == keys


@pytest.mark.parametrize("topics", [("t",), ()])
async def test_damage_met_by_the_fetch_in_which_reading_began_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, topics: tuple[str, ...]
) -> None:
    fetcher = _Fetcher({_B: 4})
    feed, fetch = _feed(monkeypatch, fetcher, topics=topics), fetcher.fetched_records
    for state in fetcher.states.values():
        state.has_valid_position = False
    monkeypatch.setattr(feed, "_ends", {})

    async def place_meanwhile(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        fetcher.fetched_records = fetch  # type: ignore[method-assign]
        for tp, state in fetcher.states.items():
            state.has_valid_position = True
            feed.seek(tp, 0)
        return await fetch(*arguments, **named)

    fetcher.fetched_records = place_meanwhile  # type: ignore[method-assign]
    found = await _all(feed)
    keys = {tp: [key for item in items for key in getattr(item, "keys", [None])] for tp, items in found.items()}
    assert [len(keys[tp]) for tp in (_A, _B)] == [10, 9]


async def test_damage_in_a_topic_read_as_records_loses_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await _all(_feed(monkeypatch, _Fetcher({_B: 4}), topics=()))
    assert [record.offset for record in found[_A]] == list(range(10))
    assert [record.offset for record in found[_B]] == [0, 1, 2, 3, 5, 6, 7, 8, 9]


async def test_an_error_of_the_cluster_is_said_and_the_next_fetch_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fetcher = _Fetcher()
    fetcher.errors = [KafkaConnectionError("gone"), OSError("gone too")]
    found = await _all(_feed(monkeypatch, fetcher))
    _assert_tiled(found[_A])
    assert [text for text in caplog.messages if "the source" in text] == [
        "waiting for the source (0 s): KafkaConnectionError: KafkaConnectionError: gone"
    ]


async def test_a_record_larger_than_a_fetch_is_counted_as_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    fetcher = _Fetcher()
    fetcher.errors = [RecordTooLargeError("%s=%s larger than %s", TopicPartition(*_A), 0, 1024)]
    feed = _feed(monkeypatch, fetcher)
    fetcher.states[_A].position = 1  # aiokafka has moved on by itself
    found = await _all(feed)
    _assert_tiled(found[_A])
    assert found[_A][0].skipped == 1


async def test_a_position_that_moves_on_without_records_is_an_empty_slab(monkeypatch: pytest.MonkeyPatch) -> None:
    fetcher = _Fetcher()
    feed, fetch = _feed(monkeypatch, fetcher), fetcher.fetched_records

    async def control_records_only(*_: Any, **__: Any) -> Any:  # noqa: ANN401
        fetcher.states[_A].position = 3
        fetcher.fetched_records = fetch  # type: ignore[method-assign]
        return {}

    fetcher.fetched_records = control_records_only  # type: ignore[method-assign]
    found = await _all(feed)
    assert [(slab.start, slab.end, len(slab)) for slab in found[_A]][:2] == [(0, 3, 0), (3, 10, 7)]


async def test_what_was_fetched_before_a_seek_is_marked_as_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = _feed(monkeypatch, _Fetcher())
    before = await feed.fetch([_A], 0.001)
    feed.seek(_A, 4)
    after = await feed.fetch([_A], 0.001)
    assert before[_A].seeks != feed.seeks[_A] == after[_A].seeks
    assert (after[_A][0].start, after[_A][-1].end) == (4, 10)


async def test_while_nothing_is_assigned_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = _feed(monkeypatch, _Fetcher())
    feed._group.assignment = None  # type: ignore[misc]  # noqa: SLF001
    assert await feed.fetch([_A], 0.001) == {}
