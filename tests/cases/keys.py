"""Incidents of hot keys and tenants, of few and constant keys, and of records without a key."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hotshard.core.causes.lag import GroupLag, grows_per_s
from hotshard.core.partitioners import partition_of
from hotshard.core.skew import AlertReason, describe_skew, skew_alerts
from tests.cases.incident import AtLeast, AtMost, Holds, Incident, Near, Says, SaysNothingOf
from tests.support.causes import lag_of
from tests.support.incidents import Record, Worker, dealt, live, of, scan, spread, together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.wire.report import WindowReport
    from hotshard.core.wire.scan import ScanReport
    from tests.support.incidents import Lived


def scanned(report: ScanReport) -> Mapping[str, Any]:
    hottest = report.skew.hottest
    fullest = None if hottest is None else report.partitions[hottest]
    top = fullest.top_keys[0] if fullest is not None and fullest.top_keys else None
    return {
        "hot_keys": {each.key: each.share for each in report.keys if each.hot},
        "hot_tenants": {each.key: each.share for each in report.tenants if each.hot},
        "hottest": hottest,
        "top_of_hottest": None if top is None else (top.key, round(top.share, 2)),
        "idle": report.skew.idle,
        "ratio": report.skew.ratio,
        "median": report.skew.median,
        "cause": report.cause,
        "treatment": report.treatment,
        "reason": report.reason,
        "advice": report.advice,
        "distinct_keys": report.distinct_keys,
        "splits": tuple(plan.key for plan in report.plans if plan.treatment == "split"),
        "windows": tuple((window.hot_keys, window.cause) for window in report.windows),
        "loads": [partition.load for partition in report.partitions],
    }


def reported(report: WindowReport) -> Mapping[str, Any]:
    return {
        "hot_keys": set(report.hot_keys),
        "cause": report.cause,
        "treatment": report.treatment,
        "reason": report.reason,
        "advice": report.advice,
        "application": report.application,
        "also": report.also,
        "hottest": report.numbers.get("whole_hottest", report.skew.hottest),
        "ratio": report.numbers.get("whole_ratio", report.skew.ratio),
        "median": report.skew.median,
        "idle": report.numbers.get("whole_idle", report.skew.idle),
        "imbalance": report.skew.imbalance,
    }


def last_of(lived: Lived) -> Mapping[str, Any]:
    return reported([report for report in lived.reports if report.records][-1])


def crowd(names: str, count: int, records: int, tenants: int = 0, first: int = 2) -> list[Record]:
    return [
        Record(f"{names}{number}".encode(), None, f"t{first + number % tenants}".encode() if tenants else None)
        for number in range(count)
        for _ in range(records)
    ]


# -- hot keys and tenants ----------------------------------------------------------------------------


def two_fifths() -> Mapping[str, Any]:
    flood = of({b"t1:d7": 4000}, tenant=b"t1")
    return scanned(scan(spread(flood + crowd("k", 3000, 2, tenants=50), 60), 12))


def heartbeat() -> Mapping[str, Any]:
    of_three = dealt({b"heartbeat": 1, b"X": 900} | {f"k{number}".encode(): 1 for number in range(99)}, 3, 60)
    others = [
        dealt({f"p{place}-{number}".encode(): 2 for number in range(50)}, place, 60)
        for place in range(12)
        if place != 3
    ]
    return seen_in(live(together(of_three, *others), 12, window_s=60.0), 3)


def seen_in(lived: Lived, partition: int) -> Mapping[str, Any]:
    report = next(report for report in lived.reports if report.records)
    top = report.partitions[partition].top_keys[0]
    return {**reported(report), "top": (top.key, round(top.share, 2))}


def one_window_of_ten() -> Mapping[str, Any]:
    worker = Worker(12)
    flags: list[bool] = []
    place = partition_of("murmur2", 12)
    for window in range(10):
        hot = Counter({b"S": 3000 // 10}) if window == 4 else Counter[bytes]()
        for _ in range(10):
            placed: dict[int, list[Record]] = {}
            loads = hot + Counter({f"k{number}".encode(): 1 for number in range(400 - hot.total())})
            for key, count in loads.items():
                placed.setdefault(place(key), []).extend([Record(key)] * count)
            worker.second(placed)
        head = worker.hearing.told.head
        flags.append(head is not None and any(entry.key == "S" for entry in head.hot))
    worker.idle(20)
    reports = [report for report in worker.hearing.told.reports if report.records and not report.revision]
    heavy = [next((row for row in report.keys if row.key == "S"), None) for report in reports]
    return {
        "share_by_window": [0.0 if row is None else round(row.share, 2) for row in heavy],
        "flagged_in_window_5": flags[4],
        "flagged_when_window_7_ends": any(flags[6:]),
        "causes": [report.cause for report in reports][4:5],
    }


def sixty_four_partitions() -> Mapping[str, Any]:
    readings = [447_478, 449_053, 450_576, 452_101, 453_588, 455_040]
    lag = lag_of([readings[-1]] + [0] * 63)
    first = lag.partitions[0]
    assert first.committed is not None
    assert first.end is not None
    before = first.committed - 60, first.end - 60 - (readings[-1] - readings[0])
    grown = type(first)(
        partition=0, committed=first.committed, end=first.end, log_start=0,
        committed_before=before[0], end_before=before[1], since_s=300.0,
    )  # fmt: skip
    skew = GroupLag(type(lag)(group="g", partitions=(grown, *lag.partitions[1:]))).skew
    return {
        "max": skew.max,
        "median": skew.median,
        "ratio": skew.skew_ratio,
        "lagging": 64 - skew.idle_partitions,
        "grows_per_minute": 60 * (grows_per_s(grown) or 0),
    }


def alarmed() -> Mapping[str, Any]:
    skew = describe_skew([90_000.0] + [0.0] * 99)
    return {"mean": skew.total / 100, "alerts": {alert.reason: alert.value for alert in skew_alerts(skew)}}


def equal_keys_a_partition() -> Mapping[str, Any]:
    place = partition_of("murmur2", 4)
    keys: dict[int, list[bytes]] = {number: [] for number in range(4)}
    for number in range(1000):
        key = f"k{number}".encode()
        if len(keys[place(key)]) < 25:
            keys[place(key)].append(key)
    counts = Counter({key: 10 for there in keys.values() for key in there})
    counts[keys[2][0]] = 9000
    seen = scanned(scan(spread(of(counts), 60), 4))
    return {**seen, "hot_is_the_one": set(seen["hot_keys"]) == {keys[2][0].decode()}}


HOT: tuple[Incident, ...] = (
    Incident(
        id="I001", kind="hot_key_or_tenant",
        symptom="one key of one team floods the whole ingestion",
        seen=two_fifths,
        answer={
            "hot_keys": {"t1:d7": Near(0.4)}, "hot_tenants": Holds("t1"),
            "hottest": partition_of("murmur2", 12)(b"t1:d7"), "cause": "hot_key",
        },
    ),
    Incident(
        id="I003", kind="hot_key_or_tenant",
        symptom="the only key that a dashboard shows of the bad partition is innocent",
        seen=heartbeat,
        answer={"top": ("X", 0.9), "advice": SaysNothingOf("heartbeat")},
    ),
    Incident(
        id="I005", kind="hot_key_or_tenant",
        symptom="imbalance that comes and goes",
        seen=one_window_of_ten,
        answer={
            "share_by_window": [0.0] * 4 + [0.75] + [0.0] * 5, "flagged_in_window_5": True,
            "flagged_when_window_7_ends": False, "causes": ["burst"],
        },
    ),
    Incident(
        id="I007", kind="hot_key_or_tenant",
        symptom="of 64 partitions one lags, and more and more",
        seen=sixty_four_partitions,
        answer={
            "max": 455_040, "median": 0, "ratio": 455_040, "lagging": 1, "grows_per_minute": Near(1512.4, 0.1),
        },
    ),
    Incident(
        id="I009", kind="hot_key_or_tenant",
        symptom="writes are throttled on one counter",
        seen=lambda: scanned(scan(of({b"#stat": 1000}) + crowd("k", 1000, 1), 12)),
        answer={
            "hot_keys": {"#stat": Near(0.5)}, "reason": "counter_key",
            "advice": Says("keep the counter in parts and add them up when it is read"),
        },
    ),
    Incident(
        id="I011", kind="hot_key_or_tenant",
        symptom="nine of ten reads are of one key",
        seen=lambda: scanned(scan(spread(of({b"EXEC#42": 8100}) + crowd("k", 900, 1), 60), 12)),
        answer={"hot_keys": {"EXEC#42": Near(0.9)}, "cause": "hot_key"},
    ),
    Incident(
        id="I013", kind="hot_key_or_tenant",
        symptom="one of 100 partitions is far behind, and the mean of lag is below its threshold",
        seen=alarmed,
        answer={"mean": 900, "alerts": Holds(AlertReason.PARTITION_LAG_HIGH)},
    ),
    Incident(
        id="I015", kind="hot_key_or_tenant",
        symptom="one server is full though each has as many keys",
        seen=equal_keys_a_partition,
        answer={"hot_is_the_one": True, "hottest": 2, "top_of_hottest": Holds(Near(0.97, 0.01)), "cause": "hot_key"},
    ),
)  # fmt: skip


# -- few and constant keys ---------------------------------------------------------------------------

COUNTRIES = {
    b"US": 8000, b"GB": 400, b"DE": 300, b"FR": 300, b"IN": 250, b"BR": 200, b"CA": 150, b"JP": 120, b"AU": 100,
    b"MX": 80, b"ES": 60, b"IT": 40,
}  # fmt: skip


def constant() -> Mapping[str, Any]:
    seen = scanned(scan(spread(of({b"ztf": 6000}), 60), 15))
    by_crc32 = scanned(scan(spread(of({b"ztf": 6000}), 60), 15, partitioner="crc32"))
    return {**seen, "hottest_by_crc32": by_crc32["hottest"]}


def two_keys() -> Mapping[str, Any]:
    raw, as_json = (scanned(scan(of(dict.fromkeys(keys, 1)), 3)) for keys in ((b"A", b"B"), (b'"A"', b'"B"')))
    return {"cause": raw["cause"], "raw": raw["loads"], "json": as_json["loads"], "hot_keys": raw["hot_keys"]}


def by_the_millisecond() -> Mapping[str, Any]:
    """A thousandth of the case, in time and in records of a key: 2,000 keys, each within its millisecond."""
    records = [Record(str(1_699_999_980_000 + ms).encode(), ms) for ms in range(2000) for _ in range(120)]
    return scanned(scan(records, 32))


FEW: tuple[Incident, ...] = (
    Incident(
        id="I017", kind="few_or_constant_keys",
        symptom="a topic of 15 partitions has all its records in one",
        seen=constant,
        answer={
            "hottest": 9, "hottest_by_crc32": 10, "idle": 14, "cause": "few_keys", "reason": "constant_key",
            "treatment": "rekey", "splits": (),
        },
    ),
    Incident(
        id="I019", kind="few_or_constant_keys",
        symptom="a second shard makes nothing faster",
        seen=lambda: scanned(scan(spread(of({b"only": 6000}), 60), 2)),
        answer={"advice": Says("ore partitions will not help: 1 distinct key"), "distinct_keys": 1},
    ),
    Incident(
        id="I021", kind="few_or_constant_keys",
        symptom="one partition of 48 has six of ten events, and its broker is full",
        seen=lambda: scanned(scan(spread(of(COUNTRIES), 60), 48)),
        answer={
            "idle": 36, "hottest": 8, "median": 0, "cause": "few_keys", "hot_keys": Holds("US"),
            "top_of_hottest": Holds("US"), "advice": Says("'US' alone has 80%"),
        },
    ),
    Incident(
        id="I023", kind="few_or_constant_keys",
        symptom="two keys on three partitions lie in the same one; is that broken?",
        seen=two_keys,
        answer={"cause": "none", "raw": [0, 2, 0], "json": [0, 0, 2], "hot_keys": {}},
    ),
    Incident(
        id="I025", kind="few_or_constant_keys",
        symptom="one shard of three is full, and its key is a word for no value",
        seen=lambda: scanned(scan(spread(of({b"undefined": 9318}) + crowd("k", 157, 1), 60), 3)),
        answer={
            "hot_keys": {"undefined": Near(0.983, 0.001)}, "reason": "placeholder_key", "treatment": "rekey",
            "splits": (), "advice": Says("stands for a missing value"),
        },
    ),
    Incident(
        id="I027", kind="few_or_constant_keys",
        symptom="what is keyed by its status lies in as many partitions as there are statuses",
        seen=lambda: scanned(scan(spread(of(dict.fromkeys((b"new", b"open", b"done", b"failed"), 1500)), 60), 12)),
        answer={"idle": AtLeast(8), "cause": "few_keys", "hot_tenants": {}},
    ),
    Incident(
        id="I029", kind="few_or_constant_keys",
        symptom="throughput is exceeded though all shards have as much: the key is the millisecond",
        seen=by_the_millisecond,
        answer={"hot_keys": {}, "cause": "sequential_key", "treatment": "rekey", "ratio": AtMost(1.5)},
    ),
    Incident(
        id="I031", kind="few_or_constant_keys",
        symptom="some partitions are full and some empty, whatever the partitioner: the key is one of five addresses",
        seen=lambda: scanned(
            scan(spread(of({f"10.0.0.{number}".encode(): 1200 for number in range(5)}), 60), 20)
        ),
        answer={"idle": AtLeast(15), "cause": "few_keys", "treatment": "rekey"},
    ),
    Incident(
        id="I033", kind="few_or_constant_keys",
        symptom="keys that begin alike are suspected to clump",
        seen=lambda: scanned(scan(spread(of({f"ABCD{number:04}".encode(): 1 for number in range(10_000)}), 60), 12)),
        answer={"ratio": AtMost(1.2), "cause": "none", "hot_keys": {}},
    ),
    Incident(
        id="I035", kind="few_or_constant_keys",
        symptom="throughput is that of one partition, however many there are",
        seen=lambda: scanned(scan(spread(of({b"public": 6000}), 60), 10)),
        answer={"idle": 9, "cause": "few_keys", "reason": "constant_key"},
    ),
)  # fmt: skip


# -- no key ------------------------------------------------------------------------------------------


def unkeyed(loads: list[int]) -> Mapping[str, Any]:
    streams = [dealt({None: count}, partition, 10) for partition, count in enumerate(loads) if count]
    return last_of(live(together(*streams), len(loads)))


def keyed_after() -> Mapping[str, Any]:
    loads = [97, 73, 81, 76, 93, 79]
    streams = [
        dealt({f"{partition}-{number}".encode(): 1 for number in range(count)}, partition, 10)
        for partition, count in enumerate(loads)
    ]
    seen = last_of(live(together(*streams), 6, partitioner="murmur2"))
    return {"ratio": seen["ratio"], "hot_keys": seen["hot_keys"]}


NO_KEY: tuple[Incident, ...] = (
    Incident(
        id="I037", kind="no_key",
        symptom="one consumer of six is busy",
        seen=lambda: unkeyed([499, 0, 0, 0, 0, 0]),
        answer={"idle": 5, "cause": "no_key", "hot_keys": set(), "hottest": 0},
    ),
    Incident(
        id="I037", kind="no_key",
        symptom="and after it was given keys",
        seen=keyed_after,
        answer={"ratio": Near(1.21), "hot_keys": set()},
    ),
    Incident(
        id="I039", kind="no_key",
        symptom="one of nine partitions gets more for days, until a producer is restarted",
        seen=lambda: unkeyed([200, 200, 200, 200, 5000, 200, 200, 200, 200]),
        answer={"hottest": 4, "cause": "no_key", "reason": "unkeyed_pinned"},
    ),
    Incident(
        id="I041", kind="no_key",
        symptom="a partitioner that takes turns leaves out every other partition",
        seen=lambda: unkeyed([0, 2000, 0, 2000, 0, 2000]),
        answer={"idle": 3, "ratio": 2.0, "cause": "no_key", "reason": "unkeyed_alternating"},
    ),
    Incident(
        id="I043", kind="no_key",
        symptom="a producer without keys fills one partition more than others",
        seen=lambda: unkeyed([4000, 1000, 1000, 1000, 1000, 1000]),
        answer={"ratio": 4.0, "cause": "no_key", "hottest": 0},
    ),
)  # fmt: skip
