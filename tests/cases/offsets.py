"""Incidents of consumers: partitions that stand still, lag that is none, and lag that is not the keys' fault."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hotshard.core.causes.evidence import LagEvidence, PartitionLag
from hotshard.core.causes.lag import GroupLag, drain_s, lag_of, lost_of, per_s
from hotshard.core.causes.table import judge
from hotshard.core.skew import describe_skew, skew_alerts
from tests.cases.incident import AtLeast, Incident, Near, Says, SaysNothingOf
from tests.support.causes import crowd, evidence_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def group(partitions: Iterable[PartitionLag], *, members: int | None = None, name: str = "g") -> LagEvidence:
    return LagEvidence(group=name, partitions=tuple(partitions), members=members)


def read(partition: int, at: int, *, since_s: float = 600.0, owner: str | None = None) -> PartitionLag:
    """A partition that is read to its end all the while."""
    return PartitionLag(
        partition=partition, committed=at, end=at, log_start=0, committed_before=at - 100, end_before=at - 100,
        since_s=since_s, owner=owner,
    )  # fmt: skip


def judged(*lags: LagEvidence, partitions: int | None = None, per_s: float = 1000.0) -> Mapping[str, Any]:
    """The verdict on a topic whose load is even and these groups' lag, and the states of the first group."""
    count = partitions or max(2, len(lags[0].partitions))
    even = replace(
        evidence_of(crowd(500 * count), count), loads=(round(per_s * 10 / count),) * count,
        records=round(per_s * 10), lag=lags[0], more_lags=lags[1:],
    )  # fmt: skip
    verdict, first = judge(even), GroupLag(lags[0])
    return {
        "cause": verdict.cause,
        "treatment": verdict.treatment,
        "reason": verdict.reason,
        "sentence": verdict.sentence,
        "offset": verdict.numbers.get("lag_offset"),
        "partition": verdict.numbers.get("lag_partition"),
        "states": {place: str(state) for place, state in first.states.items()},
        "known": dict(first.known),
        "max": first.skew.max,
        "ratio": first.skew.skew_ratio,
        "lost": first.lost,
        "idle_members": first.idle_members,
    }


def bad_record() -> LagEvidence:
    stuck = PartitionLag(
        partition=1, committed=41, end=5000, log_start=0, committed_before=41, end_before=42, since_s=600.0
    )
    return group([read(0, 900), stuck, read(2, 900)])


def corrupt() -> LagEvidence:
    stuck = PartitionLag(
        partition=0, committed=73_642, end=80_000, committed_before=73_642, end_before=79_000, since_s=180.0, owner="m"
    )
    return group([stuck], members=1)


def too_large() -> LagEvidence:
    stuck = PartitionLag(
        partition=2, committed=40_674_602, end=40_680_000, committed_before=40_674_602, end_before=40_674_700,
        since_s=300.0,
    )  # fmt: skip
    return group([read(0, 900), read(1, 900), stuck])


def three_groups() -> list[LagEvidence]:
    stuck = PartitionLag(
        partition=1, committed=1_234_567, end=1_300_000, committed_before=1_234_567, end_before=1_290_000, since_s=300.0
    )
    return [group([read(0, 900), stuck], name=name) for name in ("g1", "g2", "g3")]


def one_of_three() -> list[LagEvidence]:
    stuck, *others = three_groups()
    return [stuck, *(group([read(0, 900), read(1, 900)], name=other.group) for other in others)]


def consumes_nothing() -> Mapping[str, Any]:
    """606 records in 5 minutes, evenly, and one look at the offsets."""
    lags = [3308, 1, 1, 1, 1, 1, 1, 1]
    looked = [PartitionLag(partition=place, committed=10_000, end=10_000 + lag) for place, lag in enumerate(lags)]
    seen = judged(group(looked), per_s=606 / 300)
    return {**seen, "hours": 3308 / (606 / 8) / 12}


def nobody_has_7() -> LagEvidence:
    owned = [read(place, 900, owner=f"c{place % 12}") for place in range(40)]
    owned[7] = PartitionLag(partition=7, committed=1000, end=501_000, log_start=0)
    return group(owned, members=12)


