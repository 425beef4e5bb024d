"""What holds of the heat machine whatever the traffic, the clock and the crashes."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.policy.evidence import Heat, Totals, ViewTotals
from hotshard.core.policy.machine import HeatMachine, HeatMemory
from hotshard.core.policy.thresholds import Policy
from hotshard.core.wire.route import HotKind

NAMES = (b"a", b"b", b"c")


class Bounds(NamedTuple):
    lower: int
    upper: int


class Moment(NamedTuple):
    later_ms: int
    views: ViewTotals
    heats: tuple[Heat, ...]


#: Loads at and around the limits as well as anything between, of a topic with 1,000 a second.
loads = st.sampled_from((0, 1, 100, 113, 114, 200, 227, 228, 500, 1_000, 1_500)) | st.integers(0, 2_000)
bounds = st.builds(lambda lower, slack: Bounds(lower, lower + slack), loads, st.sampled_from((0, 0, 50, 1_000)))
completeness = st.sampled_from((1.0, 1.0, 1.0, 0.9, 0.0))
fast_views = st.builds(Totals, st.sampled_from((0, 2_000)), st.sampled_from((0.0, 0.5, 2.0)), completeness)
slow_views = st.builds(Totals, st.sampled_from((0, 10_000)), st.sampled_from((0.0, 0.9, 2.0, 10.0, 10.0)), completeness)
heats = st.builds(Heat, st.sampled_from(NAMES), st.none() | bounds, bounds)
moments = st.builds(
    Moment,
    st.sampled_from((1, 100, 500, 1_000, 4_999, 5_000, 20_000)),
    st.builds(ViewTotals, fast_views, slow_views),
    st.lists(heats, max_size=4).map(tuple),
)
traffic = st.lists(moments, max_size=40)
policies = st.builds(
    Policy,
    hold_s=st.sampled_from((0.0, 1.0, 20.0)),
    off_s=st.sampled_from((0.0, 0.5, 5.0)),
    on_share=st.none() | st.sampled_from((0.01, 0.2)),
    off_ratio=st.sampled_from((0.1, 0.5, 0.99)),
    floor_name_per_s=st.sampled_from((0.0, 20.0)),
    floor_fast=st.sampled_from((0, 200)),
)
kinds = st.sampled_from(HotKind)


@given(policies, kinds, traffic, st.data())
def test_a_machine_made_from_the_memory_of_another_goes_on_as_that_one_would(
    policy: Policy, kind: HotKind, moments: list[Moment], data: st.DataObject
) -> None:
    steady, now_ms = HeatMachine(policy, 12, kind=kind), 1_000_000
    crashing = HeatMachine(policy, 12, kind=kind)
    for later_ms, views, given_heats in moments:
        now_ms += later_ms
        if data.draw(st.booleans()):
            crashing = HeatMachine(policy, 12, kind=kind, memory=crashing.memory())
        assert crashing.step(now_ms, views, given_heats) == steady.step(now_ms, views, given_heats)
        assert crashing.memory() == steady.memory()


@given(policies, kinds, traffic)
def test_nothing_flips_faster_than_its_hold(policy: Policy, kind: HotKind, moments: list[Moment]) -> None:
    machine, now_ms = HeatMachine(policy, 12, kind=kind), 1_000_000
    since_ms: dict[bytes, int] = {}
    for later_ms, views, given_heats in moments:
        now_ms += later_ms
        for turned in machine.step(now_ms, views, given_heats):
            if turned.hot:
                assert turned.name not in since_ms
                since_ms[turned.name] = now_ms
            else:
                assert now_ms - since_ms.pop(turned.name) >= policy.hold_s * 1000
        assert machine.hot == since_ms.keys()


def looks_cold(policy: Policy, on_share: float, slow: Totals, upper: int) -> bool:
    if slow.span_s < 1 or slow.completeness < 1:
        return False
    small_share = slow.load > 0 and upper / slow.load < on_share * policy.off_ratio
    return small_share or upper / slow.span_s < policy.floor_name_per_s * policy.off_ratio


@given(policies, kinds, traffic)
def test_what_turns_cold_was_seen_cold_without_a_break_for_the_off_time(
    policy: Policy, kind: HotKind, moments: list[Moment]
) -> None:
    machine, now_ms = HeatMachine(policy, 12, kind=kind), 1_000_000
    not_cold_ms: dict[bytes, int] = defaultdict(lambda: now_ms)
    for later_ms, views, given_heats in moments:
        now_ms += later_ms
        shown = {heat.name: heat for heat in given_heats}
        for name in NAMES:
            if name not in shown or not looks_cold(policy, machine.limits.on_share, views.slow, shown[name].slow.upper):
                not_cold_ms[name] = now_ms
        for turned in machine.step(now_ms, views, given_heats):
            if turned.hot:
                not_cold_ms[turned.name] = now_ms
            else:
                assert now_ms - not_cold_ms[turned.name] >= policy.off_s * 1000


@given(policies, kinds, traffic)
def test_whatever_turns_hot_has_the_least_load_in_the_view_that_tells(
    policy: Policy, kind: HotKind, moments: list[Moment]
) -> None:
    machine, now_ms = HeatMachine(policy, 12, kind=kind), 1_000_000
    for later_ms, views, given_heats in moments:
        now_ms += later_ms
        least = {view: machine.least_load(view) for view in views}
        shown = {heat.name: heat for heat in given_heats}
        for turned in machine.step(now_ms, views, given_heats):
            if turned.hot:
                heat = shown[turned.name]
                seen = [
                    (views.slow, heat.slow.lower),
                    (views.fast, -1 if heat.fast is None else heat.fast.lower),
                ]
                assert any(lower >= least[view] * (1 - 1e-9) for view, lower in seen)


@given(policies, traffic, st.lists(st.integers(-(10**7), 10**7), min_size=40, max_size=40))
def test_a_jumping_clock_never_makes_a_key_stuck(policy: Policy, moments: list[Moment], jumps: list[int]) -> None:
    machine, now_ms = HeatMachine(policy, 12), 10**12
    for (_, views, given_heats), jump_ms in zip(moments, jumps, strict=False):
        now_ms += jump_ms
        machine.step(now_ms, views, given_heats)
    calm = ViewTotals(Totals(2_000, 2.0), Totals(10_000, 10.0))
    cold = [Heat(name, None, Bounds(0, 0)) for name in NAMES]
    machine.step(now_ms, calm, cold)
    machine.step(now_ms + 30_000, calm, cold)
    assert machine.memory() == HeatMemory()
