"""A tenant's own policy is the one that counts wherever its keys are judged, planned, and given up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hotshard.core.deciding.effect import SHOW_S
from hotshard.core.topic import Field, Mode, Place
from hotshard.core.wire.event import EventType, Finding, Ineffective
from hotshard.core.wire.pane import HeavyList, Row
from hotshard.core.wire.route import RouteState
from tests.support.deciding import PLACE, QUICK, Hearing, Traffic, key, setup, spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.report import WindowReport
    from hotshard.core.wire.route import Route

HOT, OTHER = key(1), key(1, "other")
CALM = {key(0, f"t{number}"): 2 for number in range(300)}


class Lived:
    """Seconds of traffic heard by one decider. Where ``owners`` are given, tenants stand beside the keys."""

    def __init__(self, of: TopicSpec, owners: Mapping[bytes, bytes] | None = None) -> None:
        self.hearing = Hearing(setup(of))
        self.traffic = Traffic()
        self._owners = owners

    @property
    def report(self) -> WindowReport:
        return self.hearing.told.reports[-1]

    def route(self, name: bytes) -> Route:
        return self.hearing.told.routes[name]

    def findings(self, kind: EventType) -> list[Finding]:
        told = [event.data for event in self.hearing.told.events if event.type is kind]
        return [each for each in told if isinstance(each, Finding)]

    def seconds(self, count: int, loads: Mapping[bytes, int]) -> None:
        for _ in range(count):
            self.traffic.now_ms += 1000
            for partition in self.traffic.offsets:
                held = {name: load for name, load in loads.items() if PLACE(name) == partition}
                self.hearing.hear(self.traffic.cut(partition, held, **self._beside(held)), self.traffic.now_ms)
            self.hearing.hear(self.traffic.progress(), self.traffic.now_ms)
            self.hearing.tick(self.traffic.now_ms)

    def _beside(self, held: Mapping[bytes, int]) -> dict[str, Any]:
        if self._owners is None:
            return {}
        loads: dict[bytes, int] = {}
        for name, load in held.items():
            loads[self._owners[name]] = loads.get(self._owners[name], 0) + load
        rows = tuple(Row(name, load, load) for name, load in sorted(loads.items(), key=lambda each: -each[1]))
        return {"tenants": HeavyList(rows), "tenant_of": {name: self._owners[name] for name in held}}


def lived(policy: object = QUICK, **changes: Any) -> Lived:  # noqa: ANN401 - any field of the spec
    return Lived(spec(policy=policy, mode=Mode.SHADOW, **changes))


@pytest.mark.parametrize("shards", [2, 64])
def test_a_report_promises_what_the_plan_that_its_tenants_policy_allows_would_bring(shards: int) -> None:
    here = lived(tenant_policies={"acme": replace(QUICK, max_shards=shards)})
    here.seconds(14, CALM | {HOT: 400})
    planned = here.route(HOT).imbalance_after
    assert here.report.numbers["imbalance_after"] == pytest.approx(planned, abs=0.02)
    assert planned is not None
    assert (planned > 1.5) == (shards == 2)


def test_a_report_finds_hot_what_is_so_by_its_tenants_policy_alone() -> None:
    strict = replace(QUICK, on_share=0.9, tenant_on_share=0.9)
    here = lived(strict, tenant_policies={"acme": replace(strict, on_share=0.2)})
    here.seconds(14, CALM | {HOT: 400})
    assert here.report.cause == "hot_key"
    assert [each.key for each in here.findings(EventType.HOTKEY_DETECTED)] == [HOT.decode()]


def test_a_key_is_measured_by_what_a_partition_takes_of_its_tenant() -> None:
    compacted = {"compacted": True, "tenant_policies": {"acme": replace(QUICK, partition_capacity_per_s=100)}}
    here = lived(**compacted)
    here.seconds(14, CALM | {HOT: 400})
    assert (here.report.treatment, here.report.numbers["capacity_per_s"]) == ("throttle", 100)
    here = lived(**compacted)
    here.seconds(14, CALM | {OTHER: 400})
    assert here.report.treatment == "isolate"
    assert "capacity_per_s" not in here.report.numbers


def test_what_is_told_at_once_rests_on_the_tenants_policy() -> None:
    for per_s, treatment in ((50, "throttle"), (None, "isolate")):
        own = replace(QUICK, partition_capacity_per_s=per_s)
        here = lived(compacted=True, tenant_policies={"acme": own})
        here.seconds(6, CALM | {HOT: 400})
        (found,) = here.findings(EventType.HOTKEY_DETECTED)
        assert found.treatment == treatment


def test_of_a_tenant_that_is_hot_by_one_key_the_keys_remedy_is_told() -> None:
    here = lived()
    here.seconds(6, CALM | {HOT: 400})
    (tenant,) = here.findings(EventType.HOTTENANT_DETECTED)
    assert (tenant.key, tenant.cause, tenant.treatment) == ("acme", "hot_key", "split")
    here = lived()
    here.seconds(6, CALM | {key(number): 4 for number in range(100)})
    (tenant,) = here.findings(EventType.HOTTENANT_DETECTED)
    assert (tenant.key, tenant.cause, tenant.treatment) == ("acme", "hot_tenant", "isolate")


def test_a_tenant_beside_the_key_is_in_its_route_and_its_policy_makes_the_plan() -> None:
    owners = dict.fromkeys((*CALM, OTHER), b"others") | {HOT: b"beside"}
    own = replace(QUICK, min_shards=6)
    of = spec(tenant=Field(Place.HEADER, "t"), tenant_policies={"beside": own})
    for hot, tenant, wide in ((HOT, "beside", True), (OTHER, "others", False)):
        here = Lived(of, owners)
        here.seconds(4, CALM)
        here.seconds(3, CALM | {hot: 400})
        route = here.route(hot)
        assert (route.tenant, len(route.partitions) == 6) == (tenant, wide)


def test_a_plan_that_did_not_help_is_given_up_as_the_policy_of_a_tenant_beside_the_key_says() -> None:
    owners = dict.fromkeys((*CALM, OTHER), b"others") | {HOT: b"beside"}
    own = replace(QUICK, retire_ineffective=True, flap_window_s=30)
    of = spec(tenant=Field(Place.HEADER, "t"), tenant_policies={"beside": own})
    for hot, given_up in ((HOT, True), (OTHER, False)):
        here = Lived(of, owners)
        here.seconds(4, CALM)
        here.seconds(int(SHOW_S) + 15, CALM | {hot: 400})
        (missed,) = [each.data for each in here.hearing.told.events if each.type is EventType.PLAN_INEFFECTIVE]
        assert isinstance(missed, Ineffective)
        assert missed.retired is given_up
        assert (here.route(hot).state is RouteState.RETIRED) is given_up
        here.seconds(30, CALM | {hot: 400})
        assert here.route(hot).state is RouteState.ACTIVE
