"""What is told inside an open pane: what its counts already decide by the topic's policy, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hotshard.core.panes.pulse import Pulse
from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import Field, KeyLayout, PartitionsFrom, Place, TopicSpec
from tests.support.counting import NOW_MS, partition_panes, slab, take, topic
from tests.support.early import LOOK_MS, World

if TYPE_CHECKING:
    from hotshard.core.panes.cutting import PartitionPanes

NONE: dict[bytes, bytes] = {}
ROUTED = {b"a\x1f1": b"a\x1f1", b"a\x1f1\x1fx": b"a\x1f1", b"a\x1f1\x1fy": b"a\x1f1"}
HOT = b"t\x1fhot"
SOON_MS = NOW_MS + LOOK_MS
#: Twelve partitions with 100 keys of as many tenants each, 1,000 records a second in all partitions together.
QUIET = {n: Counter({b"t%d\x1f%d" % (key, n): 1 for key in range(n % 2, 17, 2)}) for n in range(12)}


def flood(panes: PartitionPanes, hot: int, others: int, now_ms: int = NOW_MS) -> None:
    keys = [HOT] * hot + [b"t%d\x1f%d" % (n % 250, n % 500) for n in range(others)]
    panes.add(slab(panes.position, keys, at_ms=now_ms), now_ms, NONE)


# -- one partition, which is all there is: hot from half of the load on --------------------------------


def test_a_hot_key_is_told_once_and_again_when_it_has_doubled() -> None:
    panes = partition_panes()
    flood(panes, 250, 50)
    version = panes.early(NOW_MS + 100)
    assert version is not None
    assert {row.key: row.lower for row in version.keys.rows}[HOT] == 250
    assert (version.start, version.end) == (0, 300)
    assert panes.early(NOW_MS + 200) is None
    flood(panes, 200, 0, NOW_MS + 300)
    assert panes.early(NOW_MS + 300) is None
    flood(panes, 50, 0, NOW_MS + 400)
    later = panes.early(NOW_MS + 400)
    assert later is not None
    assert (later.start, later.end, later.keys.rows[0].lower) == (0, 550, 500)
    assert take(panes, NOW_MS + 500)[0].start == 0


@pytest.mark.parametrize(
    ("hot", "others", "told"), [(199, 0, False), (200, 0, True), (250, 250, True), (250, 251, False)]
)
def test_floor_and_share_decide(hot: int, others: int, *, told: bool) -> None:
    panes = partition_panes(topic(policy=Policy(tenant_on_share=1.0)))
    flood(panes, hot, others)
    assert (panes.early(SOON_MS) is not None) is told


@pytest.mark.parametrize(
    ("policy", "hot", "others", "told"),
    [
        (Policy(floor_fast=20), 20, 0, True),
        (Policy(floor_fast=20), 19, 0, False),
        (Policy(on_share=0.1), 200, 800, True),
        (Policy(on_share=0.1), 200, 801, False),
        (Policy(on_load_per_s=1000), 200, 5_000, True),
        (Policy(on_load_per_s=1001), 200, 5_000, False),
        (Policy(on_share=1, on_partition_share=0.5), 2_000, 1_000, True),
        (Policy(on_share=1, on_partition_share=0.5), 2_000, 1_001, False),
        (Policy(floor_name_per_s=2000), 200, 0, True),
        (Policy(floor_name_per_s=2001), 200, 0, False),
    ],
)
def test_every_threshold_of_the_policy_decides(policy: Policy, hot: int, others: int, *, told: bool) -> None:
    panes = partition_panes(topic(policy=replace(policy, tenant_on_share=1.0)))
    flood(panes, hot, others)
    assert (panes.early(SOON_MS) is not None) is told


def test_each_tenant_has_its_own_policy() -> None:
    spec = topic(policy=Policy(on_share=0.05), tenant_policies={"t": Policy(on_share=0.4)})
    told = []
    for key in (HOT, b"u\x1fhot"):
        panes = partition_panes(spec)
        panes.add(slab(0, [key] * 300 + [b"%d\x1fx" % n for n in range(700)]), NOW_MS, NONE)
        told.append(panes.early(SOON_MS) is not None)
    assert told == [False, True]


def test_a_tenant_that_stands_beside_its_keys_has_its_policy() -> None:
    spec = topic(
        policy=Policy(on_share=0.4, tenant_on_share=1.0),
        tenant_policies={"watched": Policy(on_share=0.05, tenant_on_share=1.0)},
        tenant=Field(Place.HEADER, "tenant"),
        layout=KeyLayout.ENTITY,
    )
    keys = [b"hot"] * 300 + [b"%d" % n for n in range(700)]
    told = []
    for tenant in (b"watched", b"other"):
        panes = partition_panes(spec)
        panes.add(slab(0, keys, tenants=[tenant] * 1000), NOW_MS, NONE)
        told.append(panes.early(SOON_MS) is not None)
    assert told == [True, False]


def test_a_key_as_heavy_as_in_the_panes_before_is_no_news() -> None:
    panes = partition_panes()
    for second in range(5):
        for tenth in range(10):
            now_ms = NOW_MS + second * 1000 + tenth * 100 + 100
            flood(panes, 50, 10, now_ms)
            if second:
                assert panes.early(now_ms) is None or (second, tenth) == (1, 9)
        take(panes, NOW_MS + second * 1000 + 1000)


def test_a_flood_that_began_in_the_pane_before_counts_from_there() -> None:
    panes = partition_panes()
    flood(panes, 150, 0)
    take(panes, NOW_MS + 900)
    flood(panes, 49, 0, NOW_MS + 1000)
    assert panes.early(NOW_MS + 1000) is None
    flood(panes, 1, 0, NOW_MS + 1100)
    assert panes.early(NOW_MS + 1100) is not None
    assert take(panes, NOW_MS + 1200)
    flood(panes, 199, 0, NOW_MS + 4000)
    assert panes.early(NOW_MS + 4000) is None


def test_nothing_is_told_early_while_a_sealed_pane_waits() -> None:
    panes = partition_panes()
    flood(panes, 1, 0)
    panes.seal(NOW_MS)
    flood(panes, 500, 0)
    assert panes.early(SOON_MS) is None
    panes.committed(1)
    assert panes.early(SOON_MS) is not None


def test_a_routed_key_and_its_shards_are_no_news() -> None:
    panes = partition_panes(topic(policy=Policy(tenant_on_share=1.0)))
    panes.add(slab(0, [b"a\x1f1"] * 500 + [b"a\x1f1\x1fx"] * 500), NOW_MS, ROUTED)
    assert panes.early(SOON_MS) is None
    panes.add(slab(1000, [b"a\x1f1\x1fz"] * 1000), NOW_MS, ROUTED)  # a suffix of no route
    assert panes.early(SOON_MS) is not None


def test_a_backlog_tells_nothing_early() -> None:
    panes = partition_panes()
    panes.add(slab(0, [b"a"] * 500, at_ms=NOW_MS - 60_000, high_watermark=10**6), NOW_MS, NONE)
    assert panes.early(SOON_MS) is None


def test_a_hot_key_is_seen_however_its_load_is_spread_between_sketch_and_pending() -> None:
    panes = partition_panes(topic(policy=Policy(on_share=0.05)))
    for step, hot in enumerate((200, 200, 250, 300, 200, 200)):
        keys = [HOT] * hot + [b"t%d\x1f%d" % (n, step * 900 + n) for n in range(900)]
        panes.add(slab(panes.position, keys), NOW_MS, NONE)
        version = panes.early(SOON_MS)
        assert (version is not None) == (step in {0, 1, 3})  # 200, 400, 950


def test_the_place_of_a_key_is_computed_where_the_mirror_is_laid_out_otherwise() -> None:
    policy = Policy(on_share=1, on_partition_share=0.5, floor_fast=20, tenant_on_share=1.0)
    spec = topic(policy=policy, partitions_from=PartitionsFrom.COMPUTED)
    for others, told in ((50, True), (200, False)):
        # The hot key alone, or with the others, in partition 1 of production.
        panes = partition_panes(spec, partition_of=lambda key: 1 if key == HOT or key.endswith(b"1") else 0)
        keys = [HOT] * 100 + [b"%d\x1f1" % n for n in range(others)] + [b"%d\x1f0" % n for n in range(1000)]
        panes.add(slab(0, keys), NOW_MS, NONE)
        assert (panes.early(SOON_MS) is not None) is told


# -- twelve partitions, all of one worker -------------------------------------------------------------


def world(**policy: Any) -> World:  # noqa: ANN401 - any field of the policy
    return World(TopicSpec(name="orders", sources=("mirror.orders",), policy=Policy(cool_down_s=0, **policy)), 12)


def started(**policy: Any) -> World:  # noqa: ANN401 - see above
    made = world(**policy)
    for _ in range(123):
        made.look(QUIET)
    return made


def test_quiet_traffic_tells_nothing_early() -> None:
    made = world()
    for _ in range(60):
        made.look(QUIET)
    assert not any(each.early for each in made.rounds)


@pytest.mark.parametrize("a_look", [30, 40, 80, 200, 1000])
def test_a_flood_is_told_at_the_first_look_that_decides_it_before_its_panes_second_is_over(a_look: int) -> None:
    made = started()
    began_ms, floods, told = made.now_ms, 0, None
    while told is None:
        floods += a_look
        told = made.look({**QUIET, 3: QUIET[3] + Counter({HOT: a_look})})
        if not told.early and not told.hot_keys:
            told = None
        assert made.now_ms - began_ms <= 2_000
    assert floods >= 200, "the floor of the short view"
    assert floods - a_look < 200
    (version,) = told.early
    assert version.partition == 3
    assert version.cut_ms - version.opened_ms < 1000
    assert told.hot_keys == {HOT}, "the policy turns it on with what was told early"


def test_what_the_whole_topic_makes_small_is_not_told_though_it_fills_its_partition() -> None:
    made = World(TopicSpec(name="orders", sources=("mirror.orders",), policy=Policy(tenant_on_share=1.0)), 12)
    busy = {n: Counter({b"t%d\x1f%d" % (key, n): 10 for key in range(40)}) for n in range(1, 12)}
    for _ in range(40):
        made.look({**busy, 0: Counter({HOT: 50})})  # 500 a second, all of partition 0, and 1.1 % of the topic
    assert not any(each.early for each in made.rounds)
    assert not any(each.hot_keys for each in made.rounds)


def test_a_hot_tenant_without_a_hot_key_is_told_early_once_by_each_partition() -> None:
    made = started()
    began_ms = made.now_ms
    wide = {n: QUIET[n] + Counter({b"big\x1f%d-%d" % (n, key): 1 for key in range(32)}) for n in range(12)}
    while not (last := made.look(wide)).hot_tenants:
        assert made.now_ms - began_ms < 1000
    assert last.hot_tenants == {b"big"}
    assert last.early
    assert not last.final
    assert not any(each.hot_keys for each in made.rounds)
    for _ in range(50):
        made.look(wide)
    told = Counter(version.partition for each in made.rounds for version in each.early)
    assert told
    assert set(told.values()) == {1}


def test_a_worker_with_a_part_of_the_partitions_takes_the_others_to_carry_as_much() -> None:
    told = []
    for completeness in (1.0, 0.5):
        spec = topic(policy=Policy(on_share=0.2))
        panes = partition_panes(spec, pulse=Pulse(spec, 12, completeness))
        flood(panes, 400, 600)
        told.append(panes.early(SOON_MS) is not None)
    assert told == [True, False]


def test_a_partition_that_is_counted_anew_counts_once() -> None:
    spec = replace(topic(), policy=Policy(on_share=0.2, tenant_on_share=1.0))
    pulse = Pulse(spec, 12)
    flood(partition_panes(spec, pulse=pulse), 0, 5_000)
    panes = partition_panes(spec, pulse=pulse)
    flood(panes, 400, 600)
    assert panes.early(SOON_MS) is not None
