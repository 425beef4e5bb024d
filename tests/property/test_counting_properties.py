from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate, cycle
from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hotshard.core.panes.clock import PaneClock
from hotshard.core.sketching.history import History
from hotshard.core.sketching.merging import merge
from hotshard.core.topic import KeyLayout, Load, TopicSpec
from hotshard.core.wire.pane import HeavyList, Pane, Row, decode, encode
from tests.support.counting import NOW_MS, WINDOW_MS, assert_bounds_hold, counted, partition_panes, slab, take, topic

if TYPE_CHECKING:
    from hotshard.core.slab import Slab

ROUTED = {b"t1\x1f%d" % n + tail: b"t1\x1f%d" % n for n in range(3) for tail in (b"", b"\x1fa", b"\x1fb")}
ODD_KEYS = (None, b"", b"\x1f", b"\xff\xfe", b"solo", b"t9\x1f" + b"k" * 300, *ROUTED)


@dataclass(frozen=True)
class Step:
    """A slab of the stream, and what happens behind it."""

    records: int
    distinct: int
    hole: int
    then: str


steps = st.lists(
    st.builds(
        Step,
        records=st.one_of(st.integers(0, 40), st.integers(0, 4_000)),
        distinct=st.sampled_from([1, 3, 300, 10**6]),
        hole=st.sampled_from([0, 0, 1, 5]),
        then=st.sampled_from(["go on", "go on", "seal", "look"]),
    ),
    max_size=8,
)
specs = st.builds(
    lambda load, layout: topic(load=load, layout=layout), st.sampled_from(Load), st.sampled_from(KeyLayout)
)


def stream(seed: int, wanted: list[Step], start: int = 0) -> list[Slab]:
    draw = random.Random(seed)  # noqa: S311  # traffic, no secrets
    slabs = []
    for step in wanted:
        keys = [
            draw.choice(ODD_KEYS)
            if draw.random() < 0.2
            else b"t%d\x1f%d" % (draw.randrange(4), int(draw.random() ** 3 * step.distinct))
            for _ in range(step.records)
        ]
        sizes = [draw.choice([0, 1, 30, 1_000]) for _ in keys]
        slabs.append(slab(start, keys, sizes=sizes, hole=step.hole))
        start = slabs[-1].end
    return slabs


def run(spec: TopicSpec, slabs: list[Slab], wanted: list[Step], *, computed: bool = False) -> list[Pane]:
    panes = partition_panes(spec, partition_of=(lambda key: len(key) % 5) if computed else None)
    taken = []
    for part, step in zip(slabs, wanted, strict=True):
        panes.add(part, NOW_MS, ROUTED)
        if step.then == "seal":
            taken += take(panes)
        elif step.then == "look" and (early := panes.early(NOW_MS)):
            assert_right(spec, early, slabs)
    return taken + take(panes)


def assert_right(spec: TopicSpec, pane: Pane, slabs: list[Slab], *, computed: bool = False) -> None:
    exact = counted(spec, [part for part in slabs if pane.start <= part.start and part.end <= pane.end], ROUTED)
    assert (pane.records, pane.size_bytes, pane.unkeyed) == (exact.records, exact.size_bytes, exact.unkeyed)
    assert pane.failed == 0
    assert sum(pane.loads.values()) == exact.load
    if computed:
        by_partition: Counter[int] = Counter()
        for key, load in exact.wire.items():
            by_partition[len(key) % 5] += load
        assert +Counter(pane.loads) == +by_partition
    for heavy, truth in ((pane.keys, exact.keys), (pane.tenants, exact.tenants)):
        assert_bounds_hold(heavy, truth)
        assert len(heavy.rows) <= 256
        assert all(1000 * row.upper >= exact.load for row in heavy.rows)
        assert list(heavy.rows) == sorted(heavy.rows, key=lambda row: -row.upper)
    assert pane.exact == {key: exact.wire[key] for key in ROUTED} or not pane.records
    for row in pane.keys.rows:
        shards = [key for key, base in ROUTED.items() if base == row.key]
        assert not shards or row.lower <= sum(pane.exact[key] for key in shards) <= row.upper
    assert decode(encode(pane)) == pane


@given(st.integers(0, 2**32), steps, specs, st.sampled_from(["source", "computed"]))
@example(1, [Step(4_000, 10**6, 0, "go on")] * 5, topic(), "source")
@example(2, [Step(4_000, 10**6, 0, "look")] * 5, topic(load=Load.BYTES), "computed")
@settings(max_examples=60)
def test_panes_tile_the_offsets_and_hold_what_an_exact_count_holds(
    seed: int, wanted: list[Step], spec: TopicSpec, partitions: str
) -> None:
    slabs = stream(seed, wanted)
    panes = run(spec, slabs, wanted, computed=partitions == "computed")
    end = slabs[-1].end if slabs else 0
    assert [0, *(pane.end for pane in panes)] == [*(pane.start for pane in panes), end]
    assert sum(pane.records for pane in panes) == sum(map(len, slabs))
    for pane in panes:
        assert_right(spec, pane, slabs, computed=partitions == "computed")


