from __future__ import annotations

from typing import Any

import pytest

from hotshard.core.panes.placing import partition_of_names
from hotshard.core.panes.view import View
from hotshard.core.partitioners import partitioner
from hotshard.core.topic import PartitionsFrom
from hotshard.core.wire.pane import HeavyList, Pane, Row, travelling_key
from tests.support.counting import NOW_MS, topic

SPAN_MS = 10_000


def heavy(error: int = 0, /, **bounds: tuple[int, int]) -> HeavyList:
    return HeavyList(tuple(Row(name.encode(), *each) for name, each in bounds.items()), error)


def pane(start: int = 0, end: int | None = None, *, load: int = 100, at_ms: int = 0, **more: Any) -> Pane:  # noqa: ANN401
    """A pane of partition 3 that was cut ``at_ms`` after now and counted for a second."""
    partition = more.get("partition", 3)
    given: dict[str, Any] = {
        "topic": "orders", "source": "mirror.orders", "partition": partition, "generation": 1, "high_watermark": 0,
        "worker": "w1", "records": load, "size_bytes": 20 * load, "loads": {partition: load}, "time_ms": NOW_MS,
        "span_ms": 1000, "opened_ms": NOW_MS + at_ms - 1000, "cut_ms": NOW_MS + at_ms,
    }  # fmt: skip
    return Pane(start=start, end=start + 100 if end is None else end, **given | more)


def view_of(*panes: Pane, now_ms: int = NOW_MS) -> View:
    view = View(SPAN_MS)
    for each in panes:
        view.put(each)
    view.expire(now_ms)
    return view


# -- what is in it -----------------------------------------------------------------------------------


def test_a_view_is_the_sum_of_its_panes() -> None:
    view = view_of(
        pane(load=10, keys=heavy(2, a=(5, 6)), tenants=heavy(t=(9, 9))),
        pane(100, load=20, keys=heavy(1, a=(7, 7), b=(1, 2))),
        pane(load=5, partition=4, keys=heavy(a=(4, 4))),
    )
    assert (view.load, view.loads) == (35, {3: 30, 4: 5})
    assert view.keys.bounds(b"a") == (16, 17)
    assert view.keys.bounds(b"b") == (1, 2 + 2)
    assert view.keys.bounds(b"elsewhere") == (0, 3)
    assert view.keys.error == 3
    assert view.tenants.bounds(b"t") == (9, 9)
    assert view.by_partition(b"a") == {3: 12, 4: 4}


def test_a_newer_version_replaces_the_older() -> None:
    view = view_of(pane(0, 50, load=10, keys=heavy(a=(5, 5))), pane(0, 90, load=30, keys=heavy(a=(9, 9))))
    assert (view.load, view.keys.bounds(b"a"), view.by_partition(b"a")) == (30, (9, 9), {3: 9})


@pytest.mark.parametrize(("start", "end"), [(0, 90), (0, 110), (40, 90), (90, 200)])
def test_what_a_worker_counts_that_has_lost_the_partition_is_let_go(start: int, end: int) -> None:
    owner = pane(0, 100, load=30, generation=2)
    assert view_of(owner, pane(start, end, load=10, generation=1)).load == 30


@pytest.mark.parametrize(("start", "end"), [(0, 90), (0, 110), (40, 90), (99, 200)])
def test_records_counted_again_from_another_start_are_not_in_it_twice(start: int, end: int) -> None:
    lost = [pane(0, 100, load=30), pane(100, 150, load=5)]
    again = pane(start, end, load=11, generation=2)
    assert view_of(*lost, again).load == (11 if end > 100 else 16)


@pytest.mark.parametrize(
    "other", [{"source": "mirror.others"}, {"partition": 4}, {"start": 100}, {"start": 5000, "generation": 1}]
)
def test_panes_of_other_records_stay(other: dict[str, Any]) -> None:
    assert view_of(pane(0, 100, load=30, generation=2), pane(**{"load": 10, "generation": 2} | other)).load == 40


