"""What a scan says where the worker would say it too: records without a key, capacity, tenants' policies, rates."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import count
from types import MappingProxyType

import pytest

from hotshard.core.policy.thresholds import Policy
from hotshard.core.scanning.findings import Findings
from hotshard.core.scanning.heating import Hot
from hotshard.core.scanning.scanner import Scanner
from hotshard.core.slab import Slab
from hotshard.core.topic import KeyLayout, Load, Ordering, PartitionsFrom, TopicSpec
from hotshard.core.wire.scan import ScanReport, encode
from tests.support.traces import spec

BEGIN_MS = 1_700_000_000_000
TOPIC = TopicSpec(name="orders", sources=("orders",), layout=KeyLayout.ENTITY, ordering=Ordering.NONE)


def of_topic(unkeyed: list[int], keyed: list[int], of: TopicSpec = TOPIC, hot: tuple[int, int] = (0, 0)) -> ScanReport:
    """A scan of 100 s of a topic with so many records on each partition; ``hot``: so many of one key on one."""
    scanner, numbers = Scanner(of, len(keyed)), count()
    for partition, (without, others) in enumerate(zip(unkeyed, keyed, strict=True)):
        keys: list[bytes | None] = [None] * without + [b"k%d" % next(numbers) for _ in range(others)]
        keys += [b"hot"] * (hot[1] if partition == hot[0] else 0)
        random.Random(partition).shuffle(keys)  # noqa: S311
        stamps = [BEGIN_MS + 100_000 * at // max(1, len(keys)) for at in range(len(keys))]
        scanner.add(Slab("orders", partition, 0, len(keys), 0, len(keys), keys, [10] * len(keys), stamps))
    return scanner.finish()


def of_rows(keys: list[bytes], every_ms: int, of: TopicSpec, tenants: list[bytes | None] | None = None) -> ScanReport:
    scanner = Scanner(of, 32)
    stamps = [BEGIN_MS + at * every_ms for at in range(len(keys))]
    sizes = [10] * len(keys)
    scanner.add(Slab("", 0, 0, len(keys), 0, len(keys), [*keys], sizes, stamps, tenants=tenants))
    return scanner.finish()


def with_hot(records: int, share: float) -> list[bytes]:
    """Keys, so great a share of them one."""
    every = round(1 / share)
    return [b"big\x1fhot" if not at % every else b"t%d\x1fk%d" % (at % 7, at * 7919 % 5003) for at in range(records)]


def flooded() -> list[bytes]:
    """An hour of 20 records a second, one minute of it a quarter of one key."""
    keys = [b"t%d\x1fk%d" % (at % 7, at * 7919 % 5003) for at in range(72_000)]
    keys[36_000:37_200] = with_hot(1_200, 0.25)
    return keys


IN_KEY = replace(spec(), layout=KeyLayout.TENANT_ENTITY)


def of_big(**policy: float) -> TopicSpec:
    """A topic where the hot key's tenant has a policy of its own."""
    return replace(IN_KEY, tenant_policies=MappingProxyType({"big": Policy(**policy)}))  # type: ignore[arg-type]


# -- records without a key -------------------------------------------------------------------------


def test_records_without_a_key_that_lie_on_one_partition_are_the_cause() -> None:
    report = of_topic([0, 0, 5_000, 0, 0, 0], [0] * 6)
    assert (report.cause, report.reason, report.treatment) == ("no_key", "unkeyed_pinned", "rekey")
    assert (report.numbers["whole_imbalance"], report.numbers["whole_hottest"]) == (6.0, 2)
    assert {window.cause for window in report.windows} == {"no_key"}
    assert "unkeyed_partitions" not in report.unjudged


def test_they_are_the_cause_beside_keys_that_lie_evenly() -> None:
    report = of_topic([0, 5_000, 0, 0], [1_000] * 4)
    assert (report.cause, report.reason) == ("no_key", "unkeyed_pinned")
    assert report.numbers["whole_imbalance"] == pytest.approx(6_000 / 2_250)


def test_every_other_partition_without_any_is_a_partitioners_fault() -> None:
    assert of_topic([0, 900, 0, 900, 0, 900], [0] * 6).reason == "unkeyed_alternating"


def test_records_without_a_key_that_lie_evenly_are_no_trouble() -> None:
    report = of_topic([1_000] * 6, [0] * 6)
    assert (report.cause, report.reason) == ("none", "unkeyed_even")


@pytest.mark.parametrize(
    "of",
    [replace(TOPIC, partitions_from=PartitionsFrom.COMPUTED), replace(TOPIC, load=Load.BYTES)],
    ids=["computed", "bytes"],
)
def test_where_they_lie_is_not_known_of_a_file_nor_by_bytes(of: TopicSpec) -> None:
    report = of_topic([0, 0, 5_000, 0, 0, 0], [0] * 6, of)
    assert (report.cause, report.reason) == ("no_key", "all_unkeyed")
    assert "unkeyed_partitions" in report.unjudged


def test_a_key_on_a_partition_that_is_mostly_without_keys_is_not_split() -> None:
    def plan(unkeyed: int) -> tuple[str, str]:
        report = of_topic([0, 0, 0, unkeyed], [2_000] * 4, hot=(3, 2_500))
        (found,) = (each for each in report.plans if each.key == "hot")
        return found.treatment, found.reason

    assert plan(4_400)[0] == "split"
    assert plan(4_600)[1] == "unkeyed"


