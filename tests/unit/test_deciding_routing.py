"""From heat to routes, as tables of cases: a case is added as a row."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from hotshard.core.keys import with_suffix
from hotshard.core.partitioners import partition_of
from hotshard.core.topic import KeyLayout, Mode, Ordering
from hotshard.core.wire.route import Epoch, RouteState, Treatment
from tests.support.deciding import QUICK, key, spec
from tests.support.routing import ACTIVATED, HOT, PROPOSED, RETIRED, Topic, told

OTHER = key(2)

ALL = [(mode, ordering) for mode in Mode for ordering in Ordering]


@pytest.mark.parametrize(("mode", "ordering"), ALL)
def test_only_an_active_topic_without_order_gives_its_plans_to_producers(mode: Mode, ordering: Ordering) -> None:
    topic = Topic(spec(mode=mode, ordering=ordering))
    turns = topic.step({HOT: 400})
    if mode is Mode.OBSERVE:
        assert turns == ()
        assert topic.book.all() == ()
        return
    route = topic.route()
    given = mode is Mode.ACTIVE and ordering is Ordering.NONE
    assert told(turns) == ([PROPOSED, ACTIVATED] if given else [PROPOSED])
    assert route.state is (RouteState.ACTIVE if given else RouteState.PROPOSED)
    if ordering is Ordering.PER_KEY:
        assert (route.treatment, route.reason, route.suffixes) == (Treatment.REKEY, "per_key_order", ())
    else:
        assert route.treatment is Treatment.SPLIT
        assert len(set(route.partitions)) == len(route.suffixes) > 1


@pytest.mark.parametrize(
    ("mode", "ordering", "reason"),
    [
        (Mode.SHADOW, Ordering.NONE, "mode_shadow"),
        (Mode.APPROVE, Ordering.NONE, "mode_approve"),
        (Mode.SHADOW, Ordering.PER_DISCRIMINATOR, "mode_shadow"),
        (Mode.ACTIVE, Ordering.PER_DISCRIMINATOR, "ordering_per_discriminator"),
        (Mode.ACTIVE, Ordering.NONE, "within_tolerance"),
    ],
)
def test_a_plan_says_why_it_is_only_proposed_or_how_far_it_goes(mode: Mode, ordering: Ordering, reason: str) -> None:
    topic = Topic(spec(mode=mode, ordering=ordering))
    topic.step({HOT: 400})
    assert topic.route().reason == reason


@pytest.mark.parametrize(
    ("name", "changes", "treatment", "reason"),
    [
        (HOT, {"ordering": Ordering.PER_KEY}, Treatment.REKEY, "per_key_order"),
        (HOT, {"compacted": True}, Treatment.ISOLATE, "compacted_topic"),
        (HOT, {"copartitioned": True}, Treatment.ISOLATE, "copartitioned"),
        (b"\x00\x01\x02", {}, Treatment.ISOLATE, "binary_key"),
        (b"\xff\xfe\x1fe", {}, Treatment.ISOLATE, "binary_key"),
        (b"", {"partitioner": "murmur2"}, Treatment.ISOLATE, "empty_key"),
        (b"a" * 300, {"layout": KeyLayout.ENTITY}, Treatment.ISOLATE, "key_too_long"),
        (b"no-separator", {}, Treatment.ISOLATE, "key_form"),
    ],
)
def test_a_key_that_cannot_be_split_gets_advice_and_the_reason(
    name: bytes, changes: dict[str, Any], treatment: Treatment, reason: str
) -> None:
    topic = Topic(spec(**changes))
    assert told(topic.step({name: 400})) == [PROPOSED]
    route = topic.route(name)
    assert (route.treatment, route.reason, route.suffixes, route.partition_count) == (treatment, reason, (), 0)
    assert route.state is RouteState.PROPOSED
    assert route.base_key == name
    assert told(topic.step({name: 400})) == []


def test_a_key_that_is_not_worth_acting_on_is_only_named() -> None:
    topic = Topic(spec())
    assert topic.step({HOT: 400}, worth_acting=False) == ()
    assert topic.book.all() == ()


@pytest.mark.parametrize("load", [1.0, 20.0])
def test_a_key_too_light_for_a_split_to_help_is_only_named(load: float) -> None:
    topic = Topic(spec())
    assert topic.step({HOT: load}) == ()
    assert topic.book.all() == ()


def test_a_hot_key_without_room_for_its_load_is_refused_with_the_reason() -> None:
    topic = Topic(spec(policy=replace(QUICK, max_shards=1)))
    assert told(topic.step({HOT: 400})) == [PROPOSED]
    assert topic.route().reason == "no_room"


def test_a_growing_flood_is_given_more_shards_at_the_tail_and_a_shrinking_one_fewer() -> None:
    topic = Topic(spec(), partitions=12)
    routes = []
    for load in (200, 500, 1500):
        assert ACTIVATED in told(topic.step({HOT: load}))
        routes.append(topic.route())
    for fewer, more in pairwise(routes):
        assert len(more.suffixes) > len(fewer.suffixes)
        assert more.suffixes[: len(fewer.suffixes)] == fewer.suffixes
        assert more.partitions[: len(fewer.partitions)] == fewer.partitions
        assert more.epoch > fewer.epoch
        assert more.since_ms == fewer.since_ms
    assert told(topic.step({HOT: 150})) == [ACTIVATED]
    assert len(topic.route().suffixes) < len(routes[2].suffixes)
    assert topic.route().suffixes == routes[2].suffixes[: len(topic.route().suffixes)]
    assert topic.route().earlier[-1].suffixes == routes[2].suffixes


def test_a_plan_is_left_alone_for_a_while_after_a_change() -> None:
    topic = Topic(spec(), partitions=12)
    topic.step({HOT: 200})
    assert topic.step({HOT: 1500}, wait_ms=900) == ()
    assert told(topic.step({HOT: 1500}, wait_ms=100)) == [ACTIVATED]


def test_a_plan_is_cut_only_after_the_hold() -> None:
    topic = Topic(spec(policy=replace(QUICK, hold_s=20)), partitions=12)
    topic.step({HOT: 1500})
    assert topic.step({HOT: 300}, wait_ms=19_900) == ()
    assert told(topic.step({HOT: 300}, wait_ms=100)) == [ACTIVATED]


@pytest.mark.parametrize("load", [0.0, 300.0, 3000.0])
def test_a_standing_plan_is_not_fitted_to_what_is_not_wholly_seen(load: float) -> None:
    topic = Topic(spec(), partitions=12)
    topic.step({HOT: 800})
    before = topic.route()
    assert topic.step({HOT: load}, worth_acting=False, worth_fitting=False) == ()
    assert topic.route() == before


def test_a_plan_is_left_alone_while_nothing_of_its_key_is_measured() -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    before = topic.route()
    assert topic.step({HOT: 0.0}, wait_ms=3_600_000) == ()
    assert topic.route() == before


def test_a_cooled_key_is_retired_and_stays_readable_for_the_retention() -> None:
    topic = Topic(spec(readable_s=60))
    topic.step({HOT: 400})
    active = topic.route()
    (turn,) = topic.step({})
    assert turn.told == (RETIRED,)
    retired = topic.route()
    assert turn.route == retired
    assert (retired.state, retired.reason, retired.suffixes) == (RouteState.RETIRED, "cooled", ())
    (left,) = retired.earlier
    assert (left.epoch, left.suffixes, left.partitions) == (active.epoch, active.suffixes, active.partitions)
    assert left.until_ms == topic.now_ms + 60_000
    assert topic.step({}, wait_ms=59_999) == ()
    assert topic.book.get(HOT) == retired
    assert all(topic.book.aliases[with_suffix(HOT, suffix)] == HOT for suffix in active.suffixes)
    topic.book.take_changed()
    assert topic.step({}, wait_ms=1) == ()
    assert topic.book.take_changed() == {HOT: None}
    assert topic.book.aliases == {}


def test_a_plan_that_was_only_proposed_is_forgotten_when_its_key_cools() -> None:
    topic = Topic(spec(mode=Mode.SHADOW))
    topic.step({HOT: 400})
    assert told(topic.step({})) == [RETIRED]
    assert topic.book.all() == ()
    assert topic.book.take_changed() == {HOT: None}


def test_a_key_that_heats_again_gets_a_new_epoch_and_its_old_places_stay_readable() -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    first = topic.route()
    topic.step({})
    retired = topic.route()
    assert told(topic.step({HOT: 400})) == [PROPOSED, ACTIVATED]
    again = topic.route()
    assert first.epoch < retired.epoch < again.epoch
    assert again.epoch == Epoch(7, topic.at)
    assert again.since_ms == again.changed_ms == topic.now_ms
    assert again.earlier == retired.earlier


def test_however_often_a_key_is_split_no_place_of_it_is_forgotten_before_its_time() -> None:
    topic = Topic(spec(), partitions=24)
    topic.step({HOT: 2_000})
    widest = topic.route().suffixes
    topic.step({})
    split_ms = topic.now_ms
    for _ in range(100):
        topic.step({HOT: 700})
        topic.step({})
    earlier = topic.route().earlier
    narrow = earlier[-1].suffixes
    assert 1 < len(narrow) < len(widest)
    assert sorted(suffix for each in earlier for suffix in each.suffixes) == sorted({*widest, *narrow})
    assert [each.epoch for each in earlier] == sorted(each.epoch for each in earlier)
    assert [each.until_ms - 604_800_000 for each in earlier] == [split_ms, topic.now_ms]


def test_places_whose_data_can_no_longer_be_read_are_forgotten_while_the_key_stays_hot() -> None:
    topic = Topic(spec(readable_s=60), partitions=24)
    topic.step({HOT: 2_000})
    topic.step({})
    topic.step({HOT: 700})
    narrow = topic.route()
    (wide,) = narrow.earlier
    assert set(wide.suffixes) > set(narrow.suffixes)
    topic.step({}, wait_ms=50_000)
    assert [each.suffixes for each in topic.route().earlier] == [narrow.suffixes]


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.APPROVE])
def test_a_topic_made_active_gives_out_the_plan_that_was_proposed(mode: Mode) -> None:
    topic = Topic(spec(mode=mode))
    topic.step({HOT: 400})
    proposed = topic.route()
    topic = topic.restarted_with(mode=Mode.ACTIVE)
    assert told(topic.step({HOT: 400})) == [ACTIVATED]
    route = topic.route()
    assert (route.state, route.suffixes, route.partitions) == (
        RouteState.ACTIVE,
        proposed.suffixes,
        proposed.partitions,
    )
    assert route.epoch > proposed.epoch
    assert route.earlier == ()


@pytest.mark.parametrize(
    ("changes", "reason", "then"),
    [
        ({"mode": Mode.SHADOW}, "mode_shadow", "mode_shadow"),
        ({"mode": Mode.APPROVE}, "mode_approve", "mode_approve"),
        ({"mode": Mode.OBSERVE}, "mode_observe", None),
        ({"ordering": Ordering.PER_DISCRIMINATOR}, "ordering_per_discriminator", "ordering_per_discriminator"),
        ({"ordering": Ordering.PER_KEY}, "ordering_per_key", "per_key_order"),
        ({"compacted": True}, "compacted_topic", "compacted_topic"),
        ({"copartitioned": True}, "copartitioned", "copartitioned"),
    ],
)
def test_an_active_plan_that_may_no_longer_be_given_is_told_as_retired(
    changes: dict[str, Any], reason: str, then: str | None
) -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    active = topic.route()
    topic = topic.restarted_with(**changes)
    turns = topic.step({HOT: 400})
    turns += topic.step({HOT: 400})  # its records are on one partition again
    assert told(turns) == ([RETIRED, PROPOSED] if then else [RETIRED])
    assert turns[0].route.reason == reason
    route = topic.route()
    assert route.state is (RouteState.PROPOSED if then else RouteState.RETIRED)
    assert route.reason == (then or reason)
    assert [each.suffixes for each in route.earlier] == [active.suffixes]


def test_a_proposed_plan_goes_when_the_topic_is_only_observed() -> None:
    topic = Topic(spec(mode=Mode.SHADOW))
    topic.step({HOT: 400})
    topic = topic.restarted_with(mode=Mode.OBSERVE)
    assert told(topic.step({HOT: 400})) == [RETIRED]
    assert topic.book.all() == ()


def test_several_hot_keys_are_planned_the_largest_first_on_what_the_others_leave() -> None:
    topic = Topic(spec(), partitions=12)
    turns = topic.step({OTHER: 500, HOT: 1500})
    assert [turn.route.base_key for turn in turns] == [HOT, OTHER]
    loads = [topic.calm] * topic.partitions
    for name, load in ((HOT, 1500), (OTHER, 500)):
        route = topic.route(name)
        for partition in route.partitions:
            loads[partition] += load / len(route.partitions)
    mean = sum(loads) / len(loads)
    assert max(loads) <= 1.25 * mean
    assert len(topic.route(HOT).suffixes) > len(topic.route(OTHER).suffixes)


def test_one_of_several_hot_keys_cools_without_touching_the_others() -> None:
    topic = Topic(spec(), partitions=12)
    topic.step({OTHER: 700, HOT: 700})
    kept = topic.route()
    turns = topic.step({HOT: 700}, wait_ms=900)
    assert [(turn.told, turn.route.base_key) for turn in turns] == [((RETIRED,), OTHER)]
    assert topic.route() == kept


def test_another_partition_count_makes_a_new_plan() -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    before = topic.route()
    topic.partitions = 9
    assert told(topic.step({HOT: 400})) == [ACTIVATED]
    after = topic.route()
    assert (before.partition_count, after.partition_count) == (6, 9)
    place = partition_of("murmur2", 9)
    assert [place(with_suffix(HOT, suffix)) for suffix in after.suffixes] == list(after.partitions)
    assert after.earlier[-1].suffixes == before.suffixes


def planned(name: bytes) -> Topic:
    topic = Topic(spec(), partitions=12)
    topic.step({name: 400})
    return topic


def test_another_partition_count_makes_a_new_plan_even_if_the_old_one_happens_to_spread_well() -> None:
    place = partition_of("murmur2", 11)

    def spreads_well(topic: Topic) -> bool:
        (route,) = topic.book.all()
        return len({place(with_suffix(route.base_key, suffix)) for suffix in route.suffixes}) == len(route.suffixes)

    topic = next(topic for topic in map(planned, map(key, range(1000))) if spreads_well(topic))
    topic.partitions = 11
    (before,) = topic.book.all()
    assert told(topic.step({before.base_key: 400})) == [ACTIVATED]
    assert topic.route(before.base_key).partition_count == 11


def test_another_partitioner_makes_a_new_plan() -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    topic = topic.restarted_with(partitioner="consistent_random")
    assert told(topic.step({HOT: 400})) == [ACTIVATED]
    assert topic.route().partitioner == "crc32"


def test_the_name_of_a_partitioner_in_the_settings_changes_no_plan() -> None:
    topic = Topic(spec(partitioner="consistent_random"))
    topic.step({HOT: 400})
    assert topic.step({HOT: 400}) == ()


def test_what_is_said_of_a_route_is_in_the_book_and_changes_once() -> None:
    topic = Topic(spec())
    turns = topic.step({HOT: 400})
    assert topic.book.take_changed() == {HOT: turns[-1].route}
    assert topic.step({HOT: 400}) == ()
    assert topic.book.take_changed() == {}
