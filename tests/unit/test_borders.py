"""Where a slab is cut, and which panes come of it."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from hotshard.core.panes.borders import MAX_PARTS, borders
from hotshard.core.topic import Load
from tests.support.counting import NOW_MS, WINDOW_MS, partition_panes, slab, take, topic

if TYPE_CHECKING:
    from hotshard.core.panes.cutting import PartitionPanes

#: A window's begin, an hour ago.
BEGIN_MS = (NOW_MS - 3_600_000) // WINDOW_MS * WINDOW_MS
NONE: dict[bytes, bytes] = {}


def found(stamps: list[int]) -> list[int]:
    return borders(stamps, WINDOW_MS, NOW_MS)


def even(windows: float, each: int, begin_ms: int = BEGIN_MS) -> list[int]:
    """In order, ``each`` records in every window."""
    return [begin_ms + index * WINDOW_MS // each for index in range(round(windows * each))]


# -- where it is cut ---------------------------------------------------------------------------------


@pytest.mark.parametrize("each", [2, 3, 4, 10, 64, 1_000, 16_670])
@pytest.mark.parametrize("windows", [1, 2, 3, 9])
def test_records_in_order_are_cut_at_every_border(each: int, windows: int) -> None:
    assert found(even(windows, each)) == [each * number for number in range(1, windows)]


@pytest.mark.parametrize("place", range(1, 20))
def test_the_first_record_of_a_window_is_the_first_behind_the_cut(place: int) -> None:
    border_ms = BEGIN_MS + WINDOW_MS
    stamps = [border_ms - place + index for index in range(20)]
    assert found(stamps) == [place]


def test_equal_timestamps_stay_together() -> None:
    border_ms = BEGIN_MS + WINDOW_MS
    assert found([border_ms - 1] * 5 + [border_ms] * 5) == [5]
    assert found([border_ms] * 10) == []


def test_records_out_of_order_near_a_border_are_cut_where_fewest_are_on_the_wrong_side() -> None:
    border_ms = BEGIN_MS + WINDOW_MS
    before, after = border_ms - 5, border_ms + 5
    assert found([before] * 4 + [after, before, after] + [after] * 4) == [4]


@pytest.mark.parametrize("jitter_ms", [1, 50, 500])
@pytest.mark.parametrize("each", [300, 5_000])
def test_records_a_little_out_of_order_are_cut_near_each_border(jitter_ms: int, each: int) -> None:
    draw = random.Random(jitter_ms)  # noqa: S311  # no secrets
    stamps = [stamp + draw.randrange(jitter_ms) for stamp in even(5.9, each)]
    cuts = found(stamps)
    assert len(cuts) == 5
    for number, place in enumerate(cuts, 1):
        assert abs(place - number * each) <= 2 + jitter_ms * each // WINDOW_MS


@pytest.mark.parametrize("wrong", [-1, 0, NOW_MS + 30_000, NOW_MS + 2 * 3_600_000, BEGIN_MS + 7 * WINDOW_MS, None])
@pytest.mark.parametrize("place", [0, 1, 500, 995, 1_000, 1_005, 1_500, 1_998, 1_999])
def test_one_record_out_of_time_moves_no_cut_by_more_than_itself(wrong: int, place: int) -> None:
    stamps = even(2, 1_000)
    stamps[place] = wrong
    (cut,) = found(stamps)
    assert abs(cut - 1_000) <= 1


@pytest.mark.parametrize("wrong", [0, NOW_MS + 30_000, BEGIN_MS + 3 * WINDOW_MS])
@pytest.mark.parametrize("place", [0, 6, 11])
def test_one_record_out_of_time_cuts_nothing(wrong: int, place: int) -> None:
    stamps = [BEGIN_MS + 5] * 12
    stamps[place] = wrong
    assert found(stamps) == []


def test_a_few_wrong_dates_move_no_cut_by_more_than_themselves() -> None:
    draw = random.Random(3)  # noqa: S311  # no secrets
    stamps = even(4, 5_000)
    for place in draw.sample(range(len(stamps)), 200):
        stamps[place] = NOW_MS - draw.choice([3, 30, 400]) * 86_400_000
    cuts = found(stamps)
    assert [round(place, -2) for place in cuts] == [5_000, 10_000, 15_000]


def test_missing_timestamps_stay_with_the_records_before_them() -> None:
    stamps = even(2, 100)
    stamps[90:98] = [-1] * 8
    assert found(stamps) == [100]
    assert found([-1] * 50) == []
    assert found([-1] * 5 + even(2, 100)) == [105]


def test_what_is_no_timestamp_at_all_is_missing() -> None:
    stamps: list[int] = even(2, 100)
    stamps[3], stamps[140] = None, "now"  # type: ignore[call-overload]  # that is the point
    assert found(stamps) == [100]
    assert found([None, "now"]) == []  # type: ignore[list-item]  # that is the point
    assert found([]) == []


def test_time_that_goes_back_cuts_nothing() -> None:
    assert found(even(1, 1_000, BEGIN_MS + WINDOW_MS) + even(1, 1_000)) == []


def test_parts_of_a_slab_are_bounded_and_rise() -> None:
    cuts = found(even(5_000, 2, NOW_MS - 5_000 * WINDOW_MS))
    assert MAX_PARTS // 2 <= len(cuts) < MAX_PARTS
    assert cuts == sorted(set(cuts))
    draw = random.Random(5)  # noqa: S311  # no secrets
    for _ in range(50):
        wild = [NOW_MS - draw.randrange(10**6) for _ in range(draw.randrange(1, 3_000))]
        cuts = found(wild)
        assert cuts == sorted(set(cuts))
        assert all(0 < place < len(wild) for place in cuts)


# -- panes -------------------------------------------------------------------------------------------


def windows(panes: PartitionPanes, now_ms: int = NOW_MS) -> list[tuple[int, int, int, int]]:
    """Of each pane its window, counted from ``BEGIN_MS``, its offsets, and its records."""
    return [
        ((pane.time_ms - BEGIN_MS) // WINDOW_MS, pane.start, pane.end, pane.records) for pane in take(panes, now_ms)
    ]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_slab_of_several_windows_is_as_many_panes_that_tile_it(count: int) -> None:
    panes = partition_panes(start=100)
    panes.add(slab(100, [b"a"] * 100 * count, at_ms=even(count, 100)), NOW_MS, NONE)
    assert panes.position == 100 + 100 * count
    each = [(number, 100 + 100 * number, 200 + 100 * number, 100) for number in range(count)]
    assert windows(panes) == each


def test_what_goes_on_in_the_window_of_the_open_pane_joins_it() -> None:
    panes = partition_panes()
    stamps = even(3, 100)
    for begin, end in ((0, 50), (50, 150), (150, 160), (160, 300)):
        panes.add(slab(begin, [b"a"] * (end - begin), at_ms=stamps[begin:end]), NOW_MS, NONE)
    assert windows(panes) == [(0, 0, 100, 100), (1, 100, 200, 100), (2, 200, 300, 100)]


@pytest.mark.parametrize("load", Load)
def test_keys_and_bytes_of_the_panes_add_up_to_the_slab(load: Load) -> None:
    draw = random.Random(1)  # noqa: S311  # no secrets
    keys = [b"t%d\x1f%d" % (draw.randrange(3), draw.randrange(9)) for _ in range(300)]
    sizes = [draw.randrange(1, 50) for _ in keys]
    tenants = [b"x"] * 120 + [b"y"] * 180
    panes = partition_panes(topic(load=load))
    panes.add(slab(0, keys, sizes=sizes, at_ms=even(3, 100), tenants=tenants), NOW_MS, {keys[0]: keys[0]})
    taken = take(panes)
    assert [pane.size_bytes for pane in taken] == [sum(sizes[begin : begin + 100]) for begin in (0, 100, 200)]
    sums, beside = Counter[bytes](), Counter[bytes]()
    for pane in taken:
        sums.update({row.key: row.lower for row in pane.keys.rows})
        beside.update({row.key: row.lower for row in pane.tenants.rows})
    exact, exact_beside = Counter[bytes](), Counter[bytes]()
    for key, size, tenant in zip(keys, sizes, tenants, strict=True):
        exact[key] += 1 if load is Load.RECORDS else size
        exact_beside[tenant] += 1 if load is Load.RECORDS else size
    assert sums == exact
    assert beside == exact_beside
    assert sum(pane.exact[keys[0]] for pane in taken) == exact[keys[0]]
    assert sum(sum(pane.loads.values()) for pane in taken) == exact.total()


def test_a_slab_with_holes_is_cut_nowhere() -> None:
    """Where its records stand is not known, so a commit in the middle could count some of them twice."""
    panes = partition_panes()
    panes.add(slab(0, [b"a"] * 200, at_ms=even(2, 100), hole=3), NOW_MS, NONE)
    assert [(pane.start, pane.end) for pane in take(panes)] == [(0, 203)]


def test_what_was_damaged_is_told_once() -> None:
    panes = partition_panes()
    tenants = [b"x"] * 200
    panes.add(slab(0, [b"a"] * 200, at_ms=even(2, 100), tenants=tenants, damaged=3), NOW_MS, NONE)
    assert sum(pane.damaged for pane in take(panes)) == 3


def test_wild_timestamps_within_slabs_make_no_flood_of_panes() -> None:
    draw = random.Random(2)  # noqa: S311  # no secrets
    panes = partition_panes()
    for step in range(1_000):  # one second of records from the last five minutes
        stamps = [NOW_MS - draw.randrange(300_000) for _ in range(12)]
        panes.add(slab(12 * step, [b"a"] * 12, at_ms=stamps), NOW_MS + step, NONE)
    assert panes.waiting <= 11


def test_a_live_slab_across_a_border_is_cut_there_and_the_pane_before_keeps_its_time() -> None:
    border_ms = NOW_MS // WINDOW_MS * WINDOW_MS + WINDOW_MS
    panes = partition_panes(now_ms=border_ms - 500)
    panes.add(slab(0, [b"a"] * 10, at_ms=border_ms - 500), border_ms - 450, NONE)
    panes.add(slab(10, [b"a"] * 10, at_ms=[border_ms - 5 + index for index in range(10)]), border_ms + 10, NONE)
    first, second = take(panes, border_ms + 100)
    assert (first.end, second.start, second.records) == (15, 15, 5)
    assert (first.opened_ms, first.cut_ms, second.opened_ms) == (border_ms - 450, border_ms + 10, border_ms + 10)
    assert (first.live, second.live) == (True, True)
