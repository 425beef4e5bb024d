from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from hotshard.core.sketching.binding import CountMin, FrequentItems
from hotshard.core.sketching.history import WINDOWS, History
from hotshard.core.sketching.merging import least_listed, merge, threshold
from hotshard.core.sketching.tally import EXACT_NAMES, MAX_ROWS, Tally
from hotshard.core.wire.pane import HeavyList, Row
from tests.support.counting import assert_bounds_hold


def tally(*parts: dict[bytes, int]) -> Tally:
    made = Tally()
    for part in parts:
        made.add(dict(part))
    return made


def names(count: int, load: int = 1) -> dict[bytes, int]:
    return {b"n%d" % number: load for number in range(count)}


# -- the binding, and what is known to be wrong with it ----------------------------------------------


def test_a_list_below_the_sketchs_own_error_is_never_asked_for() -> None:
    sketch = FrequentItems()
    for name in names(20_000):
        for _ in range(3):
            sketch.update(name, 5)
    assert sketch.error > 1
    least, rows = sketch.over(1)
    assert least == sketch.error
    assert all(upper > least for _, _, upper in rows)


def test_a_list_of_all_names_is_one_of_all_names() -> None:
    sketch = FrequentItems()
    for name in names(100):
        sketch.update(name, 1)
    assert len(sketch.over(0)[1]) == 100


def test_the_error_of_a_sketch_covers_names_it_never_saw() -> None:
    sketch = FrequentItems()
    exact = names(10_000, 3)
    for name, load in exact.items():
        sketch.update(name, load)
    assert 3 <= sketch.error <= 3.5 / 2048 * 30_000
    assert sketch.tracked < 1_536


@pytest.mark.parametrize("name", [b"", b"\xff\xfe", b"\x00", b"\x00" * 272, "käse".encode()])
def test_any_bytes_are_a_name(name: bytes) -> None:
    sketch, counts = FrequentItems(), CountMin()
    sketch.update(name, 4)
    counts.add({name: 4})
    assert sketch.lower(name) == counts.estimate(name) == 4
    assert sketch.error == 0


def test_count_min_never_estimates_too_low_and_rarely_too_high() -> None:
    draw = random.Random(1)  # noqa: S311  # traffic, no secrets
    exact = Counter(b"k%d" % draw.paretovariate(0.4) for _ in range(50_000))
    counts = CountMin()
    counts.add(exact)
    too_high = sum(counts.estimate(name) - load > counts.error for name, load in exact.items())
    assert all(counts.estimate(name) >= load for name, load in exact.items())
    assert too_high / len(exact) < 1 - CountMin.CONFIDENCE


def test_the_error_of_count_min_is_eps_of_all_that_was_put_in() -> None:
    counts = CountMin()
    counts.add({b"a": 900, b"b": 124})
    assert counts.error == math.ceil(math.e)


def test_count_mins_add_up() -> None:
    one, other = CountMin(), CountMin()
    one.add({b"a": 3})
    other.add({b"a": 4, b"b": 5})
    one.merge(other)
    assert (one.estimate(b"a"), one.estimate(b"b")) == (7, 5)


# -- tallies -----------------------------------------------------------------------------------------


def test_few_names_are_counted_exactly() -> None:
    heavy = tally({b"a": 5, b"b": 3}, {b"a": 1}).heavy(9)
    assert heavy == HeavyList((Row(b"a", 6, 6), Row(b"b", 3, 3)), 0)


def test_nothing_counted_is_an_empty_list() -> None:
    assert Tally().heavy(0) == HeavyList()


def test_names_under_a_thousandth_are_left_out_and_told_as_error() -> None:
    loads = {b"big": 9_000, b"ten": 10, b"nine": 9, b"eight": 8}
    assert tally(loads).heavy(9_027 + 973) == HeavyList((Row(b"big", 9_000, 9_000), Row(b"ten", 10, 10)), 9)


def test_a_list_has_256_rows_and_the_next_one_is_its_error() -> None:
    loads = {b"%03d" % number: 1000 - number for number in range(300)}
    heavy = tally(loads).heavy(sum(loads.values()))
    assert len(heavy.rows) == MAX_ROWS
    assert heavy.rows[-1].key == b"255"
    assert heavy.error == 1000 - 256


