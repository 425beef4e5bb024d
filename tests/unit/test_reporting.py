from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from hotshard.core.panes.reporting import LEAST_ROWS, MAX_REPORT_BYTES, ROOMS, shown
from hotshard.core.panes.window import ClosedWindow, PartitionLists, Totals
from hotshard.core.partitioners import partitioner
from hotshard.core.topic import KeyLayout, PartitionsFrom
from hotshard.core.wire.pane import HeavyList, Row, travelling_key
from hotshard.core.wire.report import HeavyReport, Name, PartitionReport, SourceRange, WindowReport, encode
from tests.support.counting import topic
from tests.support.reports import name_of, report_of

Rows = Mapping[bytes, int | tuple[int, int]]


def heavy(rows: Rows | None = None, error: int = 0, recent: tuple[int, ...] = ()) -> HeavyList:
    bounds = {name: (each, each) if isinstance(each, int) else each for name, each in (rows or {}).items()}
    made = (Row(name, lower, upper, recent) for name, (lower, upper) in bounds.items())
    return HeavyList(tuple(sorted(made, key=lambda row: -row.upper)), error)


def part(partition: int, keys: HeavyList, tenants: HeavyList | None = None, source: str = "m") -> PartitionLists:
    return PartitionLists(source, partition, keys, tenants or heavy())


def closed(*lists: PartitionLists, loads: dict[int, int] | None = None, **changes: Any) -> ClosedWindow:  # noqa: ANN401
    """A window whose load, where it is not given, is what its lists hold."""
    held = {each.partition: sum(row.upper for row in each.keys.rows) for each in lists}
    given: dict[str, Any] = {
        "start_ms": 20_000, "end_ms": 30_000, "revision": 0, "totals": Totals(records=9, size_bytes=99, unkeyed=1),
        "ranges": (SourceRange(source="m", partition=0, start=0, end=9, records=9),), "completeness": 1.0,
    }  # fmt: skip
    return ClosedWindow(lists=lists, loads=held if loads is None else loads, **given | changes)


def loads_of(rows: tuple[HeavyReport, ...]) -> dict[bytes, tuple[int, int, int]]:
    return {name_of(row): (row.lower, row.estimate, row.upper) for row in rows}


def partition_of(report: WindowReport, number: int) -> PartitionReport:
    return next(each for each in report.partitions if each.partition == number)


# -- the whole ---------------------------------------------------------------------------------------


def test_a_report_holds_what_the_window_holds() -> None:
    window = closed(part(1, heavy({b"t\x1fa": 30, b"t\x1fb": 10}), heavy({b"t": 40})), part(2, heavy({b"t\x1fa": 60})))
    report = report_of(window, hot_keys={b"t\x1fa"}, hot_tenants={b"t"})
    assert (report.topic, report.start_ms, report.end_ms, report.revision) == ("orders", 20_000, 30_000, 0)
    assert (report.records, report.size_bytes, report.unkeyed, report.load) == (9, 99, 1, "records")
    assert report.ranges == window.ranges
    assert report.keys == (
        HeavyReport(key="t\x1fa", tenant="t", estimate=90, lower=90, upper=90, share=0.9, hot=True),
        HeavyReport(key="t\x1fb", tenant="t", estimate=10, lower=10, upper=10, share=0.1),
    )
    assert report.tenants == (HeavyReport(key="t", tenant="t", estimate=40, lower=40, upper=40, share=0.4, hot=True),)
    assert (report.hot_keys, report.hot_tenants) == (("t\x1fa",), ("t",))
    assert [(each.partition, each.load, each.share) for each in report.partitions] == [
        (0, 0, 0.0), (1, 40, 0.4), (2, 60, 0.6), (3, 0, 0.0),
    ]  # fmt: skip
    assert partition_of(report, 1).top_keys == (Name(key="t\x1fa", share=0.75), Name(key="t\x1fb", share=0.25))
    assert partition_of(report, 1).top_tenants == (Name(key="t", share=1.0),)
    skew = report.skew
    assert (skew.total, skew.max, skew.median, skew.ratio, skew.imbalance) == (100, 60, 20.0, 3.0, 2.4)
    assert (skew.idle, skew.hottest) == (2, 2)


