"""Cutting input into stretches, which are scan's windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.scanning.clock import glance, middle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotshard.core.scanning.clock import StretchClock
    from hotshard.core.slab import Slab

#: Records of a step, at least and at most; else a fifth of the floor.
_LEAST_STEP: Final = 50
_LARGEST_STEP: Final = 1000


class Rule(NamedTuple):
    """When a stretch ends: it has lasted ``window_ms`` by its clock, and holds ``floor`` records.

    A clock that is set back by more than a window (files one after the other) ends it just so. So every record
    is in one stretch, and a slow stream has stretches that last longer.
    """

    window_ms: int
    floor: int

    @property
    def step(self) -> int:
        """Records that follow each other of which one time is told."""
        return min(max(self.floor // 5, _LEAST_STEP), _LARGEST_STEP)

    def ends(self, clock: StretchClock, records: int, now_ms: int) -> bool:
        """Whether a stretch of so many records ends before a step whose clock says ``now_ms``."""
        if clock.start_ms is None or records < self.floor:
            return False
        return not -self.window_ms <= now_ms - clock.start_ms < self.window_ms


def steps(slab: Slab, step: int) -> Iterator[tuple[int, list[int], int | None]]:
    """Of each step of a slab: where it begins, a glance at its timestamps, and its clock (None: it has none)."""
    timestamps = slab.timestamps
    for begin in range(0, len(slab.keys), step):
        stamps = glance(timestamps[begin : begin + step])
        yield begin, stamps, middle(stamps) if stamps else None
