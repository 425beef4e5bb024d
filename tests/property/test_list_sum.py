"""Lists added up one at a time, with names let go: the bounds hold against exact counts."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.panes.listsum import KEPT_ROWS, ListSum, key_rows
from hotshard.core.sketching.merging import merge
from hotshard.core.wire.pane import HeavyList, Pane, Row

names = st.integers(0, 30).map(lambda number: b"key-%d" % number)
counts = st.dictionaries(names, st.integers(1, 50), max_size=30)


def counted(truth: dict[bytes, int], listed: int, slack: int, exact: frozenset[bytes] = frozenset()) -> Pane:
    """A pane of exactly these loads that lists the heaviest, with bounds that are ``slack`` apart."""
    heavy = sorted(truth.items(), key=lambda item: (-item[1], item[0]))
    rows = tuple(Row(key, max(0, load - slack), load + slack, (load,)) for key, load in heavy[:listed])
    heavy_list = HeavyList(rows, max((load for _, load in heavy[listed:]), default=0))
    return Pane(
        topic="orders",
        source="mirror.orders",
        partition=0,
        start=0,
        end=1,
        generation=1,
        high_watermark=1,
        worker="w",
        records=sum(truth.values()),
        size_bytes=0,
        keys=heavy_list,
        tenants=heavy_list,
        exact={key: truth.get(key, 0) for key in exact},
        time_ms=0,
        span_ms=0,
        opened_ms=0,
        cut_ms=0,
    )


panes = st.lists(st.builds(counted, counts, st.integers(0, 40), st.integers(0, 3)), max_size=8)


@given(panes)
def test_a_sum_is_what_merging_gives(given_panes: list[Pane]) -> None:
    total = ListSum()
    for pane in given_panes:
        total.add_tenants(pane)
    merged = merge(pane.tenants for pane in given_panes)
    heavy = total.heavy()
    assert [(row.key, row.lower, row.upper) for row in heavy.rows] == [
        (row.key, row.lower, row.upper) for row in merged.rows
    ]
    assert heavy.error == merged.error == total.unlisted


@given(st.lists(st.tuples(counts, st.integers(0, 40), st.integers(0, 3), st.frozensets(names)), max_size=8))
def test_bounds_hold_and_keys_counted_exactly_are_exact(
    given_panes: list[tuple[dict[bytes, int], int, int, frozenset[bytes]]],
) -> None:
    total, truth = ListSum(), Counter[bytes]()
    always = frozenset.intersection(*(exact for *_, exact in given_panes)) if given_panes else frozenset()
    for loads, listed, slack, exact in given_panes:
        total.add_keys(counted(loads, listed, slack, exact))
        truth.update(loads)
    check(total, truth, always)


def check(total: ListSum, truth: Counter[bytes], always: frozenset[bytes]) -> None:
    heavy = total.heavy()
    rows = {row.key: row for row in heavy.rows}
    for key, load in truth.items():
        if key in rows:
            assert rows[key].lower <= load <= rows[key].upper
        else:
            assert load <= heavy.error
    for key in always:
        assert rows[key].lower == rows[key].upper == truth[key]


def test_bounds_hold_when_names_are_let_go_and_come_back() -> None:
    total, truth = ListSum(), Counter[bytes]()
    pinned = frozenset({b"routed", b"routed\x1f1"})
    for turn in range(12):
        loads = {b"%d" % (number * (turn % 4 + 1)): 1 + number % 17 for number in range(250)}
        loads |= {b"routed": 1, b"heavy": 500}
        total.add_keys(counted(loads, 200, 1, pinned))
        truth.update(loads)
        check(total, truth, pinned)
        assert len(total) <= 2 * KEPT_ROWS + len(pinned)
    assert total.unlisted > merge([]).error


def test_a_row_of_a_key_that_was_counted_exactly_is_left_out() -> None:
    pane = counted({b"a": 5, b"b": 7}, 2, 1, frozenset({b"a", b"a\x1f0"}))
    assert sorted(key_rows(pane)) == [(b"a", 5, 5), (b"a\x1f0", 0, 0), (b"b", 6, 8)]


def test_the_loads_of_the_windows_before_are_those_that_the_latest_pane_tells() -> None:
    total = ListSum()
    total.add_keys(counted({b"a": 5}, 1, 0))
    total.add_keys(counted({b"a": 7}, 1, 0))
    assert [row.recent for row in total.heavy().rows] == [(7,)]