def test_a_window_without_anything_is_told_as_that() -> None:
    report = report_of(closed(totals=Totals(), ranges=()))
    assert (report.keys, report.tenants, report.threshold, report.guaranteed) == ((), (), 0, True)
    assert (report.skew.hottest, report.skew.imbalance, len(report.partitions)) == (None, 1.0, 4)


@pytest.mark.parametrize("changes", [{"totals": Totals(failed=1)}, {"totals": Totals(lost=1)}, {"completeness": 0.99}])
def test_nothing_is_guaranteed_when_something_is_missing(changes: dict[str, Any]) -> None:
    report = report_of(closed(part(0, heavy({b"a": 1})), **changes))
    assert not report.guaranteed
    assert (report.failed, report.lost) == (
        changes.get("totals", Totals()).failed,
        changes.get("totals", Totals()).lost,
    )
    assert report.completeness == changes.get("completeness", 1.0)


def test_malformed_and_unkeyed_records_void_nothing() -> None:
    assert report_of(closed(totals=Totals(skipped=5, unkeyed=5))).guaranteed


def test_a_partition_beyond_the_count_is_told_too() -> None:
    report = report_of(closed(part(9, heavy({b"a": 5}))))
    assert [each.partition for each in report.partitions] == [0, 1, 2, 3, 9]
    assert report.skew.total == 5


# -- bounds and the threshold ------------------------------------------------------------------------


def test_a_list_that_does_not_have_a_key_adds_its_error_to_the_upper_bound_and_not_to_the_estimate() -> None:
    report = report_of(closed(part(0, heavy({b"a": (40, 50), b"b": 20}, 5)), part(1, heavy({b"a": (7, 8)}, 3))))
    assert loads_of(report.keys) == {b"a": (47, 58, 58), b"b": (20, 20, 23)}
    assert report.threshold == 8


def test_the_threshold_is_at_least_a_thousandth_of_the_load() -> None:
    report = report_of(closed(part(0, heavy({b"a": 9}, 2), heavy({b"t": 9}, 20)), loads={0: 9_001}))
    assert (report.threshold, report.threshold_tenants) == (10, 20)


def test_the_heaviest_are_listed_however_light_and_no_more_than_may_be_above_the_threshold() -> None:
    rows: Rows = {b"%03d" % n: 300 - n for n in range(100)}
    report = report_of(closed(part(0, heavy(rows)), loads={0: 10**6}))
    assert report.threshold == 1_000
    assert [name_of(row) for row in report.keys] == [b"%03d" % n for n in range(LEAST_ROWS)]


def test_where_there_is_no_room_for_all_that_may_be_above_it_the_threshold_is_raised() -> None:
    rows: Rows = {b"%04d" % n: 5_000 - n for n in range(1_000)}
    report = report_of(closed(part(0, heavy(rows, 7)), part(1, heavy({b"x": 1}, 3))))
    assert len(report.keys) == ROOMS[0].rows == 256
    assert report.threshold == 5_000 - 256 + 3
    assert min(row.upper for row in report.keys) == report.threshold + 1


def test_equals_are_told_apart_by_name_where_there_is_no_room_for_all() -> None:
    lists = [part(number, heavy({b"%d-%04d" % (number, n): 9 for n in range(300)})) for number in range(3)]
    listed = [name_of(row) for row in report_of(closed(*lists, loads={0: 999})).keys]
    assert listed == [b"0-%04d" % n for n in range(256)]
    assert listed == [name_of(row) for row in report_of(closed(*reversed(lists), loads={0: 999})).keys]


