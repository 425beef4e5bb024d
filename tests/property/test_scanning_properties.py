"""For any input: every record counts once, partitions are exact, bounds hold, and numbers are finite."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotshard.core.partitioners import murmur2
from hotshard.core.scanning.owning import Owning
from hotshard.core.scanning.placing import Places, murmur2_of_each
from hotshard.core.scanning.scanner import By
from hotshard.core.sketching.whole import WholeCount, WholeSum
from hotshard.core.slab import Slab
from hotshard.core.topic import Load
from hotshard.core.wire.pane import HeavyList, Row, travelling_key
from hotshard.core.wire.scan import encode
from tests.support.traces import Exact, assert_right, scanned, spec
from tests.support.traces import Row as Record

if TYPE_CHECKING:
    from collections.abc import Iterator

names = st.one_of(st.none(), st.sampled_from([b"a", b"b", b"\x1f", b"t\x1fe", b"k" * 300]), st.binary(max_size=3))
texts = names.filter(lambda name: name is None or _is_text(name))
stamps = st.one_of(st.integers(1_700_000_000_000, 1_700_000_600_000), st.sampled_from([-1, 0, 1 << 42]))
records = st.builds(
    Record,
    at_ms=stamps,
    tenant=texts.map(lambda name: name or None),
    key=texts,
    size=st.sampled_from([0, 1, 9, 10**12]),
)


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def slabs(rows: list[Record], cuts: list[int]) -> Iterator[Slab]:
    edges = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    for begin, end in pairwise(edges):
        some = rows[begin:end]
        keys, tenants = [row.key for row in some], [row.tenant for row in some]
        sizes, times = [row.size for row in some], [row.at_ms for row in some]
        yield Slab("", 0, begin, end, 0, len(rows), keys, sizes, times, tenants)


@given(
    st.lists(records, max_size=60),
    st.integers(1, 60),
    st.lists(st.integers(0, 10**6), max_size=5),
    st.tuples(st.sampled_from(Load), st.sampled_from(By)),
    st.sampled_from([100, 2_000, 60_000]),
)
@settings(deadline=None)
def test_a_scan_of_anything_is_right(
    some: list[Record], times: int, cuts: list[int], how: tuple[Load, By], window_ms: int
) -> None:
    rows, (load, by) = some * times, how
    report = scanned(slabs(rows, cuts), spec(load), by=by, window_ms=window_ms)
    assert_right(report, Exact.of(rows, load), by, "murmur2")
    assert sum(window.records for window in report.windows) == len(rows) or report.windows_total > 1000
    json.loads(encode(report), parse_constant=pytest.fail)


@given(st.lists(st.binary(max_size=70)))
def test_names_hashed_all_at_once_are_hashed_alike(some: list[bytes]) -> None:
    assert murmur2_of_each(some).tolist() == [murmur2(name) for name in some]


@given(st.lists(st.binary(max_size=70), max_size=80), st.integers(1, 1000))
def test_places_are_those_of_the_partitioner(some: list[bytes], partitions: int) -> None:
    places = Places("murmur2", partitions)
    places.learn(some)
    assert [places.of(name) for name in some] == [(murmur2(name) & 0x7FFFFFFF) % partitions for name in some]


@given(st.lists(st.lists(st.tuples(names, names), max_size=20), max_size=8))
def test_an_owner_is_the_only_tenant_there_was(given_slabs: list[list[tuple[bytes | None, bytes | None]]]) -> None:
    made = Owning()
    owners: dict[bytes, set[bytes | None]] = {}
    for pairs in given_slabs:
        made.note_beside([key for key, _ in pairs], [tenant for _, tenant in pairs])
        for key, tenant in pairs:
            if key is not None:
                owners.setdefault(key, set()).add(tenant)
    assert made.distinct_keys == len(owners)
    for key, tenants in owners.items():
        if len(key) <= 256:
            only = next(iter(tenants)) if len(tenants) == 1 else None
            assert made.of(key) == (None if only is None else travelling_key(only))


loads = st.dictionaries(st.integers(0, 400).map(lambda n: b"%d" % n), st.integers(1, 10**9), max_size=400)


@given(st.lists(loads, max_size=8))
def test_bounds_of_all_hold_when_names_are_too_many(slabs_of_loads: list[dict[bytes, int]]) -> None:
    whole, true = WholeCount(lg_map=4), dict[bytes, int]()
    for each in slabs_of_loads:
        whole.add(each)
        for name, load in each.items():
            true[name] = true.get(name, 0) + load
    threshold = whole.threshold(sum(true.values()))
    rows = {row.name: row for row in whole.heaviest()}
    assert {name for name, load in true.items() if load > threshold} <= {
        n for n, r in rows.items() if r.upper > threshold
    }
    for name, row in rows.items():
        assert row.lower <= true[name] <= row.upper
        assert row.lower <= row.estimate <= row.upper
        assert whole.get(name) in {row, None}


@given(st.lists(st.tuples(loads, st.integers(0, 3)), max_size=8), st.integers(1, 50))
def test_bounds_of_a_sum_of_lists_hold_whatever_is_let_go(lists: list[tuple[dict[bytes, int], int]], kept: int) -> None:
    whole, true = WholeSum(kept), dict[bytes, int]()
    for given_loads, left_out in lists:
        ranked = sorted(given_loads.items(), key=lambda item: -item[1])
        listed, rest = ranked[: len(ranked) // (left_out + 1)], ranked[len(ranked) // (left_out + 1) :]
        whole.add(HeavyList(tuple(Row(name, load, load) for name, load in listed), max([0, *(n for _, n in rest)])))
        for name, load in given_loads.items():
            true[name] = true.get(name, 0) + load
    for name, load in true.items():
        row = whole.get(name)
        if row is None:
            assert load <= whole.error
        else:
            assert row.lower <= load <= row.upper
            assert row.lower <= row.estimate <= row.upper
    assert len(whole.heaviest()) <= 2 * kept
