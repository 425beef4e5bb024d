"""Scans of made-up input: what is hot, when that can be told, and what is said of it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from hotshard.core.partitioners import murmur2
from hotshard.core.policy.thresholds import Policy
from hotshard.core.scanning.scanner import By, Scanner
from hotshard.core.slab import Slab
from hotshard.core.topic import KeyLayout, Load, Ordering, PartitionsFrom, TopicSpec
from hotshard.core.wire.scan import encode
from hotshard.errors import UsageError
from tests.support.traces import Exact, Row, assert_right, scanned, spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hotshard.core.wire.scan import ScanReport

#: 2023-11-14 22:13:20.
BEGIN_MS = 1_700_000_000_000


def slabs(rows: Sequence[Row], size: int = 5000) -> Iterator[Slab]:
    for begin in range(0, max(1, len(rows)), size):
        some = rows[begin : begin + size]
        yield Slab(
            topic="",
            partition=0,
            start=begin,
            end=begin + len(some),
            generation=0,
            high_watermark=len(rows),
            keys=[row.key for row in some],
            sizes=[row.size for row in some],
            timestamps=[row.at_ms for row in some],
            tenants=[row.tenant for row in some],
        )


def scan(rows: Sequence[Row], of: TopicSpec | None = None, *, by: By = By.KEY, window_ms: int = 60_000) -> ScanReport:
    return scanned(slabs(rows), of, by=by, window_ms=window_ms)


def even(n: int, every_ms: float = 10, names: int = 5000, begin_ms: int = BEGIN_MS) -> list[Row]:
    """Rows of many keys, none of them hot, of ten tenants."""
    draw = random.Random(n)  # noqa: S311
    return [
        Row(begin_ms + round(each * every_ms), b"t%d" % draw.randrange(10), b"k%d" % draw.randrange(names), 100)
        for each in range(n)
    ]


def with_hot(rows: Sequence[Row], share: float, key: bytes = b"hot", tenant: bytes = b"big") -> list[Row]:
    """The same rows, this share of them, evenly spread, of one key."""
    every = round(1 / share)
    return [row._replace(key=key, tenant=tenant) if not at % every else row for at, row in enumerate(rows)]


def hot_keys(report: ScanReport) -> list[str | None]:
    return [each.key for each in report.keys if each.hot]


def hot_tenants(report: ScanReport) -> list[str | None]:
    return [each.key for each in report.tenants if each.hot]


# -- what is hot -----------------------------------------------------------------------------------


def test_even_load_has_no_finding() -> None:
    report = scan(even(20_000))
    assert (hot_keys(report), hot_tenants(report), report.cause, report.plans) == ([], [], "none", ())
    assert {window.cause for window in report.windows} == {"none"}


def test_a_hot_key_is_named_since_its_first_window_and_split() -> None:
    calm, flood = even(12_000), with_hot(even(12_000, begin_ms=BEGIN_MS + 120_000), 0.1)
    report = scan(calm + flood)
    assert hot_keys(report) == ["hot"]
    (hot,) = (each for each in report.keys if each.hot)
    assert hot.since_ms is not None
    assert abs(hot.since_ms - (BEGIN_MS + 120_000)) < 5_000
    assert (hot.tenant, hot.lower, hot.upper) == ("big", 1200, 1200)
    (plan,) = report.plans
    assert (plan.key, plan.treatment, plan.shards) == ("hot", "split", len(plan.partitions))
    assert plan.shards == len(plan.suffixes) > 1
    assert plan.imbalance_before is not None
    assert plan.imbalance_after is not None
    assert plan.imbalance_after < plan.imbalance_before
    assert (report.cause, report.treatment) == ("hot_key", "split")


def test_a_suffix_lands_where_the_plan_says() -> None:
    for partitioner in ("murmur2", "crc32"):
        (plan,) = scan(with_hot(even(20_000), 0.2), spec(partitioner=partitioner)).plans
        for suffix, partition in zip(plan.suffixes, plan.partitions, strict=True):
            loads = Exact.of([Row(0, None, b"hot\x1f" + suffix.encode(), 1)], Load.RECORDS)
            assert loads.partitions(By.KEY, partitioner).index(1) == partition


def test_a_flood_of_a_minute_in_an_hour_is_named_and_planned_for_its_minute() -> None:
    rows = even(72_000, every_ms=50)
    rows[36_000:37_200] = with_hot(rows[36_000:37_200], 0.5)
    report = scan(rows)
    assert hot_keys(report) == ["hot"]
    assert sum("hot" in window.hot_keys for window in report.windows) <= 2
    (plan,) = report.plans
    assert plan.treatment == "split"
    assert plan.imbalance_before is not None
    assert plan.imbalance_before > 5 > report.skew.imbalance


def test_plans_are_a_chain_and_a_key_that_others_leave_alone_gets_none() -> None:
    """A second key on the partition of the first: once that is spread, nothing is wrong with where the other lies."""
    placed = spec(partitioner="murmur2")
    home = murmur2(b"hot") & 0x7FFFFFFF
    other = next(name for each in range(9999) if (murmur2(name := b"o%d" % each) & 0x7FFFFFFF) % 32 == home % 32)
    report = scan(with_hot(with_hot(even(20_000), 1 / 27, key=other, tenant=b"o"), 0.5), placed)
    assert hot_keys(report) == ["hot", other.decode()]
    first, second = report.plans
    assert first.treatment == "split"
    assert first.imbalance_before == pytest.approx(report.skew.imbalance, abs=1e-5)
    assert (second.treatment, second.reason, second.partitions) == ("none", "partition_not_above", ())
    assert (second.imbalance_before, second.imbalance_after) == (first.imbalance_after, None)


def test_of_two_floods_in_one_minute_each_is_planned_with_the_other_spread() -> None:
    rows = even(72_000, every_ms=50)
    rows[36_000:37_200] = with_hot(with_hot(rows[36_000:37_200], 0.2, key=b"second"), 0.5)
    plans = scan(rows).plans
    assert [(plan.key, plan.treatment, plan.in_window) for plan in plans] == [
        ("hot", "split", True),
        ("second", "split", True),
    ]
    ends = [(plan.imbalance_before or 0, plan.imbalance_after or 0) for plan in plans]
    assert ends[1][0] == pytest.approx(ends[0][1], abs=1e-5)
    assert ends[0][0] > ends[0][1] > ends[1][1]


def test_a_tenant_hot_by_many_keys_is_hot_and_none_of_its_keys_is() -> None:
    rows = [row._replace(tenant=b"big") if at % 2 else row for at, row in enumerate(even(20_000))]
    report = scan(rows)
    assert (hot_keys(report), hot_tenants(report)) == ([], ["big"])
    assert report.cause == "hot_tenant"
    (plan,) = report.plans
    assert (plan.key, plan.tenant, plan.shards) == (None, "big", 0)
    assert plan.treatment in {"isolate", "throttle"}


def test_a_tenant_that_is_hot_by_one_key_is_helped_by_what_helps_the_key() -> None:
    report = scan(with_hot(even(20_000), 0.5))
    assert (hot_keys(report), hot_tenants(report)) == (["hot"], ["big"])
    assert [(plan.key, plan.treatment) for plan in report.plans] == [("hot", "split")]


def test_where_records_of_a_key_must_stay_in_order_another_key_is_advised() -> None:
    (plan,) = scan(with_hot(even(20_000), 0.2), spec(ordering=Ordering.PER_KEY)).plans
    assert (plan.treatment, plan.reason, plan.suffixes) == ("rekey", "per_key_order", ())


def test_a_binary_key_is_named_in_base64_and_never_suffixed() -> None:
    report = scan(with_hot(even(20_000), 0.2, key=b"\xff\xfe"))
    (hot,) = (each for each in report.keys if each.hot)
    assert (hot.key, hot.key_b64) == (None, "//4=")
    (plan,) = report.plans
    assert (plan.key, plan.key_b64, plan.reason, plan.suffixes) == (None, "//4=", "binary_key", ())
    assert any(window.hot_keys == (None,) for window in report.windows)


def test_a_long_key_is_told_whole() -> None:
    report = scan(with_hot(even(20_000), 0.2, key=b"k" * 600))
    assert report.keys[0].key == "k" * 600
    assert report.keys[0].hot
    assert_right(report, Exact.of(with_hot(even(20_000), 0.2, key=b"k" * 600), Load.RECORDS), By.KEY, "murmur2")


def test_the_policy_of_a_tenant_is_its_own() -> None:
    strict = spec()
    of = replace(strict, tenant_policies=MappingProxyType({"big": Policy(on_share=0.9)}))
    rows = with_hot(even(20_000), 0.2)
    assert hot_keys(scan(rows, of)) == []
    assert hot_keys(scan(rows, strict)) == ["hot"]


# -- what says nothing -----------------------------------------------------------------------------


def test_chance_makes_nothing_hot() -> None:
    """In 200 windows of the least size of 600 keys some have twice or three times their share."""
    report = scan(even(240_000, every_ms=60, names=600))
    assert report.windows_total >= 100
    assert hot_keys(report) == []


def test_input_sorted_by_key_says_nothing_of_heat_in_time() -> None:
    """Each key has a run of records of its own, spread over a year."""
    draw = random.Random(1)  # noqa: S311
    rows = [Row(BEGIN_MS + draw.randrange(31_536_000_000), b"t", b"k%d" % (each // 200), 1) for each in range(40_000)]
    report = scan(rows)
    assert report.records == 40_000
    assert hot_keys(report) == []
    in_order = sorted(rows)
    assert hot_keys(scan(in_order)) == []
    by_key = [row._replace(at_ms=BEGIN_MS + at * 10) for at, row in enumerate(rows)]
    assert len(hot_keys(scan(by_key))) > 100  # the same runs, and they are runs in time


def test_what_is_hot_over_all_of_an_unordered_input_is_told() -> None:
    rows = with_hot(even(40_000, every_ms=60_000), 0.2)
    random.Random(2).shuffle(rows)  # noqa: S311
    assert hot_keys(scan(rows)) == ["hot"]


def test_a_remainder_decides_nothing_and_what_is_all_there_is_does() -> None:
    rows = even(6_000)
    tail = [row._replace(key=b"late", at_ms=BEGIN_MS + 75_000 + at) for at, row in enumerate(even(500))]
    assert hot_keys(scan(rows + tail)) == []
    assert hot_keys(scan(tail)) == ["late"]


def test_wrong_dates_move_nothing() -> None:
    rows = with_hot(even(20_000), 0.2)
    wrong = [row._replace(at_ms=40_000_000_000 * (at % 97)) if not at % 500 else row for at, row in enumerate(rows)]
    right, other = scan(rows), scan(wrong)
    assert other.records == right.records == sum(window.records for window in other.windows)
    assert other.windows_total == right.windows_total
    assert abs(other.span_s - right.span_s) < 1
    assert hot_keys(other) == ["hot"]


def test_a_clock_that_is_set_back_begins_another_window() -> None:
    rows = even(6_000) + even(6_000)
    report = scan(rows)
    assert report.records == sum(window.records for window in report.windows) == 12_000
    assert all(window.end_ms is not None and window.end_ms < BEGIN_MS + 61_000 for window in report.windows)


def test_windows_of_a_slow_stream_last_until_they_hold_the_floor() -> None:
    report = scan(even(6_000, every_ms=1_000))
    assert {window.records for window in report.windows} == {1200}
    fast = scan(even(60_000, every_ms=1))
    assert fast.windows_total == 1


# -- bytes -----------------------------------------------------------------------------------------


def test_by_bytes_a_key_of_few_large_records_is_hot_and_one_large_record_is_not() -> None:
    rows = even(24_000)
    for at in range(0, 24_000, 400):
        rows[at] = rows[at]._replace(key=b"large", size=20_000)
    rows[3] = rows[3]._replace(key=b"once", size=20_000)
    assert hot_keys(scan(rows)) == []
    assert hot_keys(scan(rows, spec(Load.BYTES))) == ["large"]


@pytest.mark.parametrize("load", Load)
@pytest.mark.parametrize("by", By)
def test_a_weight_a_billion_times_the_others_is_counted_exactly(load: Load, by: By) -> None:
    rows = [row._replace(size=10**9 * 100) if row.key == b"k7" else row for row in even(20_000)]
    assert_right(scan(rows, spec(load), by=by), Exact.of(rows, load), by, "murmur2")


# -- edges -----------------------------------------------------------------------------------------


def finite(report: ScanReport) -> dict[str, object]:
    found: dict[str, object] = json.loads(encode(report), parse_constant=pytest.fail)
    return found


@pytest.mark.parametrize("load", Load)
@pytest.mark.parametrize(
    "rows",
    [
        [],
        even(1),
        even(10),
        [Row(-1, None, None, 0)] * 3,
        [Row(BEGIN_MS, b"t", None, 1)] * 5000,
        [Row(BEGIN_MS, None, b"k", 1)] * 5000,
        [Row(-1, b"t", b"k", 0)] * 5000,
        [Row(BEGIN_MS + at, b"t", b"only", 10) for at in range(5000)],
    ],
    ids=["empty", "one row", "ten rows", "nothing in them", "no key", "no tenant", "no size", "one key"],
)
def test_odd_input_is_right_and_finite(rows: list[Row], load: Load) -> None:
    for by in By:
        report = scan(rows, spec(load), by=by)
        assert_right(report, Exact.of(rows, load), by, "murmur2")
        finite(report)


def test_one_key_only_is_a_cause_of_its_own() -> None:
    report = scan([Row(BEGIN_MS + at, b"t", b"only", 10) for at in range(5000)])
    assert (report.cause, report.treatment) == ("few_keys", "rekey")


def test_rows_without_a_key_are_in_no_partition_and_count_for_their_tenant() -> None:
    rows = [row._replace(key=None) if at % 2 else row for at, row in enumerate(even(4_000))]
    report = scan(rows)
    assert (report.records, report.unkeyed, report.skew.total) == (4_000, 2_000, 2_000)
    assert sum(each.estimate for each in report.tenants) == 4_000


def test_keys_alone_are_one_window_without_time() -> None:
    keys: list[bytes | None] = [b"k%d" % (each % 3000) for each in range(30_000)]
    keys[::5] = [b"hot"] * len(keys[::5])
    report = scanned([Slab("", 0, 0, 30_000, 0, 30_000, keys, [len(key or b"") for key in keys], [-1] * 30_000)])
    assert (report.windows_total, report.span_s, hot_keys(report)) == (1, 0.0, ["hot"])
    (only,) = report.windows
    assert (only.start_ms, only.end_ms, only.hot_keys) == (None, None, ("hot",))
    assert report.tenants == ()


def test_keys_alone_may_have_tenants_in_them() -> None:
    keys: list[bytes | None] = [b"t%d\x1fk%d" % (each % 9, each) for each in range(9_000)]
    keys[::3] = [b"big\x1fhot"] * len(keys[::3])
    of = replace(spec(), layout=KeyLayout.TENANT_ENTITY)
    report = scanned([Slab("", 0, 0, 9_000, 0, 9_000, keys, [1] * 9_000, [-1] * 9_000)], of)
    assert (hot_keys(report), hot_tenants(report)) == (["big\x1fhot"], ["big"])
    assert report.keys[0].tenant == "big"
    hottest = report.partitions[report.skew.hottest or 0]
    assert (hottest.top_keys[0].key, hottest.top_tenants[0].key) == ("big\x1fhot", "big")


def test_by_tenant_needs_tenants() -> None:
    with pytest.raises(UsageError, match="tenant"):
        scanned([Slab("", 0, 0, 1, 0, 1, [b"k"], [1], [-1])], by=By.TENANT)


# -- topics ----------------------------------------------------------------------------------------


def topic_slabs(partitions: int, each: int, hot: int) -> Iterable[Slab]:
    """A topic read from its own partitions, turn by turn; a key with a tenant has every second record of one."""
    numbers = count()
    for start in range(0, each, 500):
        for partition in range(partitions):
            keys: list[bytes | None] = [b"t%d\x1fk%d" % (next(numbers) % 7, next(numbers)) for _ in range(500)]
            if partition == hot:
                keys[::2] = [b"t9\x1fhot"] * len(keys[::2])
            stamps = [BEGIN_MS + (start + at) * 20 for at in range(500)]
            yield Slab("orders", partition, start, start + 500, 0, each, keys, [50] * 500, stamps)


def test_partitions_of_a_topic_are_those_it_was_read_from() -> None:
    of = TopicSpec(name="orders", sources=("orders",), ordering=Ordering.NONE)
    assert (of.layout, of.partitions_from) == (KeyLayout.TENANT_ENTITY, PartitionsFrom.SOURCE)
    scanner = Scanner(of, 6)
    for slab in topic_slabs(6, 6_000, hot=2):
        scanner.add(slab)
    report = scanner.finish()
    assert [each.load for each in report.partitions] == [6_000] * 6
    assert hot_keys(report) == ["t9\x1fhot"]
    assert report.keys[0].tenant == "t9"
    assert report.partitions[2].top_keys[0].key == "t9\x1fhot"
    assert report.partitions[2].top_tenants[0].key == "t9"
    assert [p.partition for p in report.partitions if "t9\x1fhot" in {name.key for name in p.top_keys}] == [2]


def test_a_topic_can_be_looked_at_by_the_tenant_in_its_keys() -> None:
    of = TopicSpec(name="orders", sources=("orders",), ordering=Ordering.NONE)
    scanner = Scanner(of, 32, by=By.TENANT)
    for slab in topic_slabs(6, 6_000, hot=2):
        scanner.add(slab)
    report = scanner.finish()
    tenants = {f"t{each}": 0 for each in (0, 1, 2, 3, 4, 5, 6, 9)}
    assert {each.key for each in report.tenants} == tenants.keys()
    assert report.skew.total == 36_000
    assert report.skew.idle >= 24


# -- memory ----------------------------------------------------------------------------------------


def test_windows_are_told_up_to_a_thousand_and_the_rest_is_counted() -> None:
    report = scan(even(60_000, every_ms=1_000), window_ms=2_000)
    assert report.windows_total == 1_200
    assert len(report.windows) == 1_000