def test_a_key_that_lies_on_two_partitions_is_not_split() -> None:
    """Its producers use two partitioners, so its shards would not lie where a plan says."""
    scanner = Scanner(TOPIC, 4)
    for partition in range(4):
        keys: list[bytes | None] = [b"k%d" % (partition * 2_000 + at) for at in range(2_000)]
        if partition < 2:
            keys[::2] = [b"hot"] * 1_000
        stamps = [BEGIN_MS + 50 * at for at in range(2_000)]
        scanner.add(Slab("orders", partition, 0, 2_000, 0, 2_000, keys, [10] * 2_000, stamps))
    (plan,) = scanner.finish().plans
    assert (plan.key, plan.reason, plan.shards) == ("hot", "mixed_partitioners", 0)


# -- capacity --------------------------------------------------------------------------------------


def test_more_than_all_partitions_can_carry_is_too_slow_consumers() -> None:
    """100 records a second are 3.1 for each of 32 partitions."""
    keys = [b"t%d\x1fk%d" % (at % 7, at) for at in range(20_000)]
    for capacity_per_s, cause in ((3.0, "slow_consumers"), (4.0, "none")):
        report = of_rows(keys, 10, replace(IN_KEY, policy=Policy(partition_capacity_per_s=capacity_per_s)))
        assert (report.cause, report.windows[0].cause) == (cause, cause)
        assert report.numbers["capacity_per_s"] == capacity_per_s


def test_a_key_gets_no_more_shards_than_partitions_have_room_for_it_so() -> None:
    """20 of 100 records a second are the hot key's, the rest is 2.5 for each partition: 7.5 are left of 10."""
    keys = with_hot(20_000, 0.2)
    (free,) = of_rows(keys, 10, IN_KEY).plans
    report = of_rows(keys, 10, replace(IN_KEY, policy=Policy(partition_capacity_per_s=10.0)))
    (held,) = report.plans
    assert (held.shards, report.numbers["capacity_per_s"]) == (3, 10.0)
    assert free.shards > 8


def test_capacity_in_a_keys_hottest_window_is_that_of_the_window() -> None:
    """5 records a second are the hot key's in its minute, the rest is 0.5 for each partition: 1.5 are left of 2."""
    (held,) = of_rows(flooded(), 50, replace(IN_KEY, policy=Policy(partition_capacity_per_s=2.0))).plans
    assert (held.in_window, held.shards) == (True, 4)


def test_how_long_the_worst_window_lasted_is_kept_with_it() -> None:
    findings = Findings()
    for share, span_s in ((0.1, 60.0), (0.5, 61.0), (0.2, 62.0)):
        findings.heat([Hot(b"k", 5, 5, share)], [], 1000, {0: 1}, span_s)
    assert findings.keys[b"k"].span_s == 61.0


# -- tenants' policies -----------------------------------------------------------------------------


@pytest.mark.parametrize(("keys", "every_ms", "in_window"), [(with_hot(20_000, 0.2), 10, False), (flooded(), 50, True)])
def test_a_plan_is_on_the_terms_of_the_tenants_policy(keys: list[bytes], every_ms: int, in_window: bool) -> None:  # noqa: FBT001
    (free,) = of_rows(keys, every_ms, of_big()).plans
    (held,) = of_rows(keys, every_ms, of_big(max_shards=2)).plans
    assert free.shards > 8
    assert (held.shards, held.in_window) == (2, in_window)


def test_the_verdict_is_on_the_terms_of_the_tenants_policy_too() -> None:
    keys = with_hot(20_000, 0.2)
    report = of_rows(keys, 10, of_big(partition_capacity_per_s=10.0))
    assert (report.numbers["capacity_per_s"], report.plans[0].shards) == (10.0, 3)
    assert report.numbers["imbalance_after"] == pytest.approx(report.plans[0].imbalance_after, rel=0.01)


def test_another_tenants_policy_says_nothing_of_it() -> None:
    keys = with_hot(20_000, 0.2)
    of = replace(IN_KEY, tenant_policies=MappingProxyType({"small": Policy(max_shards=2)}))
    assert of_rows(keys, 10, of).plans == of_rows(keys, 10, IN_KEY).plans


# -- what is told ----------------------------------------------------------------------------------


def test_a_tenant_is_to_be_limited_to_a_rate() -> None:
    """Half of 100 records a second are one tenant's, of eleven: a fair part is 9.1."""
    keys = [b"k%d" % (at * 7919 % 5003) for at in range(20_000)]
    tenants: list[bytes | None] = [b"big" if at % 2 else b"t%d" % (at // 2 % 10) for at in range(20_000)]
    report = of_rows(keys, 10, spec(), tenants)
    (plan,) = report.plans
    assert plan.tenant == "big"
    assert plan.detail.endswith("limit its rate to 9 a second")
    assert report.numbers["rate_per_s"] == pytest.approx(100 / 11, rel=0.001)


def test_other_causes_what_the_application_could_do_and_what_is_left_open_are_told() -> None:
    report = of_rows([b"page_counter"] * 5_000, 10, spec())
    assert (report.cause, report.reason) == ("few_keys", "constant_key")
    assert report.also == ("hot_key",)
    assert report.application == ("counter_in_parts", "relative_update")
    assert report.unjudged == ("lag", "history", "discriminator")
    told = json.loads(encode(report))
    assert [told["also"], told["application"], told["unjudged"]] == [
        list(report.also), list(report.application), list(report.unjudged),
    ]  # fmt: skip
