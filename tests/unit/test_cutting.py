from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hotshard.core.panes.cutting import IDLE_MS, start_offset
from hotshard.core.topic import KeyLayout, Load
from hotshard.core.wire.pane import Row, encode, travelling_key
from hotshard.errors import PaneGapError
from tests.support.counting import NOW_MS, WINDOW_MS, partition_panes, slab, take, topic

if TYPE_CHECKING:
    from hotshard.core.panes.cutting import PartitionPanes
    from hotshard.core.wire.pane import Pane

NONE: dict[bytes, bytes] = {}
ROUTED = {b"a\x1f1": b"a\x1f1", b"a\x1f1\x1fx": b"a\x1f1", b"a\x1f1\x1fy": b"a\x1f1"}


def open_pane(*keys: bytes | None, now_ms: int = NOW_MS) -> PartitionPanes:
    panes = partition_panes()
    panes.add(slab(0, keys or [b"a\x1f1"]), now_ms, NONE)
    return panes


def head(panes: PartitionPanes) -> Pane:
    pane = panes.publishable()
    assert pane is not None
    return pane


def rows(pane: Pane) -> dict[bytes, Row]:
    return {row.key: row for row in pane.keys.rows}


# -- tiling ------------------------------------------------------------------------------------------


def test_a_pane_says_what_was_counted() -> None:
    panes = partition_panes(start=100)
    panes.add(slab(100, [b"a\x1f1", b"a\x1f2", b"a\x1f1", None], hole=2, skipped=1), NOW_MS, NONE)
    (pane,) = take(panes, NOW_MS + 900)
    assert (pane.topic, pane.source, pane.partition, pane.worker) == ("orders", "mirror.orders", 3, "w1")
    assert (pane.start, pane.end, pane.generation, pane.high_watermark) == (100, 106, 1, 106)
    assert (pane.records, pane.size_bytes, pane.unkeyed, pane.skipped, pane.failed) == (4, 80, 1, 1, 0)
    assert pane.loads == {3: 3}
    assert pane.keys.rows == (Row(b"a\x1f1", 2, 2), Row(b"a\x1f2", 1, 1))
    assert pane.tenants.rows == (Row(b"a", 3, 3),)
    assert (pane.keys.error, pane.tenants.error) == (0, 0)
    assert (pane.time_ms, pane.opened_ms, pane.cut_ms, pane.live) == (NOW_MS, NOW_MS, NOW_MS + 900, True)


@pytest.mark.parametrize("start", [4, 6, 0])
def test_a_slab_that_does_not_follow_on_is_refused(start: int) -> None:
    panes = partition_panes(start=5)
    with pytest.raises(PaneGapError, match=f"from {start} in generation 1 does not continue 5"):
        panes.add(slab(start, [b"a"]), NOW_MS, NONE)
    assert panes.position == 5


def test_a_slab_of_another_generation_is_refused() -> None:
    with pytest.raises(PaneGapError, match="generation 2"):
        partition_panes().add(slab(0, [b"a"], generation=2), NOW_MS, NONE)


def test_offsets_without_records_are_a_pane_too() -> None:
    panes = partition_panes()
    panes.add(slab(0, [], hole=7), NOW_MS, NONE)
    assert panes.due(NOW_MS + 1000)
    (pane,) = take(panes)
    assert (pane.start, pane.end, pane.records, pane.loads) == (0, 7, 0, {})


def test_there_is_no_pane_of_nothing() -> None:
    panes = partition_panes()
    panes.seal(NOW_MS)
    assert panes.waiting == 0
    assert panes.publishable() is None
    assert not panes.due(NOW_MS + 10**6)


