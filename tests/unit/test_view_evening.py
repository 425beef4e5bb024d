"""Loads of partitions are comparable although panes enter and leave a view whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hotshard.core.panes.view import View
from hotshard.core.wire.pane import Pane

NOW_MS = 1_000_000


def pane(partition: int, opened_ms: int, cut_ms: int, load: int, start: int) -> Pane:
    return Pane(
        topic="t",
        source="t",
        partition=partition,
        start=start,
        end=start + load,
        generation=1,
        high_watermark=start + load,
        worker="w",
        records=load,
        size_bytes=load,
        loads={partition: load},
        time_ms=opened_ms,
        span_ms=cut_ms - opened_ms,
        opened_ms=opened_ms,
        cut_ms=cut_ms,
    )


def evened(view: View, now_ms: int) -> dict[int, float]:
    view.expire(now_ms)
    factors = view.evening(now_ms)
    return {partition: load * factors[partition] for partition, load in view.loads.items()}


def test_partitions_of_one_rate_have_one_load_whenever_their_panes_were_cut() -> None:
    view = View(2_000)
    shifts_ms = (0, 300, 600, 900)
    cuts = sorted((NOW_MS - shift - 1000 * number, p) for number in range(6) for p, shift in enumerate(shifts_ms))
    for cut_ms, partition in cuts:
        view.put(pane(partition, cut_ms - 1000, cut_ms, 100, cut_ms))
        view.expire(cut_ms)
    loads = evened(view, NOW_MS + 200)
    assert sorted(view.loads.values()) == [100, 200, 200, 200]
    assert list(loads.values()) == pytest.approx([200.0] * 4)


def test_silence_after_a_burst_and_before_it_is_part_of_a_partitions_time() -> None:
    view = View(10_000)
    view.put(pane(0, NOW_MS - 10_000, NOW_MS - 9_000, 50, 0))
    view.put(pane(1, NOW_MS - 1_000, NOW_MS, 50, 0))
    view.expire(NOW_MS - 9_000)
    assert evened(view, NOW_MS) == pytest.approx({0: 50.0, 1: 50.0})


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2), st.integers(0, 900), st.booleans()), max_size=40)
)
def test_factors_are_what_looking_at_every_pane_gives(cuts: list[tuple[str, int, int, bool]]) -> None:
    """Panes of two sources, some in two versions, some of them gone: each partition's first opening and last cut."""
    view, span_ms, now_ms = View(2_000), 2_000, NOW_MS
    held: dict[tuple[str, int, int], tuple[int, int]] = {}
    opened: dict[tuple[str, int], tuple[int, int]] = {}
    for source, partition, after_ms, again in cuts:
        now_ms += after_ms
        start, opened_ms = opened.get((source, partition), (0, now_ms - 500))
        cut = replace(pane(partition, opened_ms, now_ms, 10, start), source=source, end=start + 10 + after_ms)
        view.put(cut)
        held[source, partition, start] = opened_ms, now_ms
        # The next one is another version of it, or goes on from its end.
        opened[source, partition] = (start, opened_ms) if again else (cut.end, now_ms)
        view.expire(now_ms)
        held = {place: times for place, times in held.items() if times[1] + span_ms > now_ms}
        expected: dict[int, float] = {}
        for number in {number for _, number, _ in held}:
            there = [times for (_, at, _), times in held.items() if at == number]
            since_ms = min(now_ms - span_ms, *(opened_ms for opened_ms, _ in there))
            until_ms = max(cut_ms for _, cut_ms in there)
            expected[number] = span_ms / ((until_ms if now_ms - until_ms < 1_500 else now_ms) - since_ms)
        assert view.evening(now_ms) == pytest.approx(expected)
