from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hotshard.client.states import RegistryState
from hotshard.client.steps import Pause, ReadSnapshot
from hotshard.core.topic import Carry, Ordering
from hotshard.core.wire.route import RouteState
from hotshard.errors import UnavailableError
from tests.support.following import STALE_AFTER_S, Driven
from tests.support.registry import KEY, TOPIC, route, state

if TYPE_CHECKING:
    from hotshard.core.wire.route import Route

BASE = KEY.encode()
SPLIT = {BASE: {BASE + b"\x1f0", BASE + b"\x1f1"}}


def started(*routes_of_version_1: Route) -> Driven:
    driven = Driven([TOPIC])
    driven.publish(state(1, *(routes_of_version_1 or (route(),))))
    driven.settle()
    return driven


def test_a_snapshot_comes_first_and_brings_the_routes_into_force() -> None:
    driven = started()
    assert driven.sends(TOPIC) == SPLIT
    assert driven.state() is RegistryState.READY


def test_a_change_is_taken_from_the_log_without_another_snapshot() -> None:
    driven = started()
    driven.publish(state(2, route(suffixes=("0", "1", "x"))))
    driven.settle()
    assert driven.sends(TOPIC) == {BASE: {BASE + b"\x1f0", BASE + b"\x1f1", BASE + b"\x1fx"}}
    assert (driven.follower.counts.snapshots, driven.follower.counts.changes) == (1, 1)


def test_only_retired_ends_a_split() -> None:
    driven = started()
    driven.publish(state(2, route(state=RouteState.RETIRED)))
    driven.settle()
    assert driven.sends(TOPIC) == {}
    assert driven.follower.counts.kept == 0


@pytest.mark.parametrize("by_snapshot", [False, True])
def test_a_route_that_vanishes_without_being_retired_stays(*, by_snapshot: bool) -> None:
    driven = started()
    driven.publish(state(2))
    if by_snapshot:
        driven.follower.begin_again()
    driven.settle()
    assert driven.sends(TOPIC) == SPLIT
    assert driven.follower.counts.kept == 1


@pytest.mark.parametrize("of", [RouteState.RETIRED, RouteState.PROPOSED])
def test_a_route_that_was_not_in_force_may_vanish(of: RouteState) -> None:
    driven = started(route(state=of))
    driven.publish(state(2))
    driven.settle()
    assert driven.follower.snapshot() == {TOPIC: (1, 2, {})}


def test_a_gap_in_the_log_is_closed_by_a_snapshot() -> None:
    driven = started()
    driven.registry.store.wipe()  # takes the log with it
    driven.publish(state(3, route("other")))
    driven.publish(state(4, route("other"), route("third")))
    driven.settle()
    assert set(driven.sends(TOPIC)) == {b"other", b"third", BASE}
    assert driven.follower.counts.gaps >= 1
    assert driven.follower.counts.snapshots == 2


def test_a_change_between_the_log_and_the_look_at_meta_is_no_gap() -> None:
    driven = started()
    driven.clock.advance(2.0)
    driven.publish(state(2, route(suffixes=("0",))))
    driven.settle()
    assert driven.sends(TOPIC) == {BASE: {BASE + b"\x1f0"}}
    assert (driven.follower.counts.snapshots, driven.follower.counts.changes) == (1, 1)


def test_a_version_that_the_log_never_brings_is_fetched_by_a_snapshot() -> None:
    driven = started()
    driven.publish(state(2, route(suffixes=("0",))))
    driven.registry.store.lose_log()
    driven.settle()
    assert driven.sends(TOPIC) == SPLIT
    driven.wait()
    assert driven.sends(TOPIC) == {BASE: {BASE + b"\x1f0"}}
    assert driven.follower.counts.snapshots == 2


def test_another_epoch_lets_go_of_what_it_does_not_have() -> None:
    driven = started()
    driven.publish(state(1, route("other"), epoch=2))
    driven.settle()
    assert set(driven.sends(TOPIC)) == {b"other"}