def test_what_is_hot_is_listed_however_light() -> None:
    rows: Rows = {b"%04d" % n: 5_000 - n for n in range(1_000)}
    hot = {b"0900", b"0001", b"elsewhere", b"\xff"}
    report = report_of(closed(part(0, heavy(rows))), hot_keys=hot)
    assert {name_of(row) for row in report.keys if row.hot} == {b"0900", b"0001"}
    assert len(report.keys) == 257
    assert report.keys[-1].key == "0900"
    assert report.hot_keys == ("0001", "0900", "elsewhere", None)


# -- routed keys -------------------------------------------------------------------------------------

ROUTE = {b"t\x1fk": b"t\x1fk", b"t\x1fk\x1f0": b"t\x1fk", b"t\x1fk\x1f1": b"t\x1fk"}


def test_shards_are_told_of_their_base_key_in_topic_and_partitions() -> None:
    window = closed(
        part(0, heavy({b"t\x1fk": 5, b"t\x1fk\x1f0": 50, b"t\x1fk\x1f1": 0, b"t\x1fx": 9}, recent=(1, 2))),
        part(1, heavy({b"t\x1fk\x1f1": (30, 31), b"t\x1fz": 80}, 2, recent=(4,))),
    )
    report = report_of(window, aliases=ROUTE)
    assert loads_of(report.keys)[b"t\x1fk"] == (85, 86, 86 + 2 + 2)
    assert [row.recent for row in report.keys if row.key == "t\x1fk"] == [(3, 10)]
    assert {each.key: each.share for each in partition_of(report, 0).top_keys} == {
        "t\x1fk": round(55 / 64, 6), "t\x1fx": round(9 / 64, 6),
    }  # fmt: skip
    assert [each.key for each in partition_of(report, 1).top_keys] == ["t\x1fz", "t\x1fk"]


def test_a_base_key_whose_shards_may_be_above_the_threshold_is_listed_though_no_list_has_one() -> None:
    report = report_of(closed(part(0, heavy({b"a": 50}, 20))), aliases=ROUTE)
    assert loads_of(report.keys) == {b"a": (50, 50, 50), b"t\x1fk": (0, 0, 60)}


def test_a_base_key_that_is_given_by_its_shards_alone_has_what_stands_under_itself_as_well() -> None:
    rows: Rows = {b"t\x1fk": 5, b"t\x1fk\x1f0": 50}
    aliases = {b"t\x1fk\x1f0": b"t\x1fk"}
    report = report_of(closed(part(0, heavy(rows))), aliases=aliases, hot_keys={b"t\x1fk\x1f0"})
    assert loads_of(report.keys) == {b"t\x1fk": (55, 55, 55)}


def test_a_routed_key_without_any_load_is_not_listed() -> None:
    report = report_of(closed(part(0, heavy({b"a": 50} | dict.fromkeys(ROUTE, 0)))), aliases=ROUTE)
    assert list(loads_of(report.keys)) == [b"a"]
    assert [each.key for each in partition_of(report, 0).top_keys] == ["a"]


# -- who fills a partition ---------------------------------------------------------------------------


def test_at_most_five_of_a_partition_are_told_shards_together() -> None:
    rows: Rows = {b"%d" % n: 100 - n for n in range(9)} | {b"t\x1fk\x1f0": 50, b"t\x1fk\x1f1": 49}
    report = report_of(closed(part(0, heavy(rows))), aliases=ROUTE)
    assert [each.key for each in partition_of(report, 0).top_keys] == ["0", "t\x1fk", "1", "2", "3"]


def test_sources_that_stand_for_the_same_partition_are_told_together() -> None:
    rows: list[Rows] = [{b"%d" % n: 90 - n for n in range(9)}, {b"8": 50, b"x": 1}]
    lists = [part(0, heavy(each), source=source) for each, source in zip(rows, "mn", strict=True)]
    report = report_of(closed(*lists, loads={0: 1_000}))
    assert [each.key for each in partition_of(report, 0).top_keys] == ["8", "0", "1", "2", "3"]
    assert partition_of(report, 0).top_keys[0].share == 0.132


