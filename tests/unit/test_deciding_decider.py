"""A decider case by case: what it tells of heat, when it is silent, and what it leaves for the next."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hotshard.core.topic import Mode, Ordering, TopicSpec
from hotshard.core.wire.event import Event, EventType, Finding, PlanChange
from hotshard.core.wire.pane import Pane
from hotshard.core.wire.route import Epoch, HotKind, RouteState, Treatment
from tests.support.deciding import NOW_MS, PARTITIONS, PLACE, QUICK, SOURCE, TOPIC, Hearing, Traffic, key, setup, spec

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hotshard.core.deciding.decider import Setup

HOT = key(1)
CALM = {key(0, f"t{number}"): 10 for number in range(24)}


class Lived:
    """Seconds of traffic heard by one decider, whose events are collected."""

    def __init__(self, of: TopicSpec | Setup | None = None, **more: Any) -> None:  # noqa: ANN401
        made = setup(of) if isinstance(of, TopicSpec) else of
        self.hearing = Hearing(made, **more)
        self.traffic = Traffic()

    @property
    def now_ms(self) -> int:
        return self.traffic.now_ms

    @property
    def events(self) -> list[Event]:
        return self.hearing.told.events

    @property
    def kinds(self) -> list[EventType]:
        return [event.type for event in self.events]

    def second(self, loads: Mapping[bytes, int], *, gone: Collection[int] = (), ticks: int = 1, error: int = 0) -> None:
        """Everybody but the workers of ``gone`` partitions counts and speaks, then the decider is asked."""
        self.traffic.now_ms += 1000
        places: dict[int, dict[bytes, int]] = {each: {} for each in range(PARTITIONS)}
        for name, load in loads.items():
            places[PLACE(name)][name] = load
        for partition, held in places.items():
            if partition not in gone and held:
                self.hearing.hear(self.traffic.cut(partition, held, error=error), self.now_ms)
        here = [each for each in range(PARTITIONS) if each not in gone]
        if here:
            self.hearing.hear(self.traffic.progress(*here), self.now_ms)
        for number in range(ticks):
            self.hearing.tick(self.now_ms + 250 * number)

    def seconds(self, count: int, loads: Mapping[bytes, int], **more: Any) -> None:  # noqa: ANN401
        for _ in range(count):
            self.second(loads, **more)


def finding(event: Event) -> Finding:
    assert isinstance(event.data, Finding)
    return event.data


def change(event: Event) -> PlanChange:
    assert isinstance(event.data, PlanChange)
    return event.data


FLOOD = CALM | {HOT: 200}
BUSY = CALM | {key(number, "noisy"): 20 for number in range(30)}


# -- heat --------------------------------------------------------------------------------------------


def test_a_flood_is_detected_split_cooled_and_retired_in_this_order() -> None:
    lived = Lived()
    lived.seconds(4, CALM)
    assert lived.kinds == []
    lived.seconds(2, FLOOD)
    lived.seconds(12, CALM)
    keys = [event for event in lived.events if not event.type.startswith("hottenant")]
    assert [event.type for event in keys if event.type is not EventType.PLAN_ACTIVATED] == [
        EventType.HOTKEY_DETECTED,
        EventType.PLAN_PROPOSED,
        EventType.HOTKEY_COOLED,
        EventType.PLAN_RETIRED,
    ]
    assert keys[2].type is EventType.PLAN_ACTIVATED
    assert {event.subject for event in keys} == {f"{TOPIC}/acme\x1fe1"}
    assert lived.hearing.told.routes[HOT].state is RouteState.RETIRED


def test_what_is_detected_is_told_with_its_evidence() -> None:
    lived = Lived()
    lived.seconds(4, CALM)
    lived.second(FLOOD)
    detected = lived.events[0]
    found = finding(detected)
    assert detected.type is EventType.HOTKEY_DETECTED
    assert (found.key, found.tenant, found.topic) == (HOT.decode(), "acme", TOPIC)
    assert found.lower <= 200 <= found.upper <= found.total
    assert found.share == pytest.approx(found.lower / found.total)
    assert found.threshold >= 1
    assert found.completeness == 1.0
    assert found.treatment is Treatment.SPLIT
    assert found.partitions == (PLACE(HOT),)
    assert found.since_ms == lived.now_ms


def test_the_threshold_is_that_of_the_view_which_decided() -> None:
    lived = Lived(spec(mode=Mode.OBSERVE))
    lived.seconds(4, CALM, error=1)
    lived.second(FLOOD, error=1)
    found = finding(lived.events[0])
    assert found.reason == "fast_share"
    lately = [m for _, m in lived.hearing.log if isinstance(m, Pane) and m.cut_ms > lived.now_ms - 2000]
    assert found.threshold == len(lately)  # the sum of their errors


@pytest.mark.parametrize(
    ("changes", "name", "treatment"),
    [
        ({}, HOT, Treatment.SPLIT),
        ({"ordering": Ordering.PER_DISCRIMINATOR}, HOT, Treatment.SPLIT),
        ({"ordering": Ordering.PER_KEY}, HOT, Treatment.REKEY),
        ({"compacted": True}, HOT, Treatment.ISOLATE),
        ({"copartitioned": True}, HOT, Treatment.ISOLATE),
        ({}, b"\x00\x00\x00\x00\x07", Treatment.ISOLATE),
    ],
)
@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.SHADOW, Mode.ACTIVE])
def test_what_is_advised_is_what_may_be_done(
    mode: Mode, changes: dict[str, Any], name: bytes, treatment: Treatment
) -> None:
    lived = Lived(spec(mode=mode, **changes))
    lived.seconds(4, CALM)
    lived.second(CALM | {name: 200})
    assert lived.events[0].type is EventType.HOTKEY_DETECTED
    assert finding(lived.events[0]).treatment is treatment


def test_a_tenant_hot_through_many_lukewarm_keys_is_named_and_routed_nowhere() -> None:
    lived = Lived()
    lived.seconds(3, CALM)
    lived.seconds(4, BUSY)
    (hot,) = lived.events
    assert (hot.type, hot.subject) == (EventType.HOTTENANT_DETECTED, f"{TOPIC}/noisy")
    assert (finding(hot).treatment, finding(hot).tenant) == (Treatment.ISOLATE, "noisy")
    assert lived.hearing.told.routes == {}
    lived.seconds(10, CALM)
    (_, cooled) = lived.events
    assert (cooled.type, cooled.subject) == (EventType.HOTTENANT_COOLED, hot.subject)
    assert finding(cooled).treatment is Treatment.NONE


def test_what_is_hot_stands_in_the_registry_the_heaviest_first() -> None:
    lived = Lived(spec(mode=Mode.OBSERVE))
    lived.seconds(5, CALM | {HOT: 200, key(2): 400, key(3, "globex"): 50, b"\xff\xfe": 300})
    state = lived.hearing.decider.registry_state()
    assert state is not None
    assert [(entry.kind, entry.name) for entry in state.hot if entry.kind is HotKind.KEY] == [
        (HotKind.KEY, key(2)),
        (HotKind.KEY, b"\xff\xfe"),
        (HotKind.KEY, HOT),
    ]
    assert [entry.tenant for entry in state.hot if entry.kind is HotKind.TENANT] == ["acme"]
    assert all(entry.lower <= entry.upper and 0 < entry.share < 1 for entry in state.hot)
    heaviest = state.hot[1]
    assert heaviest.load_per_s == pytest.approx(400, rel=0.5)
    assert state.routes == ()
    lived.seconds(10, CALM)
    after = lived.hearing.decider.registry_state()
    assert after is not None
    assert after.hot == ()
    assert after.version > state.version


def test_a_view_with_a_partition_missing_turns_nothing_off_and_changes_no_plan() -> None:
    lived = Lived(replace(setup(), window_ms=60_000))
    lived.seconds(4, CALM)
    lived.seconds(3, FLOOD)
    before, routes = len(lived.events), dict(lived.hearing.told.routes)
    gone = {(PLACE(HOT) + 1) % PARTITIONS}
    lived.seconds(10, FLOOD, gone=gone)  # a worker's word is believed so long
    lived.seconds(20, CALM, gone=gone)
    kept = [event for event in lived.events[before:] if event.time > lived.events[before - 1].time]
    assert EventType.HOTKEY_COOLED not in [event.type for event in kept]
    assert lived.hearing.told.routes[HOT].state is RouteState.ACTIVE
    assert lived.hearing.told.routes[HOT].suffixes == routes[HOT].suffixes
    lived.seconds(8, CALM)
    assert EventType.HOTKEY_COOLED in lived.kinds
    assert lived.hearing.told.routes[HOT].state is RouteState.RETIRED


def test_what_turns_hot_in_an_incomplete_view_is_named_and_nothing_is_done() -> None:
    of = setup()
    lived = Lived(replace(of, sources={SOURCE: PARTITIONS + 1}))
    lived.seconds(5, FLOOD)
    assert lived.kinds[0] is EventType.HOTKEY_DETECTED
    assert finding(lived.events[0]).completeness == pytest.approx(6 / 7)
    assert lived.hearing.told.routes == {}


def test_a_source_that_nobody_spoke_for_makes_the_view_incomplete() -> None:
    of = spec(sources=(SOURCE, "mirror.other"))
    lived = Lived(of)
    lived.seconds(5, FLOOD)
    assert finding(lived.events[0]).completeness == pytest.approx(0.5)
    assert lived.hearing.told.routes == {}


def test_a_source_that_the_settings_no_longer_name_is_not_waited_for() -> None:
    lived = Lived()
    other = lived.traffic.cut(0, CALM, source="mirror.gone")
    lived.hearing.hear(other, lived.now_ms)
    lived.hearing.hear(lived.traffic.progress(source="mirror.gone", partitions=50), lived.now_ms)
    lived.seconds(5, FLOOD)
    assert finding(lived.events[0]).completeness == 1.0
    assert HOT in lived.hearing.told.routes


def test_a_source_that_got_more_partitions_is_complete_only_with_them() -> None:
    lived = Lived()
    lived.hearing.hear(lived.traffic.progress(partitions=PARTITIONS * 2), lived.now_ms)
    lived.seconds(5, FLOOD)
    assert finding(lived.events[0]).completeness == pytest.approx(0.5)


# -- ids and epochs ----------------------------------------------------------------------------------


def test_ids_are_made_of_topic_key_epoch_and_kind_and_none_is_given_twice() -> None:
    lived = Lived()
    for _ in range(3):
        lived.seconds(3, FLOOD, ticks=3)
        lived.seconds(12, CALM, ticks=3)
    ids = [event.id for event in lived.events]
    assert len(set(ids)) == len(ids) > 12
    retired = next(event for event in lived.events if event.type is EventType.PLAN_RETIRED)
    epoch = change(retired).epoch
    assert retired.id == f"{TOPIC}/acme\x1fe1/{epoch.registry}-{epoch.offset}/plan.retired"
    assert retired.source == "hotshard/test"
    again = Lived()
    for _ in range(3):
        again.seconds(3, FLOOD, ticks=3)
        again.seconds(12, CALM, ticks=3)
    assert [event.id for event in again.events] == ids


def test_a_key_that_is_no_text_is_named_in_base64() -> None:
    lived = Lived(spec(mode=Mode.OBSERVE))
    lived.seconds(5, CALM | {b"\xff\xfe": 200})
    assert lived.events[0].subject == f"{TOPIC}/base64://4="
    assert (finding(lived.events[0]).key, finding(lived.events[0]).key_b64) == (None, "//4=")


def test_one_message_causes_one_turn_so_that_epochs_rise() -> None:
    lived = Lived(spec(policy=replace(QUICK, hold_s=0, off_s=0, resize_s=0)))
    lived.seconds(4, CALM)
    lived.second(FLOOD)
    told, at = len(lived.events), lived.hearing.position - 1
    assert {change(event).epoch for event in lived.events if isinstance(event.data, PlanChange)} == {Epoch(NOW_MS, at)}
    for number in range(1, 9):  # the flood leaves the views, and nobody speaks
        lived.hearing.tick(lived.now_ms + 1000 * number)
    assert len(lived.events) == told
    lived.traffic.now_ms += 8000
    lived.second(CALM)
    assert EventType.PLAN_RETIRED in lived.kinds[told:]
    assert lived.hearing.told.routes[HOT].epoch == Epoch(NOW_MS, lived.hearing.position - 1)


def test_an_epoch_rises_above_what_was_told_before_a_restart() -> None:
    lived = Lived(spec(policy=replace(QUICK, hold_s=0, off_s=0, resize_s=0)))
    lived.seconds(4, CALM)
    lived.second(FLOOD)
    told = len(lived.events)
    lived.hearing.restart(lived.now_ms, setup(spec(mode=Mode.SHADOW)))
    lived.hearing.tick(lived.now_ms)
    assert len(lived.events) == told
    lived.second(FLOOD)
    assert EventType.PLAN_RETIRED in lived.kinds[told:]
    assert len({event.id for event in lived.events}) == len(lived.events)


# -- state -------------------------------------------------------------------------------------------


def test_a_decider_is_silent_until_it_has_heard_all_that_it_had_said() -> None:
    lived = Lived()
    lived.seconds(6, FLOOD)
    hearing = lived.hearing
    log, head = hearing.log, hearing.told.head
    assert head is not None
    assert head.done == hearing.position
    hearing.log = []
    hearing.restart(lived.now_ms)
    for at, message in log:
        assert not hearing.decider.caught_up
        assert hearing.decider.decide(lived.now_ms + 60_000) is None
        hearing.decider.hear(message, at, lived.now_ms)
        hearing.decider.passed(at + 1)
    assert hearing.decider.caught_up
    hearing.decider.decide(lived.now_ms + 60_000)
    assert hearing.decider.decide(lived.now_ms + 120_000) is not None


def test_messages_before_those_it_needs_are_not_heard_again() -> None:
    lived = Lived()
    lived.seconds(30, FLOOD)
    before = len(lived.events)
    hearing = lived.hearing
    hearing.restart(lived.now_ms)
    for at, message in hearing.log:
        hearing.decider.hear(message, at, lived.now_ms)
    assert hearing.decider.decide(lived.now_ms) is None
    assert len(lived.events) == before


def test_the_first_message_of_a_topic_makes_its_state() -> None:
    hearing, traffic = Hearing(every=50), Traffic()
    assert hearing.tick(NOW_MS) is None
    assert hearing.decider.registry_state() is None
    hearing.hear(traffic.progress(), NOW_MS)
    said = hearing.tick(NOW_MS)
    assert said is not None
    assert (said.events, said.reports, said.routes) == ((), (), {})
    assert (said.head.replay_from, said.head.done, said.head.state_version) == (49, 50, 1)
    assert said.registry == hearing.decider.registry_state()
    assert hearing.tick(NOW_MS + 250) is None


def test_since_when_a_key_is_cold_is_written_although_nothing_is_told() -> None:
    lived = Lived(replace(setup(spec(policy=replace(QUICK, off_s=5))), window_ms=600_000))
    lived.seconds(4, CALM)
    lived.seconds(3, FLOOD)
    lived.seconds(5, CALM)
    cold = lived.hearing.told.head
    assert cold is not None
    assert [each.cold_ms is not None for each in cold.keys.hot] == [True]
    lived.seconds(2, FLOOD)
    warm = lived.hearing.told.head
    assert warm is not None
    assert [each.cold_ms for each in warm.keys.hot] == [None]


def test_what_must_be_heard_again_stays_within_seconds_of_the_end() -> None:
    lived = Lived()
    lived.seconds(60, FLOOD)
    head = lived.hearing.told.head
    assert head is not None
    oldest = next(message for at, message in lived.hearing.log if at >= head.replay_from)
    since_ms = oldest.cut_ms if hasattr(oldest, "cut_ms") else oldest.sent_ms
    assert 10_000 <= lived.now_ms - since_ms <= 14_000


def test_a_worker_whose_clock_is_ahead_does_not_hold_the_replay_back() -> None:
    lived = Lived()
    ahead = lived.traffic.cut(0, {key(100): 10}, now_ms=lived.now_ms + 3_600_000)
    lived.hearing.hear(ahead, lived.now_ms)
    lived.hearing.hear(lived.traffic.progress(now_ms=lived.now_ms + 3_600_000), lived.now_ms)
    lived.seconds(30, CALM)
    head = lived.hearing.told.head
    assert head is not None
    assert head.replay_from > 100


def test_a_partition_told_of_by_a_clock_ahead_is_not_believed_for_longer() -> None:
    lived = Lived()
    lived.hearing.hear(lived.traffic.progress(now_ms=lived.now_ms + 3_600_000), lived.now_ms)
    gone = {(PLACE(HOT) + 1) % PARTITIONS}
    lived.seconds(12, FLOOD, gone=gone)
    lived.seconds(1, FLOOD | {key(5): 300}, gone=gone)
    named = [event for event in lived.events if event.subject.endswith("e5")]
    assert finding(named[0]).completeness == pytest.approx(5 / 6)


def test_the_version_rises_with_every_word_and_the_registry_epoch_stays() -> None:
    lived = Lived()
    versions = []
    for _ in range(6):
        lived.second(FLOOD)
        head = lived.hearing.told.head
        assert head is not None
        assert head.registry_epoch == NOW_MS
        versions.append(head.state_version)
        lived.hearing.restart(lived.now_ms)
    assert versions == sorted(versions)
    state = lived.hearing.decider.registry_state()
    assert state is not None
    assert (state.epoch, state.version) == (NOW_MS, versions[-1])
    assert state.routes == tuple(lived.hearing.told.routes.values())


def test_a_topic_without_its_state_begins_anew_with_a_higher_epoch() -> None:
    lived = Lived()
    lived.seconds(5, FLOOD)
    first = lived.hearing.told
    later = Hearing(now_ms=lived.now_ms)
    later.hear(lived.traffic.progress(), lived.now_ms)
    said = later.tick(lived.now_ms)
    assert said is not None
    assert first.head is not None
    assert said.registry.epoch > first.head.registry_epoch
