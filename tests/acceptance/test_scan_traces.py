"""scan on real traffic: what it says against an exact count, and what it must find, and not find."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hotshard.core.scanning.scanner import By
from hotshard.core.topic import Load
from tests.support.traces import TRACES, Exact, assert_right, rows, scan_of, spec, trace

if TYPE_CHECKING:
    from hotshard.core.wire.scan import ScanReport

pytestmark = pytest.mark.acceptance

_MB = 1_000_000
#: Runs a command and says, on its last line of stderr, how much memory it had at most.
_MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], check=False).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("name", TRACES)
def test_a_report_is_right_by_an_exact_count(name: str) -> None:
    trace(name)
    assert len(rows(name)) == TRACES[name]
    exact = {load: Exact.of(rows(name), load) for load in Load}
    for load, by, partitioner in (
        (Load.RECORDS, By.KEY, "murmur2"),
        (Load.RECORDS, By.TENANT, "crc32"),
        (Load.BYTES, By.KEY, "crc32"),
        (Load.BYTES, By.TENANT, "murmur2"),
    ):
        report = scan_of(name, spec(load, partitioner), by)
        assert_right(report, exact[load], by, partitioner)
        assert report.guaranteed
        assert sum(each.records for each in report.windows) == report.records or report.windows_total > 1000


def hot_keys(report: ScanReport) -> list[str | None]:
    return [each.key for each in report.keys if each.hot]


def hot_tenants(report: ScanReport) -> list[str | None]:
    return [each.key for each in report.tenants if each.hot]


@pytest.mark.parametrize("name", ["reviews", "flights", "wiki_edits"])
def test_where_no_key_is_hot_none_is_told(name: str) -> None:
    report = scan_of(name)
    assert hot_keys(report) == []
    assert not any(window.hot_keys for window in report.windows)
    assert not any(plan.suffixes for plan in report.plans)


def test_a_hot_tenant_without_a_hot_key_is_isolated_and_not_split() -> None:
    report = scan_of("retail_sku")
    assert hot_keys(report) == []
    assert hot_tenants(report) == ["United Kingdom"]
    assert report.cause == "hot_tenant"
    assert [(plan.tenant, plan.suffixes) for plan in report.plans] == [("United Kingdom", ())]


def test_wrong_dates_lose_no_row_and_move_no_clock() -> None:
    report = scan_of("wiki_edits")
    assert report.records == TRACES["wiki_edits"]
    stamps = sorted(row.at_ms for row in rows("wiki_edits"))
    first, last = stamps[len(stamps) // 100], stamps[-len(stamps) // 100]
    assert last - first < 86_400_000 < stamps[-1] - stamps[0]
    assert report.span_s < 86_400
    starts = [window.start_ms for window in report.windows if window.start_ms is not None]
    assert starts == sorted(starts)
    assert first - 3_600_000 < min(starts)
    assert max(starts) < last + 3_600_000


def test_records_and_bytes_have_different_answers() -> None:
    by_records, by_bytes = scan_of("apache_access"), scan_of("apache_access", spec(Load.BYTES))
    assert by_records.keys[0].key == "/favicon.ico"
    assert by_bytes.keys[0].key == "/misc/sample.log"
    assert by_records.keys[0].hot
    assert by_bytes.keys[0].hot
    assert "/misc/sample.log" not in hot_keys(by_records)
    assert "/favicon.ico" not in hot_keys(by_bytes)


def test_a_block_that_is_in_every_request_is_named_and_split() -> None:
    report = scan_of("llm_kv_blocks")
    assert hot_keys(report) == ["b0"]
    (plan,) = report.plans
    assert (plan.key, plan.treatment) == ("b0", "split")
    assert plan.imbalance_before is not None
    assert plan.imbalance_after is not None
    assert plan.imbalance_after <= 1.25 < plan.imbalance_before


@pytest.mark.parametrize("name", TRACES)
def test_the_command_needs_less_than_200_mb(name: str) -> None:
    command = (sys.executable, "-m", "hotshard", "scan", str(trace(name)), "--json")
    done = subprocess.run((sys.executable, "-c", _MEASURED, *command), capture_output=True, check=False, timeout=300)
    assert done.returncode in {0, 1}, done.stderr
    *messages, most = done.stderr.split()
    assert messages == []
    # Kilobytes, but bytes on a Mac.
    assert int(most) * (1 if sys.platform == "darwin" else 1024) < 200 * _MB
    report: dict[str, Any] = json.loads(done.stdout, parse_constant=pytest.fail)
    assert report["records"] == TRACES[name]
    assert done.returncode == (1 if report["cause"] != "none" or _any_hot(report) else 0)


def _any_hot(report: dict[str, Any]) -> bool:
    return any(each["hot"] for each in report["keys"] + report["tenants"])
