"""Loads of partitions are comparable although panes enter and leave a view whole."""

from __future__ import annotations

import pytest

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
