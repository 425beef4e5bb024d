"""Bars, numbers and names as a person reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.report.bars import bar, stacked
from hotshard.report.names import key_name
from hotshard.report.numbers import count, duration, percent

LOADS = st.floats(0, 1e6, allow_nan=False)


@given(LOADS, st.floats(0.1, 1e6), st.integers(0, 200), st.booleans())
def test_a_bar_never_leaves_its_room(value: float, most: float, width: int, plain: bool) -> None:  # noqa: FBT001
    assert len(bar(value, most, width, plain=plain)) <= width


@given(st.floats(0.001, 1e6), st.floats(0.1, 1e6), st.integers(1, 200), st.booleans())
def test_what_is_above_zero_leaves_a_trace(value: float, most: float, width: int, plain: bool) -> None:  # noqa: FBT001
    assert bar(value, most, width, plain=plain)


def test_a_bar_is_exact_to_an_eighth() -> None:
    assert bar(5, 16, 2) == "▋"
    assert bar(13, 16, 2) == "█▋"
    assert bar(16, 16, 2) == "██"
    assert bar(99, 16, 2) == "██"
    assert bar(0, 16, 2) == ""
    assert bar(9, 16, 4, plain=True) == "##"


@given(st.lists(LOADS, min_size=1, max_size=4), st.floats(0.1, 1e6), st.integers(0, 120))
def test_stacked_pieces_are_together_the_bar_of_the_whole(parts: list[float], most: float, width: int) -> None:
    assert "".join(stacked(parts, most, width)) == bar(sum(parts), most, width)


def test_pieces_are_as_long_as_their_parts() -> None:
    assert [len(piece) for piece in stacked((10, 30), 40, 40)] == [10, 30]


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ms"), (8.4, "8 ms"), (999.4, "999 ms"), (999.6, "1.0 s"), (3449, "3.4 s"), (125_000, "2 min 5 s")],
)
def test_a_duration_has_the_unit_that_suits_it(ms: float, text: str) -> None:
    assert duration(ms) == text


def test_shares_and_counts_are_short() -> None:
    assert [percent(share) for share in (0.004, 0.0994, 0.0996, 0.35)] == ["0.4 %", "9.9 %", "10 %", "35 %"]
    assert count(12345.4) == "12,345"


@given(st.binary(max_size=64))
def test_no_key_can_steer_the_terminal(key: bytes) -> None:
    assert key_name(key).isprintable()


def test_the_parts_of_a_key_are_told_apart() -> None:
    assert key_name("acme\x1fthread-1\x1f03") == "acme / thread-1 / 03"
    assert key_name(b"\x1b[31macme\xff") == "\\x1b[31macme\\xff"
