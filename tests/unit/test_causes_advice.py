"""What an application must do itself, and what keys look like: case by case, near misses among them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hotshard.core.causes.advice import ADVICE
from hotshard.core.causes.table import judge
from hotshard.core.looks import framed_alike, is_of_the_clock, is_placeholder, is_series, is_total, shown
from tests.support.causes import crowd, evidence_of

if TYPE_CHECKING:
    from hotshard.core.causes.evidence import Evidence

CROWD = crowd(3000)
N = 12


def one_hot(key: bytes, **fields: object) -> Evidence:
    return evidence_of(CROWD + type(CROWD)({key: 4000}), N, hot={key: fields})


CASES: dict[str, tuple[Evidence, tuple[str, ...]]] = {
    "nothing is wrong": (evidence_of(CROWD, N), ()),
    "a key that is split": (one_hot(b"acme\x1forder-1"), ()),
    "a key that must stay in order": (
        one_hot(b"order-1", refusal="per_key_order"), ("composite_key", "cache_in_front"),
    ),
    "a key that cannot be split": (one_hot(b"order-1", refusal="compacted_topic"), ("cache_in_front",)),
    "a key for a missing value": (one_hot(b"undefined"), ("real_key",)),
    "a counter": (one_hot(b"#stat"), ("counter_in_parts", "relative_update")),
    "a balance": (one_hot(b"bank\x1faccount-1"), ("ledger", "relative_update")),
    "a counter of balances": (one_hot(b"total_balance"), ("counter_in_parts", "ledger", "relative_update")),
    "a constant key": (evidence_of({b"public": 1000}, N), ("composite_key",)),
    "a constant key for a missing value": (evidence_of({b"N/A": 1000}, N), ("real_key",)),
    "statuses": (evidence_of({b"new": 500, b"open": 500, b"done": 500}, N), ("composite_key",)),
    "a number that rises": (
        replace(one_hot(b"run-19"), recent_tops=(b"run-17", b"run-18", b"run-19")), ("hashed_key",),
    ),
    "a flood of a moment": (replace(one_hot(b"order-1"), windows_hot=1), ("cache_in_front",)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_advice(case: str) -> None:
    evidence, codes = CASES[case]
    assert judge(evidence).advice == codes


def test_every_advice_has_a_case_and_says_what_to_do_in_the_sentence() -> None:
    assert {code for _, codes in CASES.values() for code in codes} == {each.code for each in ADVICE}
    for evidence, codes in CASES.values():
        phrases = [each.phrase for each in ADVICE if each.code in codes]
        assert not phrases or f"the application should {phrases[0]}." in judge(evidence).sentence


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        (b"undefined", True), (b"acme\x1fNULL", True), (b"acme:none", True), (b"", True), (b'"unknown"', True),
        (b"N/A", True), (b"00000000-0000-0000-0000-000000000000", True), (b"nullable", False), (b"none-such", False),
        (b"0", False), (b"\xff", False), (b"undefined\x1forder-1", False),
    ],
)  # fmt: skip
def test_a_placeholder(name: bytes, holds: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_placeholder(name) is holds


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        (b"#stat", True), (b"pageTotal", True), (b"daily_count", True), (b"acme\x1fusage", True), (b"statue", False),
        (b"country", False), (b"account-1", False), (b"\xffcount", False), (b"total\x1forder-1", False),
    ],
)  # fmt: skip
def test_a_total(name: bytes, holds: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_total(name) is holds


#: 2023-11-14T22:13:20Z.
AT_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        (b"1700000000", True), (b"1700000000000", True), (b"log-1700000000123456", True), (b"2023-11-14T22", True),
        (b"20231114 22:13", True), (b"1600000000000", False), (b"2023-11-14T21", False), (b"2023-11-14", False),
        (b"2023-13-14T22", False), (b"order-17000", False), (b"\xff", False),
    ],
)  # fmt: skip
def test_a_key_of_the_clock(name: bytes, holds: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_of_the_clock(name, AT_MS, AT_MS + 10_000) is holds


@pytest.mark.parametrize(
    ("names", "holds"),
    [
        ((b"run-1", b"run-2", b"run-10"), True), ((b"1", b"2", b"3"), True), ((b"run-1", b"run-2"), False),
        ((b"run-1", b"run-3", b"run-2"), False), ((b"run-1", b"job-2", b"run-3"), False), ((b"a", b"b", b"c"), False),
        ((b"run-1", b"run-2", b"other"), False), ((), False),
    ],
)  # fmt: skip
def test_a_series(names: tuple[bytes, ...], holds: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_series(names) is holds


def test_keys_that_differ_in_their_frame_only() -> None:
    one, two, other = b"\x00\x00\x00\x00\x01abc", b"\x00\x00\x00\x00\x02abc", b"\x00\x00\x00\x00\x02abd"
    assert framed_alike((one, other, two)) == (one, two)
    assert framed_alike((one, other)) == ()
    assert framed_alike((b"\x01\x00\x00\x00\x01abc", two)) == ()


def test_a_name_in_a_sentence_is_short_and_harmless() -> None:
    assert shown(b"acme\x1forder-1") == "'acme/order-1'"
    assert shown(b"\x1b[2Jx") == "'?[2Jx'"
    assert shown(b"\xff\x00") == "'0xff00'"
    assert len(shown(b"x" * 1000)) == 42
