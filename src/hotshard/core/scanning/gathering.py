"""Evidence gathered of one stretch, and of all of the input."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from hotshard.core.causes.evidence import Evidence, HotName
from hotshard.core.causes.measures import Spread
from hotshard.core.planning.allowed import forbidden
from hotshard.core.planning.terms import terms_of
from hotshard.core.topic import Load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hotshard.core.planning.situation import Terms
    from hotshard.core.policy.choosing import Policies
    from hotshard.core.scanning.findings import Findings
    from hotshard.core.scanning.heating import Hot
    from hotshard.core.scanning.lanes import Stretch
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.pane import Row

#: Names of the hottest partition, and of the topic, that are shown.
TOPS: Final = 10
_LISTED: Final = 20


class Setting(NamedTuple):
    """What stays the same from stretch to stretch."""

    spec: TopicSpec
    policies: Policies
    partitions: int
    #: Where the names that lie on partitions (keys, or tenants by tenant) go; None: where they were read.
    place: Callable[[bytes], int | None] | None
    by_tenant: bool


def of_stretch(
    stretch: Stretch, keys: Sequence[Hot], tenants: Sequence[Hot], setting: Setting, findings: Findings
) -> Evidence:
    """What is known when a stretch is over; ``findings`` are those of the windows before."""
    loads = spread_out(stretch.loads, setting.partitions)
    times = stretch.times
    rows = (stretch.tenants if setting.by_tenant else stretch.keys).rows
    return Evidence(
        partitions=len(loads),
        partitioner=setting.spec.partitioner,
        eps=setting.spec.policy.eps,
        loads=loads,
        records=stretch.records,
        unkeyed=stretch.unkeyed,
        unkeyed_loads=where_unkeyed(stretch, len(loads), setting),
        distinct_keys=stretch.distinct_tenants if setting.by_tenant else stretch.distinct_keys,
        top_of_hottest=_tops(stretch, rows, loads, setting),
        hot_keys=tuple(_hot_key(hot, setting) for hot in keys),
        hot_tenants=tuple(_hot_tenant(hot, setting) for hot in tenants),
        recent_tops=tuple(recent.top for recent in findings.recent if recent.top is not None),
        windows=len(findings.recent) + 1,
        windows_hot=sum(bool(recent.hot) for recent in findings.recent) + bool(keys or tenants),
        listed=tuple(row.key for row in rows[:_LISTED]),
        capacity_per_s=setting.spec.policy.partition_capacity_per_s,
        span_s=None if times is None else stretch.span_s,
        start_ms=None if times is None else times.start_ms,
        end_ms=None if times is None else times.end_ms,
    )


class Unkeyed(Protocol):
    """Counts of some input: records without a key by source partition, and records that failed."""

    @property
    def unkeyed_by(self) -> Mapping[int, int]: ...

    @property
    def failed(self) -> int: ...


def where_unkeyed(of: Unkeyed, partitions: int, setting: Setting) -> tuple[int, ...]:
    """Records without a key by partition, in the unit of loads; empty where there are none, or that is not known.

    It is known where load is records, and partitions are those that they were read from.
    """
    there = {partition: records for partition, records in of.unkeyed_by.items() if records}
    known = setting.place is None and setting.spec.load is Load.RECORDS and not of.failed
    if not known or not there or max(there) >= partitions:
        return ()
    return spread_out(there, partitions)


def terms_for(setting: Setting, tenant: bytes | None, span_s: float) -> Terms:
    """The terms of a key, as its tenant's policy has them, for loads of so long (0: not known)."""
    policy = setting.policies.of_tenant(tenant)
    per_s = policy.partition_capacity_per_s
    return terms_of(setting.spec, policy, capacity=None if per_s is None else per_s * span_s or None)


def spread_out(loads: Mapping[int, int], partitions: int) -> tuple[int, ...]:
    """Loads by partition, one entry each."""
    return tuple(loads.get(each, 0) for each in range(max([partitions - 1, *loads]) + 1))


def hottest(loads: Sequence[int]) -> int | None:
    """The partition with most, the first of equals; None where none has any."""
    most = max(loads, default=0)
    return loads.index(most) if most else None


def heaviest_of(loads: Iterable[tuple[bytes, int]], count: int) -> tuple[tuple[bytes, int], ...]:
    return tuple(nlargest(count, loads, key=lambda item: (item[1], item[0])))


def _tops(
    stretch: Stretch, rows: Sequence[Row], loads: Sequence[int], setting: Setting
) -> tuple[tuple[bytes, int], ...]:
    """Who fills the hottest partition; not looked for where it is no fuller than chance makes it."""
    partition, place = hottest(loads), setting.place
    if partition is None or not Spread(loads, stretch.records, setting.spec.policy.eps).is_surely_uneven:
        return ()
    if place is None:
        there = [part.keys.rows[:TOPS] for part in stretch.parts if part.partition == partition]
        return heaviest_of(((row.key, row.upper) for rows in there for row in rows), TOPS)
    found = ((row.key, row.upper) for row in rows if place(row.key) == partition)
    return heaviest_of(found, TOPS)


def _hot_key(hot: Hot, setting: Setting) -> HotName:
    return HotName(
        name=hot.name,
        lower=hot.lower,
        upper=hot.upper,
        share=hot.share,
        partitions=() if setting.by_tenant else places(hot.name, setting),
        refusal=refusal_of(hot.name, setting),
    )


def _hot_tenant(hot: Hot, setting: Setting) -> HotName:
    there = places(hot.name, setting) if setting.by_tenant else ()
    return HotName(name=hot.name, lower=hot.lower, upper=hot.upper, share=hot.share, partitions=there)


def places(name: bytes, setting: Setting) -> tuple[int, ...]:
    partition = None if setting.place is None else setting.place(name)
    return () if partition is None else (partition,)


def refusal_of(key: bytes, setting: Setting) -> str | None:
    refusal = forbidden(key, setting.spec)
    return None if refusal is None else str(refusal.reason)
