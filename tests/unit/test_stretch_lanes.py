"""Partitions of a stretch kept together in time: each record once, none waiting for another without need."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.slab import Slab
from hotshard.doors.kafka.stretch_lanes import Lanes

_NOW_MS = 1_700_000_600_000
_BEGAN_MS = _NOW_MS - 600_000


def slab(partition: int, start: int, times: list[int], *, end: int | None = None, skipped: int = 0) -> Slab:
    keys: list[bytes | None] = [b"%d-%d" % (partition, start + n) for n in range(len(times))]
    end = start + len(times) + skipped if end is None else end
    return Slab("t", partition, start, end, 0, end, keys, [1] * len(times), times, tenants=[*keys], skipped=skipped)


def run(parts: dict[int, list[Slab]], now_ms: int = _NOW_MS) -> list[Slab]:
    """Take everything, each fetch giving one slab of each partition that is wanted."""
    waiting = {number: iter(slabs) for number, slabs in parts.items()}
    lanes = Lanes(
        {n: slabs[0].start for n, slabs in parts.items()}, {n: slabs[-1].end for n, slabs in parts.items()}, now_ms
    )
    taken, total = [], lanes.left
    while not lanes.done:
        if wanted := lanes.wanted():
            lanes.put({number: [next(waiting[number])] for number in wanted})
        else:
            taken.append(lanes.take())
            total -= taken[-1].end - taken[-1].start
            assert lanes.left == total
    assert lanes.left == 0
    return taken


def assert_whole(taken: list[Slab], parts: dict[int, list[Slab]]) -> None:
    assert Counter(key for each in taken for key in each.keys) == Counter(
        key for slabs in parts.values() for each in slabs for key in each.keys
    )
    for number, slabs in parts.items():
        position = slabs[0].start
        mine = [each for each in taken if each.partition == number]
        for each in mine:
            assert each.start == position
            assert len(each) + each.skipped <= each.end - each.start
            assert each.tenants == each.keys
            position = each.end
        assert position == slabs[-1].end
        assert [key for each in mine for key in each.keys] == [key for each in slabs for key in each.keys]
        assert sum(each.skipped for each in mine) == sum(each.skipped for each in slabs)


@st.composite
def partitions(draw: st.DrawFn) -> dict[int, list[Slab]]:
    times = st.one_of(st.integers(_BEGAN_MS, _NOW_MS), st.sampled_from([-1, 0, 2**62]))
    found = {}
    for number in range(draw(st.integers(1, 4))):
        position, slabs = draw(st.integers(0, 100)), []
        for _ in range(draw(st.integers(1, 4))):
            stamped = draw(st.lists(times, max_size=30))
            skipped, hole = draw(st.integers(0, 3)), draw(st.integers(0, 3))
            end = position + len(stamped) + skipped + hole
            slabs.append(slab(number, position, stamped, end=end, skipped=skipped))
            position = end
        if position > slabs[0].start:
            found[number] = slabs
    return found


@given(partitions())
def test_every_record_is_handed_on_once_and_slabs_tile(parts: dict[int, list[Slab]]) -> None:
    assert_whole(run(parts), parts)


def test_a_partition_by_itself_is_handed_on_as_it_came() -> None:
    slabs = [slab(0, 0, [_BEGAN_MS] * 50), slab(0, 50, [_NOW_MS] * 50)]
    assert run({0: slabs}) == slabs


def steady(partition: int, count: int) -> list[Slab]:
    times = [_BEGAN_MS + n * 600_000 // count for n in range(count)]
    return [slab(partition, first, times[first : first + 1000]) for first in range(0, count, 1000)]


@pytest.mark.parametrize("counts", [(20_000, 200), (20_000, 20_000), (300, 20, 5_000), (100,) * 40])
def test_partitions_are_never_further_apart_than_a_sixtieth_of_the_time(counts: tuple[int, ...]) -> None:
    parts = {number: steady(number, count) for number, count in enumerate(counts)}
    latest = dict.fromkeys(parts, _BEGAN_MS)
    for each in run(parts):
        latest[each.partition] = each.timestamps[-1]
        # a sixtieth, and for quiet ones the time between six records
        allowed = 10_000 + max(6 * 600_000 // count for count in counts)
        assert max(latest.values()) - min(latest.values()) <= allowed
    assert latest == {number: each[-1].timestamps[-1] for number, each in parts.items()}, "all of it was handed on"


def test_slabs_do_not_become_tiny_where_there_are_many_partitions() -> None:
    parts = {number: steady(number, 1_000) for number in range(50)}
    assert len(run(parts)) <= 50 * 61


def test_one_record_with_a_wrong_clock_does_not_hold_its_partition_back() -> None:
    parts = {0: steady(0, 5_000), 1: steady(1, 5_000)}
    parts[1][0].timestamps[0] = _NOW_MS + 7_200_000
    taken = run(parts)
    first_of_1 = next(n for n, each in enumerate(taken) if each.partition == 1)
    assert first_of_1 <= 2