def test_panes_are_published_in_order_each_after_the_commit_of_the_one_before() -> None:
    panes = open_pane(b"a", b"b")
    panes.seal(NOW_MS)
    panes.add(slab(2, [b"c"]), NOW_MS, NONE)
    panes.seal(NOW_MS)
    assert (panes.waiting, panes.committed_start, panes.position) == (2, 0, 3)
    first = head(panes)
    assert panes.publishable() is first
    panes.committed(2)
    assert (panes.waiting, panes.committed_start, head(panes).start) == (1, 2, 2)
    panes.committed(3)
    assert (panes.waiting, panes.committed_start, panes.publishable()) == (0, 3, None)


@pytest.mark.parametrize("end", [1, 3])
def test_only_the_oldest_sealed_pane_can_be_committed(end: int) -> None:
    panes = open_pane(b"a", b"b")
    with pytest.raises(ValueError, match="no pane that ends at 2"):
        panes.committed(2)
    panes.seal(NOW_MS)
    with pytest.raises(ValueError, match=f"ends at {end} "):
        panes.committed(end)


# -- when a pane is due ------------------------------------------------------------------------------


def test_a_pane_is_due_after_its_second() -> None:
    panes = open_pane()
    for past_ms in range(0, 1000, 100):
        panes.add(slab(panes.position, [b"a"]), NOW_MS + past_ms, NONE)
    assert not panes.due(NOW_MS + 999)
    assert panes.due(NOW_MS + 1000)


def test_a_second_counts_from_the_first_record_and_not_from_the_cut_before() -> None:
    panes = partition_panes()
    panes.add(slab(0, [b"a"]), NOW_MS + 60_000, NONE)
    assert not panes.due(NOW_MS + 60_000 + IDLE_MS - 1)
    assert take(panes, NOW_MS + 60_100)[0].opened_ms == NOW_MS + 60_000


def test_an_idle_partition_is_cut_early() -> None:
    panes = open_pane()
    assert not panes.due(NOW_MS + IDLE_MS - 1)
    assert panes.due(NOW_MS + IDLE_MS)


def test_a_clock_that_was_set_back_holds_nothing_up() -> None:
    assert open_pane().due(NOW_MS - 3_600_000)


def test_a_backlog_is_cut_by_its_own_timestamps() -> None:
    panes = partition_panes()
    past_ms = NOW_MS // WINDOW_MS * WINDOW_MS - 3_600_000
    for step in range(40):
        event_ms = past_ms + step * 1000
        panes.add(slab(step * 10, [b"a"] * 10, at_ms=event_ms, high_watermark=10**6), NOW_MS + step * 30, NONE)
    windows = [pane.time_ms // WINDOW_MS - past_ms // WINDOW_MS for pane in take(panes, NOW_MS + 1200)]
    assert windows == [0, 1, 2, 3]


def test_wild_timestamps_make_no_flood_of_panes() -> None:
    panes = partition_panes()
    for step in range(1000):  # one second; every other slab claims to be a window later than the one before
        event_ms = NOW_MS - 10**8 + step * WINDOW_MS * (step % 2)
        panes.add(slab(step, [b"a"], at_ms=event_ms), NOW_MS + step, NONE)
    assert panes.waiting <= 10


def test_a_record_two_hours_ahead_cuts_nothing_and_moves_nothing() -> None:
    panes = partition_panes()
    for step in range(8):
        stamps = [NOW_MS + step * 100] * 12
        stamps[5] += 2 * 3_600_000
        panes.add(slab(step * 12, [b"a"] * 12, at_ms=stamps), NOW_MS + step * 100, NONE)
    (pane,) = take(panes, NOW_MS + 800)
    assert NOW_MS <= pane.time_ms <= NOW_MS + 800
    assert pane.span_ms <= 900


# -- live or a backlog -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behind_ms", "left", "live"),
    [(0, 1, True), (10_000, 1, True), (10_001, 1, False), (10_001, 0, True), (10**9, 0, True)],
)
def test_a_pane_is_live_at_the_end_of_the_log_or_within_ten_seconds(behind_ms: int, left: int, *, live: bool) -> None:
    panes = partition_panes()
    panes.add(slab(0, [b"a"] * 9, at_ms=NOW_MS - behind_ms, high_watermark=9 + left), NOW_MS, NONE)
    assert take(panes)[0].live is live


