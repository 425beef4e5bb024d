"""From what was seen to the summary."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.keys import with_suffix
from hotshard.demo.cast import assemble
from hotshard.demo.desk import Arrived
from hotshard.demo.measures import Half, Outcome, half, percentile, seconds_between
from hotshard.demo.seen import Seen

CAST = assemble(partitions=4, tenants=10)
HOT = CAST.flood_key
SMALL = CAST.small_key
WHERE = CAST.flooded


@given(st.lists(st.integers(0, 10_000), min_size=1), st.floats(0.01, 1.0))
def test_a_percentile_is_one_of_the_values_and_enough_lie_below(values: list[int], part: float) -> None:
    found = percentile(values, part)
    assert found in values
    assert sum(value <= found for value in values) >= math.ceil(part * len(values)) - 1e-9
    assert sum(value < found for value in values) < math.ceil(part * len(values))


def test_a_percentile_of_nothing_is_none() -> None:
    assert percentile([], 0.99) is None


def _flooded_seen() -> Seen:
    """A flood from 10,000 to 12,000 ms; 300 others and 100 of the flood in each 1,000 ms of its second half."""
    seen = Seen(CAST)
    flood = seen.begin_flood(10_000)
    for n in range(300):
        seen.arrived(Arrived(n % 4, b"t\x1fe", 11_000 + n))
    for n in range(100):
        seen.arrived(Arrived(WHERE, HOT, 11_000 + n))
    flood.ended_ms = 12_000
    return seen


def test_the_imbalance_is_that_of_the_settled_part() -> None:
    seen = _flooded_seen()
    for n in range(5000):
        seen.arrived(Arrived(0, b"t\x1fe", 10_000 + n % 900))  # before the settled part
    measured = half(seen, seen.floods[0], 1000, 13_000)
    assert measured is not None
    assert measured.imbalance == pytest.approx((75 + 100) / 100)
    assert measured.small_p99_ms is None


def test_the_wait_is_from_sending_to_handling_of_the_small_tenants_records_alone() -> None:
    seen = _flooded_seen()
    for n, wait in enumerate((5, 700, 20)):
        record = Arrived(WHERE, SMALL, 11_500 + n)
        seen.arrived(record)
        seen.handled(record, record.created_ms + wait)
    seen.handled(Arrived(WHERE, HOT, 11_000), 99_000)
    assert seen.small_waits(11_000, 12_000, 99_999) == [5, 700, 20]
    assert seen.small_wait_ms == 20
    measured = half(seen, seen.floods[0], 1000, 13_000)
    assert measured is not None
    assert measured.imbalance == pytest.approx((75 + 103) / (403 / 4))
    assert measured.small_p99_ms == 700


def test_a_record_that_still_waits_counts_with_its_wait_so_far() -> None:
    seen = _flooded_seen()
    seen.arrived(Arrived(WHERE, SMALL, 11_500))
    assert seen.small_waits(11_000, 12_000, 19_500) == [8000]


def test_the_first_records_of_a_flood_are_found_whatever_order_they_come_in() -> None:
    seen = Seen(CAST)
    first = seen.begin_flood(1000)
    shard = with_suffix(HOT, "a")
    for key, created_ms in ((HOT, 1020), (HOT, 1010), (shard, 1900), (shard, 1850), (b"t\x1fe", 1001)):
        seen.arrived(Arrived(0, key, created_ms))
    assert (first.first_ms, first.suffixed_ms) == (1010, 1850)
    second = seen.begin_flood(5000)
    seen.arrived(Arrived(0, shard, 1950))
    assert second.first_ms is None
    seen.arrived(Arrived(0, HOT, 5003))
    assert [second.first_ms, second.suffixed_ms] == [5003, None]


def test_a_flood_that_has_not_ended_is_not_measured() -> None:
    seen = Seen(CAST)
    assert half(seen, seen.begin_flood(1000), 1000, 3000) is None


def test_the_json_has_the_agreed_names_and_rounded_numbers() -> None:
    outcome = Outcome(
        records=7,
        detected_key="a\x1fb",
        detect_s=0.81249,
        apply_s=0.0312,
        before=Half(4.8123, 6512.0),
        after=Half(1.1987, 18.0),
    )
    assert outcome.missing() == []
    assert outcome.as_json() == {
        "records": 7,
        "detected_key": "a\x1fb",
        "detect_s": 0.812,
        "apply_s": 0.031,
        "imbalance_before": 4.81,
        "imbalance_after": 1.2,
        "small_tenant_p99_ms_before": 6512.0,
        "small_tenant_p99_ms_after": 18.0,
    }


def test_what_did_not_happen_is_null_and_said() -> None:
    outcome = Outcome(records=0)
    assert set(outcome.as_json().values()) == {0, None}
    assert len(outcome.missing()) == 4
    assert "never entered" in Outcome(records=1, before=Half(2, 2), after=Half(2, 2)).missing()[0]


def test_a_time_between_moments_needs_both() -> None:
    assert seconds_between(1000, 1500) == 0.5
    assert seconds_between(None, 1) is None
    assert seconds_between(1, None) is None