def test_a_pane_leaves_with_all_it_said() -> None:
    view = view_of(pane(keys=heavy(3, a=(5, 6)), tenants=heavy(t=(5, 6))))
    view.put(pane(100, at_ms=5, keys=heavy(1, b=(1, 1))))
    view.expire(NOW_MS + 5)
    assert view.by_partition(b"a") == {3: 5}
    view.expire(NOW_MS + SPAN_MS)
    assert (view.load, len(view.keys), len(view.tenants), view.keys.error) == (100, 1, 0, 1)
    assert view.keys.bounds(b"a") == (0, 1)
    assert view.by_partition(b"a") == {}
    view.expire(NOW_MS + SPAN_MS + 5)
    assert (view.load, view.loads, len(view.keys), view.keys.error) == (0, {}, 0, 0)


def test_what_was_replaced_does_not_leave_again() -> None:
    view = view_of(pane(0, 50, load=10), pane(0, 90, load=30, at_ms=700), now_ms=NOW_MS + 700)
    view.expire(NOW_MS + SPAN_MS)
    assert view.load == 30


def test_a_pane_from_a_clock_that_is_ahead_leaves_after_the_span() -> None:
    view = view_of(pane(at_ms=3_600_000))
    view.expire(NOW_MS + SPAN_MS - 1)
    assert view.load == 100
    view.expire(NOW_MS + SPAN_MS)
    assert view.load == 0


def test_no_pane_stays_longer_when_the_clock_is_set_back() -> None:
    view = view_of(pane())
    view.expire(NOW_MS - 3_600_000)
    view.put(pane(100, at_ms=-3_600_000, load=7))
    view.expire(NOW_MS - 3_600_000 + SPAN_MS - 1)
    assert view.load == 107
    assert view.span_s(NOW_MS - 3_600_000 + SPAN_MS) == 9.5
    view.expire(NOW_MS - 3_600_000 + SPAN_MS)
    assert view.load == 0


# -- routed keys -------------------------------------------------------------------------------------

ROUTE = {b"k": b"k", b"k\x1f0": b"k", b"k\x1f1": b"k"}


def test_shards_count_for_their_base_key_exactly_where_they_were_counted_so() -> None:
    exact = {b"k": 0, b"k\x1f0": 30, b"k\x1f1": 20}
    view = view_of(
        pane(keys=heavy(4, k=(45, 55)), exact=exact),
        pane(partition=4, keys=heavy(3, **{"k\x1f0": (5, 6), "x": (1, 1)})),
    )
    assert view.keys.bounds(b"k\x1f0") == (35, 36)
    view.aliases = ROUTE
    assert view.keys.bounds(b"k") == (55, 50 + 6 + 2 * 3)
    assert sorted(view.keys.candidates(1)) == [(b"k", 55, 62), (b"x", 1, 5)]
    assert view.by_partition(b"k") == {3: 50, 4: 5}
    view.aliases = {}
    assert view.keys.bounds(b"k") == (0, 3)
    assert sorted(view.keys.candidates(20)) == [(b"k\x1f0", 35, 36), (b"k\x1f1", 20, 23)]


def test_a_base_key_that_nobody_sends_is_the_sum_of_its_shards() -> None:
    view = view_of(pane(exact={b"k": 0, b"k\x1f0": 30, b"k\x1f1": 20}))
    view.aliases = {wire: base for wire, base in ROUTE.items() if wire != base}
    assert view.keys.bounds(b"k") == (50, 50)
    assert view.keys.candidates(50) == [(b"k", 50, 50)]
    assert view.keys.candidates(51) == []


def test_what_was_counted_exactly_as_nothing_is_nothing() -> None:
    view = view_of(pane(keys=heavy(9, a=(10, 10)), exact={b"k": 0}))
    assert view.keys.bounds(b"k") == (0, 0)
    assert view.keys.bounds(b"j") == (0, 9)
    assert view.by_partition(b"k") == {}


# -- where it lies -----------------------------------------------------------------------------------


def test_a_key_once_asked_for_is_followed_through_the_partitions() -> None:
    view = view_of(pane(keys=heavy(a=(5, 5))))
    assert view.by_partition(b"a") == {3: 5}
    view.put(pane(partition=7, keys=heavy(a=(2, 2))))
    view.put(pane(0, 150, keys=heavy(a=(6, 6))))
    assert view.by_partition(b"a") == {3: 6, 7: 2}
    view.put(pane(partition=7, end=200, keys=heavy(b=(2, 2))))
    assert view.by_partition(b"a") == {3: 6}