# -- early versions: what is told is for test_early_verdict ------------------------------------------


def test_an_early_version_stands_while_counting_goes_on() -> None:
    panes = partition_panes()
    panes.add(slab(0, [b"t\x1fhot"] * 250), NOW_MS, NONE)
    version = panes.early(NOW_MS + 100)
    assert version is not None
    said = encode(version)
    panes.add(slab(250, [b"t\x1fhot"] * 250), NOW_MS + 100, NONE)
    take(panes)
    assert encode(version) == said


# -- keys --------------------------------------------------------------------------------------------


def test_shards_count_for_their_base_key_and_exactly_by_themselves() -> None:
    panes = partition_panes()
    keys = [b"a\x1f1"] * 2 + [b"a\x1f1\x1fx"] * 3 + [b"b\x1f1"] * 4
    panes.add(slab(0, keys), NOW_MS, ROUTED)
    (pane,) = take(panes)
    assert {row.key: row.lower for row in pane.keys.rows} == {b"a\x1f1": 5, b"b\x1f1": 4}
    assert {row.key: row.lower for row in pane.tenants.rows} == {b"a": 5, b"b": 4}
    assert pane.exact == {b"a\x1f1": 2, b"a\x1f1\x1fx": 3, b"a\x1f1\x1fy": 0}


def test_a_key_routed_after_the_pane_was_opened_is_a_row_of_its_own_in_it() -> None:
    base, shard = b"a\x1f1", b"a\x1f1\x1fx"
    panes = partition_panes()
    panes.add(slab(0, [base]), NOW_MS, {base: base})
    panes.add(slab(1, [shard] * 3 + [base]), NOW_MS, ROUTED)
    (pane,) = take(panes)
    assert pane.exact == {base: 2}
    assert rows(pane) == {base: Row(base, 2, 2), shard: Row(shard, 3, 3)}
    panes.add(slab(5, [shard]), NOW_MS, ROUTED)
    (pane,) = take(panes)
    assert pane.exact == {base: 0, shard: 1, b"a\x1f1\x1fy": 0}
    assert rows(pane) == {base: Row(base, 1, 1)}


def test_long_keys_travel_cut_and_stay_apart() -> None:
    one, other = b"t\x1f" + b"k" * 300, b"t\x1f" + b"k" * 300 + b"!"
    panes = partition_panes()
    panes.add(slab(0, [one, one, other]), NOW_MS, {one: one})
    (pane,) = take(panes)
    assert {row.key: row.lower for row in pane.keys.rows} == {travelling_key(one): 2, travelling_key(other): 1}
    assert pane.exact == {travelling_key(one): 2}
    assert panes.recent(one, NOW_MS + WINDOW_MS).estimates == (2,)


def test_long_keys_do_not_pile_up() -> None:
    panes = partition_panes()
    for step in range(6):
        keys = [b"%d" % (step * 10 + n) + b"k" * 200_000 for n in range(10)]
        panes.add(slab(step * 10, keys, sizes=[200_000] * 10), NOW_MS, NONE)
        pending = panes._open.counter._pending  # noqa: SLF001  # the bound is the point
        assert sum(len(key or b"") for key in pending) <= 4_000_000 + 10 * 200_010
    assert len(take(panes)[0].keys.rows) == 60


@pytest.mark.parametrize(
    ("layout", "tenants"),
    [
        (KeyLayout.TENANT_ENTITY, {b"t": 3, b"u": 1}),
        (KeyLayout.TENANT, {b"t": 3, b"u": 1, b"solo": 1, b"\xff\xff": 1}),
        (KeyLayout.ENTITY, {}),
    ],
)
def test_the_tenant_is_where_the_layout_says(layout: KeyLayout, tenants: dict[bytes, int]) -> None:
    panes = partition_panes(topic(layout=layout))
    keys = [b"t\x1f1", b"t\x1f1\x1fs", b"t\x1f2", b"u\x1f", b"solo", b"", b"\x1fx", b"\xff\xff", None]
    panes.add(slab(0, keys), NOW_MS, NONE)
    (pane,) = take(panes)
    assert {row.key: row.lower for row in pane.tenants.rows} == tenants
    assert pane.keys.rows
    assert pane.loads == {3: 8}


