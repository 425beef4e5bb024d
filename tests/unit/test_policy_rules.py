"""The rules of heat, as a table of cases.

A case is the evidence and the first rule that it meets: of turning hot and of being cold. To add one, write
what is different from a key of no account on 12 partitions (share to turn on 2.27 %, to keep 1.14 %, gone
below 0.23 %, fast 4.55 %; 20 a second to be named, 200 in the short view to be fast). ``policy`` is for rules
that no default turns on: here a key turns hot from 400 a second on and cools below 200, is fast from 800 on.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.policy.evidence import Heat, HeatReason, Part, Totals, ViewTotals, own_part
from hotshard.core.policy.rules import cold_reason, hot_reason, limits, surely_keeps, with_times_the_load
from hotshard.core.policy.thresholds import Policy
from hotshard.core.wire.route import HotKind


class Bounds(NamedTuple):
    lower: int
    upper: int


DEFAULT = Policy()
RATE = Policy(on_load_per_s=400)
PART = Policy(on_partition_share=0.5)
VAST = (Totals(2_000_000, 2.0), Totals(10_000_000, 10.0))


class Case(NamedTuple):
    name: str
    fast: Bounds | None = Bounds(10, 12)
    slow: Bounds = Bounds(50, 60)
    fast_view: Totals = Totals(20_000, 2.0)
    slow_view: Totals = Totals(100_000, 10.0)
    hot: str | None = None
    cold: str | None = None
    policy: Policy = DEFAULT
    fast_part: Part | None = None
    slow_part: Part | None = None


CASES = [
    Case("of no account", cold="gone"),
    Case("small", slow=Bounds(50, 500), cold="share_below"),
    Case("upper bound at off", slow=Bounds(0, 228), cold="share_below"),
    Case("upper bound below off", slow=Bounds(0, 227), cold="gone"),
    Case("all traffic has stopped", None, Bounds(0, 0), Totals(0, 2.0), cold="share_below"),
    Case("flood", fast=Bounds(910, 910), hot="fast_share"),
    Case("just below the fast share", fast=Bounds(909, 5000), cold="gone"),
    Case("flood but for its lower bound", fast=Bounds(0, 20_000), cold="gone"),
    Case("not in the short view, flooding the long one", fast=None, slow=Bounds(2273, 2273), hot="slow_share"),
    Case("just below the share", slow=Bounds(2272, 2272)),
    Case("surely above keep, surely below on", slow=Bounds(1200, 2200)),
    Case("upper bound keeps it", slow=Bounds(10, 1137)),
    Case("upper bound just below keep", slow=Bounds(10, 1136), cold="share_below"),
    Case(
        "small topic, below the fast floor",
        Bounds(199, 199),
        Bounds(199, 199),
        Totals(400, 2.0),
        Totals(400, 3.0),
        "slow_share",
    ),
    Case(
        "small topic, at the fast floor",
        Bounds(200, 200),
        Bounds(200, 200),
        Totals(400, 2.0),
        Totals(400, 1.0),
        "fast_share",
    ),
    Case(
        "beginning: the long view is not longer yet",
        Bounds(150, 150),
        Bounds(150, 150),
        Totals(300, 1.9),
        Totals(300, 1.9),
    ),
    Case("all of a trickle", Bounds(38, 38), Bounds(199, 199), Totals(38, 2.0), Totals(199, 10.0)),
    Case(
        "all of next to nothing", Bounds(19, 19), Bounds(99, 99), Totals(19, 2.0), Totals(99, 10.0), cold="load_below"
    ),
    Case("idle topic", None, Bounds(0, 0), Totals(0, 2.0), Totals(0, 10.0), cold="load_below"),
    Case("nothing seen yet", None, Bounds(0, 0), Totals(0, 0.0), Totals(0, 0.0)),
    Case("short view says nothing of cooling", None, Bounds(0, 0), Totals(9_000, 0.9), Totals(9_000, 0.9)),
    Case("a second is enough to cool", None, Bounds(0, 0), Totals(10_000, 1.0), Totals(10_000, 1.0), cold="gone"),
    Case("a partition is missing, so it is not cold", slow_view=Totals(100_000, 10.0, 0.99)),
    Case("half is missing: half the share counts", slow=Bounds(4545, 4545), slow_view=Totals(100_000, 10.0, 0.5)),
    Case(
        "half is missing: twice the share is enough",
        slow=Bounds(4546, 4546),
        slow_view=Totals(100_000, 10.0, 0.5),
        hot="slow_share",
    ),
    Case(
        "half of the short view is missing",
        fast=Bounds(1000, 1000),
        fast_view=Totals(20_000, 2.0, 0.5),
        cold="gone",
    ),
    Case(
        "flood begins while the long view is still cold",
        fast=Bounds(1000, 1000),
        slow=Bounds(1000, 1000),
        hot="fast_share",
    ),
    # A rate of 400 a second, in a topic of 1,000,000 a second, where that is no share.
    Case("at the rate", None, Bounds(4000, 4000), *VAST, hot="slow_rate", policy=RATE),
    Case("just below the rate", None, Bounds(3999, 3999), *VAST, policy=RATE),
    Case("at the rate, where no rate is set", None, Bounds(4000, 4000), *VAST, cold="gone"),
    Case("at the fast rate", Bounds(1600, 1600), Bounds(1600, 1600), *VAST, hot="fast_rate", policy=RATE),
    Case("just below the fast rate", Bounds(1599, 1599), Bounds(2000, 2000), *VAST, policy=RATE),
    Case("rate kept", None, Bounds(10, 2000), *VAST, policy=RATE),
    Case("rate just not kept", None, Bounds(10, 1999), *VAST, cold="share_below", policy=RATE),
    Case("rate gone", None, Bounds(0, 399), *VAST, cold="gone", policy=RATE),
    Case("a share kept, whatever the rate", slow=Bounds(1200, 1500), policy=RATE),
    # Half of its own partition, two thirds in the short view.
    Case(
        "half its partition", slow=Bounds(900, 900), slow_part=Part(0.5, 0.5), hot="slow_partition_share", policy=PART
    ),
    Case("not half its partition", slow=Bounds(900, 900), slow_part=Part(0.49, 0.6), policy=PART),
    Case("half its partition, where none is set", slow=Bounds(900, 900), slow_part=Part(0.5, 0.5), cold="share_below"),
    Case(
        "two thirds of its partition",
        fast=Bounds(300, 300),
        fast_part=Part(0.67, 0.7),
        hot="fast_partition_share",
        policy=PART,
    ),
    Case(
        "not two thirds of its partition",
        fast=Bounds(300, 300),
        slow=Bounds(150, 150),
        fast_part=Part(0.66, 0.7),
        slow_part=Part(0.3, 0.3),
        policy=PART,
    ),
    Case("all of its partition, which is next to nothing", slow=Bounds(199, 199), slow_part=Part(1, 1), policy=PART),
    Case("a quarter of its partition is kept", slow=Bounds(150, 150), slow_part=Part(0.1, 0.25), policy=PART),
    Case("less than a quarter is not", slow_part=Part(0.1, 0.24), cold="share_below", policy=PART),
    Case("a twentieth is gone", slow_part=Part(0.01, 0.04), cold="gone", policy=PART),
    Case("seen in no partition", slow=Bounds(0, 0), cold="gone", policy=PART),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_evidence_meets_the_rule_of_its_case(case: Case) -> None:
    to = limits(case.policy, 12, HotKind.KEY)
    heat = Heat(b"key", case.fast, case.slow, case.fast_part, case.slow_part)
    views = ViewTotals(case.fast_view, case.slow_view)
    assert (hot_reason(heat, views, to), cold_reason(heat, views, to)) == (case.hot, case.cold)


def test_every_rule_has_a_case() -> None:
    assert {case.hot for case in CASES} | {case.cold for case in CASES} == {None, *HeatReason} - {
        HeatReason.FLAPPING
    }  # of the machine, which has a memory


@pytest.mark.parametrize(
    ("keeps", "case"),
    [
        (False, Case("share below keep by its lower bound", slow=Bounds(1136, 2000))),
        (True, Case("share at keep", slow=Bounds(1137, 1137))),
        (False, Case("rate below keep", slow=Bounds(1999, 9000), slow_view=VAST[1], policy=RATE)),
        (True, Case("rate at keep", slow=Bounds(2000, 2000), slow_view=VAST[1], policy=RATE)),
        (False, Case("part below keep", slow_part=Part(0.24, 0.9), policy=PART)),
        (True, Case("part at keep", slow_part=Part(0.25, 0.25), policy=PART)),
        (False, Case("a part, and no share of one is set", slow_part=Part(1, 1))),
        (False, Case("no load at all", slow=Bounds(0, 0), slow_view=Totals(0, 10.0))),
    ],
    ids=lambda each: each.name if isinstance(each, Case) else "",
)
def test_what_holds_surely_what_keeps_it_hot(keeps: bool, case: Case) -> None:  # noqa: FBT001
    to, view = limits(case.policy, 12, HotKind.KEY), case.slow_view
    heat = Heat(b"key", case.fast, case.slow, case.fast_part, case.slow_part)
    assert surely_keeps(heat, view, to) is keeps
    # Then no rule of the share calls it cold.
    assert not keeps or cold_reason(heat, ViewTotals(case.fast_view, view), to) not in {"gone", "share_below"}


def test_without_a_share_of_its_own_a_policy_takes_the_least_worth_splitting() -> None:
    to = limits(Policy(eps=0.5), 11, HotKind.KEY)
    assert (to.on_share, to.keep_share, to.off_share, to.fast_share) == pytest.approx((0.05, 0.025, 0.005, 0.1))


def test_a_policys_own_share_wins() -> None:
    assert limits(Policy(on_share=0.3), 12, HotKind.KEY).on_share == 0.3


def test_tenants_have_a_share_and_a_rate_of_their_own() -> None:
    policy = Policy(on_share=0.3, on_load_per_s=5, on_partition_share=0.5, tenant_on_load_per_s=9)
    to = limits(policy, 12, HotKind.TENANT)
    assert (to.on_share, to.on_per_s, to.on_partition_share) == (Policy().tenant_on_share, 9, None)


def test_raised_limits_ask_for_so_many_times_the_load_and_keep_the_rest() -> None:
    to = limits(Policy(on_share=0.2, on_load_per_s=10, on_partition_share=0.5), 12, HotKind.KEY)
    raised = to.raised(2)
    assert (raised.on_share, raised.on_per_s, raised.on_partition_share) == pytest.approx((1 / 3, 20, 2 / 3))
    assert (raised.name_per_s, raised.floor_fast, raised.keep_ratio) == (20.0, 200, 0.5)


@given(st.floats(0, 1), st.floats(1, 100), st.floats(1, 100))
def test_more_load_is_a_larger_share_and_never_more_than_all(share: float, times: float, more: float) -> None:
    once, again = with_times_the_load(share, times), with_times_the_load(share, times * more)
    assert share * (1 - 1e-9) <= once <= again * (1 + 1e-9) <= 1 + 1e-9
    assert with_times_the_load(with_times_the_load(share, times), more) == pytest.approx(again)


class Own(NamedTuple):
    name: str
    current: dict[int, float]
    part: Part | None
    bounds: Bounds = Bounds(60, 80)


@pytest.mark.parametrize(
    "own",
    [
        Own("alone there", {1: 60}, Part(60 / 100, 80 / 120)),
        Own("spread by a plan, as if it were not", {0: 20, 1: 20, 2: 20}, Part(60 / 140, 80 / 160)),
        Own("all there is", {3: 60}, Part(1.0, 1.0)),
        Own("nowhere", {}, None),
        Own("more than the partition is said to hold", {4: 60}, Part(1.0, 1.0)),
        Own("nothing of it", {1: 0}, Part(0.0, 0.0), Bounds(0, 0)),
    ],
    ids=lambda own: own.name,
)
def test_the_part_of_its_own_partition(own: Own) -> None:
    loads = {0: 100, 1: 100, 2: 100, 3: 60, 4: 50}
    assert own_part(own.bounds, own.current, loads) == (own.part and pytest.approx(own.part))


def test_keys_of_a_topic_with_one_partition_can_still_be_named() -> None:
    assert limits(Policy(), 1, HotKind.KEY).on_share == 0.25