STUCK: tuple[Incident, ...] = (
    Incident(
        id="I058", kind="stuck_partition",
        symptom="commits stop at one offset though later records are read",
        seen=lambda: judged(bad_record()),
        answer={
            "cause": "stuck_partition", "treatment": "dead_letter", "offset": 41, "partition": 1,
            "sentence": Says("for 600 s"),
        },
    ),
    Incident(
        id="I060", kind="stuck_partition",
        symptom="a consumer loops on a corrupt record, and looks well",
        seen=lambda: judged(corrupt()),
        answer={"states": {0: "stuck"}, "cause": "stuck_partition", "reason": "poison_record", "offset": 73_642},
    ),
    Incident(
        id="I062", kind="stuck_partition",
        symptom="a record is larger than a consumer fetches, so it never gets past it",
        seen=lambda: judged(too_large()),
        answer={"cause": "stuck_partition", "offset": 40_674_602, "partition": 2, "treatment": "dead_letter"},
    ),
    Incident(
        id="I064", kind="stuck_partition",
        symptom="several groups stop at the same offset",
        seen=lambda: judged(*three_groups()),
        answer={"reason": "bad_record", "treatment": "dead_letter", "offset": 1_234_567},
    ),
    Incident(
        id="I064", kind="stuck_partition",
        symptom="and where one of them does, it may be that one's fault",
        seen=lambda: judged(*one_of_three()),
        answer={"reason": "poison_record"},
    ),
    Incident(
        id="I066", kind="stuck_partition",
        symptom="one partition of eight lags by hours of its own traffic, and all get as much",
        seen=consumes_nothing,
        answer={"ratio": 3308, "hours": Near(3.64, 0.01), "cause": "stuck_partition", "reason": "lag_without_load"},
    ),
    Incident(
        id="I068", kind="stuck_partition",
        symptom="a partition that cannot be read drives the scaler to its maximum",
        seen=lambda: judged(
            group([
                read(0, 900),
                PartitionLag(partition=1, committed=500, end=9500, committed_before=500, end_before=9400, since_s=60.0),
            ])
        ),
        answer={"states": {0: "caught_up", 1: "stuck"}, "treatment": "dead_letter"},
    ),
    Incident(
        id="I070", kind="stuck_partition",
        symptom="after a reconnect nobody has one of 40 partitions",
        seen=lambda: judged(nobody_has_7()),
        answer={"reason": "unassigned_partition", "partition": 7, "sentence": SaysNothingOf("dead letter")},
    ),
)  # fmt: skip


# -- lag that is none --------------------------------------------------------------------------------


def some_without_a_commit() -> LagEvidence:
    return group(
        [
            PartitionLag(partition=0, committed=None, end=3083, log_start=0),
            PartitionLag(partition=1, committed=None, end=0, log_start=0),
            PartitionLag(partition=2, committed=4388, end=4388, log_start=0),
        ]
    )


def deleted_before_read() -> Mapping[str, Any]:
    gone = PartitionLag(partition=0, committed=100, end=5_000_000, log_start=5_000_000)
    return {"lag": lag_of(gone), "lost": lost_of(gone)}


def moving_slowly() -> Mapping[str, Any]:
    moving = PartitionLag(
        partition=0, committed=7_952_734, end=7_954_626, committed_before=7_952_519, end_before=7_954_626, since_s=24.3
    )
    state = GroupLag(group([moving])).states[0]
    return {"lag": lag_of(moving), "per_s": per_s(moving), "drain_s": drain_s(moving), "state": str(state)}


def made_again() -> Mapping[str, Any]:
    again = [PartitionLag(partition=0, committed=100, end=20, log_start=0)]
    seen = judged(group([*again, *(read(place, 900) for place in range(1, 40))]))
    return {"lag": lag_of(again[0]), "state": seen["states"][0], "partitions": len(seen["states"])}


def marker_at_the_end(place: int) -> PartitionLag:
    return PartitionLag(partition=place, committed=999, end=1000, committed_before=899, end_before=900, since_s=600.0)