def test_load_in_bytes_is_counted_in_bytes() -> None:
    panes = partition_panes(topic(load=Load.BYTES))
    panes.add(slab(0, [b"a\x1f1", b"a\x1f2", b"a\x1f1", None, b""], sizes=[10, 500, 5, 7, 0]), NOW_MS, ROUTED)
    (pane,) = take(panes)
    assert pane.keys.rows == (Row(b"a\x1f2", 500, 500), Row(b"a\x1f1", 15, 15))
    assert (pane.records, pane.size_bytes, pane.unkeyed, pane.failed) == (5, 522, 1, 0)
    assert (pane.loads, pane.exact[b"a\x1f1"]) == ({3: 515}, 15)


def test_partitions_are_computed_from_the_key_on_the_record() -> None:
    panes = partition_panes(partition_of=lambda key: None if key == b"" else key[-1] % 4)
    panes.add(slab(0, [b"a\x1f1\x1fx", b"a\x1f1\x1fy", b"a\x1f1\x1fy", b"", None]), NOW_MS, ROUTED)
    (pane,) = take(panes)
    assert pane.loads == {b"x"[0] % 4: 1, b"y"[0] % 4: 2}
    assert rows(pane)[b"a\x1f1"].lower == 3


# -- the windows before ------------------------------------------------------------------------------


def test_a_candidates_row_carries_the_windows_before() -> None:
    panes = partition_panes()
    for window in range(8):
        now_ms = NOW_MS + window * WINDOW_MS
        keys = [b"t\x1fhot"] * (100 + window) + [b"t\x1f%d" % n for n in range(200)]
        panes.add(slab(panes.position, keys, at_ms=now_ms), now_ms, NONE)
        (pane,) = take(panes, now_ms)
        first = max(0, window - 6)
        assert rows(pane)[b"t\x1fhot"].recent == tuple(100 + before for before in range(first, window))
        assert rows(pane)[b"t\x1f1"].recent == ()


def test_panes_of_more_keys_than_are_counted_exactly_are_remembered_whole() -> None:
    panes = partition_panes()
    for part in range(3):
        keys = [b"t\x1f%d" % n for n in range(part * 1_500, part * 1_500 + 1_500)] + [b"t\x1fhot"] * 250
        panes.add(slab(panes.position, keys), NOW_MS, NONE)
        panes.early(NOW_MS + 100)  # a look settles what is pending
    take(panes)
    later_ms = NOW_MS + WINDOW_MS
    assert panes.recent(b"t\x1fhot", later_ms).estimates[0] >= 750
    assert all(panes.recent(b"t\x1f%d" % n, later_ms).estimates[0] >= 1 for n in range(4_500))


def test_any_key_can_be_asked_for_with_what_the_answer_is_worth() -> None:
    panes = partition_panes()
    panes.add(slab(0, [b"t\x1fa"] * 3_000 + [b"t\x1fb"]), NOW_MS, NONE)
    take(panes)
    panes.add(slab(3_001, [b"t\x1fa"], at_ms=NOW_MS + WINDOW_MS), NOW_MS + WINDOW_MS, NONE)
    recent = panes.recent(b"t\x1fb", NOW_MS + WINDOW_MS)
    assert recent.estimates[0] - recent.errors[0] <= 1 <= recent.estimates[0]
    assert recent.errors == (8,)


# -- records on which our own code fails -------------------------------------------------------------


class Spiteful(bytes):
    def __hash__(self) -> int:
        raise RuntimeError("spite")


