"""Where a stretch ends."""

from __future__ import annotations

import pytest

from hotshard.core.scanning.clock import StretchClock
from hotshard.core.scanning.cutting import Rule, steps
from hotshard.core.slab import Slab


def slab(count: int, **more: object) -> Slab:
    made = Slab(topic="", partition=0, start=100, end=100 + count, generation=0, high_watermark=0)
    made.keys = [b"%d" % each for each in range(count)]
    made.sizes = [*range(count)]
    made.timestamps = [*range(count)]
    for name, value in more.items():
        setattr(made, name, value)
    return made


def clock(start_ms: int | None) -> StretchClock:
    made = StretchClock()
    made.add([] if start_ms is None else [start_ms])
    return made


@pytest.mark.parametrize(
    ("start_ms", "records", "now_ms", "ends"),
    [
        (1000, 1200, 61_000, True),  # a window later, and enough
        (1000, 1200, 60_999, False),  # not a window later
        (1000, 1199, 61_000, False),  # not enough
        (1000, 50, 900_000, False),  # a slow stream's stretch lasts until there is enough
        (100_000, 1200, 39_999, True),  # the clock is set back by more than a window
        (100_000, 1200, 40_000, False),  # by no more than one: records come a little late
        (100_000, 10, 0, False),
        (None, 5000, 61_000, False),  # no record had a time yet
    ],
)
def test_a_stretch_ends_when_it_has_lasted_and_holds_enough(
    start_ms: int | None,
    records: int,
    now_ms: int,
    ends: bool,  # noqa: FBT001
) -> None:
    assert Rule(60_000, 1200).ends(clock(start_ms), records, now_ms) is ends


@pytest.mark.parametrize(("floor", "step"), [(1, 50), (1200, 240), (1_000_000, 1000)])
def test_steps_are_a_fifth_of_the_floor_within_bounds(floor: int, step: int) -> None:
    assert Rule(60_000, floor).step == step


def test_steps_tile_a_slab_and_tell_the_time_of_each() -> None:
    told = [(begin, now_ms) for begin, _, now_ms in steps(slab(600), 240)]
    assert [begin for begin, _ in told] == [0, 240, 480]
    assert all(now_ms is not None and begin <= now_ms < begin + 240 for begin, now_ms in told)
    assert [now_ms for _, _, now_ms in steps(slab(3, timestamps=[-1, -1, -1]), 2)] == [None, None]
    assert [*steps(slab(0), 240)] == []


def test_parts_tile_a_slab() -> None:
    whole = slab(10, end=117, skipped=7, tenants=[b"t%d" % each for each in range(10)])
    parts = [whole.part(0, 4), whole.part(4, 4), whole.part(4, 10)]
    assert [(each.start, each.end) for each in parts] == [(100, 104), (104, 104), (104, 117)]
    assert [each.skipped for each in parts] == [0, 0, 7]
    for column in ("keys", "sizes", "timestamps", "tenants"):
        assert [one for each in parts for one in getattr(each, column)] == getattr(whole, column)
    assert whole.part(0, 10) is whole
