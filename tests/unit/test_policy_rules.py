"""The rules of heat, as a table of cases.

A case is the evidence and the first rule that it meets: of turning hot and of being cold. To add one, write
what is different from ``QUIET``, a key of no account on 12 partitions (share to turn on 2.27 %, off 1.14 %,
fast 4.55 %; 20 a second to be named, 200 in the short view to be fast).
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from hotshard.core.policy.evidence import Heat, HeatReason, Totals, ViewTotals
from hotshard.core.policy.rules import cold_reason, hot_reason, limits
from hotshard.core.policy.thresholds import Policy
from hotshard.core.wire.route import HotKind


class Bounds(NamedTuple):
    lower: int
    upper: int


class Case(NamedTuple):
    name: str
    fast: Bounds | None = Bounds(10, 12)
    slow: Bounds = Bounds(50, 60)
    fast_view: Totals = Totals(20_000, 2.0)
    slow_view: Totals = Totals(100_000, 10.0)
    hot: str | None = None
    cold: str | None = None


CASES = [
    Case("of no account", cold="share_below"),
    Case("flood", fast=Bounds(910, 910), hot="fast_share"),
    Case("just below the fast share", fast=Bounds(909, 5000), cold="share_below"),
    Case("flood but for its lower bound", fast=Bounds(0, 20_000), cold="share_below"),
    Case("not in the short view, flooding the long one", fast=None, slow=Bounds(2273, 2273), hot="slow_share"),
    Case("just below the share", slow=Bounds(2272, 2272)),
    Case("surely above off, surely below on", slow=Bounds(1200, 2200)),
    Case("upper bound keeps it", slow=Bounds(10, 1137)),
    Case("upper bound just below off", slow=Bounds(10, 1136), cold="share_below"),
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
    Case(
        "a second is enough to cool", None, Bounds(0, 0), Totals(10_000, 1.0), Totals(10_000, 1.0), cold="share_below"
    ),
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
        cold="share_below",
    ),
    Case(
        "flood begins while the long view is still cold",
        fast=Bounds(1000, 1000),
        slow=Bounds(1000, 1000),
        hot="fast_share",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_evidence_meets_the_rule_of_its_case(case: Case) -> None:
    to = limits(Policy(), 12, HotKind.KEY)
    heat, views = Heat(b"key", case.fast, case.slow), ViewTotals(case.fast_view, case.slow_view)
    assert (hot_reason(heat, views, to), cold_reason(heat, views, to)) == (case.hot, case.cold)


def test_every_rule_has_a_case() -> None:
    assert {case.hot for case in CASES} | {case.cold for case in CASES} == {None, *HeatReason}


def test_without_a_share_of_its_own_a_policy_takes_the_least_worth_splitting() -> None:
    to = limits(Policy(eps=0.5), 11, HotKind.KEY)
    assert (to.on_share, to.off_share, to.fast_share) == pytest.approx((0.05, 0.025, 0.1))


def test_a_policys_own_share_wins() -> None:
    assert limits(Policy(on_share=0.3), 12, HotKind.KEY).on_share == 0.3


def test_tenants_have_a_share_of_their_own() -> None:
    assert limits(Policy(on_share=0.3), 12, HotKind.TENANT).on_share == Policy().tenant_on_share


def test_keys_of_a_topic_with_one_partition_can_still_be_named() -> None:
    assert limits(Policy(), 1, HotKind.KEY).on_share == 0.25