@pytest.mark.parametrize("load", Load)
@pytest.mark.parametrize("place", [0, 3, 5])
def test_a_record_that_cannot_be_counted_is_put_aside_and_the_rest_counts(load: Load, place: int) -> None:
    panes = partition_panes(topic(load=load))
    keys: list[bytes | None] = [b"a"] * 6
    keys[place] = Spiteful(b"evil")
    panes.add(slab(0, keys, sizes=[1] * 6), NOW_MS, NONE)
    (aside,) = panes.take_put_aside()
    assert (aside.offset, aside.key, aside.records, aside.reason) == (place, b"evil", 1, "RuntimeError: spite")
    assert panes.take_put_aside() == ()
    (pane,) = take(panes)
    assert (pane.records, pane.failed, pane.loads) == (6, 1, {3: 5})


def test_a_key_whose_partition_cannot_be_computed_is_put_aside_and_the_rest_counts() -> None:
    def partition_of(key: bytes) -> int:
        return 10 // (key[0] - ord("e"))

    panes = partition_panes(partition_of=partition_of)
    panes.add(slab(0, [b"f", b"e", b"f", b"e", b"o"]), NOW_MS, NONE)
    (pane,) = take(panes)
    assert (pane.records, pane.failed, pane.loads) == (5, 2, {10: 2, 1: 1})
    assert {row.key for row in pane.keys.rows} == {b"f", b"o"}
    (aside,) = panes.take_put_aside()
    assert (aside.offset, aside.key, aside.records) == (None, b"e", 2)
    assert "ZeroDivisionError" in aside.reason


@pytest.mark.parametrize("load", Load)
def test_what_is_no_key_at_all_is_put_aside(load: Load) -> None:
    keys: list[bytes | None] = [b"a", "text", ["list"], b"b"]  # type: ignore[list-item]  # that is the point
    panes = partition_panes(topic(load=load))
    panes.add(slab(0, keys), NOW_MS, NONE)
    (pane,) = take(panes)
    assert (pane.records, pane.failed) == (4, 2)
    assert {row.key for row in pane.keys.rows} == {b"a", b"b"}


@pytest.mark.parametrize("size", [None, "big", -4])
def test_a_size_that_is_none_never_stops_the_count(size: object) -> None:
    sizes: list[int] = [1, size, 2]  # type: ignore[list-item]  # that is the point
    panes = partition_panes(topic(load=Load.BYTES))
    panes.add(slab(0, [b"a", b"b", b"c"], sizes=sizes), NOW_MS, NONE)
    (pane,) = take(panes)
    assert (pane.records, pane.failed, pane.loads) == (3, 1, {3: 3})


def test_a_damaged_size_leaves_the_keys_where_records_are_the_load() -> None:
    panes = partition_panes()
    panes.add(slab(0, [b"a", b"b"], sizes=[1, None]), NOW_MS, NONE)  # type: ignore[list-item]  # that is the point
    (pane,) = take(panes)
    assert (pane.records, pane.size_bytes, pane.failed, pane.loads) == (2, 1, 1, {3: 2})


def test_only_the_latest_of_what_was_put_aside_is_kept() -> None:
    panes = partition_panes()
    panes.add(slab(0, [Spiteful(b"%d" % n) for n in range(40)]), NOW_MS, NONE)
    assert [aside.offset for aside in panes.take_put_aside()] == list(range(24, 40))
    assert take(panes)[0].failed == 40


# -- where to read on --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("committed", "earliest", "watermark", "start"),
    [
        (7, 0, None, 7),
        (7, 7, 7, 7),
        (None, 3, None, 3),  # a partition that appeared later
        (7, 8, 20, 8),  # records were deleted before they were read
        (7, 0, 6, 0),  # the topic was made again
    ],
)
def test_reading_goes_on_at_the_committed_offset_while_it_is_there(
    committed: int | None, earliest: int, watermark: int | None, start: int
) -> None:
    assert start_offset(committed, earliest, watermark) == start
