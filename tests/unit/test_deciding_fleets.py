"""Routes by partition, routes for mixed fleets, and what becomes of routes when the partition count changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from hotshard.core.deciding.book import counted_exactly, wire_keys
from hotshard.core.deciding.effect import InWindow, effect
from hotshard.core.keys import with_suffix
from hotshard.core.partitioners import partitioner
from hotshard.core.topic import Carry, KeyLayout, PartitionsFrom
from hotshard.core.wire.route import RouteState, Treatment
from tests.support.deciding import QUICK, spec
from tests.support.registry import route as made
from tests.support.routing import ACTIVATED, HOT, PROPOSED, RETIRED, Topic, told

BINARY = b"\x00\xffkey"


def by_partition(**changes: Any) -> Topic:  # noqa: ANN401 - any field of a spec
    return Topic(spec(carry=Carry.PARTITION, **changes))


# By partition


@pytest.mark.parametrize("name", [HOT, BINARY, b"e" * 256])
def test_a_key_of_any_form_is_split_by_partition_and_stays_as_it_is(name: bytes) -> None:
    topic = by_partition(layout=KeyLayout.ENTITY)
    assert told(topic.step({name: 400})) == [PROPOSED, ACTIVATED]
    route = topic.route(name)
    assert (route.carry, route.suffixes, route.treatment) == (Carry.PARTITION, (), Treatment.SPLIT)
    assert len(set(route.partitions)) == len(route.partitions) > 1
    assert list(wire_keys(route)) == [name]
    assert counted_exactly((route,), (), topic.now_ms) == {name: name}
    assert topic.book.aliases == {name: name}


def test_a_route_by_partition_stays_while_it_fits_and_grows_at_its_tail() -> None:
    topic = by_partition()
    topic.step({HOT: 200})
    before = topic.route()
    assert topic.step({HOT: 200}) == ()
    assert told(topic.step({HOT: 800})) == [ACTIVATED]
    after = topic.route()
    assert after.partitions[: len(before.partitions)] == before.partitions
    assert len(after.partitions) > len(before.partitions)
    assert [(each.suffixes, each.partitions) for each in after.earlier] == [((), before.partitions)]


def test_where_a_key_was_split_by_partition_stays_readable_and_its_end_is_not_forgotten() -> None:
    topic = by_partition(readable_s=60.0)
    topic.step({HOT: 400})
    before = topic.route()
    assert told(topic.step({})) == [RETIRED]
    retired = topic.route()
    assert (retired.state, retired.partitions) == (RouteState.RETIRED, ())
    assert [each.partitions for each in retired.earlier] == [before.partitions]
    topic.step({}, wait_ms=50_000)
    assert topic.book.get(HOT) is not None, "a producer may not have heard of it yet"
    topic.step({}, wait_ms=20_000)
    assert topic.book.get(HOT) is None


def test_each_partition_of_the_past_stands_once_where_it_is_readable_longest() -> None:
    topic = by_partition()
    for load in (200, 800):
        topic.step({HOT: load})
    first, second = topic.route().earlier[0], topic.route()
    topic.step({})
    assert [each.partitions for each in topic.route().earlier] == [second.partitions]
    assert set(first.partitions) <= set(second.partitions)


def test_a_change_of_how_shards_are_reached_makes_a_new_plan_and_keeps_both_pasts() -> None:
    topic = by_partition()
    topic.step({HOT: 400})
    given = topic.route()
    topic = topic.restarted_with(carry=Carry.SUFFIX)
    assert told(topic.step({HOT: 400})) == [ACTIVATED]
    suffixed = topic.route()
    assert (suffixed.carry, len(suffixed.suffixes)) == (Carry.SUFFIX, len(suffixed.partitions))
    topic = topic.restarted_with(carry=Carry.PARTITION)
    topic.step({HOT: 400})
    assert [(each.suffixes, each.partitions) for each in topic.route().earlier] == [
        ((), given.partitions),
        (suffixed.suffixes, suffixed.partitions),
    ]


def test_partitions_that_the_source_does_not_keep_are_not_given() -> None:
    topic = by_partition(partitions_from=PartitionsFrom.COMPUTED)
    assert told(topic.step({HOT: 400})) == [PROPOSED]
    assert (topic.route().reason, topic.route().partitions) == ("partitions_unseen", ())


# Mixed fleets


def test_a_fleet_of_two_partitioners_gets_suffixes_on_which_both_agree() -> None:
    topic = Topic(spec(also_partitioner="consistent_random"))
    assert told(topic.step({HOT: 400})) == [PROPOSED, ACTIVATED]
    route = topic.route()
    assert (route.partitioner, route.also_partitioner) == ("murmur2", "crc32")
    for name in ("murmur2", "crc32"):
        places = [partitioner(name).partition(with_suffix(HOT, suffix), 6) for suffix in route.suffixes]
        assert places == list(route.partitions)
    assert topic.step({HOT: 400}) == ()


def test_a_second_partitioner_in_the_settings_makes_a_new_plan_where_the_old_one_does_not_serve_it() -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    assert topic.route().also_partitioner is None
    topic = topic.restarted_with(also_partitioner="crc32")
    assert told(topic.step({HOT: 400})) == [ACTIVATED]
    assert topic.route().also_partitioner == "crc32"


# Another partition count


def test_a_route_of_another_count_ends_when_no_plan_is_needed_any_more() -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    before = topic.route()
    topic.partitions = 9
    turns = topic.step({HOT: 10})
    assert told(turns) == [RETIRED]
    assert topic.route().reason == "partitions_changed"
    assert topic.route().earlier[-1].suffixes == before.suffixes


def test_a_route_of_another_count_is_not_given_up_for_want_of_sight() -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    topic.partitions = 9
    assert topic.step({HOT: 30}, worth_fitting=False) == ()
    assert topic.step({HOT: 0}) == ()


def test_a_route_by_partition_of_another_count_is_planned_anew() -> None:
    topic = by_partition()
    topic.step({HOT: 400})
    topic.partitions = 12
    assert told(topic.step({HOT: 400})) == [ACTIVATED]
    assert topic.route().partition_count == 12


# Bounds


def test_a_plan_has_the_bounds_of_its_tenants_policy() -> None:
    few, many = Topic(spec()), Topic(spec())
    few.step({HOT: 400}, policy=replace(QUICK, min_shards=1, max_shards=2))
    many.step({HOT: 400}, policy=replace(QUICK, min_shards=6))
    assert (len(few.route().partitions), len(many.route().partitions)) == (2, 6)


def test_a_key_gets_no_more_shards_than_it_could_fill_partitions() -> None:
    topic = Topic(spec())
    policy = replace(QUICK, min_shards=1, partition_capacity_per_s=30.0)
    topic.step({HOT: 400}, policy=policy, loads_s=10.0)  # 40 a second, and a partition takes 30 and has 10
    assert len(topic.route().partitions) == 2


def test_a_key_whose_largest_sub_unit_is_too_much_gets_advice_only() -> None:
    topic = Topic(spec())
    assert told(topic.step({HOT: 400}, largest_sub=0.9)) == [PROPOSED]
    assert (topic.route().reason, topic.route().partitions) == ("hot_discriminator", ())


# Did it help


def test_a_shard_given_by_partition_that_has_nearly_everything_is_told_as_one_of_a_skewed_discriminator() -> None:
    route = msgspec.structs.replace(
        made(HOT, (), partitions=(1, 2, 4), partition_count=6, carry=Carry.PARTITION),
        imbalance_before=3.0,
        imbalance_after=1.2,
    )
    wires = {HOT: {1: 20.0, 2: 360.0, 4: 20.0}}
    loads = [100.0, 120.0, 460.0, 100.0, 120.0, 100.0]
    seen = InWindow(start_ms=10**9, end_ms=10**9 + 10_000, loads=loads, records=1000, wires=wires, completeness=1.0)
    found = effect(route, seen, home=0, least_share=0.05)
    assert found is not None
    assert found.reason == "skewed_discriminator"
    assert found.numbers["shard_surplus_share"] == pytest.approx((360 - 400 / 3) / 400)
