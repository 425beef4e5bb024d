"""What a person reads of a scan, on wide and narrow terminals, whatever the names are."""

from __future__ import annotations

import re

import msgspec
import pytest
from rich.cells import cell_len

from hotshard.core.wire.report import Name, PartitionReport, SkewReport
from hotshard.core.wire.scan import ScanHeavy, ScanPlan, ScanReport, ScanWindow
from hotshard.report.scan import render_scan

DAY_MS = 1_700_000_000_000
HOT = "acme\x1fbasket-17"


def report(partitions: int = 32, key: str = HOT) -> ScanReport:
    loads = [100 + each for each in range(partitions)]
    loads[3 % partitions], loads[17 % partitions] = 0, 2400
    total = sum(loads)
    top = (Name(key=key, share=0.93),)
    return ScanReport(
        records=total, skipped=3, unkeyed=24, distinct_keys=1498, span_s=7400.0, load="records", threshold=121,
        threshold_tenants=20, guaranteed=True,
        partitions=tuple(
            PartitionReport(partition=number, load=load, share=load / total, top_keys=top)
            for number, load in enumerate(loads)
        ),
        skew=SkewReport(total=total, max=2400, median=125, ratio=19.2, imbalance=12.5, idle=1, hottest=17 % partitions),
        keys=(
            ScanHeavy(
                key=key, tenant="acme", estimate=2300, lower=2290, upper=2310, share=0.35, hot=True, since_ms=DAY_MS
            ),
        ),
        tenants=(ScanHeavy(key="acme", estimate=2300, lower=2300, upper=2300, share=0.35),),
        windows_total=30,
        windows=(
            ScanWindow(start_ms=DAY_MS, end_ms=DAY_MS + 60_000, records=3000, hot_keys=(key,), cause="hot_key"),
            ScanWindow(start_ms=DAY_MS + 60_000, end_ms=DAY_MS + 120_000, records=9000, cause="none"),
        ),
        cause="hot_key", reason="spreads", treatment="split", numbers={"share": 0.35}, completeness=1.0,
        advice="acme / basket-17 fills partition 17; split it.",
        plans=(
            ScanPlan(
                key=key, treatment="split", shards=2, suffixes=("1", "2"), partitions=(5, 9),
                imbalance_before=12.5, imbalance_after=1.24, reason="within_tolerance",
            ),
        ),
    )  # fmt: skip


def test_the_verdict_comes_first_then_what_is_hot_since_when_how_surely_and_what_would_help() -> None:
    text = render_scan(report(), width=100, plain=True)
    wanted = [
        "acme / basket-17 fills partition 17; split it.", "cause hot_key, treatment split, reason spreads",
        "Hot keys", "35 % of the load, 2,290 to 2,310 records, since 2023-11-14 22:13:20 UTC", "of tenant acme",
        "No tenant is hot; the heaviest", "split over 2 partitions: 5 9", "imbalance 12.50 -> 1.24",
        "Partitions: imbalance 12.50", "1 of 32 idle", "When: 1 of 30 windows", "2023-11-14 22:13:20, 60 s",
        "Every key with more than 121 records",
    ]  # fmt: skip
    places = [text.find(each) for each in wanted]
    assert -1 not in places
    assert places == sorted(places)
    assert text.splitlines()[0] == wanted[0]


def test_other_causes_what_the_application_could_do_and_what_is_not_known_are_told_where_there_are_any() -> None:
    text = render_scan(report(), width=100, plain=True)
    assert not re.search(r", also|The application could|Not known here", text)
    more = msgspec.structs.replace(
        report(), also=("hot_tenant", "collision"), application=("ledger", "relative_update"), unjudged=("lag", "new")
    )
    text = render_scan(more, width=100, plain=True)
    assert "reason spreads, also hot_tenant, collision" in text
    assert "The application could also send relative updates, added up before they are sent." in text
    assert "ledger" not in text
    assert "Not known here: whether consumers are slow or stuck; new." in text


def test_every_partition_has_a_bar_as_long_as_its_load_says() -> None:
    rows = re.findall(r"^ +(\d+) (#*) +([\d.]+ %|-)", render_scan(report(), width=80, plain=True), re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(32))
    bars = {int(number): len(bar) for number, bar, _ in rows}
    assert bars[3] == 0
    assert max(bars, key=bars.__getitem__) == 17
    assert all(1 <= bar <= bars[17] // 10 for number, bar in bars.items() if number not in {3, 17})


def test_of_very_many_partitions_the_fullest_are_drawn_and_the_rest_is_summed_up() -> None:
    text = render_scan(report(1000), width=80, plain=True)
    assert len(re.findall(r"^ +\d+ #+ ", text, re.MULTILINE)) == 16
    assert "983 more with 100 to" in text
    assert "1 idle" in text


HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07",
    "日本語" * 40,
    "[bold red]x[/]",
    "a\nb\rc",
    "\u202eevil",
    "",
    "x" * 5000,
    "e" + "\u0301" * 50,
)


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("key", HOSTILE, ids=range(len(HOSTILE)))
def test_no_line_is_wider_than_the_terminal_and_no_name_reaches_it_raw(key: str, width: int, *, plain: bool) -> None:
    scanned = msgspec.structs.replace(report(200, key), advice=f"{key} is hot", tenants=report(key=key).keys)
    text = render_scan(scanned, width=width, plain=plain)
    ours = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert all(cell_len(line) <= width for line in ours.splitlines())
    assert not [each for each in ours if not each.isprintable() and each != "\n"]
    assert (ours == text) is plain
    if key.startswith("["):
        assert key in ours


