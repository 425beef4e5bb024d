"""What the parts of the benchmark make of what they saw, and the picture of the throughput comparison."""

from __future__ import annotations

import asyncio
import time
import xml.etree.ElementTree as ET
from asyncio import events
from typing import TYPE_CHECKING

import pytest

from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.partitioners import partition_of
from hotshard.core.wire.report import HeavyReport, SkewReport, SourceRange, WindowReport
from tests.bench.accounted import DECIDE, PANES, READ, REDIS, Books, keep, kind_of
from tests.bench.catchup import Reports, judged
from tests.bench.filling import Traffic, config
from tests.bench.memory import Sample, flatness
from tests.bench.parts import Goal, as_json, compared, number, show
from tests.bench.picture import draw
from tests.bench.pumping import keys_of

if TYPE_CHECKING:
    from tests.bench.parts import Found

# -- tables and goals ----------------------------------------------------------------------------

FOUND: Found = {"one": {"p50_s": 0.5, "cores": None}, "other": {"p50_s": 2.0, "cores": 0.25}}


def test_a_goal_is_reached_at_its_limit_and_missed_beyond() -> None:
    assert "reached" in (Goal("one", "p50_s", most=0.5).verdict(FOUND) or "")
    assert "MISSED" in (Goal("other", "p50_s", most=1.9).verdict(FOUND) or "")
    assert "reached" in (Goal("other", "cores", least=0.25).verdict(FOUND) or "")


def test_a_row_that_was_not_measured_has_no_verdict() -> None:
    goal = Goal("none", "p50_s", most=1)
    assert goal.verdict(FOUND) is None
    assert not goal.is_missed(FOUND)


def test_a_row_without_its_figure_misses_the_goal_unless_it_is_said_why_there_may_be_none() -> None:
    goal, excused = Goal("one", "cores", most=1), Goal("one", "cores", most=1, else_="not judged: too few cores")
    assert goal.verdict(FOUND) == "one: cores: MISSED: no figure"
    assert excused.verdict(FOUND) == "one: cores: not judged: too few cores"
    assert as_json(FOUND, (goal, excused)) == {**FOUND, "missed": ["one: cores"]}


def test_programs_are_told_what_was_missed() -> None:
    goals = (Goal("one", "p50_s", most=0.5), Goal("other", "p50_s", most=1.9), Goal("other", "cores", least=0.3))
    assert as_json(FOUND, goals)["missed"] == ["other: p50_s", "other: cores"]


def test_the_table_has_one_head_for_rows_with_the_same_figures() -> None:
    lines = show({**FOUND, "third": {"mb": 1234.5}}, ()).splitlines()
    assert [line.split() for line in lines if line] == [
        ["p50_s", "cores"],
        ["one", "0.5", "-"],
        ["other", "2", "0.25"],
        ["mb"],
        ["third", "1,234"],
    ]


def test_a_figure_is_compared_where_it_was_measured_both_times() -> None:
    lines = compared(FOUND, {"other": {"p50_s": 1.0}, "gone": {"x": 1.0}})
    assert [line.split()[-3:] for line in lines[1:]] == [["2", "1", "2.00"]]


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "-"), (0.0, "0"), (0.1234, "0.123"), (123.45, "123.5"), (5e6, "5,000,000")]
)
def test_numbers_are_short(value: float | None, shown: str) -> None:
    assert number(value) == shown


# -- memory --------------------------------------------------------------------------------------


def test_growth_is_the_most_memory_after_the_first_keys_beside_what_it_was_then() -> None:
    samples = [Sample(0, 500.0), Sample(1_200_000, 100.0), Sample(6_000_000, 120.0), Sample(20_000_000, 110.0)]
    figures = flatness(samples, 1_000_000)
    assert figures["most_to_first"] == 1.2
    assert (figures["mb_at_1m"], figures["mb_at_5m"], figures["mb_at_20m"]) == (100.0, 120.0, 110.0)


def test_each_partition_gets_keys_of_its_own() -> None:
    place = partition_of("murmur2", 7)
    keys = keys_of(7, each=3)
    assert [{place(key) for key in part} for part in keys] == [{number} for number in range(7)]
    assert all(len(set(part)) == 3 for part in keys)


def test_only_topics_of_very_many_partitions_are_not_indexed_from_the_start() -> None:
    assert config(12) == {"retention.ms": "-1"}
    assert "index.interval.bytes" in config(1000)


# -- catching up ---------------------------------------------------------------------------------


