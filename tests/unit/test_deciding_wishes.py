"""What people want of a topic, and what becomes of its routes: pins, approvals, freeze and pauses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hotshard.core.deciding.obeying import LEAST_PAUSE_S, PAUSE_S
from hotshard.core.deciding.wishes import Wishes
from hotshard.core.topic import Field, Mode, Ordering, Pin, Place
from hotshard.core.wire.command import CommandKind
from hotshard.core.wire.orders import MAX_DONE, MAX_STANDING, Outcome
from hotshard.core.wire.route import RouteState, Treatment
from tests.support.deciding import QUICK, key, spec
from tests.support.routing import ACTIVATED, HOT, PROPOSED, RETIRED, Topic, told

APPROVE, PIN, UNPIN = CommandKind.APPROVE, CommandKind.PIN, CommandKind.UNPIN
FREEZE, THAW, RETIRE = CommandKind.FREEZE, CommandKind.THAW, CommandKind.RETIRE
COLD = key(3)
TEXT = HOT.decode()


def approving(**changes: Any) -> Topic:  # noqa: ANN401 - any field of a spec
    return Topic(spec(mode=Mode.APPROVE, **changes), partitions=12)


# -- approve -----------------------------------------------------------------------------------------


def test_a_plan_is_given_to_producers_only_after_a_person_approved_it() -> None:
    topic = approving()
    assert told(topic.step({HOT: 400})) == [PROPOSED]
    assert topic.step({HOT: 400}) == ()
    proposed = topic.route()
    assert (proposed.state, proposed.reason) == (RouteState.PROPOSED, "mode_approve")
    done = topic.command(APPROVE, HOT, suffixes=proposed.suffixes, partitions=proposed.partitions, reason="sale")
    assert (done.applied, done.outcome) == (True, Outcome.APPROVED)
    assert told(topic.step({HOT: 400}, wait_ms=1)) == [ACTIVATED]
    route = topic.route()
    assert (route.state, route.suffixes, route.reason) == (RouteState.ACTIVE, proposed.suffixes, "within_tolerance")
    assert topic.step({HOT: 400}) == ()
    (approval,) = topic.wishes.orders().approvals
    assert (approval.base_key, approval.given.by, approval.given.reason) == (HOT, "ann", "sale")


def test_an_approved_plan_grows_and_is_cut_at_its_tail_without_asking_again() -> None:
    topic = approving()
    topic.step({HOT: 300})
    first = topic.route()
    topic.command(APPROVE, HOT)
    for load in (300, 1500, 200, 900):
        topic.step({HOT: load})
        assert topic.route().state is RouteState.ACTIVE
    shared = min(len(first.suffixes), len(topic.route().suffixes))
    assert topic.route().suffixes[:shared] == first.suffixes[:shared]
    assert topic.restarted_with().step({HOT: 900}) == ()


def test_a_plan_that_has_grown_since_it_was_seen_is_the_plan_that_was_approved() -> None:
    topic = approving()
    topic.step({HOT: 300})
    seen = topic.route()
    topic.step({HOT: 1500})
    assert len(topic.route().suffixes) > len(seen.suffixes)
    done = topic.command(APPROVE, HOT, suffixes=seen.suffixes, partitions=seen.partitions)
    assert done.outcome == Outcome.APPROVED


def test_another_plan_than_the_one_seen_waits_for_its_own_approval() -> None:
    topic = approving()
    topic.step({HOT: 400})
    seen = topic.route()
    topic.partitions = 9
    assert told(topic.step({HOT: 400})) == [PROPOSED]
    assert topic.route().partitions != seen.partitions
    done = topic.command(APPROVE, HOT, suffixes=seen.suffixes, partitions=seen.partitions)
    assert (done.applied, done.outcome) == (False, Outcome.PLAN_CHANGED)
    assert topic.step({HOT: 400}) == ()
    assert topic.command(APPROVE, HOT).applied, "a command that names no plan is for what is proposed"
    assert told(topic.step({HOT: 400})) == [ACTIVATED]


def test_a_plan_in_force_that_has_to_become_another_one_is_retired_and_the_other_waits() -> None:
    topic = approving()
    topic.step({HOT: 400})
    topic.command(APPROVE, HOT)
    topic.step({HOT: 400})
    topic.partitions = 9
    turns = topic.step({HOT: 400})
    assert told(turns) == [RETIRED, PROPOSED]
    assert turns[0].route.reason == "mode_approve"
    assert topic.route().partition_count == 9
    assert topic.wishes.orders().approvals == ()


def test_a_key_that_cooled_and_heats_again_is_approved_again() -> None:
    topic = approving()
    topic.step({HOT: 400})
    topic.command(APPROVE, HOT)
    topic.step({HOT: 400})
    assert told(topic.step({})) == [RETIRED]
    assert topic.wishes.orders().approvals == ()
    assert told(topic.step({HOT: 400})) == [PROPOSED]


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"mode": Mode.OBSERVE}, Outcome.NO_PLAN),
        ({"mode": Mode.SHADOW}, "mode_shadow"),
        ({"mode": Mode.APPROVE, "ordering": Ordering.PER_DISCRIMINATOR}, "ordering_per_discriminator"),
        ({"mode": Mode.APPROVE, "ordering": Ordering.PER_KEY}, Outcome.NO_PLAN),
        ({"mode": Mode.ACTIVE}, Outcome.IN_FORCE),
    ],
)
def test_an_approval_that_cannot_give_the_plan_says_why(changes: dict[str, Any], outcome: str) -> None:
    topic = Topic(spec(**changes))
    topic.step({HOT: 400})
    assert topic.command(APPROVE, HOT).outcome == outcome
    assert topic.wishes.orders().approvals == ()


def test_nothing_is_approved_where_nothing_is_proposed() -> None:
    done = approving().command(APPROVE, HOT)
    assert (done.applied, done.outcome) == (False, Outcome.NO_PLAN)


def test_a_plan_that_order_keeps_from_being_given_says_so_in_mode_approve_too() -> None:
    topic = approving(ordering=Ordering.PER_DISCRIMINATOR)
    topic.step({HOT: 400})
    assert topic.route().reason == "ordering_per_discriminator"


def test_an_approved_plan_of_a_topic_that_became_compacted_is_not_given() -> None:
    topic = approving()
    topic.step({HOT: 400})
    topic.command(APPROVE, HOT)
    topic = topic.restarted_with(compacted=True)
    topic.step({HOT: 400})
    route = topic.route()
    assert (route.state, route.reason, route.partitions) == (RouteState.PROPOSED, "compacted_topic", ())


# -- pins --------------------------------------------------------------------------------------------


def test_what_is_pinned_never_to_be_touched_is_named_and_never_planned() -> None:
    topic = Topic(spec(pins={TEXT: Pin(None)}))
    assert topic.step({HOT: 400}) == ()
    assert topic.book.all() == ()


@pytest.mark.parametrize("mode", [Mode.SHADOW, Mode.ACTIVE])
def test_a_plan_of_a_key_that_is_not_to_be_touched_any_more_is_retired(mode: Mode) -> None:
    topic = Topic(spec(mode=mode))
    topic.step({HOT: 400})
    assert topic.command(PIN, HOT, shards=None).outcome == Outcome.PINNED
    (turn,) = topic.step({HOT: 400})
    assert (turn.told, turn.route.reason) == ((RETIRED,), "pinned_never")
    assert topic.step({HOT: 400}) == ()


def test_a_pinned_tenant_is_left_alone_but_for_keys_with_a_pin_of_their_own() -> None:
    topic = Topic(spec(tenant_pins={"acme": Pin(None)}, pins={key(2).decode(): Pin(0)}), partitions=12)
    other = key(1, "globex")
    topic.step({HOT: 400, key(2): 400, other: 400})
    assert {route.base_key for route in topic.book.all()} == {key(2), other}


def test_a_tenant_that_stands_beside_the_key_is_pinned_as_well() -> None:
    owners = {HOT: b"acme", key(2): b"globex"}
    wishes = Wishes(spec(tenant=Field(Place.HEADER, "tenant"), tenant_pins={"acme": Pin(None)}), owner=owners.get)
    assert [wishes.never(name) for name in (HOT, key(2), key(3))] == [True, False, False]
    assert not Wishes(spec(tenant=Field(Place.HEADER, "tenant"), tenant_pins={"acme": Pin(None)})).never(HOT)


@pytest.mark.parametrize("shards", [2, 3, 5, 12, 100])
def test_a_pinned_key_is_split_over_just_so_many_shards_hot_or_not(shards: int) -> None:
    topic = Topic(spec(pins={COLD.decode(): Pin(shards)}), partitions=12)
    assert told(topic.step({})) == [PROPOSED, ACTIVATED]
    route = topic.route(COLD)
    assert len(route.suffixes) == len(set(route.partitions)) == min(shards, 12)
    for load in (1.0, 4000.0, 0.0):
        assert topic.step({COLD: load} if load else {}) == ()
    assert topic.route(COLD) == route


def test_a_pinned_key_is_planned_only_on_a_whole_view_with_load_and_kept_without_one() -> None:
    topic = Topic(spec(pins={COLD.decode(): Pin(3)}), calm=0.0)
    assert topic.step({}) == ()
    topic.calm = 100.0
    assert topic.step({}, pinned=()) == ()
    assert told(topic.step({})) == [PROPOSED, ACTIVATED]
    assert topic.step({}, pinned=()) == ()
    assert topic.step({COLD: 900.0}, pinned=(), worth_acting=False, worth_fitting=False) == ()


def test_a_pin_to_as_many_as_the_plan_finds_is_at_least_two_and_grows_with_the_load() -> None:
    topic = Topic(spec(), partitions=12)
    assert topic.command(PIN, COLD, shards=0).applied
    topic.step({})
    assert len(topic.route(COLD).suffixes) == 2
    topic.step({COLD: 1500.0})
    grown = topic.route(COLD).suffixes
    assert len(grown) > 2
    topic.step({COLD: 1.0}, worth_acting=False, worth_fitting=False)
    assert topic.route(COLD).suffixes == grown[: len(topic.route(COLD).suffixes)]
    assert topic.route(COLD).state is RouteState.ACTIVE


def test_another_number_in_a_pin_changes_the_tail_at_once() -> None:
    topic = Topic(spec(policy=replace(QUICK, hold_s=600)), partitions=12)
    topic.command(PIN, COLD, shards=5)
    topic.step({})
    five = topic.route(COLD)
    topic.command(PIN, COLD, shards=3)
    assert told(topic.step({})) == [ACTIVATED]
    assert topic.route(COLD).suffixes == five.suffixes[:3]
    topic.command(PIN, COLD, shards=7)
    topic.step({})
    assert topic.route(COLD).suffixes[:3] == five.suffixes[:3]
    assert len(topic.route(COLD).suffixes) == 7


def test_a_key_that_is_pinned_no_more_is_retired_unless_it_is_hot() -> None:
    topic = Topic(spec(), partitions=12)
    for name in (HOT, COLD):
        topic.command(PIN, name, shards=3)
    topic.step({HOT: 400})
    for name in (HOT, COLD):
        assert topic.command(UNPIN, name).outcome == Outcome.UNPINNED
    turns = topic.step({HOT: 400})
    assert (RETIRED, COLD) in [(kind, turn.route.base_key) for turn in turns for kind in turn.told]
    assert topic.route(HOT).state is RouteState.ACTIVE
    assert topic.command(UNPIN, COLD).outcome == Outcome.NOT_PINNED


def test_the_pin_of_a_command_goes_before_that_of_the_settings_until_it_is_taken_away() -> None:
    topic = Topic(spec(pins={TEXT: Pin(None)}), partitions=12)
    topic.command(PIN, HOT, shards=2)
    topic.step({HOT: 400})
    assert len(topic.route().suffixes) == 2
    topic.command(UNPIN, HOT)
    assert topic.step({HOT: 400})[0].route.reason == "pinned_never"


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"ordering": Ordering.PER_KEY}, "per_key_order"),
        ({"compacted": True}, "compacted_topic"),
        ({"copartitioned": True}, "copartitioned"),
    ],
)
def test_what_the_topic_forbids_no_pin_does(changes: dict[str, Any], outcome: str) -> None:
    topic = Topic(spec(**changes))
    done = topic.command(PIN, HOT, shards=4)
    assert (done.applied, done.outcome) == (False, outcome)
    assert topic.command(PIN, HOT, shards=None).applied
    forbidden = Topic(spec(pins={TEXT: Pin(4)}, **changes))
    forbidden.step({})
    assert (forbidden.route().reason, forbidden.route().partitions) == (outcome, ())


def test_a_pin_is_an_approval_given_beforehand_and_no_way_around_shadow() -> None:
    topic = approving(pins={COLD.decode(): Pin(3)})
    assert told(topic.step({})) == [PROPOSED, ACTIVATED]
    shadow = Topic(spec(mode=Mode.SHADOW, pins={COLD.decode(): Pin(3)}))
    assert told(shadow.step({})) == [PROPOSED]
    assert shadow.route(COLD).reason == "mode_shadow"
    observed = Topic(spec(mode=Mode.OBSERVE, pins={COLD.decode(): Pin(3)}))
    assert observed.step({}) == ()


def test_a_key_that_was_refused_is_split_when_it_is_pinned() -> None:
    topic = Topic(spec(policy=replace(QUICK, min_shards=1, max_shards=1)))
    topic.step({HOT: 400})
    assert topic.route().treatment is not Treatment.SPLIT
    topic.command(PIN, HOT, shards=4)
    assert told(topic.step({HOT: 400})) == [PROPOSED, ACTIVATED]
    assert len(topic.route().suffixes) == 4


# -- freeze, retire, thaw ----------------------------------------------------------------------------


def test_nothing_changes_in_a_frozen_topic() -> None:
    topic = Topic(spec(), partitions=12)
    topic.step({HOT: 400})
    before = topic.route()
    assert topic.command(FREEZE, reason="incident").outcome == Outcome.FROZEN
    assert topic.step({HOT: 4000, key(2): 900}) == ()
    assert topic.step({}) == ()
    assert topic.restarted_with(mode=Mode.OBSERVE).step({}) == ()
    topic.command(PIN, HOT, shards=None)
    assert topic.step({HOT: 400}) == ()
    assert topic.book.all() == (before,)
    assert topic.wishes.frozen is not None
    assert topic.wishes.frozen.reason == "incident"


def test_a_topic_thawed_goes_on_as_if_nothing_had_been() -> None:
    topic = Topic(spec(), partitions=12)
    topic.step({HOT: 400})
    topic.command(FREEZE)
    topic.step({})
    assert topic.command(THAW).outcome == Outcome.THAWED
    assert told(topic.step({key(2): 900})) == [RETIRED, PROPOSED, ACTIVATED]
    assert topic.command(THAW).outcome == Outcome.NOT_FROZEN


def test_an_approval_in_a_frozen_topic_is_good_once_it_is_thawed() -> None:
    topic = approving()
    topic.step({HOT: 400})
    topic.command(FREEZE)
    assert topic.command(APPROVE, HOT).outcome == Outcome.APPROVED
    assert topic.step({HOT: 400}) == ()
    topic.command(THAW)
    assert told(topic.step({HOT: 400})) == [ACTIVATED]


def test_every_plan_is_retired_at_once_and_nothing_is_planned_until_the_pause_is_over() -> None:
    topic = Topic(spec(), partitions=12)
    loads = {HOT: 900.0, key(2): 700.0}
    topic.step(loads)
    topic.at += 1
    assert topic.command(RETIRE).outcome == Outcome.RETIRED
    turns = topic.obey()
    assert [(turn.told, turn.route.reason) for turn in turns] == [((RETIRED,), "retired_by_person")] * 2
    assert topic.obey() == ()
    assert topic.step(loads, wait_ms=PAUSE_S * 1000 - 1) == ()
    assert told(topic.step(loads, wait_ms=1)) == [PROPOSED, ACTIVATED] * 2
    assert topic.wishes.orders().pauses == ()


def test_a_pause_ends_when_a_person_thaws_the_topic() -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    topic.command(RETIRE, pause_s=86_400)
    topic.step({HOT: 400})
    assert topic.command(THAW).outcome == Outcome.THAWED
    assert told(topic.step({HOT: 400})) == [PROPOSED, ACTIVATED]


def test_one_key_is_retired_without_touching_the_others() -> None:
    topic = Topic(spec(), partitions=12)
    loads = {HOT: 900.0, key(2): 900.0}
    topic.step(loads)
    topic.command(RETIRE, HOT, pause_s=60)
    (turn,) = topic.step(loads)
    assert (turn.told, turn.route.base_key) == ((RETIRED,), HOT)
    assert topic.step(loads, wait_ms=49_999) == ()
    assert told(topic.step(loads, wait_ms=1)) == [PROPOSED, ACTIVATED]


def test_a_retire_without_a_pause_still_retires() -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    topic.command(RETIRE, pause_s=0)
    assert told(topic.step({HOT: 400}, wait_ms=1000)) == [RETIRED]
    assert told(topic.step({HOT: 400}, wait_ms=LEAST_PAUSE_S * 1000)) == [PROPOSED, ACTIVATED]


def test_what_is_retired_in_a_frozen_topic_stays_so_until_it_is_thawed() -> None:
    topic = Topic(spec(pins={COLD.decode(): Pin(3)}))
    topic.step({HOT: 400})
    topic.command(FREEZE)
    topic.command(RETIRE)
    assert told(topic.step({HOT: 400})) == [RETIRED, RETIRED]
    assert topic.step({HOT: 400}, wait_ms=PAUSE_S * 2000) == ()


def test_a_route_made_at_this_very_message_is_retired_at_the_next() -> None:
    topic = Topic(spec())
    topic.step({HOT: 400})
    topic.command(RETIRE)
    assert topic.obey() == ()
    epoch = topic.route().epoch
    assert told(topic.step({HOT: 400}, wait_ms=250)) == [RETIRED]
    assert topic.route().epoch > epoch


def test_a_pin_ends_the_pause_of_its_key() -> None:
    topic = Topic(spec(), partitions=12)
    assert topic.command(RETIRE, HOT).outcome == Outcome.PAUSED
    topic.command(PIN, HOT, shards=3)
    assert told(topic.step({HOT: 400})) == [PROPOSED, ACTIVATED]


# -- bounds ------------------------------------------------------------------------------------------


def test_there_is_an_end_to_what_may_be_ordered_and_what_stands_is_kept() -> None:
    topic = Topic(spec())
    for number in range(MAX_STANDING):
        assert topic.command(PIN, key(number), shards=None).applied
        assert topic.command(RETIRE, key(number)).applied
    for kind in (PIN, RETIRE):
        done = topic.command(kind, key(MAX_STANDING))
        assert (done.applied, done.outcome) == (False, Outcome.TOO_MANY)
    assert topic.command(PIN, key(0), shards=4).applied
    orders = topic.wishes.orders()
    assert (len(orders.pins), len(orders.pauses), len(orders.done)) == (MAX_STANDING, MAX_STANDING - 1, MAX_DONE)


def test_what_people_write_of_themselves_is_cut_to_a_length() -> None:
    topic = Topic(spec())
    done = topic.command(FREEZE, by="x" * 5000, reason="y" * 5000)
    assert (len(done.given.by), len(done.given.reason)) == (64, 200)


def test_orders_are_the_same_after_they_were_remembered() -> None:
    topic = approving(pins={TEXT: Pin(None)})
    topic.step({key(2): 400})
    topic.command(APPROVE, key(2))
    topic.command(PIN, COLD, shards=4)
    topic.command(RETIRE, key(5))
    topic.command(FREEZE)
    orders = topic.wishes.orders()
    assert Wishes(topic.spec, orders).orders() == orders