def test_a_name_that_is_no_text_is_shown_in_base64() -> None:
    keys = (msgspec.structs.replace(report().keys[0], key=None, key_b64="AAEC"),)
    assert "base64 AAEC" in render_scan(msgspec.structs.replace(report(), keys=keys), width=80, plain=True)


def test_what_is_not_sure_is_said() -> None:
    unsure = msgspec.structs.replace(report(), guaranteed=False, completeness=0.5)
    text = render_scan(unsure, width=80, plain=True)
    assert "Not everything could be counted" in text
    assert "Only 50 % of the partitions" in text
    assert "Every key with more than" not in text


@pytest.mark.parametrize(
    ("number", "told"), [(1, "1 record, 1 key, 1 line skipped"), (600_000, "600,000 records, about 600,000 keys,")]
)
def test_one_of_a_thing_is_not_several_and_what_is_counted_is_not_about(number: int, told: str) -> None:
    one = msgspec.structs.replace(
        report(), records=number, distinct_keys=number, skipped=number, unkeyed=0, span_s=0.0, windows_total=1
    )
    text = render_scan(one, width=100, plain=True)
    assert told in text
    assert "When: 1 of 1 window, UTC" in text


def test_a_plan_that_leaves_the_fullest_as_it_is_tells_what_it_does_for_its_own_partitions() -> None:
    plan = msgspec.structs.replace(
        report().plans[0], imbalance_before=2.171, imbalance_after=2.169, own_before=2.12, own_after=1.1
    )
    text = render_scan(msgspec.structs.replace(report(), plans=(plan,)), width=100, plain=True)
    assert "    imbalance 2.17 -> 2.17, its own partitions 2.12 -> 1.10\n" in text
    plan = msgspec.structs.replace(plan, imbalance_after=1.5, in_window=True)
    text = render_scan(msgspec.structs.replace(report(), plans=(plan,)), width=100, plain=True)
    assert "    in its hottest window: imbalance 2.17 -> 1.50\n" in text


def test_an_empty_input_is_told_without_a_fault() -> None:
    empty = msgspec.structs.replace(
        report(), records=0, partitions=(), keys=(), tenants=(), windows=(), plans=(), cause="none", numbers={},
        advice="", skew=SkewReport(total=0, max=0, median=0, ratio=0, imbalance=1, idle=0, hottest=None),
    )  # fmt: skip
    assert "0 records" in render_scan(empty, width=40, plain=False)


def test_times_no_calendar_has_are_told_as_they_are() -> None:
    keys = (msgspec.structs.replace(report().keys[0], since_ms=1 << 60),)
    assert f"since {1 << 60} ms" in render_scan(msgspec.structs.replace(report(), keys=keys), width=200, plain=True)


def test_windows_that_follow_one_another_with_the_same_findings_are_one_line() -> None:
    hour_ms = 3_600_000
    hot = [
        ScanWindow(start_ms=at * hour_ms, end_ms=(at + 1) * hour_ms, records=100, hot_keys=(name,), cause="hot_key")
        for at, name in ((0, "a"), (1, "a"), (2, "a"), (3, "b"), (9, "b"))
    ]
    text = render_scan(msgspec.structs.replace(report(), windows=tuple(reversed(hot))), width=100, plain=True)
    lines = [line.strip() for line in text.splitlines() if line.startswith("  1970")]
    assert lines == [
        "1970-01-01 00:00:00, 3 h, 3 windows, 300 records: a",
        "1970-01-01 03:00:00, 60 min, 100 records: b",
        "1970-01-01 09:00:00, 60 min, 100 records: b",
    ]


def test_what_holds_of_several_plans_is_said_once() -> None:
    plan = msgspec.structs.replace(report().plans[0], detail="right where order does not matter")
    text = render_scan(msgspec.structs.replace(report(), plans=(plan, plan)), width=100, plain=True)
    assert text.count("split over 2 partitions: 5 9") == 2
    assert text.count("right where order does not matter") == 1
