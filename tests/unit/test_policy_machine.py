"""The heat machine over time: traffic written down as data, and what turned when."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest

from hotshard.core.policy.choosing import Policies
from hotshard.core.policy.evidence import Heat, HeatReason, Totals, Turned, ViewTotals
from hotshard.core.policy.machine import HeatMachine
from hotshard.core.policy.memory import PAST_KEPT, HeatMemory, HotMemory, PastMemory
from hotshard.core.policy.thresholds import Policy
from hotshard.core.wire.route import HotKind

if TYPE_CHECKING:
    from collections.abc import Mapping

START_MS = 1_700_000_000_000
FULL = ViewTotals(Totals(20_000, 2.0), Totals(100_000, 10.0))


class Bounds(NamedTuple):
    lower: int
    upper: int


def exactly(name: bytes, fast: int, slow: int) -> Heat:
    return Heat(name, Bounds(fast, fast), Bounds(slow, slow))


FLOOD = exactly(b"flood", 8_000, 40_000)
#: Below what keeps it hot (1.14 %), above what is gone (0.23 %).
COLD = exactly(b"flood", 100, 500)
GONE = exactly(b"flood", 0, 0)
#: No cool-down, no count of flaps.
FREE = Policy(cool_down_s=0, flap_window_s=0)


def told(turned: tuple[Turned, ...]) -> list[tuple[bytes, bool, HeatReason]]:
    return [(each.name, each.hot, each.reason) for each in turned]


def run(
    machine: HeatMachine, heats: Mapping[float, Heat], until_s: float, views: ViewTotals = FULL
) -> dict[float, bool]:
    """Step twice a second; ``heats`` says from which second on which heat is seen. Returns what turned, by second."""
    turned = {}
    for half_seconds in range(int(until_s * 2)):
        at_s = half_seconds / 2
        heat = heats[max(since for since in heats if since <= at_s)]
        for each in machine.step(START_MS + int(at_s * 1000), views, [heat]):
            turned[at_s] = each.hot
    return turned


def test_a_flood_turns_hot_at_once_with_its_evidence() -> None:
    machine = HeatMachine(Policy(), 12)
    assert machine.step(START_MS, FULL, [Heat(b"flood", Bounds(7_900, 8_000), Bounds(7_900, 9_000))]) == (
        Turned(
            name=b"flood",
            hot=True,
            reason=HeatReason.FAST_SHARE,
            since_ms=START_MS,
            view_s=2.0,
            total=20_000,
            lower=7_900,
            upper=8_000,
            share=0.395,
            load_per_s=3_950.0,
            completeness=1.0,
            fast=True,
            numbers={"on_share": 0.25 / 11, "floor_name_per_s": 20.0, "flaps": 1.0},
        ),
    )
    assert machine.hot == {b"flood"}
    assert (machine.since_ms(b"flood"), machine.since_ms(b"other")) == (START_MS, None)


def test_the_long_view_gives_its_own_evidence() -> None:
    (turned,) = HeatMachine(Policy(), 12).step(START_MS, FULL, [exactly(b"warm", 500, 2_500)])
    assert (turned.reason, turned.view_s, turned.lower, turned.share) == (HeatReason.SLOW_SHARE, 10.0, 2_500, 0.025)


def test_what_is_hot_is_not_told_again() -> None:
    assert run(HeatMachine(Policy(), 12), {0: FLOOD}, until_s=60) == {0.0: True}


def test_a_flood_that_ends_early_is_held() -> None:
    for after in (COLD, GONE):
        machine = HeatMachine(Policy(hold_s=20, off_s=5), 12)
        assert run(machine, {0: FLOOD, 1: after}, until_s=60) == {0.0: True, 20.0: False}


def test_after_its_hold_it_turns_cold_when_it_has_been_so_for_the_off_time() -> None:
    heats = {0.0: FLOOD, 30.0: COLD}
    assert run(HeatMachine(Policy(hold_s=20, off_s=5), 12), heats, until_s=60) == {0.0: True, 35.0: False}


@pytest.mark.parametrize(("off_s", "after_s"), [(5.0, 2.0), (1.0, 1.0), (0.0, 0.0)])
def test_what_is_gone_turns_cold_after_the_short_views_time_at_most(off_s: float, after_s: float) -> None:
    machine = HeatMachine(Policy(hold_s=20, off_s=off_s, fast_view_s=2.0), 12)
    assert run(machine, {0.0: FLOOD, 30.0: GONE}, until_s=60) == {0.0: True, 30.0 + after_s: False}


def test_what_has_been_cold_for_long_enough_turns_cold_when_it_is_gone() -> None:
    heats = {0.0: FLOOD, 30.0: COLD, 33.0: GONE}
    assert run(HeatMachine(Policy(hold_s=20, off_s=5), 12), heats, until_s=60) == {0.0: True, 33.0: False}


def test_when_all_traffic_stops_the_off_time_holds() -> None:
    silent = ViewTotals(Totals(0, 2.0), Totals(0, 10.0))
    machine = HeatMachine(Policy(hold_s=0, off_s=5), 12, memory=HeatMemory(hot=(HotMemory(b"flood", 0),)))
    assert run(machine, {0: GONE}, until_s=60, views=silent) == {5.0: False}


def test_a_moment_of_warmth_starts_the_off_time_anew() -> None:
    keeps = exactly(b"flood", 300, 1_500)
    heats = {0.0: FLOOD, 30.0: COLD, 34.0: keeps, 34.5: COLD}
    assert run(HeatMachine(Policy(), 12), heats, until_s=60) == {0.0: True, 39.5: False}


def test_a_key_between_off_and_on_stays_as_it_is() -> None:
    between = exactly(b"flood", 300, 1_500)
    assert run(HeatMachine(Policy(), 12), {0: between}, until_s=60) == {}
    assert run(HeatMachine(Policy(), 12), {0: FLOOD, 1: between}, until_s=60) == {0.0: True}


def test_cooling_tells_the_upper_bound_and_since_when_it_was_hot() -> None:
    machine = HeatMachine(Policy(hold_s=0, off_s=0), 12)
    machine.step(START_MS, FULL, [FLOOD])
    (turned,) = machine.step(START_MS + 500, FULL, [Heat(b"flood", None, Bounds(100, 900))])
    assert turned.numbers == {"keep_share": 0.125 / 11, "off_share": pytest.approx(0.025 / 11), "flaps": 1.0}
    assert (turned.hot, turned.reason, turned.since_ms) == (False, HeatReason.SHARE_BELOW, START_MS)
    assert (turned.share, turned.load_per_s) == (0.009, 90.0)


@pytest.mark.parametrize(
    "views",
    [
        ViewTotals(Totals(0, 0.0), Totals(0, 0.0)),
        ViewTotals(Totals(9_000, 0.9), Totals(9_000, 0.9)),
        ViewTotals(Totals(20_000, 2.0), Totals(100_000, 10.0, 0.9)),
    ],
    ids=["nothing seen", "too short", "incomplete"],
)
def test_a_view_that_cannot_tell_turns_nothing_off(views: ViewTotals) -> None:
    machine = HeatMachine(Policy(), 12, memory=HeatMemory(hot=(HotMemory(b"flood", START_MS - 10**9),)))
    assert run(machine, {0: GONE}, until_s=60, views=views) == {}


def test_a_hot_name_that_is_not_shown_stays_hot_and_its_off_time_starts_anew() -> None:
    machine = HeatMachine(Policy(), 12)
    run(machine, {0: FLOOD, 10: COLD}, until_s=19)
    assert machine.step(START_MS + 60_000, FULL, []) == ()
    assert machine.step(START_MS + 60_500, FULL, [COLD]) == ()
    assert machine.step(START_MS + 65_499, FULL, [COLD]) == ()
    assert told(machine.step(START_MS + 65_500, FULL, [COLD])) == [(b"flood", False, HeatReason.SHARE_BELOW)]


def test_a_clock_set_back_starts_the_hold_anew_and_no_longer() -> None:
    machine = HeatMachine(Policy(hold_s=20, off_s=5), 12)
    machine.step(START_MS, FULL, [FLOOD])
    hour_ago_ms = START_MS - 3_600_000
    assert machine.step(hour_ago_ms, FULL, [GONE]) == ()
    assert machine.step(hour_ago_ms + 19_999, FULL, [GONE]) == ()
    assert len(machine.step(hour_ago_ms + 20_000, FULL, [GONE])) == 1


def test_a_clock_set_back_starts_the_off_time_anew_and_no_longer() -> None:
    machine = HeatMachine(Policy(hold_s=0, off_s=5), 12)
    machine.step(START_MS, FULL, [FLOOD])
    hour_ago_ms = START_MS - 3_600_000
    assert machine.step(START_MS, FULL, [COLD]) == ()
    assert machine.step(hour_ago_ms, FULL, [COLD]) == ()
    assert machine.step(hour_ago_ms + 4_999, FULL, [COLD]) == ()
    assert len(machine.step(hour_ago_ms + 5_000, FULL, [COLD])) == 1


def test_many_lukewarm_keys_leave_no_trace() -> None:
    machine = HeatMachine(Policy(), 12)
    assert machine.step(START_MS, FULL, [exactly(b"%d" % number, 300, 1_500) for number in range(20_000)]) == ()
    assert machine.memory() == HeatMemory()


def test_tenants_turn_at_their_own_share() -> None:
    machine = HeatMachine(Policy(tenant_on_share=0.2), 12, kind=HotKind.TENANT)
    assert machine.step(START_MS, FULL, [exactly(b"tenant", 3_000, 19_999)]) == ()
    assert told(machine.step(START_MS, FULL, [exactly(b"tenant", 3_000, 20_000)])) == [
        (b"tenant", True, HeatReason.SLOW_SHARE)
    ]


def test_what_turns_hot_is_told_before_what_turns_cold() -> None:
    machine = HeatMachine(
        Policy(hold_s=0, off_s=0), 12, memory=HeatMemory(hot=(HotMemory(b"b", 0), HotMemory(b"a", 0)))
    )
    heats = [exactly(b"a", 0, 0), exactly(b"b", 0, 0), exactly(b"z", 5_000, 9_000)]
    assert [each.name for each in machine.step(START_MS, FULL, heats)] == [b"z", b"a", b"b"]


def test_nothing_below_the_least_load_can_turn_hot() -> None:
    machine = HeatMachine(Policy(), 12)
    least = machine.least_load(FULL.slow)
    assert least == pytest.approx(100_000 * 0.25 / 11)
    assert machine.step(START_MS, FULL, [exactly(b"below", 0, int(least))]) == ()
    assert len(machine.step(START_MS, FULL, [exactly(b"above", 0, int(least) + 1)])) == 1
    assert machine.least_load(Totals(500, 10.0)) == 200
    assert machine.least_load(Totals(0, 0.0, 0.0)) == 0


def test_a_rate_or_a_share_of_a_partition_lets_less_load_turn_hot() -> None:
    machine = HeatMachine(Policy(on_partition_share=0.5, on_load_per_s=150), 12)
    assert machine.wants_parts
    assert not HeatMachine(Policy(on_partition_share=0.5), 12, kind=HotKind.TENANT).wants_parts
    assert machine.least_load(FULL.slow, 2_000) == 1_000
    assert machine.least_load(FULL.slow, 10_000) == 1_500
    assert machine.least_load(FULL.slow, 100) == 200


# -- cool-down and flaps -----------------------------------------------------------------------------


def cooled(policy: Policy) -> HeatMachine:
    """A machine in which a flood has cooled at ``START_MS``."""
    machine = HeatMachine(policy, 12, memory=HeatMemory(hot=(HotMemory(b"flood", START_MS - 10**6),)))
    assert len(machine.step(START_MS, FULL, [GONE])) == 1
    return machine


@pytest.mark.parametrize(
    ("load", "after_ms", "hot"),
    [(2_300, 29_999, False), (2_300, 30_000, True), (4_400, 0, False), (4_450, 0, True), (40_000, 1, True)],
    ids=["warm again", "warm again, later", "not twice", "twice the load", "a flood"],
)
def test_in_its_cool_down_it_turns_hot_only_by_twice_the_load(load: int, after_ms: int, *, hot: bool) -> None:
    machine = cooled(Policy(off_s=0, cool_down_s=30, cool_down_ratio=2))
    assert (len(machine.step(START_MS + after_ms, FULL, [exactly(b"flood", 0, load)])) == 1) is hot
    assert len(machine.step(START_MS + after_ms, FULL, [exactly(b"other", 0, 2_300)])) == 1


def test_a_clock_set_back_makes_no_cool_down_longer() -> None:
    machine = cooled(Policy(off_s=0, cool_down_s=30))
    hour_ago_ms = START_MS - 3_600_000
    warm = exactly(b"flood", 0, 2_300)
    assert machine.step(hour_ago_ms, FULL, [warm]) == ()
    assert machine.step(hour_ago_ms + 29_999, FULL, [warm]) == ()
    assert len(machine.step(hour_ago_ms + 30_000, FULL, [warm])) == 1


def test_what_flaps_is_held_until_the_first_time_is_past_and_that_is_told() -> None:
    policy = Policy(hold_s=5, off_s=0, cool_down_s=0, max_flaps=3, flap_window_s=60)
    machine = HeatMachine(policy, 12)
    heats: dict[float, Heat] = {0: FLOOD, 5: GONE, 10: FLOOD, 15: GONE, 20: FLOOD, 25: GONE}
    assert run(machine, heats, until_s=80) == {0: True, 5: False, 10: True, 15: False, 20: True, 60: False}
    machine = HeatMachine(policy, 12)
    told_at = {}
    for second in range(60):
        heat = heats[max(since for since in heats if since <= second)]
        for each in machine.step(START_MS + second * 1000, FULL, [heat]):
            told_at[second] = each
    assert [(at, each.reason) for at, each in told_at.items()] == [
        (0, "fast_share"), (5, "gone"), (10, "fast_share"), (15, "gone"), (20, "flapping"),
    ]  # fmt: skip
    assert told_at[20].fast
    assert (told_at[20].numbers["flaps"], told_at[20].numbers["held_s"]) == (3, 40)


def test_a_flap_counts_no_longer_than_its_window() -> None:
    policy = Policy(hold_s=5, off_s=0, cool_down_s=0, max_flaps=3, flap_window_s=60)
    heats: dict[float, Heat] = {0: FLOOD, 5: GONE, 70: FLOOD, 75: GONE, 80: FLOOD, 85: GONE}
    assert len(run(HeatMachine(policy, 12), heats, until_s=100)) == 6


def test_nothing_is_remembered_once_cool_down_and_flaps_are_past() -> None:
    machine = cooled(Policy(off_s=0, cool_down_s=30, flap_window_s=60))
    assert [each.name for each in machine.memory().past] == [b"flood"]
    machine.step(START_MS + 29_999, FULL, [])
    assert machine.memory().past
    machine.step(START_MS + 30_000, FULL, [])
    assert machine.memory() == HeatMemory()
    assert cooled(replace(FREE, off_s=0)).memory() == HeatMemory()


def test_of_what_has_cooled_only_the_latest_are_remembered() -> None:
    names = [b"%04d" % number for number in range(PAST_KEPT + 100)]
    machine = HeatMachine(Policy(off_s=0, hold_s=0), 12, memory=HeatMemory(tuple(HotMemory(name, 0) for name in names)))
    machine.step(START_MS, FULL, [exactly(name, 0, 0) for name in names[:200]])
    machine.step(START_MS + 1, FULL, [exactly(name, 0, 0) for name in names[200:]])
    assert [each.name for each in machine.memory().past] == sorted([*names[:100], *names[200:]])


# -- a policy for each tenant ------------------------------------------------------------------------


def tenant(name: bytes) -> bytes:
    return name.split(b"/")[0]


def test_each_name_has_the_policy_of_its_tenant() -> None:
    own = Policy(on_share=0.5, off_s=0, hold_s=1)
    policies = Policies(Policy(hold_s=60), {"big": own}, tenant)
    machine = HeatMachine(policies, 12)
    assert machine.step(START_MS, FULL, [exactly(b"big/1", 0, 40_000)]) == ()
    heats = [exactly(b"big/1", 0, 60_000), exactly(b"small/1", 0, 3_000)]
    assert {each.name for each in machine.step(START_MS, FULL, heats)} == {b"big/1", b"small/1"}
    ended = [exactly(b"big/1", 0, 0), exactly(b"small/1", 0, 0)]
    assert machine.step(START_MS + 500, FULL, ended) == ()
    assert [each.name for each in machine.step(START_MS + 2_500, FULL, ended)] == [b"big/1"]


def test_what_any_tenants_policy_would_turn_hot_is_worth_showing() -> None:
    policies = Policies(Policy(on_share=0.5), {"watched": Policy(on_share=0.01)}, tenant)
    assert HeatMachine(policies, 12).least_load(FULL.slow) == 1_000
    assert len(policies.all) == 2


# -- memory ------------------------------------------------------------------------------------------


def test_memory_stands_on_the_wire_and_may_have_fields_added() -> None:
    memory = HeatMemory(
        hot=(HotMemory(b"\xff", START_MS, START_MS + 5, (3, START_MS)), HotMemory(b"z", 1)),
        past=(PastMemory(b"a", START_MS, (1, 2)), PastMemory(b"b", 4)),
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(memory), type=HeatMemory) == memory
    later = msgspec.msgpack.encode([[[b"z", 1, None, [], "a field from later"]], [], "and another"])
    assert msgspec.msgpack.decode(later, type=HeatMemory) == HeatMemory(hot=(HotMemory(b"z", 1),))


def test_memory_from_before_cool_down_and_flaps_still_reads() -> None:
    before = msgspec.msgpack.encode([[[b"a", 1, 7], [b"z", 1, None]]])
    read = msgspec.msgpack.decode(before, type=HeatMemory)
    assert read == HeatMemory(hot=(HotMemory(b"a", 1, 7), HotMemory(b"z", 1)))
