"""The heat machine over time: traffic written down as data, and what turned when."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest

from hotshard.core.policy.evidence import Heat, HeatReason, Totals, Turned, ViewTotals
from hotshard.core.policy.machine import HeatMachine, HeatMemory, HotMemory
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
GONE = exactly(b"flood", 0, 0)


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
    assert run(HeatMachine(Policy(hold_s=20, off_s=5), 12), {0: FLOOD, 1: GONE}, until_s=60) == {0.0: True, 20.0: False}


def test_after_its_hold_it_turns_cold_when_it_has_been_so_for_the_off_time() -> None:
    heats = {0.0: FLOOD, 30.0: GONE}
    assert run(HeatMachine(Policy(hold_s=20, off_s=5), 12), heats, until_s=60) == {0.0: True, 35.0: False}


def test_a_moment_of_warmth_starts_the_off_time_anew() -> None:
    keeps = exactly(b"flood", 300, 1_500)
    heats = {0.0: FLOOD, 30.0: GONE, 34.0: keeps, 34.5: GONE}
    assert run(HeatMachine(Policy(), 12), heats, until_s=60) == {0.0: True, 39.5: False}


def test_a_key_between_off_and_on_stays_as_it_is() -> None:
    between = exactly(b"flood", 300, 1_500)
    assert run(HeatMachine(Policy(), 12), {0: between}, until_s=60) == {}
    assert run(HeatMachine(Policy(), 12), {0: FLOOD, 1: between}, until_s=60) == {0.0: True}


def test_cooling_tells_the_upper_bound_and_since_when_it_was_hot() -> None:
    machine = HeatMachine(Policy(hold_s=0, off_s=0), 12)
    machine.step(START_MS, FULL, [FLOOD])
    (turned,) = machine.step(START_MS + 500, FULL, [Heat(b"flood", None, Bounds(100, 900))])
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
    run(machine, {0: FLOOD, 10: GONE}, until_s=19)
    assert machine.step(START_MS + 60_000, FULL, []) == ()
    assert machine.step(START_MS + 60_500, FULL, [GONE]) == ()
    assert told(machine.step(START_MS + 65_500, FULL, [GONE])) == [(b"flood", False, HeatReason.SHARE_BELOW)]


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
    assert machine.step(START_MS, FULL, [GONE]) == ()
    assert machine.step(hour_ago_ms, FULL, [GONE]) == ()
    assert machine.step(hour_ago_ms + 4_999, FULL, [GONE]) == ()
    assert len(machine.step(hour_ago_ms + 5_000, FULL, [GONE])) == 1


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


def test_memory_stands_on_the_wire_and_may_have_fields_added() -> None:
    memory = HeatMemory(hot=(HotMemory(b"\xff", START_MS, START_MS + 5), HotMemory(b"z", 1)))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(memory), type=HeatMemory) == memory
    later = msgspec.msgpack.encode([[[b"z", 1, None, "a field from later"]]])
    assert msgspec.msgpack.decode(later, type=HeatMemory) == HeatMemory(hot=(HotMemory(b"z", 1),))
