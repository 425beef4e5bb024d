"""Incidents of remedies: suffixes that were null, that landed together, that were too many, of the wrong key."""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, Any

from hotshard.core.keys import base_key, with_suffix
from hotshard.core.partitioners import partition_of, partitioner
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.situation import HotLoad, Terms
from hotshard.core.planning.verdict import Plan
from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import KeyLayout, Mode
from tests.cases.incident import AtMost, Incident
from tests.support.incidents import Record, Worker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.wire.route import Route

MURMUR2 = partitioner("murmur2")


def flood(
    partitions: int,
    hot: Mapping[bytes, int],
    *,
    seconds: int = 12,
    crowd: int = 600,
    **spec: Any,  # noqa: ANN401
) -> Mapping[bytes, Route]:
    """The routes after some seconds in which these keys have so many records a second, among a crowd of tenants."""
    worker = Worker(partitions, layout=KeyLayout.TENANT_ENTITY, **spec)
    place = partition_of("murmur2", partitions)
    loads = Counter({f"u{number % 50}\x1fd{number}".encode(): 1 for number in range(crowd)}) + Counter(hot)
    for _ in range(seconds):
        placed: dict[int, list[Record]] = {}
        for key, count in loads.items():
            placed.setdefault(place(key), []).extend([Record(key)] * count)
        worker.second(placed)
    return worker.hearing.told.routes


KEY = b"t1\x1fK"


def shards_of_a_flood() -> Mapping[str, Any]:
    route = flood(12, {KEY: 300}, mode=Mode.ACTIVE)[KEY]
    shards = [with_suffix(KEY, suffix) for suffix in route.suffixes]
    return {
        "none_is_null_or_bare": all(shard != KEY and shard.startswith(KEY) for shard in shards),
        "distinct": len(set(shards)) == len(shards) > 1,
        "base_keys": {base_key(shard) for shard in shards},
        "lands": [partition_of("murmur2", 12)(shard) for shard in shards] == list(route.partitions),
    }


def eight_by_hand(partitions: int) -> Mapping[str, Any]:
    places = [MURMUR2.partition(f"acme#{number}".encode(), partitions) for number in range(8)]
    return {"places": places, "distinct": len(set(places)), "fullest": max(Counter(places).values())}


def eight_by_plan(partitions: int) -> Mapping[str, Any]:
    plan = plan_split(HotLoad(b"acme", 8000.0), [1000.0] * partitions, Terms(partitioner=MURMUR2))
    assert isinstance(plan, Plan)
    return {"distinct": len(set(plan.partitions)) == len(plan.partitions)}


def many_for_little() -> Mapping[str, Any]:
    """200 records a second in all on 64 partitions, each of which takes 1,000."""
    policy = Policy(partition_capacity_per_s=1000)
    routes = flood(64, {KEY: 150}, crowd=50, mode=Mode.ACTIVE, policy=policy)
    shards = max((len(route.suffixes) for route in routes.values()), default=0)
    return {"shards": shards, "most": ceil(200 / 1000)}


def one_key_of_a_tenant() -> Mapping[str, Any]:
    hot = b"t1\x1fd7"
    routes = flood(12, {hot: 400} | {f"t1\x1fs{number}".encode(): 1 for number in range(40)}, mode=Mode.ACTIVE)
    return {"split": {key for key, route in routes.items() if route.suffixes}}


TREATMENTS: tuple[Incident, ...] = (
    Incident(
        id="I118", kind="treatment_gone_wrong",
        symptom="what overflowed was sent with no key at all",
        seen=shards_of_a_flood,
        answer={"none_is_null_or_bare": True, "distinct": True, "base_keys": {KEY}, "lands": True},
    ),
    Incident(
        id="I120", kind="treatment_gone_wrong",
        symptom="eight suffixes are not eight partitions",
        seen=lambda: eight_by_hand(12),
        answer={"places": [0, 8, 2, 0, 4, 4, 3, 9], "distinct": 6, "fullest": 2},
    ),
    Incident(
        id="I120", kind="treatment_gone_wrong",
        symptom="nor are they on 32",
        seen=lambda: eight_by_hand(32),
        answer={"places": [0, 28, 2, 12, 28, 8, 27, 29], "distinct": 7, "fullest": 2},
    ),
    Incident(
        id="I120", kind="treatment_gone_wrong",
        symptom="so a plan seeks suffixes that are",
        seen=lambda: eight_by_plan(12),
        answer={"distinct": True},
    ),
    Incident(
        id="I124", kind="treatment_gone_wrong",
        symptom="a split into very many is right, and costs too many requests",
        seen=many_for_little,
        answer={"shards": AtMost(1)},
    ),
    Incident(
        id="I126", kind="treatment_gone_wrong",
        symptom="a whole team is spread for the sake of one of its keys",
        seen=one_key_of_a_tenant,
        answer={"split": {b"t1\x1fd7"}},
    ),
)  # fmt: skip
