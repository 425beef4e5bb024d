"""Skew described, and what it alarms."""

from __future__ import annotations

import math

import pytest

from hotshard.core.skew import Alert, AlertLevel, AlertReason, Skew, describe_skew, skew_alerts


def test_the_words_of_skew_are_numbers_of_the_loads() -> None:
    assert describe_skew({0: 10, 1: 0, 2: 40, 3: 10}) == Skew(
        total=60,
        max=40,
        median=10.0,
        skew_ratio=4.0,
        idle_partitions=1,
        hottest_partition=2,
        imbalance=40 / 15,
    )


def test_the_median_of_an_even_number_is_the_mean_of_the_two_in_the_middle() -> None:
    assert describe_skew([1, 2, 5, 100]).median == 3.5


def test_the_ratio_takes_a_median_below_one_as_one() -> None:
    assert describe_skew([0, 0, 0, 7]).skew_ratio == 7
    assert describe_skew([0, 1]).skew_ratio == 1


def test_a_sequence_counts_its_places_as_partitions_and_a_mapping_names_them() -> None:
    assert describe_skew([1, 9, 1]).hottest_partition == 1
    assert describe_skew({17: 1, 31: 9, 4: 1}).hottest_partition == 31


def test_of_equal_partitions_the_lowest_is_hottest() -> None:
    assert describe_skew({5: 7, 2: 7, 9: 1}).hottest_partition == 2


@pytest.mark.parametrize("nothing", [{}, []])
def test_no_partitions_are_even_and_nowhere_hot(nothing: list[float]) -> None:
    assert describe_skew(nothing) == Skew(
        total=0, max=0, median=0.0, skew_ratio=0.0, idle_partitions=0, hottest_partition=None, imbalance=1.0
    )


def test_idle_partitions_are_even_and_nowhere_hot() -> None:
    skew = describe_skew([0, 0, 0])
    assert (skew.idle_partitions, skew.hottest_partition, skew.imbalance, skew.skew_ratio) == (3, None, 1.0, 0.0)
    assert skew_alerts(skew, max_lag=-1, max_ratio=-1) == []


@pytest.mark.parametrize("bad", [-1, -0.5, math.nan, math.inf, -math.inf])
def test_a_number_that_cannot_be_a_lag_is_refused_naming_its_partition(bad: float) -> None:
    with pytest.raises(ValueError, match="partition 7 has"):
        describe_skew({3: 1, 7: bad})


def test_a_high_lag_pages() -> None:
    assert skew_alerts(describe_skew([5001, 4000, 4000])) == [
        Alert(level=AlertLevel.PAGE, reason=AlertReason.PARTITION_LAG_HIGH, partition=0, value=5001)
    ]


def test_a_limit_that_is_met_exactly_does_not_alarm() -> None:
    assert skew_alerts(describe_skew([5000, 1000, 0])) == []


def test_a_ratio_with_idle_partitions_is_a_ticket() -> None:
    (alert,) = skew_alerts(describe_skew([60, 10, 0]))
    assert (alert.level, alert.reason, alert.partition, alert.value) == ("ticket", "partition_key_skew", 0, 6.0)


def test_a_ratio_without_idle_partitions_is_nothing() -> None:
    assert skew_alerts(describe_skew([60, 10, 1])) == []


def test_the_page_comes_before_the_ticket() -> None:
    assert [alert.level for alert in skew_alerts(describe_skew([70_000, 0, 0]))] == ["page", "ticket"]


def test_limits_are_the_callers() -> None:
    alerts = skew_alerts(describe_skew([30, 10, 0]), max_lag=29, max_ratio=2)
    assert [alert.reason for alert in alerts] == ["partition_lag_high", "partition_key_skew"]