def test_where_partitions_are_computed_a_key_lies_where_the_partitioner_puts_it() -> None:
    spec = topic(partitions_from=PartitionsFrom.COMPUTED, partitioner="crc32")
    view = View(SPAN_MS, partition_of_names(spec, 32))
    long = travelling_key(b"l" * 300)
    said = dict.fromkeys(("k\x1f0", "k", ""), (5, 6))
    view.put(pane(keys=heavy(**said), loads={1: 60, 2: 40}))
    view.put(pane(partition=4, keys=HeavyList((Row(b"k", 2, 3), Row(long, 9, 9))), loads={2: 7}))
    view.aliases = ROUTE
    place = partitioner("crc32").partition
    home, shard = place(b"k", 32), place(b"k\x1f0", 32)
    assert view.loads == {1: 60, 2: 47}
    assert view.by_partition(b"k") == {home: 7, shard: 5}
    assert view.by_partition(b"") == view.by_partition(long) == view.by_partition(b"elsewhere") == {}


def test_where_the_source_has_the_partitions_nothing_is_computed() -> None:
    assert partition_of_names(topic(), 32) is None


def test_names_that_come_and_go_leave_nothing_behind() -> None:
    view = view_of()
    for number in range(600):
        name = b"%d" % number
        view.put(pane(keys=HeavyList((Row(name, 5, 5), Row(name + b"x", 5, 5)))))
        assert view.by_partition(name) == {3: 5}
        assert view.keys.candidates(5)
    assert len(view.keys._followed) == 1  # noqa: SLF001  # memory has no other outside
    assert len(view.keys._names) == 1024  # noqa: SLF001  # it grows in such steps


# -- what is asked of it -----------------------------------------------------------------------------


def test_candidates_are_right_whatever_was_asked_before() -> None:
    view = view_of(pane(keys=HeavyList(tuple(Row(b"%d" % n, n, n + 1) for n in range(1, 100)))))
    for least in (90, 40, 41, 8, 0, 99, 100, -5, 60):
        expected = {(b"%d" % n, n, n + 1) for n in range(max(1, least), 100)}
        assert set(view.keys.candidates(least)) == expected
    view.put(pane(100, keys=heavy(**{"7": (60, 60), "new": (70, 70)})))
    assert {name for name, *_ in view.keys.candidates(60)} == {b"7", b"new", *(b"%d" % n for n in range(60, 100))}
    view.put(pane(0, 50))
    assert {name for name, *_ in view.keys.candidates(60)} == {b"7", b"new"}
    assert len(view.keys.candidates(1)) == 2
    view.put(pane(200, keys=heavy(one=(1, 1))))
    assert {name for name, *_ in view.keys.candidates(1)} == {b"7", b"new", b"one"}


@pytest.mark.parametrize(
    ("look_ms", "span_s"),
    [(0, 1.0), (900, 1.0), (2_500, 2.0), (9_500, 9.0), (10_499, 9.999), (20_000, 10.0), (10**9, 10.0)],
)
def test_the_span_is_what_has_been_watched(look_ms: int, span_s: float) -> None:
    """One second is in it, then there is silence, which is watched as well once nothing can be on its way."""
    view = view_of(pane())
    assert view.span_s(NOW_MS) == 1.0
    view.expire(NOW_MS + look_ms)
    assert view.span_s(NOW_MS + look_ms) == span_s


def test_a_view_that_has_seen_nothing_has_watched_since_its_first_look() -> None:
    view = View(SPAN_MS)
    assert view.span_s(NOW_MS) == 0.0
    view.expire(NOW_MS)
    assert view.span_s(NOW_MS + 1_000) == 0.0
    assert view.span_s(NOW_MS + 4_500) == 3.0
    view.put(pane(at_ms=4_400, partition=1))
    view.expire(NOW_MS + 4_500)
    assert view.span_s(NOW_MS + 4_500) == 4.4


def test_a_clock_that_was_set_back_begins_to_watch_anew() -> None:
    view, back_ms = view_of(pane()), NOW_MS - 3_600_000
    view.expire(back_ms)
    assert view.span_s(back_ms) == 0.0
    assert view.span_s(back_ms + 2_500) == 1.0


def test_a_clock_that_is_ahead_does_not_lengthen_the_span() -> None:
    view = view_of(pane(at_ms=9_000, opened_ms=NOW_MS - 500))
    assert view.span_s(NOW_MS) == 0.5