@given(st.integers(0, 2**32), steps, specs)
@settings(max_examples=40)
def test_merged_lists_of_panes_bound_the_whole_stream(seed: int, wanted: list[Step], spec: TopicSpec) -> None:
    slabs = stream(seed, wanted)
    panes = run(spec, slabs, wanted)
    exact = counted(spec, slabs, ROUTED)
    assert_bounds_hold(merge(pane.keys for pane in panes), exact.keys)
    assert_bounds_hold(merge(pane.tenants for pane in panes), exact.tenants)


@st.composite
def lists(draw: st.DrawFn) -> HeavyList:
    rows = draw(
        st.lists(
            st.builds(
                lambda key, lower, more, recent: Row(key, lower, lower + more, tuple(recent)),
                st.sampled_from([b"a", b"b", b"c", b"d"]),
                st.integers(1, 50),
                st.integers(0, 9),
                st.lists(st.integers(0, 9), max_size=3),
            ),
            unique_by=lambda row: row.key,
            max_size=4,
        )
    )
    return HeavyList(tuple(rows), draw(st.integers(0, 9)))


@given(lists(), lists(), lists())
def test_merging_is_associative_and_commutative(one: HeavyList, two: HeavyList, three: HeavyList) -> None:
    assert merge([one, two]) == merge([two, one])
    assert merge([merge([one, two]), three]) == merge([one, merge([two, three])]) == merge([three, one, two])
    assert merge([merge([one]), HeavyList()]) == merge([one])


@given(st.integers(0, 2**32), st.lists(st.sampled_from([0, 50, 3_000]), min_size=1, max_size=8))
@settings(max_examples=30)
def test_the_windows_before_are_never_told_too_low_and_rarely_far_too_high(seed: int, sizes: list[int]) -> None:
    draw = random.Random(seed)  # noqa: S311  # traffic, no secrets
    windows = [Counter(b"%d" % int(draw.random() ** 4 * 9_000) for _ in range(size)) for size in sizes]
    history = History()
    for number, window in enumerate(windows):
        history.add(number, window)
    keys = sorted(set().union(*windows, [b"never there"]))
    far = 0
    for key in keys:
        recent = history.before(len(windows), key)
        assert len(recent.estimates) == min(6, len(windows))
        for estimate, error, window in zip(recent.estimates, recent.errors, windows[-6:], strict=True):
            assert estimate >= window[key]
            far += estimate - error > window[key]
    assert far <= 0.05 * len(keys) * len(windows)


@given(
    st.lists(st.integers(NOW_MS - 1000, NOW_MS), min_size=20, max_size=3_000),
    st.lists(st.integers(-(10**15), 10**15), max_size=9),
    st.integers(1, 500),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60)
def test_a_few_wild_timestamps_move_a_pane_by_less_than_its_span(
    right: list[int], wild: list[int], size: int, draw: random.Random
) -> None:
    stamps = right + wild[: len(right) // 20]
    draw.shuffle(stamps)
    clock = PaneClock(10_000)
    for start in range(0, len(stamps), size):
        clock.add(stamps[start : start + size], NOW_MS)
    time_ms, span_ms = clock.time(NOW_MS, NOW_MS)
    assert NOW_MS - 1000 <= time_ms <= NOW_MS
    assert 0 <= span_ms <= 1000 * 1.3


@given(
    st.lists(st.integers(0, 4_000), min_size=1, max_size=400),
    st.lists(st.integers(1, 90), min_size=1, max_size=20),
    st.integers(0, 50),
)
def test_records_in_order_are_counted_in_their_own_windows_whatever_the_slabs(
    gaps: list[int], sizes: list[int], pace_ms: int
) -> None:
    """Gaps are below a window: of records further apart a few at the end of a slab may join the ones before."""
    begin_ms = NOW_MS - 3_600_000
    stamps = [begin_ms + past_ms for past_ms in accumulate(gaps)]
    keys = [b"t\x1f%d" % (index * index % 7) for index in range(len(stamps))]
    panes, now_ms = partition_panes(), NOW_MS
    lengths = cycle(sizes)
    while (begin := panes.position) < len(stamps):
        end = min(len(stamps), begin + next(lengths))
        panes.add(slab(begin, keys[begin:end], at_ms=stamps[begin:end]), now_ms, {})
        now_ms += pace_ms
    taken = take(panes, now_ms)
    assert [0, *(pane.end for pane in taken)] == [*(pane.start for pane in taken), len(stamps)]
    by_window: defaultdict[int, Counter[bytes]] = defaultdict(Counter)
    for pane in taken:
        by_window[pane.time_ms // WINDOW_MS].update({row.key: row.lower for row in pane.keys.rows})
    exact: defaultdict[int, Counter[bytes]] = defaultdict(Counter)
    for key, stamp in zip(keys, stamps, strict=True):
        exact[stamp // WINDOW_MS][key] += 1
    assert by_window == exact