def test_where_partitions_are_computed_keys_and_the_tenants_of_keys_are_told_where_the_partitioner_puts_them() -> None:
    place = partitioner("crc32").partition
    rows: Rows = {b"t%d\x1f%d" % (n % 2, n): 10 + n for n in range(30)} | {b"": 500, travelling_key(b"l" * 300): 400}
    spec = topic(partitions_from=PartitionsFrom.COMPUTED, partitioner="crc32")
    report = report_of(closed(part(7, heavy(rows)), loads={0: 500, 1: 500}), spec=spec, partitions=2)
    for number in (0, 1):
        here = sorted((name for name in rows if place(name, 2) == number and len(name) < 9), key=rows.__getitem__)
        told = partition_of(report, number)
        assert [name_of(each) for each in told.top_keys] == here[:-6:-1]
        tenants = {t: sum(10 + n for n in range(30) if n % 2 == t and b"t%d\x1f%d" % (t, n) in here) for t in (0, 1)}
        assert {each.key: each.share for each in told.top_tenants} == {
            f"t{t}": load / 500 for t, load in tenants.items()
        }


def test_an_opaque_key_has_no_tenant() -> None:
    spec = topic(layout=KeyLayout.ENTITY, partitions_from=PartitionsFrom.COMPUTED)
    report = report_of(closed(part(0, heavy({b"t\x1fa": 5})), loads={0: 5}), spec=spec, partitions=1)
    assert report.keys[0].tenant is None
    assert partition_of(report, 0).top_tenants == ()


def test_no_share_is_above_the_whole() -> None:
    report = report_of(closed(part(0, heavy({b"a": 9})), loads={0: 8}))
    assert report.keys[0].share == partition_of(report, 0).top_keys[0].share == 1.0


# -- names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"a" * 300, "a" * 256),
        ("aß".encode() * 200, "aß" * 85 + "a"),
        (b"\xff" * 300, None),
        (b"a" * 255 + b"\xff" * 9, None),
    ],
)
def test_of_a_cut_key_the_first_part_is_shown_beside_what_tells_it_from_others(key: bytes, text: str | None) -> None:
    name = travelling_key(key)
    assert shown(name) == (text, base64.b64encode(name).decode())


@pytest.mark.parametrize("key", [b"a" * 256, b"", b"\xff"])
def test_a_whole_key_is_shown_as_text_or_else_in_base64(key: bytes) -> None:
    assert shown(key) == ((None, "/w==") if key == b"\xff" else (key.decode(), None))


def test_tenants_are_shown_as_text_as_far_as_they_are() -> None:
    report = report_of(closed(part(0, heavy({b"\xffa\x1fb": 5}), heavy({b"\xffa": 5, travelling_key(b"u" * 300): 4}))))
    assert (report.keys[0].key, report.keys[0].tenant) == (None, "\ufffda")
    assert [(row.key, row.tenant) for row in report.tenants] == [(None, "\ufffda"), ("u" * 256, "u" * 256)]


# -- its size ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [b"%04d-%03d", b"\x01" * 240 + b"%04d-%03d", b"\xff" * 240 + b"%04d-%03d"])
def test_a_report_of_very_many_partitions_is_a_message_that_kafka_takes(key: bytes) -> None:
    lists = [part(n, heavy({key % (n, rank): 90_000 - 30 * n - rank for rank in range(30)}, 1)) for n in range(1_000)]
    report = report_of(closed(*lists, loads=dict.fromkeys(range(1_000), 100)), partitions=1_000)
    assert len(encode(report)) <= MAX_REPORT_BYTES
    assert len(report.partitions) == 1_000
    assert len(report.keys) >= LEAST_ROWS
    listed = {name_of(row) for row in report.keys}
    left = (row.upper + 999 for each in lists for row in each.keys.rows if row.key not in listed)
    assert max(left) <= report.threshold