def report(start: int, end: int, row: tuple[int, int] | None, *, guaranteed: bool = True) -> WindowReport:
    """Offsets of partition 3, which are also times: one record a millisecond."""
    key = [] if row is None else [HeavyReport(key="k", estimate=row[1], lower=row[0], upper=row[1], share=0.1)]
    return WindowReport(
        topic="t",
        start_ms=start - start % 10_000,
        end_ms=start - start % 10_000 + 10_000,
        revision=0,
        records=end - start,
        size_bytes=0,
        unkeyed=0,
        skipped=0,
        failed=0,
        lost=0,
        load="records",
        threshold=2,
        threshold_tenants=2,
        guaranteed=guaranteed,
        completeness=1.0,
        partitions=(),
        skew=SkewReport(total=0, max=0, median=0, ratio=0, imbalance=0, idle=0, hottest=None),
        keys=tuple(key),
        tenants=(),
        ranges=(SourceRange(source="t", partition=3, start=start, end=end, records=end - start),),
    )


def wrong(*reports: WindowReport, offsets: tuple[int, ...] = ()) -> tuple[float | None, ...]:
    found = judged(Reports(reports, 0, 50_000), {3: 30_000}, "k", 3, offsets)
    return found["not_whole"], found["holes"], found["counts_out_of_bounds"]


def test_right_reports_tile_the_partition_and_bound_the_count() -> None:
    reports = report(0, 10_000, (2, 3)), report(10_000, 30_000, None)
    assert wrong(*reports, offsets=(1, 9_999, 10_000)) == (0, 0, 0)


def test_a_hole_an_overlap_and_a_missing_end_are_seen() -> None:
    assert wrong(report(0, 10_000, None), report(10_001, 30_000, None))[1] == 1
    assert wrong(report(0, 10_000, None), report(9_999, 30_000, None))[1] == 1
    assert wrong(report(0, 10_000, None), report(10_000, 29_999, None))[1] == 1


def test_a_count_outside_its_bounds_and_a_heavy_key_that_is_not_named_are_seen() -> None:
    assert wrong(report(0, 30_000, (2, 3)), offsets=(1, 2, 3, 4))[2] == 1
    assert wrong(report(0, 30_000, None), offsets=(1, 2, 3))[2] == 1


def test_a_report_that_guarantees_nothing_is_not_whole() -> None:
    assert wrong(report(0, 30_000, None, guaranteed=False))[0] == 1


def test_records_that_wait_are_stamped_as_they_would_have_been_sent() -> None:
    traffic = Traffic(topic="t", records=1000, per_s=100)
    stamps = [traffic.stamp_ms(50_000, sent) - 50_000 for sent in (0, 250, 500)]
    assert stamps == [-10_000, -5_000, 0]


# -- the account of a worker's time --------------------------------------------------------------


def test_time_is_put_down_to_the_loop_it_was_spent_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events.Handle, "_run", events.Handle._run)  # noqa: SLF001 - put back after
    monkeypatch.setattr(PartitionPanes, "seal", PartitionPanes.seal)
    books = Books()
    keep(books, redis_port=6379)

    async def work(seconds: float) -> None:
        until_s = time.thread_time() + seconds
        while time.thread_time() < until_s:
            pass
        await asyncio.sleep(0)

    async def all_of_it() -> None:
        async with asyncio.TaskGroup() as tasks:
            for name, seconds in (("cut", 0.02), ("decide", 0.04), ("registry", 0.06), ("whatever", 0.08)):
                tasks.create_task(work(seconds), name=name)

    asyncio.run(all_of_it())
    spent = {kind: nanoseconds / 1e9 for kind, nanoseconds in books.mine().spent.items()}
    for kind, least_s in ((PANES, 0.02), (DECIDE, 0.04), (REDIS, 0.06), (READ, 0.08)):
        assert least_s <= spent[kind] < least_s + 0.02


def test_the_consumer_thread_of_deciding_is_deciding() -> None:
    assert kind_of(print, "decide", 6379)[0] == DECIDE
    assert kind_of(print, "observe", 6379)[0] == READ


# -- the picture ---------------------------------------------------------------------------------

STORED = {
    "throughput": {
        "machine": "2 cores (Some <CPU> & more), Linux; pinned",
        "day": "2026-01-31",
        "found": {
            "13-byte values": {
                "worker": {"median": 1_000_000, "least": 1, "most": 2},
                "getmany": {"median": 400_000, "least": 1, "most": 2},
            },
            "1 KB values": {"worker": {"median": 300_000, "least": 1, "most": 2}},
            "uniform keys": {"worker": {"median": 5, "least": 1, "most": 2}},
        },
    }
}
_SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_is_drawn_from_a_stored_result() -> None:
    picture = draw(STORED)
    root = ET.fromstring(picture)  # noqa: S314 - our own
    bars = [float(bar.attrib["width"]) for bar in root.iter(f"{_SVG}rect")]
    assert bars[1] == pytest.approx(0.4 * bars[0], abs=0.1)
    assert bars[2] == pytest.approx(bars[0], abs=0.1)  # each case has a scale of its own
    texts = [text.text for text in root.iter(f"{_SVG}text")]
    assert "400,000  (1/2.5)" in texts
    assert "2026-01-31; 2 cores (Some <CPU> & more), Linux" in texts
    assert "prefers-color-scheme: dark" in picture
    assert not [text for text in texts if "uniform" in str(text)]