def test_as_many_names_as_are_counted_exactly_are_exact() -> None:
    made = tally(names(EXACT_NAMES - 1), {b"x": 70})
    assert made.exact is not None
    assert made.heavy(EXACT_NAMES - 1 + 70).rows[0] == Row(b"x", 70, 70)


def test_more_names_than_that_go_into_a_sketch_with_what_was_there() -> None:
    exact = Counter(names(EXACT_NAMES, 2)) + Counter({b"n1": 500, **{b"m%d" % n: 3 for n in range(3_000)}})
    made = tally(names(EXACT_NAMES, 2), {b"n1": 500}, {b"m%d" % n: 3 for n in range(3_000)})
    assert made.exact is None
    assert_bounds_hold(made.heavy(exact.total()), exact)
    assert 502 >= made.lower(b"n1") > 450


def test_names_that_may_reach_a_load_are_all_found() -> None:
    few, many = tally({b"a": 10, b"b": 9}), tally({b"a": 1_000, b"b": 999}, names(5_000))
    assert few.at_least(10) == [b"a"]
    assert {b"a", b"b"} >= set(many.at_least(1_000)) >= {b"a"}


# -- merging -----------------------------------------------------------------------------------------


def test_a_name_missing_from_a_list_gets_that_lists_error() -> None:
    one = HeavyList((Row(b"a", 10, 12), Row(b"b", 9, 9)), 3)
    other = HeavyList((Row(b"a", 5, 5),), 2)
    assert merge([one, other]) == HeavyList((Row(b"a", 15, 17), Row(b"b", 9, 11)), 5)


def test_recent_keeps_the_largest_of_each_window_with_the_newest_aligned() -> None:
    rows = [HeavyList((Row(b"a", 1, 1, recent),)) for recent in ((1, 2, 3), (9, 1), ())]
    assert merge(rows).rows[0].recent == (1, 9, 3)


@pytest.mark.parametrize(
    ("error", "load", "expected"),
    [(0, 0, 0), (0, 1, 1), (0, 1000, 1), (0, 1001, 2), (7, 5000, 7), (7, 8000, 8), (3, 2_000_001, 2001)],
)
def test_the_threshold_is_the_error_and_at_least_a_thousandth_rounded_up(error: int, load: int, expected: int) -> None:
    assert threshold(error, load) == expected
    assert least_listed(load) == -(-load // 1000)


# -- history -----------------------------------------------------------------------------------------


def test_the_windows_before_one_are_told_newest_last() -> None:
    history = History()
    for window in range(10, 20):
        history.add(window, {b"a": window})
    assert history.before(20, b"a").estimates == (14, 15, 16, 17, 18, 19)
    assert history.before(19, b"a").estimates == (13, 14, 15, 16, 17, 18)


def test_a_window_before_the_first_is_unknown_and_one_without_records_is_nothing() -> None:
    history = History()
    history.add(10, {b"a": 5})
    history.add(12, {b"a": 6})
    assert history.before(13, b"a").estimates == (5, 0, 6)
    assert history.before(14, b"b").estimates == (0, 0, 0, 0)
    assert History().before(14, b"b").estimates == ()


def test_parts_of_a_window_add_up_whether_counted_or_given() -> None:
    history, counts = History(), CountMin()
    counts.add({b"a": 4})
    history.merge(7, counts)
    history.add(7, {b"a": 1})
    more = CountMin()
    more.add({b"a": 10})
    history.merge(7, more)
    recent = history.before(8, b"a")
    assert recent.estimates == (15,)
    assert recent.errors == (1,)
    assert recent.confidence == pytest.approx(1 - math.exp(-4))


def test_the_window_added_to_longest_ago_is_forgotten() -> None:
    history = History()
    for window in (10, 11, 12, 13, 14, 15, 10, 16, 17):
        history.add(window, {b"a": 1})
    assert history.before(16, b"a").estimates == (2, 0, 1, 1, 1, 1)


def test_a_window_far_in_the_future_does_not_drive_the_others_out() -> None:
    history = History()
    history.add(10**9, {b"a": 1})
    for window in range(10, 20):
        history.add(window, {b"a": window})
    assert history.before(20, b"a").estimates == (14, 15, 16, 17, 18, 19)
    assert history.size_bytes == (WINDOWS + 1) * 4 * 1024 * 8
