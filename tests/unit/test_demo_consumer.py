"""A consumer of limited speed per partition."""

from __future__ import annotations

import asyncio
from collections import namedtuple
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.demo.desk import Arrived, Desk
from hotshard.demo.paced import PacedConsumer
from hotshard.doors.clock import ManualClock, SystemClock
from tests.support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_Record = namedtuple("_Record", "partition key timestamp")  # noqa: PYI024 - as a consumer gives it


def _records(number: int, partition: int = 0, created_ms: int = 0) -> list[Arrived]:
    return [Arrived(partition, b"k%d" % n, created_ms) for n in range(number)]


def test_a_desk_handles_at_its_rate_and_no_faster() -> None:
    desk = Desk(100)
    desk.arrive(_records(50), 10.0)
    assert len(desk.handled(10.0)) == 0
    assert len(desk.handled(10.1001)) == 10
    assert desk.waiting == 40
    assert len(desk.handled(99.0)) == 40


def test_a_desk_that_was_idle_has_saved_nothing() -> None:
    desk = Desk(10)
    desk.arrive(_records(1), 0.0)
    assert len(desk.handled(50.0)) == 1
    desk.arrive(_records(10), 50.0)
    assert len(desk.handled(50.501)) == 5


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 0.5)), max_size=30), st.floats(1, 500))
def test_a_desk_handles_everything_once_and_in_order(arrivals: list[tuple[int, float]], per_s: float) -> None:
    desk, now_s, came, went = Desk(per_s), 0.0, 0, []
    for number, pause_s in arrivals:
        desk.arrive([Arrived(0, b"k", came + n) for n in range(number)], now_s)
        came += number
        now_s += pause_s
        went += desk.handled(now_s)
        assert len(went) <= now_s * per_s + 1
    went += desk.handled(now_s + came / per_s + 1)
    assert [record.created_ms for record in went] == list(range(came))
    assert desk.waiting == 0


def test_the_oldest_in_line_is_the_next_one() -> None:
    desk = Desk(10)
    assert desk.oldest_ms() is None
    desk.arrive([Arrived(0, b"a", 7), Arrived(0, b"b", 9)], 0.0)
    assert desk.oldest_ms() == 7


class _Topic:
    """Gives what was put, once."""

    def __init__(self) -> None:
        self._news: asyncio.Queue[dict[Any, list[_Record]]] = asyncio.Queue()

    def put(self, *records: _Record) -> None:
        by_partition: dict[Any, list[_Record]] = {}
        for record in records:
            by_partition.setdefault(record.partition, []).append(record)
        self._news.put_nowait(by_partition)

    async def getmany(self, *, timeout_ms: int) -> Mapping[Any, Sequence[Any]]:
        assert timeout_ms > 0
        return await self._news.get()


class _Watcher:
    def __init__(self) -> None:
        self.came: list[Arrived] = []
        self.went: list[tuple[Arrived, int]] = []

    def arrived(self, record: Arrived) -> None:
        self.came.append(record)

    def handled(self, record: Arrived, now_ms: int) -> None:
        self.went.append((record, now_ms))


async def test_a_backlog_on_one_partition_keeps_nobody_else_waiting() -> None:
    topic, watcher, clock = _Topic(), _Watcher(), ManualClock()
    consumer = PacedConsumer(3, 10, watcher, clock)
    running = asyncio.create_task(consumer.run(topic))
    topic.put(*[_Record(1, b"flood", clock.now_ms()) for _ in range(100)], _Record(2, b"quick", clock.now_ms()))
    await eventually(lambda: consumer.waiting == [0, 100, 1])
    assert len(watcher.came) == 101
    assert consumer.next_ms(1) == clock.now_ms()
    assert consumer.next_ms(0) is None
    sent_ms = clock.now_ms()
    clock.advance(1.001)
    await eventually(lambda: consumer.waiting == [0, 90, 0])
    assert [at_ms - sent_ms for _, at_ms in watcher.went] == [1001] * 11
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_what_breaks_the_fetching_ends_the_consumer() -> None:
    class _Broken:
        async def getmany(self, *, timeout_ms: int) -> Mapping[Any, Sequence[Any]]:
            raise ConnectionError(timeout_ms)

    with pytest.RaisesGroup(ConnectionError):
        await PacedConsumer(1, 10, _Watcher(), SystemClock()).run(_Broken())
