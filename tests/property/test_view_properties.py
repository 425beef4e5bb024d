from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hotshard.core.panes.view import View
from hotshard.core.wire.pane import HeavyList, Pane, Row
from tests.support.counting import NOW_MS, counted, partition_panes, slab, take, topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SPAN_MS = 5_000
NAMES = [b"a", b"a\x1f0", b"a\x1f1", b"b", b"b\x1f0", b"c", b"d", b"e"]
ALIASES: list[Mapping[bytes, bytes]] = [
    {},
    {b"a": b"a", b"a\x1f0": b"a"},
    {b"a": b"a", b"a\x1f0": b"a", b"a\x1f1": b"a", b"b": b"b", b"b\x1f0": b"b"},
    {b"b\x1f0": b"b"},
]


def place(name: bytes) -> int | None:
    return len(name) if name != b"d" else None


# -- the view from scratch ---------------------------------------------------------------------------


@dataclass
class Scratch:
    """A view that keeps its panes and adds them up whenever it is asked."""

    partition_of: Callable[[bytes], int | None] | None
    now_ms: int = NOW_MS
    #: Each with the time from which on it is no longer in the view, if that is known.
    panes: list[tuple[Pane, int | None]] = field(default_factory=list)
    aliases: Mapping[bytes, bytes] = field(default_factory=dict)

    def put(self, pane: Pane) -> None:
        clashing = [each for each, _ in self.panes if clash(each, pane)]
        if max((each.generation for each in clashing), default=0) <= pane.generation:
            self.panes = [(each, until) for each, until in self.panes if not clash(each, pane)] + [(pane, None)]

    def expire(self, now_ms: int) -> None:
        dated = [
            (each, min(min(each.cut_ms, now_ms) + SPAN_MS if until is None else until, now_ms + SPAN_MS))
            for each, until in self.panes
        ]
        self.panes = [(each, until) for each, until in dated if until > now_ms]

    def names(self) -> set[bytes]:
        said = {name for pane, _ in self.panes for name in (*pane.exact, *(row.key for row in pane.keys.rows))}
        return {self.aliases.get(name, name) for name in said} | set(self.aliases.values())

    def bounds(self, name: bytes) -> tuple[int, int]:
        wires = [wire for wire, base in self.aliases.items() if base == name and wire != name] + [name]
        every = [key_bounds(pane, wire) for pane, _ in self.panes for wire in wires]
        return sum(lower for lower, _ in every), sum(upper for _, upper in every)

    def tenant_bounds(self, name: bytes) -> tuple[int, int]:
        every = [listed(pane.tenants, name) for pane, _ in self.panes]
        return sum(lower for lower, _ in every), sum(upper for _, upper in every)

    def by_partition(self, name: bytes) -> dict[int, int]:
        loads: Counter[int] = Counter()
        for wire in {wire for wire, base in self.aliases.items() if base == name} | {name}:
            for pane, _ in self.panes:
                partition = pane.partition if self.partition_of is None else self.partition_of(wire)
                if partition is not None:
                    loads[partition] += key_bounds(pane, wire)[0]
        return dict(+loads)


def clash(one: Pane, other: Pane) -> bool:
    same_place = (one.source, one.partition) == (other.source, other.partition)
    return same_place and (one.start == other.start or not (one.end <= other.start or other.end <= one.start))


def listed(heavy: HeavyList, name: bytes) -> tuple[int, int]:
    return next(((row.lower, row.upper) for row in heavy.rows if row.key == name), (0, heavy.error))


def key_bounds(pane: Pane, wire: bytes) -> tuple[int, int]:
    return (pane.exact[wire], pane.exact[wire]) if wire in pane.exact else listed(pane.keys, wire)


# -- what happens to it ------------------------------------------------------------------------------


@st.composite
def lists(draw: st.DrawFn, names: list[bytes]) -> HeavyList:
    chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=5))
    bounds = ((name, draw(st.integers(0, 50)), draw(st.integers(0, 5))) for name in chosen)
    return HeavyList(tuple(Row(name, lower, lower + more) for name, lower, more in bounds), draw(st.integers(0, 9)))


@st.composite
def panes(draw: st.DrawFn) -> Pane:
    start, partition, cut_ms = draw(st.integers(0, 12)), draw(st.integers(0, 2)), draw(st.integers(-9_000, 3_000))
    return Pane(
        topic="orders", source=draw(st.sampled_from(["m1", "m2"])), partition=partition, start=start,
        end=start + draw(st.integers(0, 5)), generation=draw(st.integers(1, 3)), high_watermark=99, worker="w",
        records=9, size_bytes=9, loads=draw(st.dictionaries(st.integers(0, 2), st.integers(0, 99), max_size=2)),
        keys=draw(lists(NAMES)), tenants=draw(lists([b"t1", b"t2", b"t3"])),
        exact=draw(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 50), max_size=3)), time_ms=NOW_MS,
        span_ms=1000, opened_ms=NOW_MS + cut_ms - 1000, cut_ms=NOW_MS + cut_ms,
    )  # fmt: skip


