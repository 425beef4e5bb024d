"""The time of a stretch: robust, and None where its records do not run forward in time."""

from __future__ import annotations

import random

import pytest

from hotshard.core.scanning.clock import StretchClock, Times, glance, runs_forward

DAY_MS = 86_400_000


def times_of(stamps: list[int], window_ms: int = 60_000, step: int = 240) -> Times | None:
    clock = StretchClock()
    for begin in range(0, len(stamps), step):
        clock.add(glance(stamps[begin : begin + step]))
    return clock.times(window_ms)


def test_a_stretch_without_timestamps_has_no_time() -> None:
    assert times_of([]) is None
    assert times_of([-1] * 1000) is None


def test_a_stretch_goes_from_its_first_record_to_its_last() -> None:
    assert times_of([1000 + each for each in range(5000)]) == Times(1000, 5999, forward=True)
    assert times_of([7]) == Times(7, 7, forward=True)


def test_missing_timestamps_say_nothing() -> None:
    assert times_of([-1, 5, -1, 9]) == Times(5, 9, forward=True)


def test_single_wrong_dates_are_no_part_of_a_stretch() -> None:
    stamps = [each * 50 for each in range(1200)]
    for at, wrong in ((3, 40 * DAY_MS), (77, 0), (600, 50 * DAY_MS), (1199, 60 * DAY_MS)):
        stamps[at] = wrong
    times = times_of(stamps)
    assert times is not None
    assert (times.start_ms, times.forward) == (0, True)
    assert times.end_ms < 60_000


def test_what_is_shuffled_within_its_window_is_of_one_time() -> None:
    stamps = [each * 50 for each in range(1200)]
    random.Random(1).shuffle(stamps)  # noqa: S311
    times = times_of(stamps)
    assert times is not None
    assert times.forward


@pytest.mark.parametrize(
    ("stamps", "forward"),
    [
        (range(1000), True),
        ([5] * 1000, False),  # never asked of records of one moment, which are within any window
        (range(1000, 0, -1), False),
        ([*range(500), *range(500)], False),
        ([each // 10 for each in range(1000)], True),
        ([], True),
        ([1], True),
    ],
)
def test_order_is_when_three_of_four_pairs_run_forward(stamps: list[int], forward: bool) -> None:  # noqa: FBT001
    assert runs_forward(stamps) is forward


def test_a_slow_stream_in_order_is_a_time_and_one_that_is_not_is_none() -> None:
    slow = [each * 60_000 for each in range(1200)]
    jittered = [stamp + random.Random(stamp).randrange(3_600_000) for stamp in slow]  # noqa: S311
    mixed = random.Random(1).sample(slow, len(slow))  # noqa: S311
    for stamps, forward in ((slow, True), (jittered, True), (mixed, False)):
        times = times_of(stamps)
        assert times is not None
        assert times.forward is forward


def test_the_sample_of_a_long_stretch_is_bounded_and_even() -> None:
    clock = StretchClock()
    for begin in range(0, 2_000_000, 240):
        clock.add(glance(range(begin, begin + 240)))
    sample = clock._sample  # noqa: SLF001 -- that it is bounded is seen nowhere else
    assert 80 <= len(sample) <= 255
    assert sample == sorted(sample)
    times = clock.times(60_000)
    assert times is not None
    assert times.end_ms - times.start_ms > 1_900_000
