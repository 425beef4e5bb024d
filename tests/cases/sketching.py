"""Incidents of counting: what merging loses, estimates without bounds, lists taken for the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import Load
from tests.cases.incident import Incident, Near
from tests.cases.keys import crowd, scanned
from tests.support.incidents import Record, live, of, scan, spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.wire.scan import ScanReport


def leads_no_part() -> Mapping[str, Any]:
    """Four partitions, of which each has its own leader."""
    parts = ("111223", "344455", "366677", "388899")
    placed = {place: [Record(key.encode()) for key in part] for place, part in enumerate(parts)}
    report = next(report for report in live([placed], 4).reports if report.records)
    found = {row.key: row.estimate for row in report.keys}
    return {"top": report.keys[0].key, "heavy": {key: count for key, count in found.items() if count >= 2.4}}


def one_of_many() -> ScanReport:
    """A fifth of the case: one key of 2,000 among 198,000 records, 20,000 of them of keys that come once."""
    warm = crowd("w", 1780, 100)
    return scan(spread([*of({b"key": 2000}), *crowd("once", 20_000, 1), *warm], 60), 12)


def bounded() -> Mapping[str, Any]:
    row = next(each for each in one_of_many().keys if each.key == "key")
    return {"holds": row.lower <= 2000 <= row.upper, "estimate_within": row.lower <= row.estimate <= row.upper}


def at_rate(per_s: int) -> Mapping[str, Any]:
    policy = Policy(on_share=1.0, on_load_per_s=500, tenant_on_share=1.0)
    records = [*of({b"K": 60 * per_s}), *crowd("k", 30_000, 2)]
    return scanned(scan(spread(records, 60), 12, policy=policy))


def large_records() -> Mapping[str, Any]:
    records = [Record(f"k{number}".encode(), number * 100, None, 100_000) for number in range(10)]
    report = scan(records, 4, load=Load.BYTES)
    return {"bytes": sum(partition.load for partition in report.partitions), "largest": 100_000}


def all_or_none() -> Mapping[str, Any]:
    report = scan(spread(crowd("k", 20, 50), 60), 12)
    return {"listed": len(report.keys), "loads": {row.estimate for row in report.keys}}


def surely_tracked() -> Mapping[str, Any]:
    """More than one in ten of the records, in windows that a sketch of ten counters would have to keep it in."""
    report = scan(spread([*of({b"key": 1001}), *crowd("k", 8999, 1)], 60), 12)
    row = next((each for each in report.keys if each.key == "key"), None)
    return {"tracked": row is not None, "holds": row is not None and row.lower <= 1001 <= row.upper}


SKETCHING: tuple[Incident, ...] = (
    Incident(
        id="I105", kind="sketch_fault",
        symptom="merged sketches lose what leads no part",
        seen=leads_no_part,
        answer={"top": "3", "heavy": {"1": 3, "3": 4, "4": 3, "6": 3, "8": 3}},
    ),
    Incident(
        id="I107", kind="sketch_fault",
        symptom="a count far below the truth, with nothing said of its error",
        seen=bounded,
        answer={"holds": True, "estimate_within": True},
    ),
    Incident(
        id="I109", kind="sketch_fault",
        symptom="as many keys are told as the list is long",
        seen=lambda: scanned(scan(spread(crowd("k", 1000, 2), 60), 12)),
        answer={"distinct_keys": Near(1000, 30)},
    ),
    Incident(
        id="I111", kind="sketch_fault",
        symptom="a limit is hit at half of its rate: below it",
        seen=lambda: at_rate(400),
        answer={"hot_keys": {}},
    ),
    Incident(
        id="I111", kind="sketch_fault",
        symptom="a limit is hit at half of its rate: above it",
        seen=lambda: {"hot": set(at_rate(600)["hot_keys"])},
        answer={"hot": {"K"}},
    ),
    Incident(
        id="I113", kind="sketch_fault",
        symptom="throughput is told as the largest record",
        seen=large_records,
        answer={"bytes": 1_000_000},
    ),
    Incident(
        id="I115", kind="sketch_fault",
        symptom="of equal keys some are told and some are not",
        seen=all_or_none,
        answer={"listed": 20, "loads": {50}},
    ),
    Incident(
        id="I117", kind="sketch_fault",
        symptom="what surely is above the threshold must be kept track of",
        seen=surely_tracked,
        answer={"tracked": True, "holds": True},
    ),
)  # fmt: skip