happenings = st.lists(
    st.one_of(
        panes(),
        panes(),
        st.integers(-2_000, 4_000),  # the clock moves
        st.sampled_from(ALIASES),
        st.tuples(st.just("ask"), st.sampled_from(NAMES), st.integers(0, 120)),
    ),
    max_size=25,
)


@given(happenings, st.sampled_from([None, place]))
@settings(max_examples=300)
def test_a_view_is_what_its_panes_add_up_to_whatever_came_and_went(
    happened: list[Any], partition_of: Callable[[bytes], int | None] | None
) -> None:
    view, scratch = View(SPAN_MS, partition_of), Scratch(partition_of)
    for each in happened:
        if isinstance(each, Pane):
            view.put(each)
            scratch.put(each)
        elif isinstance(each, int):
            scratch.now_ms += each
            view.expire(scratch.now_ms)
            scratch.expire(scratch.now_ms)
        elif isinstance(each, tuple):
            view.keys.candidates(each[2])
            view.by_partition(each[1])
        else:
            view.aliases = scratch.aliases = each
        assert view.load == sum(sum(pane.loads.values()) for pane, _ in scratch.panes)
    assert_same(view, scratch)
    view.expire(scratch.now_ms + 10**6)
    assert (view.load, view.loads, view.keys.error, view.tenants.error) == (0, {}, 0, 0)
    assert (len(view.keys), len(view.tenants)) == (0, 0)


def assert_same(view: View, scratch: Scratch) -> None:
    loads: Counter[int] = Counter()
    for pane, _ in scratch.panes:
        loads.update(pane.loads)
    assert dict(view.loads) == +loads
    assert view.keys.error == sum(pane.keys.error for pane, _ in scratch.panes)
    names = scratch.names() | {b"never seen"}
    assert {name: view.keys.bounds(name) for name in names} == {name: scratch.bounds(name) for name in names}
    for name in (b"t1", b"t2", b"t3", b"t4"):
        assert view.tenants.bounds(name) == scratch.tenant_bounds(name)
    for name in names:
        assert view.by_partition(name) == scratch.by_partition(name)
    for least in (40, 9, 1):
        found = {name: (lower, upper) for name, lower, upper in view.keys.candidates(least)}
        assert found == {name: bounds for name in names if (bounds := scratch.bounds(name))[0] >= least}


@given(st.lists(panes(), max_size=20))
def test_no_offset_is_in_it_twice(put: list[Pane]) -> None:
    """Each offset is a partition of the pane's loads here, so that loads say how often it is in the view."""
    view = View(SPAN_MS)
    for pane in put:
        number = (1000 if pane.source == "m2" else 0) + 100 * pane.partition
        offsets = dict.fromkeys(range(number + pane.start, number + pane.end), 1)
        view.put(Pane(**{name: getattr(pane, name) for name in pane.__struct_fields__} | {"loads": offsets}))
    assert set(view.loads.values()) <= {1}


# -- real panes --------------------------------------------------------------------------------------

ROUTED = {b"t1\x1f%d" % n + tail: b"t1\x1f%d" % n for n in range(2) for tail in (b"", b"\x1fa", b"\x1fb")}


def keys(draw: random.Random, count: int, distinct: int) -> Iterable[bytes | None]:
    for _ in range(count):
        if draw.random() < 0.2:
            yield draw.choice([None, b"", b"solo", b"t9\x1f" + b"k" * 300, *ROUTED])
        else:
            yield b"t%d\x1f%d" % (draw.randrange(4), int(draw.random() ** 3 * distinct))


@given(
    st.integers(0, 2**32),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3_000), st.booleans()), max_size=6),
    st.sampled_from([5, 500, 10**6]),
)
@settings(max_examples=40)
def test_real_panes_counted_before_and_after_a_route_was_known_bound_the_truth(
    seed: int, stretches: list[tuple[int, int, bool]], distinct: int
) -> None:
    draw = random.Random(seed)  # noqa: S311  # traffic, no secrets
    view, spec, slabs = View(SPAN_MS), topic(), []
    counters = [partition_panes(spec, partition=number) for number in range(3)]
    for number, count, known in stretches:
        part = slab(counters[number].position, list(keys(draw, count, distinct)), partition=number)
        counters[number].add(part, NOW_MS, ROUTED if known else {})
        slabs.append(part)
        for pane in take(counters[number]):
            view.put(pane)
    view.aliases = ROUTED
    exact = counted(spec, slabs, ROUTED)
    assert view.load == exact.load
    for name, load in exact.keys.items():
        lower, upper = view.keys.bounds(name)
        assert lower <= load <= upper
    for name, load in exact.tenants.items():
        lower, upper = view.tenants.bounds(name)
        assert lower <= load <= upper
    found = dict.fromkeys(name for name, *_ in view.keys.candidates(1))
    unlisted = [name for name in exact.keys if name not in found and name not in ROUTED.values()]
    assert max((exact.keys[name] for name in unlisted), default=0) <= view.keys.error