FALSE_LAG: tuple[Incident, ...] = (
    Incident(
        id="I072", kind="false_lag",
        symptom="a partition without a commit is shown with all its records as lag",
        seen=lambda: judged(some_without_a_commit()),
        answer={"known": {1: 0, 2: 0}, "states": {0: "no_commit", 1: "empty", 2: "caught_up"}, "max": 0},
    ),
    Incident(
        id="I074", kind="false_lag",
        symptom="an empty topic has a lag of millions",
        seen=deleted_before_read,
        answer={"lag": 0, "lost": 4_999_900},
    ),
    Incident(
        id="I076", kind="false_lag",
        symptom="lag stays at 1 on a topic with transactions when all is read",
        seen=lambda: judged(group(marker_at_the_end(place) for place in range(32))),
        answer={"max": 1, "ratio": 1.0, "cause": "none"},
    ),
    Incident(
        id="I078", kind="false_lag",
        symptom="a consumer that is stopped shows a lag of 0",
        seen=lambda: judged(
            group([PartitionLag(partition=0, committed=500, end=70_631, end_before=500, committed_before=500,
                                since_s=300.0)], members=0)
        ),
        answer={"known": {0: 70_131}, "states": {0: "stopped"}, "reason": "consumers_stopped"},
    ),
    Incident(
        id="I080", kind="false_lag",
        symptom="a consumer that works off its lag is called stopped",
        seen=moving_slowly,
        answer={"lag": 1892, "per_s": Near(8.8, 0.06), "drain_s": Near(214, 1), "state": "moving"},
    ),
    Incident(
        id="I082", kind="false_lag",
        symptom="a group whose topics were deleted ends the service by a division by zero",
        seen=lambda: {"empty": GroupLag(group([])).skew.skew_ratio, **judged(group([read(0, 9), read(1, 9)]))},
        answer={"empty": 0.0, "ratio": 0.0, "cause": "none"},
    ),
    Incident(
        id="I084", kind="false_lag",
        symptom="a stopped consumer hides behind an old sample without lag",
        seen=lambda: judged(
            group([PartitionLag(partition=0, committed=5000, end=5200, committed_before=5000, end_before=5200,
                                since_s=500.0)])
        ),
        answer={"states": {0: "stopped"}},
    ),
    Incident(
        id="I086", kind="false_lag",
        symptom="a topic is made again, with fewer records and partitions",
        seen=made_again,
        answer={"lag": None, "state": "reset", "partitions": 40},
    ),
)  # fmt: skip


# -- consumers and brokers ---------------------------------------------------------------------------


def starved() -> Mapping[str, Any]:
    lags = [0, 12_832_416, 12_824_233, 0, 3_398_233, 9_728_354]
    skew = describe_skew([float(lag) for lag in lags])
    return {"ratio": skew.skew_ratio, "alerts": [str(alert.reason) for alert in skew_alerts(skew)]}


def throughput() -> Mapping[str, Any]:
    looked = [
        PartitionLag(partition=0, committed=6_231_145 - 20_345, end=6_231_145, log_start=0),
        PartitionLag(partition=1, committed=69_684 - 20_042, end=69_684, log_start=0),
    ]
    return judged(group(looked), partitions=2)


def shares() -> Mapping[str, Any]:
    loads = [100_000] + [1] * 9
    skew = describe_skew(loads)
    parts = [load / skew.total for load in loads]
    return {"ratio": skew.skew_ratio, "least": min(parts), "sum": sum(parts)}


def three_for_one() -> Mapping[str, Any]:
    looked = [PartitionLag(partition=place, committed=1000, end=21_000, log_start=0, owner="c0") for place in range(3)]
    return judged(group(looked, members=8))


CONSUMERS: tuple[Incident, ...] = (
    Incident(
        id="I088", kind="consumer_or_broker_side",
        symptom="two consumers read one of their partitions and starve the other",
        seen=starved,
        answer={"ratio": Near(1.96), "alerts": ["partition_lag_high"]},
    ),
    Incident(
        id="I092", kind="consumer_or_broker_side",
        symptom="one partition has 89 times the records of the other in all, and as much lag",
        seen=throughput,
        answer={"ratio": Near(1.01), "cause": "slow_consumers"},
    ),
    Incident(
        id="I094", kind="consumer_or_broker_side",
        symptom="what remains to be done is told as less than nothing",
        seen=shares,
        answer={"ratio": 100_000, "least": AtLeast(0), "sum": Near(1.0, 1e-9)},
    ),
    Incident(
        id="I122", kind="treatment_gone_wrong",
        symptom="eight consumers, and one of them works",
        seen=three_for_one,
        answer={"idle_members": 7, "reason": "idle_members", "sentence": Says("more of them will not help")},
    ),
)  # fmt: skip
