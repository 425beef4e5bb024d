"""What holds of the heat machine whatever the traffic, the clock and the crashes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.policy.evidence import Heat, Part, Totals, ViewTotals
from hotshard.core.policy.machine import HeatMachine
from hotshard.core.policy.memory import HeatMemory
from hotshard.core.policy.rules import Limits, hot_reason
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
parts = st.none() | st.builds(Part, st.sampled_from((0.0, 0.3, 0.6, 0.95)), st.sampled_from((0.95, 1.0)))
heats = st.builds(Heat, st.sampled_from(NAMES), st.none() | bounds, bounds, parts, parts)
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
    on_load_per_s=st.none() | st.sampled_from((50.0, 150.0)),
    on_partition_share=st.none() | st.sampled_from((0.3, 0.9)),
    keep_ratio=st.sampled_from((0.5, 0.99)),
    off_ratio=st.sampled_from((0.0, 0.1, 0.5)),
    floor_name_per_s=st.sampled_from((0.0, 20.0)),
    floor_fast=st.sampled_from((0, 200)),
    cool_down_s=st.sampled_from((0.0, 1.0, 30.0)),
    cool_down_ratio=st.sampled_from((1.0, 2.0)),
    max_flaps=st.sampled_from((2, 3, 100)),
    flap_window_s=st.sampled_from((0.0, 20.0, 600.0)),
)
kinds = st.sampled_from(HotKind)
clocks = st.lists(st.integers(-(10**5), 10**5) | st.sampled_from((1, 500, 20_000)), min_size=40, max_size=40)


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


@given(policies, kinds, traffic, clocks)
def test_nothing_flips_faster_than_its_hold_whatever_the_clock(
    policy: Policy, kind: HotKind, moments: list[Moment], jumps: list[int]
) -> None:
    machine, now_ms = HeatMachine(policy, 12, kind=kind), 1_000_000
    since_ms: dict[bytes, int] = {}
    for (_, views, given_heats), jump_ms in zip(moments, jumps, strict=False):
        now_ms += jump_ms
        # A clock set back starts the hold anew.
        since_ms = {name: min(each, now_ms) for name, each in since_ms.items()}
        for turned in machine.step(now_ms, views, given_heats):
            if turned.hot:
                assert turned.name not in since_ms
                since_ms[turned.name] = now_ms
            else:
                assert now_ms - since_ms.pop(turned.name) >= policy.hold_s * 1000
        assert machine.hot == since_ms.keys()


@given(policies, kinds, traffic, clocks)
def test_nothing_turns_hot_more_often_in_a_window_than_its_flaps_allow(
    policy: Policy, kind: HotKind, moments: list[Moment], jumps: list[int]
) -> None:
    quick = replace(policy, hold_s=0, off_s=0, cool_down_s=0)
    machine, now_ms = HeatMachine(quick, 12, kind=kind), 1_000_000
    times_ms: dict[bytes, list[int]] = defaultdict(list)
    for (_, views, given_heats), jump_ms in zip(moments, jumps, strict=False):
        now_ms += jump_ms
        # A clock set back makes what was later now.
        times_ms = defaultdict(list, {name: [min(each, now_ms) for each in all_] for name, all_ in times_ms.items()})
        for turned in machine.step(now_ms, views, given_heats):
            if turned.hot:
                times_ms[turned.name].append(now_ms)
                lately = [each for each in times_ms[turned.name] if now_ms - each < quick.flap_window_s * 1000]
                assert len(lately) <= quick.max_flaps


@given(policies, kinds, traffic)
def test_in_its_cool_down_nothing_turns_hot_without_so_much_more_load(
    policy: Policy, kind: HotKind, moments: list[Moment]
) -> None:
    machine, now_ms = HeatMachine(policy, 12, kind=kind), 1_000_000
    raised = machine.limits.raised(policy.cool_down_ratio)
    cooled_ms: dict[bytes, int] = {}
    for later_ms, views, given_heats in moments:
        now_ms += later_ms
        shown = {heat.name: heat for heat in given_heats}
        for turned in machine.step(now_ms, views, given_heats):
            if not turned.hot:
                cooled_ms[turned.name] = now_ms
            elif now_ms - cooled_ms.get(turned.name, 0) < policy.cool_down_s * 1000:
                assert hot_reason(shown[turned.name], views, raised) is not None


@given(policies, kinds, traffic)
def test_what_is_remembered_is_bounded_by_what_was_hot_lately(
    policy: Policy, kind: HotKind, moments: list[Moment]
) -> None:
    machine, now_ms = HeatMachine(policy, 12, kind=kind), 1_000_000
    for later_ms, views, given_heats in moments:
        now_ms += later_ms
        machine.step(now_ms, views, given_heats)
        memory = machine.memory()
        assert not machine.hot & {each.name for each in memory.past}
        turned_ms = [each.turned_ms for each in memory.hot] + [each.turned_ms for each in memory.past]
        assert all(len(each) <= policy.max_flaps for each in turned_ms)
        longest_ms = 1000 * max(policy.cool_down_s, policy.flap_window_s)
        assert all(now_ms - each.cooled_ms < longest_ms for each in memory.past)


def looks_cold(policy: Policy, heat: Heat, limits: Limits, slow: Totals) -> bool:
    if slow.span_s < 1 or slow.completeness < 1:
        return False
    upper, keep = heat.slow.upper, policy.keep_ratio
    below = slow.load > 0 and upper / slow.load < limits.on_share * keep
    if limits.on_per_s is not None:
        below = below and upper / slow.span_s < limits.on_per_s * keep
    if limits.on_partition_share is not None and heat.slow_part is not None:
        below = below and heat.slow_part.upper < limits.on_partition_share * keep
    return below or upper / slow.span_s < policy.floor_name_per_s * keep


@given(policies, kinds, traffic)
def test_what_turns_cold_was_seen_cold_without_a_break_for_its_time(
    policy: Policy, kind: HotKind, moments: list[Moment]
) -> None:
    machine, now_ms = HeatMachine(policy, 12, kind=kind), 1_000_000
    not_cold_ms: dict[bytes, int] = defaultdict(lambda: now_ms)
    for later_ms, views, given_heats in moments:
        now_ms += later_ms
        shown = {heat.name: heat for heat in given_heats}
        for name in NAMES:
            if name not in shown or not looks_cold(policy, shown[name], machine.limits, views.slow):
                not_cold_ms[name] = now_ms
        for turned in machine.step(now_ms, views, given_heats):
            if turned.hot:
                not_cold_ms[turned.name] = now_ms
            else:
                off_s = min(policy.off_s, policy.fast_view_s) if turned.reason == "gone" else policy.off_s
                assert now_ms - not_cold_ms[turned.name] >= off_s * 1000


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
                parts = machine.limits.on_partition_share is not None
                assert parts or any(lower >= least[view] * (1 - 1e-9) for view, lower in seen)


@given(policies, traffic, st.lists(st.integers(-(10**7), 10**7), min_size=40, max_size=40))
def test_a_jumping_clock_never_makes_a_key_stuck(policy: Policy, moments: list[Moment], jumps: list[int]) -> None:
    policy = replace(policy, flap_window_s=min(policy.flap_window_s, 20.0))
    machine, now_ms = HeatMachine(policy, 12), 10**12
    for (_, views, given_heats), jump_ms in zip(moments, jumps, strict=False):
        now_ms += jump_ms
        machine.step(now_ms, views, given_heats)
    calm = ViewTotals(Totals(2_000, 2.0), Totals(10_000, 10.0))
    cold = [Heat(name, None, Bounds(0, 0)) for name in NAMES]
    machine.step(now_ms, calm, cold)
    machine.step(now_ms + 30_000, calm, cold)
    assert machine.hot == frozenset()
    machine.step(now_ms + 60_000, calm, cold)
    assert machine.memory() == HeatMemory()
