"""Evidence of made-up keys, counted exactly."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from hotshard.core.causes.evidence import Evidence, HotName, LagEvidence, PartitionLag
from hotshard.core.partitioners import partition_of
from hotshard.core.planning.worth import min_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def crowd(keys: int, records: int = 2, name: str = "k") -> Counter[bytes]:
    """So many keys of so many records each."""
    return Counter({f"{name}{number}".encode(): records for number in range(keys)})


def evidence_of(
    keys: Mapping[bytes, int],
    partitions: int,
    *,
    hot: Mapping[bytes, Mapping[str, Any]] | None = None,
    **more: Any,  # noqa: ANN401 - any field of the evidence
) -> Evidence:
    """What exact counts of ``keys`` say; hot are those that a split would help, with these fields of theirs."""
    place = partition_of("murmur2", partitions)
    loads, there = [0] * partitions, defaultdict[int, Counter[bytes]](Counter)
    for key, load in keys.items():
        loads[place(key)] += load
        there[place(key)][key] += load
    total, hottest = sum(loads), max(range(partitions), key=loads.__getitem__)
    heaviest = sorted(keys, key=lambda key: (-keys[key], key))
    least = min_share(0.25, partitions)
    given: dict[str, Any] = {
        "partitions": partitions,
        "loads": tuple(loads),
        "records": total,
        "distinct_keys": len(keys),
        "top_of_hottest": tuple(there[hottest].most_common(10)),
        "hot_keys": tuple(
            hot_name(key, keys[key], total, partitions=(place(key),), **(hot or {}).get(key, {}))
            for key in heaviest
            if keys[key] > least * total
        ),
        "listed": tuple(heaviest[:20]),
        "windows": 10,
        "windows_hot": 10,
        "span_s": 10.0,
    }
    return Evidence(**(given | more))


def hot_name(name: bytes, load: int, total: int, **more: Any) -> HotName:  # noqa: ANN401 - any field of it
    return HotName(name=name, lower=load, upper=load, share=load / total, **more)


def lag_of(
    lags: Iterable[int], *, went: Iterable[int] | None = None, members: int | None = None, group: str = "g"
) -> LagEvidence:
    """A group with these lags, that went forward by so much in the last two minutes, all of it written in them."""
    wait = list(lags)
    steps = [1000] * len(wait) if went is None else list(went)
    return LagEvidence(
        group=group,
        members=members,
        partitions=tuple(
            PartitionLag(
                partition=number, committed=50_000 + step, end=50_000 + step + lag, log_start=0,
                committed_before=50_000, end_before=50_000 + lag, since_s=120.0,
                owner=f"member-{number % members}" if members else None,
            )
            for number, (lag, step) in enumerate(zip(wait, steps, strict=True))
        ),
    )  # fmt: skip
