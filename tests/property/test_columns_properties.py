"""Tenants and discriminators beside the key: what panes say of them, against an exact count of any stream."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hotshard.core.sketching.binding import HyperLogLog
from hotshard.core.sketching.distinct import EXACT_DISTINCT, Distinct, WindowDistinct
from hotshard.core.sketching.owners import Owners
from hotshard.core.topic import Field, KeyLayout, Load, Place, TopicSpec
from hotshard.core.wire.pane import Pane, decode, encode, sub_name, travelling_key
from tests.support.counting import NOW_MS, assert_bounds_hold, partition_panes, slab, take, topic

if TYPE_CHECKING:
    from hotshard.core.slab import Slab

ROUTED = {b"r%d" % n + tail: b"r%d" % n for n in range(2) for tail in (b"", b"\x1fa", b"\x1fb")}
ODD_KEYS = (None, b"", b"k" * 300, *ROUTED)
ODD_TENANTS = (None, b"", b"t" * 300)


@dataclass(frozen=True)
class Step:
    """A slab of the stream, and what happens behind it."""

    records: int
    keys: int
    tenants: int
    #: Every key has one tenant, but for a few records.
    owned: bool
    then: str


steps = st.lists(
    st.builds(
        Step,
        records=st.one_of(st.integers(0, 40), st.integers(0, 4_000)),
        keys=st.sampled_from([1, 3, 300, 10**6]),
        tenants=st.sampled_from([1, 5, 10**6]),
        owned=st.booleans(),
        then=st.sampled_from(["go on", "go on", "seal"]),
    ),
    max_size=8,
)
loads = st.sampled_from(Load)


def spec_of(load: Load) -> TopicSpec:
    header, value = Field(Place.HEADER, "t"), Field(Place.JSON, "d")
    return topic(load=load, layout=KeyLayout.ENTITY, tenant=header, discriminator=value)


def stream(seed: int, wanted: list[Step]) -> list[Slab]:
    draw = random.Random(seed)  # noqa: S311  # traffic, no secrets
    slabs, start = [], 0
    for step in wanted:
        keys = [
            draw.choice(ODD_KEYS) if draw.random() < 0.2 else b"k%d" % int(draw.random() ** 3 * step.keys)
            for _ in range(step.records)
        ]
        tenants = [_tenant(draw, step, key) for key in keys]
        subs = [draw.choice([None, b"", b"d%d" % draw.randrange(5), b"d" * 300]) for _ in keys]
        sizes = [draw.choice([0, 1, 30, 1_000]) for _ in keys]
        slabs.append(slab(start, keys, sizes=sizes, tenants=tenants, discriminators=subs))
        start = slabs[-1].end
    return slabs


def _tenant(draw: random.Random, step: Step, key: bytes | None) -> bytes | None:
    if draw.random() < (0.02 if step.owned else 0.2):
        return draw.choice(ODD_TENANTS)
    number = len(key or b"") * 7 if step.owned else draw.randrange(step.tenants)
    return b"t%d" % number


class Exact:
    """The same, record by record."""

    def __init__(self, spec: TopicSpec, slabs: list[Slab]) -> None:
        self.tenants: Counter[bytes] = Counter()
        self.subs: Counter[bytes] = Counter()
        self.owners: defaultdict[bytes, set[bytes | None]] = defaultdict(set)
        self.untenanted = self.unkeyed_load = 0
        for part in slabs:
            columns = (part.keys, part.sizes, part.tenants or (), part.discriminators or ())
            for key, size, tenant, sub in zip(*columns, strict=True):
                self._add(key, size if spec.load is Load.BYTES else 1, tenant or None, sub)

    def _add(self, key: bytes | None, load: int, tenant: bytes | None, sub: bytes | None) -> None:
        if tenant is None:
            self.untenanted += 1
        else:
            self.tenants[travelling_key(tenant)] += load
        if key is None:
            self.unkeyed_load += load if tenant else 0
            return
        base = ROUTED.get(key, key)
        self.owners[travelling_key(base)].add(None if tenant is None else travelling_key(tenant))
        if sub and key in ROUTED:
            self.subs[sub_name(base, travelling_key(sub))] += load


def run(spec: TopicSpec, slabs: list[Slab], wanted: list[Step]) -> list[Pane]:
    panes = partition_panes(spec)
    taken = []
    for part, step in zip(slabs, wanted, strict=True):
        panes.add(part, NOW_MS, ROUTED)
        if step.then == "seal":
            taken += take(panes)
    return taken + take(panes)


@given(st.integers(0, 2**32), steps, loads)
@example(1, [Step(4_000, 10**6, 5, owned=True, then="go on")] * 6, Load.RECORDS)
@example(2, [Step(4_000, 10**6, 10**6, owned=False, then="go on")] * 6, Load.BYTES)
@example(3, [Step(4_000, 300, 10**6, owned=False, then="go on")] * 3, Load.RECORDS)
@settings(max_examples=60)
def test_what_panes_say_of_columns_is_what_an_exact_count_says(seed: int, wanted: list[Step], load: Load) -> None:
    spec = spec_of(load)
    slabs = stream(seed, wanted)
    for pane in run(spec, slabs, wanted):
        exact = Exact(spec, [part for part in slabs if pane.start <= part.start and part.end <= pane.end])
        assert pane.failed == 0
        assert (pane.untenanted, pane.unkeyed_load) == (exact.untenanted, exact.unkeyed_load)
        assert_bounds_hold(pane.tenants, exact.tenants)
        least = (sum(pane.loads.values()) + pane.unkeyed_load) / 1000
        heavy = {tenant for tenant, part in exact.tenants.items() if part >= max(1, least)}
        assert heavy <= {row.key for row in pane.tenants.rows} or len(exact.tenants) > 256
        assert_bounds_hold(pane.subs, exact.subs)
        assert pane.tenant_of is not None
        for key, tenant in pane.tenant_of.items():
            assert exact.owners[key] == {tenant}
        if len(exact.owners) <= 2_000:
            sole = {key for key, owners in exact.owners.items() if len(owners) == 1 and None not in owners}
            assert {row.key for row in pane.keys.rows} & sole <= pane.tenant_of.keys()
        assert decode(encode(pane)) == pane


@given(
    st.lists(
        st.tuples(
            st.sets(st.tuples(st.integers(0, 30).map(b"%d".__mod__), st.sampled_from([b"x", b"y", b"", None]))),
            st.none() | st.sets(st.integers(0, 30).map(b"%d".__mod__)),
        ),
        max_size=12,
    ),
    st.sampled_from([1, 3, 1 << 14]),
)
def test_whose_a_key_is_said_to_be_it_surely_is(
    batches: list[tuple[set[tuple[bytes, bytes | None]], set[bytes] | None]], cells: int
) -> None:
    owners, seen = Owners(cells), defaultdict[bytes, set[bytes | None]](set)
    for pairs, keep in batches:
        owners.note(pairs, keep)
        for key, tenant in pairs:
            seen[key].add(tenant)
    for key, tenant in owners.of([b"%d" % n for n in range(31)]).items():
        assert seen[key] == {tenant}
    if not any(keep is not None for _, keep in batches):
        assert owners.of(seen).keys() == {key for key, owned in seen.items() if len(owned) == 1 and all(owned)}


# -- how many there are ------------------------------------------------------------------------------


@given(st.lists(st.sets(st.integers(0, 2_000)), max_size=6))
def test_few_names_are_told_apart_exactly_however_they_come(parts: list[set[int]]) -> None:
    together, added = Distinct(), Distinct()
    for part in parts:
        alone = HyperLogLog()
        names = {b"%d" % n for n in part}
        alone.add(map(hash, names))
        together.merge(alone)
        added.add(names)
    true = len(set().union(*parts)) if parts else 0
    assert added.count == true or true > EXACT_DISTINCT
    assert together.count == pytest.approx(true, rel=0.08)
    assert added.count == pytest.approx(true, rel=0.08)


@pytest.mark.parametrize("true", [257, 5_000, 200_000])
def test_many_names_are_estimated_within_a_few_percent(true: int) -> None:
    distinct = Distinct()
    for start in range(0, true, 1_000):
        distinct.add([b"%d" % n for n in range(start, min(true, start + 1_000))] * 2)
    assert distinct.count == pytest.approx(true, rel=0.08)


def test_a_window_forgets_no_name_while_panes_of_the_next_one_come_too() -> None:
    windows = WindowDistinct()
    for window, name in ((5, b"a"), (6, b"b"), (5, b"c"), (6, b"d"), (6, b"d")):
        windows.add(window, [name])
    assert (windows.count(5), windows.count(6), windows.count(7)) == (2, 2, 0)
    windows.add(7, [b"x"])
    assert windows.count(5) == 0


def test_a_window_has_the_names_of_all_its_panes() -> None:
    panes = partition_panes(topic())
    told = []
    for batch in ([b"t\x1f1", b"t\x1f2"], [b"t\x1f2", b"u\x1f3"], [b"v\x1f9"] * 3):
        panes.add(slab(panes.position, batch), NOW_MS, {})
        told += take(panes)
    assert [(pane.distinct_keys, pane.distinct_tenants) for pane in told] == [(2, 1), (3, 2), (4, 3)]
    panes.add(slab(panes.position, [b"t\x1f1"], at_ms=NOW_MS + 10_000), NOW_MS + 10_000, {})
    (later,) = take(panes, NOW_MS + 10_000)
    assert (later.distinct_keys, later.distinct_tenants) == (1, 1)