def test_an_emptied_registry_changes_nothing_and_is_stale_after_a_while() -> None:
    driven = started()
    driven.registry.store.wipe()
    for _ in range(int(STALE_AFTER_S // 2)):
        driven.wait(2.0)
    assert (driven.sends(TOPIC), driven.state()) == (SPLIT, RegistryState.READY)
    driven.wait(2.0)
    assert (driven.sends(TOPIC), driven.state()) == (SPLIT, RegistryState.STALE)


def test_the_same_state_written_again_makes_it_ready_without_a_change() -> None:
    driven = started()
    driven.registry.store.wipe()
    driven.wait(STALE_AFTER_S + 2.0)
    assert driven.state() is RegistryState.STALE
    driven.publish(state(1, route()))
    driven.settle()
    driven.wait()
    assert (driven.sends(TOPIC), driven.state()) == (SPLIT, RegistryState.READY)


def test_beats_keep_it_ready() -> None:
    driven = started()
    for _ in range(20):
        driven.clock.advance(1.0)
        assert driven.beat(state(1))
        driven.wait(1.0)
    assert driven.state() is RegistryState.READY
    driven.wait(STALE_AFTER_S + 0.1)
    assert driven.state() is RegistryState.STALE


def test_a_detector_that_died_long_ago_is_known_for_it_at_once() -> None:
    driven = Driven([TOPIC])
    driven.publish(state(1, route()))
    driven.clock.advance(3_600)
    driven.settle()
    assert (driven.sends(TOPIC), driven.state()) == (SPLIT, RegistryState.STALE)


def test_a_detector_that_died_while_redis_was_out_of_reach_is_known_for_it() -> None:
    driven = started()
    driven.registry.store.available = False
    driven.clock.advance(1.0)
    driven.follower.failed(UnavailableError())
    driven.registry.store.available = True
    driven.beat(state(1))
    driven.clock.advance(3_600)
    driven.settle()
    driven.settle()
    assert (driven.sends(TOPIC), driven.state()) == (SPLIT, RegistryState.STALE)


def test_routes_from_elsewhere_are_stale_until_a_detector_is_heard() -> None:
    driven = Driven([TOPIC])
    driven.follower.bootstrap(TOPIC, 1, 1, started().follower.snapshot()[TOPIC][2])
    assert (driven.sends(TOPIC), driven.state()) == (SPLIT, RegistryState.STALE)
    driven.publish(state(1, route()))
    driven.clock.advance(3_600)
    driven.settle()
    assert driven.state() is RegistryState.STALE
    driven.beat(state(1))
    driven.wait()
    assert (driven.sends(TOPIC), driven.state()) == (SPLIT, RegistryState.READY)


def test_an_older_state_is_not_taken_until_a_detector_stands_behind_it() -> None:
    driven = started(route(), route("second"))
    driven.publish(state(5, route(), route("second"), route("third")))
    driven.settle()
    driven.registry.store.wipe()
    older = state(3, route("second"))
    driven.publish(older)
    driven.wait()
    driven.wait()
    assert set(driven.sends(TOPIC)) == {BASE, b"second", b"third"}, "a replica that is behind un-splits nothing"
    assert driven.follower.counts.older == 1
    driven.clock.advance(1.0)
    driven.beat(older)
    driven.wait()
    assert set(driven.sends(TOPIC)) == {b"second"}
    assert driven.state() is RegistryState.READY


def test_nobody_at_home_is_empty_and_never_reached_is_not_ready() -> None:
    driven = Driven([TOPIC])
    assert driven.state() is RegistryState.NOT_READY
    driven.settle()
    assert driven.state() is RegistryState.EMPTY
    driven.publish(state(1, topic="other"))
    driven.wait()
    assert driven.state() is RegistryState.EMPTY, "that topic is none of ours"
    driven.publish(state(1, route()))
    driven.settle()
    assert driven.state() is RegistryState.READY


def test_a_topic_without_a_detector_matters_only_when_asked_for_or_routed() -> None:
    driven = Driven()
    for topic in ("a", "b"):
        driven.publish(state(1, topic=topic))
    driven.settle()
    for _ in range(8):
        driven.clock.advance(2.0)
        driven.beat(state(1, topic="a"))
        driven.settle()
    assert driven.state() is RegistryState.READY
    driven.publish(state(2, route(topic="b"), topic="b"))
    driven.settle()
    driven.wait(STALE_AFTER_S + 0.1)
    driven.beat(state(1, topic="a"))
    driven.wait()
    assert driven.state() is RegistryState.STALE, "producers obey b, and its detector is gone"


def test_a_topic_that_appears_is_followed_when_all_are() -> None:
    driven = Driven()
    driven.settle()
    driven.publish(state(1, route(topic="late"), topic="late"))
    driven.settle()
    assert set(driven.sends("late")) == {BASE}


def test_a_topic_not_asked_for_is_not_followed() -> None:
    driven = started()
    driven.publish(state(1, route(topic="other"), topic="other"))
    driven.settle()
    assert set(driven.follower.tables) == {TOPIC}


@pytest.mark.parametrize("ordering", [Ordering.PER_KEY, Ordering.PER_DISCRIMINATOR])
def test_an_order_this_version_cannot_keep_is_not_split(ordering: Ordering) -> None:
    assert started(route(ordering=ordering)).sends(TOPIC) == {}


def test_a_proposed_route_is_not_obeyed() -> None:
    assert started(route(state=RouteState.PROPOSED)).sends(TOPIC) == {}


def test_new_numbers_on_a_route_leave_its_turns_and_places_alone() -> None:
    driven = started()
    before = driven.follower.tables[TOPIC].keys[BASE]
    driven.publish(state(2, route(share=0.4)))
    driven.settle()
    assert driven.follower.tables[TOPIC].keys[BASE] is before


def test_a_route_may_give_the_partition_instead_of_a_suffix() -> None:
    driven = started(route(b"\xff\x01", (), partitions=(3, 5), carry=Carry.PARTITION))
    found = driven.follower.tables[TOPIC].keys[b"\xff\x01"]
    assert {(found.pick(None).key, found.pick(None).partition) for _ in range(4)} <= {
        (b"\xff\x01", 3),
        (b"\xff\x01", 5),
    }


def test_failures_pause_longer_each_time_and_end_in_a_snapshot() -> None:
    driven = started()
    pauses = []
    for _ in range(12):
        driven.follower.failed(UnavailableError())
        step = driven.follower.next_step(0.0)
        assert isinstance(step, Pause)
        pauses.append(step.wait_s)
    assert pauses[0] <= 0.1
    assert 2.5 <= pauses[-1] <= 5.0
    assert isinstance(driven.follower.next_step(0.0), ReadSnapshot)
    assert driven.sends(TOPIC) == SPLIT
    assert driven.follower.error is not None
    driven.settle()
    assert driven.follower.error is None


def test_one_outage_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    driven = started()
    for _ in range(5):
        driven.follower.failed(UnavailableError("down"))
    assert [record.getMessage() for record in caplog.records].count(
        "down; the last routes stay in force, trying again"
    ) == 1


def test_damage_is_counted_and_said_once_and_the_last_good_route_stays(caplog: pytest.LogCaptureFixture) -> None:
    driven = started()
    driven.registry.store.put_route(TOPIC, BASE, b"damaged")
    driven.registry.store.put_route(TOPIC, b"other", b"also damaged")
    for _ in range(5):
        driven.follower.begin_again()
        driven.settle()
    assert driven.sends(TOPIC) == SPLIT
    assert driven.follower.counts.bad_entries == 2
    assert sum("ignored" in record.getMessage() for record in caplog.records) == 2


def test_a_damaged_entry_of_the_log_is_passed_over() -> None:
    driven = started()
    driven.registry.store.put_log({b"topic": b"orders", b"epoch": b"x"})
    driven.publish(state(2, route(suffixes=("0",))))
    driven.settle()
    assert driven.sends(TOPIC) == {BASE: {BASE + b"\x1f0"}}
    assert driven.follower.counts.bad_entries == 1


@pytest.mark.parametrize("field", [b"schema", b"epoch:orders", b"version:orders", b"time:orders"])
def test_damaged_meta_leaves_everything_as_it_is(field: bytes) -> None:
    driven = started()
    driven.registry.store.put_meta(field, b"?")
    driven.follower.begin_again()
    driven.settle()
    driven.wait()
    assert driven.sends(TOPIC) == SPLIT
