"""The policy as a decider obeys it: every threshold, tenants' own, and what outlasts a restart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import pytest

from hotshard.core.wire.event import EventType, Finding
from hotshard.core.wire.route import RouteState
from tests.support.deciding import PARTITIONS, PLACE, QUICK, Hearing, Traffic, key, setup, spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.policy.thresholds import Policy
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.event import Event

HOT = key(1)
#: Ten keys of each of 24 tenants, 4 a second each.
CALM = {key(number, f"t{number % 24}"): 4 for number in range(240)}
#: The same but in the partition of the hot key.
ELSEWHERE = {name: load for name, load in CALM.items() if PLACE(name) != PLACE(HOT)}


class Lived:
    """Seconds of traffic heard by one decider."""

    def __init__(self, of: TopicSpec) -> None:
        self.hearing = Hearing(setup(of))
        self.traffic = Traffic()

    def seconds(self, count: int, loads: Mapping[bytes, int]) -> list[Event]:
        """What is told in these seconds."""
        before = len(self.hearing.told.events)
        for _ in range(count):
            self.traffic.now_ms += 1000
            for partition in range(PARTITIONS):
                held = {name: load for name, load in loads.items() if PLACE(name) == partition}
                self.hearing.hear(self.traffic.cut(partition, held), self.traffic.now_ms)
            self.hearing.hear(self.traffic.progress(), self.traffic.now_ms)
            self.hearing.tick(self.traffic.now_ms)
        return self.hearing.told.events[before:]


def lived(policy: Policy = QUICK, **changes: Any) -> Lived:  # noqa: ANN401 - any field of the spec
    return Lived(spec(policy=policy, **changes))


def findings(events: list[Event]) -> list[tuple[str, str | None, str]]:
    return [(event.type, event.data.key, event.data.reason) for event in events if isinstance(event.data, Finding)]


def numbers(events: list[Event]) -> dict[str, float]:
    return next(event.data.numbers for event in events if isinstance(event.data, Finding))


def test_a_rate_makes_hot_what_is_no_share() -> None:
    policy = replace(QUICK, on_share=0.5, on_load_per_s=60)
    events = lived(policy).seconds(6, CALM | {HOT: 70})
    assert findings(events) == [("hotkey.detected", HOT.decode(), "slow_rate")]
    assert numbers(events) == {"on_share": 0.5, "on_load_per_s": 60, "floor_name_per_s": 5, "flaps": 1}
    assert findings(lived(policy).seconds(6, CALM | {HOT: 50})) == []


def test_a_share_of_its_own_partition_makes_hot_what_is_no_share_of_the_topic() -> None:
    policy = replace(QUICK, on_share=1.0, on_partition_share=0.5)
    assert findings(lived(policy).seconds(6, ELSEWHERE | {HOT: 100})) == [
        ("hotkey.detected", HOT.decode(), "fast_partition_share")
    ]
    assert findings(lived(policy).seconds(6, CALM | {HOT: 100})) == []


def test_a_split_key_stays_as_hot_to_its_partition_as_it_was() -> None:
    policy = replace(QUICK, on_share=0.9, on_partition_share=0.5, keep_ratio=0.9)
    world = lived(policy)
    told = world.seconds(6, ELSEWHERE | {HOT: 700})
    (route,) = world.hearing.told.routes.values()
    assert (told[0].type, route.state) == (EventType.HOTKEY_DETECTED, RouteState.ACTIVE)
    shards = [f"{HOT.decode()}\x1f{suffix}".encode() for suffix in route.suffixes]
    spread = {name: 700 // len(shards) for name in shards}
    assert not findings(world.seconds(20, ELSEWHERE | spread))


def test_each_tenant_has_its_own_policy_also_for_itself() -> None:
    loud = key(1, "loud")
    tenants = {"loud": replace(QUICK, on_share=0.9, tenant_on_share=0.9)}
    traffic = CALM | {HOT: 300, loud: 900}
    assert findings(lived(tenant_policies=tenants).seconds(6, traffic)) == [
        ("hotkey.detected", HOT.decode(), "fast_share")
    ]
    both = {kind for kind, _, _ in findings(lived().seconds(6, traffic))}
    assert both == {"hotkey.detected", "hottenant.detected"}


@pytest.mark.parametrize(
    "made",
    [
        {"policy": replace(QUICK, tenant_on_load_per_s=80)},
        {"tenant_policies": {"t1": replace(QUICK, tenant_on_share=0.08)}},
    ],
)
def test_a_window_says_why_of_what_is_hot_by_a_rate_or_by_a_policy_of_its_own(made: dict[str, Any]) -> None:
    traffic = {name: 10 if name.startswith(b"t1\x1f") else load for name, load in CALM.items()}
    world = lived(**made)
    assert findings(world.seconds(8, traffic)) == [("hottenant.detected", "t1", ANY)]
    report = world.hearing.told.reports[-1]
    assert (report.hot_tenants, report.cause) == (("t1",), "hot_tenant")


def test_a_window_says_why_of_what_is_hot_by_a_share_of_its_own_partition() -> None:
    world = lived(replace(QUICK, on_share=1.0, on_partition_share=0.5))
    world.seconds(8, ELSEWHERE | {HOT: 400})
    report = world.hearing.told.reports[-1]
    assert (report.hot_keys, report.cause) == ((HOT.decode(),), "hot_key")


def test_what_is_only_held_hot_is_not_why_a_window_is_as_it_is() -> None:
    world = lived(replace(QUICK, hold_s=30))
    world.seconds(6, CALM | {HOT: 400})
    world.seconds(8, CALM)
    report = world.hearing.told.reports[-1]
    assert (report.hot_keys, report.cause) == ((HOT.decode(),), "none")


def test_what_flaps_is_held_and_that_outlasts_a_restart() -> None:
    policy = replace(QUICK, cool_down_s=0, max_flaps=2, flap_window_s=60)
    world, told = lived(policy), []
    for _ in range(2):
        told += world.seconds(4, CALM | {HOT: 400})
        told += world.seconds(10, CALM)
        world.hearing.restart(world.traffic.now_ms)
    keys = [(kind, reason) for kind, name, reason in findings(told) if name == HOT.decode()]
    assert keys == [
        ("hotkey.detected", "fast_share"),
        ("hotkey.cooled", "gone"),
        ("hotkey.detected", "flapping"),
    ]
    head = world.hearing.told.head
    assert head is not None
    assert HOT in {each.name for each in head.keys.hot}
    world.hearing.restart(world.traffic.now_ms)
    cooled = findings(world.seconds(60, CALM))
    assert [(kind, reason) for kind, name, reason in cooled if name == HOT.decode()] == [("hotkey.cooled", "gone")]


def test_in_its_cool_down_a_key_needs_twice_the_load_and_that_outlasts_a_restart() -> None:
    policy = replace(QUICK, on_share=0.1, tenant_on_share=1.0, cool_down_s=30, cool_down_ratio=2)
    world = lived(policy)
    assert len(findings(world.seconds(4, CALM | {HOT: 400}) + world.seconds(10, CALM))) == 2
    world.hearing.restart(world.traffic.now_ms)
    assert findings(world.seconds(8, CALM | {HOT: 130})) == []
    assert len(findings(world.seconds(4, CALM | {HOT: 400}))) == 1


def test_a_partition_within_its_capacity_is_let_be() -> None:
    traffic = CALM | {HOT: 900}
    roomy = lived(replace(QUICK, partition_capacity_per_s=2_000))
    assert [kind for kind, name, _ in findings(roomy.seconds(8, traffic)) if name == HOT.decode()] == [
        "hotkey.detected"
    ]
    assert roomy.hearing.told.routes == {}
    full = lived(replace(QUICK, partition_capacity_per_s=300))
    assert EventType.PLAN_ACTIVATED in {event.type for event in full.seconds(8, traffic)}
