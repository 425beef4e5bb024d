"""Incidents of time: wrong timestamps, idle partitions, backlogs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hotshard.core.causes.evidence import PartitionLag
from hotshard.core.causes.lag import lag_of
from hotshard.core.policy.thresholds import Policy
from tests.cases.incident import AtMost, Incident, Near
from tests.cases.keys import scanned
from tests.support.incidents import T0_MS, Record, Worker, of, scan, spread

if TYPE_CHECKING:
    from collections.abc import Mapping

HOUR_MS = 3_600_000


def one_from_the_future() -> Mapping[str, Any]:
    """1,000 records a second for 40 s, and one record of the tenth second that says it is of two hours later."""
    worker = Worker(4)
    for second in range(40):
        placed = {place: [Record(f"k{place}-{number}".encode()) for number in range(250)] for place in range(4)}
        if second == 10:
            placed[0].append(Record(b"k0-0", worker.now_ms - T0_MS + 2 * HOUR_MS))
        worker.second(placed)
    worker.idle(15)
    reports = worker.hearing.told.reports
    return {
        "records": sum(report.records for report in reports),
        "windows": sorted({(report.start_ms - T0_MS) // 1000 for report in reports}),
        "revisions": sum(report.revision > 0 for report in reports),
    }


def a_backlog_beside() -> Mapping[str, Any]:
    """Partition 0 is of now, partition 1 is read from three hours ago, where key K had everything."""
    worker = Worker(2, window_s=60.0)
    for second in range(20):
        now = [Record(f"k{number}".encode()) for number in range(200)]
        old = [Record(b"K", second * 1000 + number - 3 * HOUR_MS) for number in range(400)]
        worker.second({0: now, 1: old}, behind=100_000)
    head = worker.hearing.told.head
    flagged = () if head is None else tuple(entry.key for entry in head.hot)
    worker.idle(90)
    windows = Counter[int]()
    for report in worker.hearing.told.reports:
        windows[(report.start_ms - T0_MS) // HOUR_MS] += report.records
    return {"flagged": flagged, "records_3_hours_ago": windows[-3], "records_now": windows[0]}


def nothing_after() -> Mapping[str, Any]:
    """Records until the tenth second of a window of a minute, and none after."""
    worker = Worker(2, window_s=60.0)
    for _ in range(10):
        worker.second({0: [Record(f"k{number}".encode()) for number in range(50)]})
    published_s = None
    while published_s is None and worker.now_ms < T0_MS + 300_000:
        worker.idle(1)
        if worker.hearing.told.reports:
            published_s = (worker.now_ms - T0_MS) / 1000
    return {"published_s": published_s, "records": worker.hearing.told.reports[0].records}


def read_in_a_hurry() -> Mapping[str, Any]:
    """Ten minutes of key K at 100 a second, read in 20 s; hot is what has 500 a second, whatever share that is."""
    policy = Policy(on_share=1.0, on_load_per_s=500, tenant_on_share=1.0)
    crowd = [Record(f"k{number}".encode()) for number in range(120_000)]
    records = spread([*of({b"K": 60_000}), *crowd], 600)
    seen = scanned(scan(records, 12, policy=policy))
    return {"windows": len(seen["windows"]), "hot_keys": seen["hot_keys"], "longest_s": 60}


def slow_clock() -> Mapping[str, Any]:
    return {"lag": lag_of(PartitionLag(partition=0, committed=5000, end=5000, log_start=0))}


TIME: tuple[Incident, ...] = (
    Incident(
        id="I096", kind="time",
        symptom="one record two hours ahead stops all output for ever",
        seen=one_from_the_future,
        answer={"records": 40_001, "windows": [0, 10, 20, 30], "revisions": 0},
    ),
    Incident(
        id="I098", kind="time",
        symptom="a partition far behind gets all the attention",
        seen=a_backlog_beside,
        answer={"flagged": (), "records_3_hours_ago": 8000, "records_now": 4000},
    ),
    Incident(
        id="I100", kind="time",
        symptom="what came last is never told, as nothing comes after it",
        seen=nothing_after,
        answer={"published_s": AtMost(60 + 4), "records": 500},
    ),
    Incident(
        id="I102", kind="time",
        symptom="working off a backlog trips a limit of rate",
        seen=read_in_a_hurry,
        answer={"hot_keys": {}, "windows": Near(10, 1)},
    ),
    Incident(
        id="I104", kind="time",
        symptom="a producer's clock is slow, and its records seem to wait",
        seen=slow_clock,
        answer={"lag": 0},
    ),
)  # fmt: skip
