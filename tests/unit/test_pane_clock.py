from __future__ import annotations

import random

import pytest

from hotshard.core.panes.clock import PaneClock, PaneTime

NOW = 1_700_000_000_000
HOURS = 3_600_000
WINDOW_MS = 10_000


def clock(*slabs: list[int], now_ms: int = NOW) -> PaneClock:
    made = PaneClock(WINDOW_MS)
    for stamps in slabs:
        made.add(stamps, now_ms)
    return made


def second(records: int, start: int = NOW - 1000) -> list[int]:
    return [start + index * 1000 // records for index in range(records)]


def split(stamps: list[int], size: int) -> list[list[int]]:
    return [stamps[start : start + size] for start in range(0, len(stamps), size)]


@pytest.mark.parametrize("records", [4, 5, 12, 100, 1_023, 1_024, 39_000])
@pytest.mark.parametrize("size", [1, 7, 3_000])
def test_evenly_spread_records_give_their_middle_and_their_span(records: int, size: int) -> None:
    time_ms, span_ms = clock(*split(second(records), size)).time(NOW - 1000, NOW)
    assert time_ms == pytest.approx(NOW - 500, abs=1000 / records + 10)
    assert span_ms == pytest.approx(1000 - 1000 / records, abs=10)


@pytest.mark.parametrize("stray", [NOW - 2 * HOURS, 0, NOW - 1, NOW + 2 * HOURS])
@pytest.mark.parametrize("place", [0, 5, 11])
def test_one_wrong_timestamp_among_twelve_moves_nothing_by_more_than_a_record(stray: int, place: int) -> None:
    stamps = second(12)
    right_ms, right_span_ms = clock(stamps).time(NOW - 1000, NOW)
    stamps[place] = stray
    time_ms, span_ms = clock(stamps).time(NOW - 1000, NOW)
    assert time_ms == pytest.approx(right_ms, abs=84)
    assert span_ms == pytest.approx(right_span_ms, abs=2 * 84)


def test_45_wrong_dates_in_39000_move_nothing() -> None:
    stamps = second(39_000)
    wrong = list(stamps)
    draw = random.Random(3)  # noqa: S311  # no secrets
    for place in draw.sample(range(39_000), 45):
        wrong[place] = NOW - draw.choice([3, 30, 400]) * 24 * HOURS
    right_ms, right_span_ms = clock(*split(stamps, 500)).time(NOW - 1000, NOW)
    time_ms, span_ms = clock(*split(wrong, 500)).time(NOW - 1000, NOW)
    assert time_ms == pytest.approx(right_ms, abs=5)
    assert span_ms == pytest.approx(right_span_ms, abs=10)


@pytest.mark.parametrize("every", [3, 4, 5, 6, 8, 10, 64, 100, 128])
def test_wrong_dates_in_a_pattern_are_not_picked_out(every: int) -> None:
    stamps = [0 if index % every == 0 else stamp for index, stamp in enumerate(second(100_000))]
    time_ms, _ = clock(*split(stamps, 1_000)).time(NOW - 1000, NOW)
    assert time_ms == pytest.approx(NOW - 500, abs=1100 / every + 10)


def test_missing_timestamps_leave_it_to_the_others() -> None:
    stamps = [-1 if index % 3 else stamp for index, stamp in enumerate(second(300))]
    assert clock(stamps).time(NOW - 1000, NOW).time_ms == pytest.approx(NOW - 500, abs=20)


def test_without_timestamps_the_workers_clock_is_taken() -> None:
    assert clock([-1, -1, -1]).time(NOW - 700, NOW) == PaneTime(NOW, 700)
    assert clock().time(NOW - 700, NOW) == PaneTime(NOW, 700)
    assert clock([-1]).about_ms() is None


def test_what_is_no_timestamp_at_all_is_missing() -> None:
    made = clock([None, "now", NOW - 5], [None])  # type: ignore[list-item]  # that is the point
    assert made.time(NOW, NOW).time_ms == NOW - 5
    assert not made.is_later([None], NOW)  # type: ignore[list-item]  # that is the point


def test_a_lone_record_from_the_future_gets_the_workers_clock() -> None:
    assert clock([NOW + 2 * HOURS]).time(NOW, NOW).time_ms == NOW
    assert clock([NOW + 20_000]).time(NOW, NOW).time_ms == NOW + 20_000


def test_a_span_without_a_bulk_is_no_longer_than_a_window() -> None:
    assert clock([NOW - 24 * HOURS, NOW]).time(NOW, NOW).span_ms == WINDOW_MS
    assert clock([NOW - 24 * HOURS]).time(NOW, NOW).span_ms == 0


def test_a_clock_that_was_set_back_gives_no_negative_span() -> None:
    assert clock().time(NOW, NOW - 5_000) == PaneTime(NOW - 5_000, 0)


def test_what_is_kept_is_bounded() -> None:
    made = clock(*split(second(500_000), 4_000))
    assert 146 <= len(made._sample) <= 1_023  # noqa: SLF001  # the bound is the point


def test_a_slab_of_a_later_window_is_told() -> None:
    start = NOW // WINDOW_MS * WINDOW_MS
    made = clock(second(100, start))
    assert not made.is_later([start + 9_999] * 10, NOW)
    assert made.is_later([start + 10_000] * 10, NOW)
    assert not made.is_later([start - 10_000] * 10, NOW)


def test_one_record_makes_no_later_window() -> None:
    made = clock(second(100, NOW))
    stamps = [NOW] * 4 + [NOW + 50_000] + [NOW] * 4
    assert not made.is_later(stamps, NOW)
    assert not made.is_later([], NOW)
    assert not clock().is_later(stamps, NOW)
    assert not made.is_later([NOW + 2 * HOURS], NOW)


def test_the_median_at_small_cost_follows_the_records() -> None:
    made = PaneClock(WINDOW_MS)
    for index in range(200):
        made.add([NOW + index] * 10, NOW)
        about_ms = made.about_ms()
        assert about_ms is not None
        assert NOW + index // 4 - 2 <= about_ms <= NOW + index
