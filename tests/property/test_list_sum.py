"""Lists added up one at a time, with names let go: the bounds hold against exact counts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.panes.listsum import KEPT_ROWS, ListSum, key_rows
from hotshard.core.sketching.merging import merge
from hotshard.core.wire.pane import HeavyList, Pane, Row

if TYPE_CHECKING:
    from random import Random

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


class Plain:
    """The same rules, a row at a time and a dictionary for each figure."""

    def __init__(self) -> None:
        self.lowers: dict[bytes, int] = {}
        self.aboves: dict[bytes, int] = {}
        self.recent: dict[bytes, tuple[int, ...]] = {}
        self.pinned: set[bytes] = set()
        self.error = self.floor = 0

    def add_keys(self, pane: Pane) -> None:
        self.pinned |= pane.exact.keys()
        for name, lower, upper in key_rows(pane):
            self.lowers[name] = self.lowers.get(name, 0) + lower
            self.aboves[name] = self.aboves.get(name, self.floor) + upper - pane.keys.error
        self.recent |= {row.key: row.recent for row in pane.keys.rows if row.recent}
        self.error += pane.keys.error
        if len(self.lowers) - len(self.pinned) > 2 * KEPT_ROWS:
            free = self.aboves.keys() - self.pinned
            light = sorted(free, key=lambda name: (-self.aboves[name], name))[KEPT_ROWS:]
            self.floor = max(self.floor, self.aboves[light[0]])
            for name in light:
                del self.aboves[name], self.lowers[name]
                self.recent.pop(name, None)

    def heavy(self) -> HeavyList:
        rows = sorted((-above, name) for name, above in self.aboves.items())
        return HeavyList(
            tuple(Row(name, self.lowers[name], self.error - low, self.recent.get(name, ())) for low, name in rows),
            self.error + self.floor,
        )


@given(
    st.randoms(use_true_random=False),
    st.integers(1, 12),
    st.sampled_from([40, 700, 3000]),
    st.frozensets(st.integers(0, 3000).map(lambda number: b"key-%d" % number), max_size=5),
)
def test_a_sum_is_what_adding_up_plainly_gives_however_often_names_are_let_go(
    draw: Random, many: int, distinct: int, exact: frozenset[bytes]
) -> None:
    total, plain = ListSum(), Plain()
    for _ in range(many):
        loads = {b"key-%d" % draw.randrange(distinct): draw.randint(1, 500) for _ in range(draw.randint(0, 256))}
        pane = counted(loads, draw.choice([20, 256]), draw.randint(0, 3), exact if draw.random() < 0.8 else frozenset())
        total.add_keys(pane)
        plain.add_keys(pane)
        assert len(total) == len(plain.lowers)
        assert total.unlisted == plain.error + plain.floor
    assert total.heavy() == plain.heavy()
