"""When something is done about a hot key: a table of cases on twelve partitions."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from hotshard.core.policy.acting import ActReason, worth_acting
from hotshard.core.policy.evidence import Totals
from hotshard.core.policy.thresholds import Policy

EVEN = (1_000.0,) * 12
CREST = (3_000.0, *EVEN[1:])


ROOMY = Policy(partition_capacity_per_s=1_000)


class Case(NamedTuple):
    name: str
    reason: str
    lower: int = 2_000
    view: Totals = Totals(14_000, 10.0)
    loads: tuple[float, ...] = CREST
    policy: Policy = Policy()
    loads_s: float | None = None


CASES = [
    Case("a key that makes a crest", "worth_acting"),
    Case("a partition is missing", "incomplete_view", view=Totals(14_000, 10.0, 0.9)),
    Case("99 a second", "below_act_floor", lower=999),
    Case("100 a second", "worth_acting", lower=1_000),
    Case("nothing seen yet", "below_act_floor", view=Totals(0, 0.0), loads=(0.0,) * 12),
    Case("big enough to act, too small a share", "not_worth", lower=3_100, view=Totals(140_000, 10.0)),
    Case("its partition is no more loaded than others", "partition_not_above", loads=EVEN),
    Case("its partition is within the tolerance", "partition_not_above", loads=(1_270.0, *EVEN[1:])),
    Case("a topic of one partition", "not_worth", lower=14_000, loads=(14_000.0,)),
    Case("its partition gets what it takes: 300 a second", "worth_acting", policy=Policy(partition_capacity_per_s=300)),
    Case("its partition takes more than it gets", "within_capacity", policy=Policy(partition_capacity_per_s=301)),
    Case(
        "loads of five seconds, as they say",
        "worth_acting",
        policy=Policy(partition_capacity_per_s=600),
        loads_s=5.0,
    ),
    Case("not above the others, and within what it takes", "partition_not_above", loads=EVEN, policy=ROOMY),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_key_is_acted_on_as_its_case_says(case: Case) -> None:
    verdict = worth_acting(case.policy, case.lower, case.view, case.loads, 0, loads_s=case.loads_s)
    assert verdict.reason == case.reason
    assert verdict.acts == (case.reason == "worth_acting")


def test_every_reason_has_a_case() -> None:
    assert {case.reason for case in CASES} == set(ActReason)


def test_a_verdict_carries_its_numbers() -> None:
    assert worth_acting(Policy(), 2_000, Totals(14_000, 10.0), CREST, 0).numbers == pytest.approx(
        {
            "share": 1 / 7,
            "min_share": 0.25 / 11,
            "load_per_s": 200.0,
            "floor_act_per_s": 100.0,
            "partition_load": 3_000.0,
            "mean": 14_000 / 12,
            "completeness": 1.0,
        }
    )


def test_a_known_capacity_is_among_its_numbers() -> None:
    numbers = worth_acting(ROOMY, 2_000, Totals(14_000, 10.0), CREST, 0).numbers
    assert (numbers["partition_per_s"], numbers["partition_capacity_per_s"]) == (300.0, 1_000)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_stands_may_be_fitted_but_where_the_key_or_the_view_gives_no_ground(case: Case) -> None:
    verdict = worth_acting(case.policy, case.lower, case.view, case.loads, 0, loads_s=case.loads_s)
    assert verdict.fits == (case.reason in {"worth_acting", "partition_not_above", "within_capacity"})
