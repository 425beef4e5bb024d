"""What a decider says of closed windows: why, whether a skew lasts, and whether a plan does what it promised."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hotshard.core.causes.evidence import LagEvidence, PartitionLag
from hotshard.core.deciding.effect import SHOW_S, WINDOWS
from hotshard.core.deciding.recalled import RECENT
from hotshard.core.keys import with_suffix
from hotshard.core.topic import Field, Mode, Ordering, Pin, Place
from hotshard.core.wire import event as wire_event
from hotshard.core.wire.event import Event, EventType, Finding, Ineffective, PlanChange, Skewed
from hotshard.core.wire.route import RouteState, Treatment
from tests.support.deciding import NOW_MS, PARTITIONS, PLACE, QUICK, SOURCE, Hearing, Traffic, key, setup, spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.report import WindowReport
    from hotshard.core.wire.route import Route

HOT = key(1)
CALM = {key(0, f"t{number}"): 2 for number in range(300)}
FLOOD = CALM | {HOT: 400}


class Lived:
    """Seconds of traffic heard by one decider; keys lie where the partitioner puts them, or where they are put."""

    def __init__(self, of: TopicSpec | None = None, owners: Mapping[bytes, bytes] | None = None) -> None:
        self.hearing = Hearing(setup(of or spec()))
        self.traffic = Traffic()
        #: The tenants that were seen beside keys.
        self.owners = owners

    @property
    def events(self) -> list[Event]:
        return self.hearing.told.events

    @property
    def reports(self) -> list[WindowReport]:
        return self.hearing.told.reports

    def of(self, kind: EventType) -> list[Event]:
        return [event for event in self.events if event.type is kind]

    def route(self) -> Route:
        return self.hearing.told.routes[HOT]

    def second(self, loads: Mapping[bytes, int], places: Mapping[bytes, int] | None = None) -> None:
        self.traffic.now_ms += 1000
        there: dict[int, dict[bytes, int]] = {each: {} for each in range(PARTITIONS)}
        for name, load in loads.items():
            there[(places or {}).get(name, PLACE(name))][name] = load
        for partition, held in there.items():
            if held:
                pane = self.traffic.cut(partition, held, tenant_of=self.owners)
                self.hearing.hear(pane, self.traffic.now_ms)
        self.hearing.hear(self.traffic.progress(), self.traffic.now_ms)
        self.hearing.tick(self.traffic.now_ms)

    def seconds(self, count: int, loads: Mapping[bytes, int], places: Mapping[bytes, int] | None = None) -> None:
        for _ in range(count):
            self.second(loads, places)

    def split(self) -> Route:
        """Let the flood begin and be split."""
        self.seconds(4, CALM)
        self.seconds(3, FLOOD)
        assert self.route().state is RouteState.ACTIVE
        return self.route()


def shards(route: Route, parts: Mapping[int, int]) -> dict[bytes, int]:
    """The load of the hot key by number of its shard."""
    return {with_suffix(HOT, route.suffixes[shard]): load for shard, load in parts.items()}


def followed(route: Route) -> dict[bytes, int]:
    count = len(route.suffixes)
    return CALM | shards(route, dict.fromkeys(range(count), 400 // count))


def long_enough() -> int:
    return int(SHOW_S) + 2 * WINDOWS + 10


# -- verdicts ----------------------------------------------------------------------------------------


def test_an_even_window_says_that_nothing_is_wrong() -> None:
    lived = Lived()
    lived.seconds(12, CALM)
    report = lived.reports[-1]
    assert (report.cause, report.treatment, report.reason) == ("none", "none", "even")
    assert report.advice.startswith("Nothing is wrong")
    assert "lag" in report.unjudged
    assert report.numbers["imbalance"] == pytest.approx(report.skew.imbalance, abs=1e-6)


def test_a_flooded_window_names_the_cause_and_what_would_help() -> None:
    lived = Lived(spec(mode=Mode.SHADOW))
    lived.seconds(2, CALM)
    lived.seconds(14, FLOOD)
    report = lived.reports[-1]
    assert (report.cause, report.treatment) == ("hot_key", "split")
    assert "'acme/e1'" in report.advice
    assert 1 <= report.numbers["imbalance_after"] < report.numbers["imbalance"]


def test_a_key_that_must_stay_in_order_is_to_be_made_finer() -> None:
    lived = Lived(spec(ordering=Ordering.PER_KEY))
    lived.seconds(16, FLOOD)
    report = lived.reports[-1]
    assert (report.cause, report.treatment, report.reason) == ("hot_key", "rekey", "per_key_order")
    assert report.application == ("composite_key", "cache_in_front")


def test_a_plan_that_is_followed_leaves_nothing_wrong() -> None:
    lived = Lived()
    lived.seconds(20, followed(lived.split()))
    report = lived.reports[-1]
    assert (report.cause, report.reason) == ("none", "plan_holds")


def test_a_flood_of_a_moment_is_a_burst() -> None:
    lived = Lived(spec(mode=Mode.SHADOW))
    lived.seconds(16, CALM)
    lived.seconds(4, FLOOD)
    lived.seconds(6, CALM)
    causes = [report.cause for report in lived.reports]
    assert "burst" in causes
    assert "hot_key" not in causes
    assert causes[-1] == "none"


def test_a_key_seen_where_another_partitioner_puts_it_is_told() -> None:
    lived = Lived(spec(mode=Mode.SHADOW))
    name = key(7, "torn")
    other = (PLACE(name) + 1) % PARTITIONS
    lived.seconds(12, CALM | {name: 20}, {name: other})
    report = lived.reports[-1]
    assert report.cause == "mixed_partitioners" or "mixed_partitioners" in report.also


def test_records_without_a_key_on_one_partition_are_told() -> None:
    lived = Lived()
    for _ in range(12):
        lived.traffic.now_ms += 1000
        for partition in range(PARTITIONS):
            unkeyed = 600 if partition == 4 else 0
            end = lived.traffic.offsets[partition] + 20 + unkeyed
            cut = lived.traffic.cut(
                partition, {key(partition, "few"): 20}, records=20 + unkeyed, unkeyed=unkeyed, end=end
            )
            lived.hearing.hear(cut, lived.traffic.now_ms)
        lived.hearing.hear(lived.traffic.progress(), lived.traffic.now_ms)
        lived.hearing.tick(lived.traffic.now_ms)
    report = lived.reports[-1]
    assert (report.cause, report.reason) == ("no_key", "unkeyed_pinned")
    assert report.numbers["whole_hottest"] == 4


def test_lag_is_wanted_though_load_is_even_and_judged_when_it_was_heard() -> None:
    lived = Lived(spec(groups=("billing",)))
    lived.seconds(6, CALM)
    decider = lived.hearing.decider
    assert (lived.reports[-1].cause, decider.wants_lag, decider.is_wrong) == ("none", ("billing",), False)
    stuck = PartitionLag(partition=1, committed=41, end=5000, committed_before=41, end_before=42, since_s=600)
    others = (
        PartitionLag(partition=each, committed=900, end=900, committed_before=0, end_before=0, since_s=600)
        for each in range(PARTITIONS)
        if each != 1
    )
    lived.hearing.decider.hear_lag([LagEvidence(group="billing", partitions=(stuck, *others))])
    lived.seconds(12, CALM)
    report = lived.reports[-1]
    assert (report.cause, report.treatment, report.reason) == ("stuck_partition", "dead_letter", "poison_record")
    assert decider.is_wrong
    assert "lag" not in report.unjudged
    lived.hearing.decider.hear_lag([])
    lived.seconds(6, CALM)
    assert "lag" in lived.reports[-1].unjudged


def test_a_revision_decides_nothing() -> None:
    lived = Lived()
    lived.seconds(12, CALM)
    late = lived.traffic.cut(0, {key(0, "late"): 500}, now_ms=NOW_MS + 2000, time_ms=NOW_MS + 1500, live=False)
    lived.hearing.hear(late, lived.traffic.now_ms)
    lived.seconds(8, CALM)
    revisions = [report for report in lived.reports if report.revision]
    assert revisions
    assert {(report.cause, report.advice) for report in revisions} == {("", "")}


# -- a skew that lasts -------------------------------------------------------------------------------


def test_a_topic_is_skewed_once_it_has_been_so_for_a_minute_and_told_once() -> None:
    lived = Lived(spec(mode=Mode.OBSERVE))
    lived.seconds(10, CALM)
    skewed = CALM | {HOT: 2000}
    lived.seconds(50, skewed)
    assert lived.of(EventType.PARTITION_SKEW) == []
    lived.seconds(40, skewed)
    (event,) = lived.of(EventType.PARTITION_SKEW)
    data = event.data
    assert isinstance(data, Skewed)
    assert data.partition == PLACE(HOT)
    assert data.ratio > 5
    assert data.end_ms - data.since_ms >= 60_000
    assert (data.cause, data.treatment) == ("hot_key", "split")
    assert event.id == f"orders/partition {PLACE(HOT)}/{NOW_MS}-{data.end_ms}/partition.skew"
    assert b'"kind":"skew"' in wire_event.encode(event)

    lived.seconds(10, CALM)
    lived.seconds(80, skewed)
    assert len(lived.of(EventType.PARTITION_SKEW)) == 2


def test_a_skew_that_goes_on_through_a_restart_is_told_once() -> None:
    lived = Lived(spec(mode=Mode.OBSERVE))
    skewed = CALM | {HOT: 2000}
    lived.seconds(40, skewed)
    lived.hearing.restart(lived.traffic.now_ms)
    lived.seconds(40, skewed)
    lived.hearing.restart(lived.traffic.now_ms)
    lived.seconds(40, skewed)
    assert len(lived.of(EventType.PARTITION_SKEW)) == 1


def test_two_short_skews_with_silence_between_them_are_no_long_one() -> None:
    lived = Lived(spec(mode=Mode.OBSERVE))
    skewed = CALM | {HOT: 2000}
    lived.seconds(40, skewed)
    lived.seconds(100, {})
    lived.seconds(40, skewed)
    assert lived.of(EventType.PARTITION_SKEW) == []


# -- did it help -------------------------------------------------------------------------------------


def ineffective(lived: Lived) -> list[Ineffective]:
    return [event.data for event in lived.of(EventType.PLAN_INEFFECTIVE) if isinstance(event.data, Ineffective)]


def test_a_plan_that_is_followed_is_not_called_ineffective() -> None:
    lived = Lived()
    route = lived.split()
    lived.seconds(long_enough(), followed(route))
    assert ineffective(lived) == []


def test_producers_that_do_not_follow_are_told_once_with_both_numbers() -> None:
    lived = Lived()
    route = lived.split()
    lived.seconds(int(SHOW_S), FLOOD)
    assert ineffective(lived) == []
    lived.seconds(3 * long_enough(), FLOOD)
    (missed,) = ineffective(lived)
    assert missed.reason == "producers_without_library"
    assert missed.epoch == route.epoch
    assert (missed.imbalance_before, missed.imbalance_promised) == (route.own_before, route.own_after)
    assert missed.imbalance_promised == pytest.approx(route.imbalance_after)
    assert missed.imbalance_measured > 2 * missed.imbalance_promised
    assert missed.numbers["base_share"] == pytest.approx(1)
    assert missed.windows == 3
    assert missed.end_ms - route.changed_ms >= 26_000  # 20 s to show, and three windows of 2 s
    assert missed.start_ms >= route.changed_ms + SHOW_S * 1000
    assert not missed.retired
    assert lived.route().state is RouteState.ACTIVE


def test_a_plan_is_held_against_its_own_partitions_though_another_key_keeps_the_topic_as_uneven() -> None:
    untouched = next(key(number, "other") for number in range(9) if PLACE(key(number, "other")) != PLACE(HOT))
    lived = Lived(spec(pins={untouched.decode(): Pin(None)}))
    lived.seconds(4, CALM)
    lived.seconds(3, FLOOD | {untouched: 500})
    route = lived.route()
    assert route.imbalance_after == pytest.approx(route.imbalance_before), "that of the topic no plan can mend"
    assert route.own_after is not None
    assert route.own_before is not None
    assert route.own_after < 0.7 * route.own_before
    lived.seconds(2 * long_enough(), FLOOD | {untouched: 500})
    assert [missed.reason for missed in ineffective(lived)] == ["producers_without_library"]


def test_one_shard_that_has_nearly_everything_is_told() -> None:
    lived = Lived()
    route = lived.split()
    rest = dict.fromkeys(range(1, len(route.suffixes)), 2)
    lived.seconds(long_enough(), CALM | shards(route, {0: 400} | rest))
    assert [missed.reason for missed in ineffective(lived)] == ["skewed_discriminator"]


def test_others_that_crowd_its_partitions_are_told() -> None:
    lived = Lived(spec(policy=replace(QUICK, on_share=0.35, fast_ratio=1)))
    route = lived.split()
    crowd = Counter({key(number, "crowd"): 40 for number in range(200) if PLACE(key(number, "crowd")) == PLACE(HOT)})
    lived.seconds(long_enough(), followed(route) | dict(list(crowd.items())[:25]))
    assert [missed.reason for missed in ineffective(lived)][:1] == ["others_crowd_it"]


def test_a_plan_that_does_not_help_is_retired_where_the_policy_says_so() -> None:
    lived = Lived(spec(policy=replace(QUICK, retire_ineffective=True, flap_window_s=60)))
    lived.split()
    lived.seconds(long_enough(), FLOOD)
    (missed,) = ineffective(lived)
    assert missed.retired
    retired = [event.data for event in lived.of(EventType.PLAN_RETIRED)]
    assert [each.reason for each in retired if isinstance(each, PlanChange)] == ["ineffective"]
    assert lived.route().state is RouteState.RETIRED
    lived.seconds(20, FLOOD)
    assert lived.route().state is RouteState.RETIRED
    lived.seconds(50, FLOOD)
    assert lived.route().state is RouteState.ACTIVE


@pytest.mark.parametrize("tenant", [Field(Place.KEY), Field(Place.HEADER, "tenant")])
def test_a_plan_that_does_not_help_ends_as_the_policy_of_its_tenant_says_wherever_that_stands(tenant: Field) -> None:
    beside = tenant.place is not Place.KEY
    own = {"acme": replace(QUICK, retire_ineffective=True, flap_window_s=30)}
    lived = Lived(spec(tenant=tenant, tenant_policies=own), {HOT: b"acme"} if beside else None)
    assert lived.split().tenant == "acme"
    lived.seconds(long_enough(), FLOOD)
    assert [(missed.tenant, missed.retired) for missed in ineffective(lived)] == [("acme", True)]
    lived.seconds(30, FLOOD)
    assert lived.route().state is RouteState.ACTIVE, "its flap window is over, the topic's is not"


def test_a_plan_in_shadow_has_no_effect_to_be_judged() -> None:
    lived = Lived(spec(mode=Mode.SHADOW))
    lived.seconds(4, CALM)
    lived.seconds(2 * long_enough(), FLOOD)
    assert lived.route().treatment is Treatment.SPLIT
    assert ineffective(lived) == []


def test_what_is_remembered_stays_small() -> None:
    lived = Lived()
    lived.seconds(60, CALM)
    assert lived.hearing.told.head is not None
    assert len(lived.hearing.told.head.judging.windows) == RECENT
    assert SOURCE in lived.hearing.setup.sources


def test_what_turns_hot_is_told_with_why_and_what_to_do() -> None:
    lived = Lived(spec(ordering=Ordering.PER_KEY, mode=Mode.SHADOW))
    lived.seconds(4, CALM)
    lived.seconds(3, FLOOD)
    lived.seconds(20, CALM)
    (detected,) = [event.data for event in lived.of(EventType.HOTKEY_DETECTED)]
    (cooled,) = [event.data for event in lived.of(EventType.HOTKEY_COOLED)]
    assert isinstance(detected, Finding)
    assert isinstance(cooled, Finding)
    assert (detected.cause, detected.treatment) == ("hot_key", Treatment.REKEY)
    assert "must stay in order" in detected.advice
    assert (cooled.cause, cooled.advice) == ("", "")
