"""Tumbling windows of event time: confirmed panes go in, and a window comes out when it can be complete."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.core.panes.window import ClosedWindow, OpenWindow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.panes.ledger import Confirmed
    from hotshard.core.wire.pane import Mark

#: Windows open at a time, and rows held in them; beyond these the window that was added to least lately closes.
MAX_OPEN: Final = 512
MAX_ROWS: Final = 1_000_000
#: A partition that is behind, but will be past a window at its pace, is waited for so many graces at most.
MAX_GRACES: Final = 6
#: Windows whose next revision number is remembered; those of older ones are told by the panes topic's offset.
_REMEMBERED: Final = 64


@dataclass(frozen=True, slots=True)
class PartitionStand:
    """What is known of one source partition now."""

    #: Whether a worker spoke for it lately, or may still do so (just after a decider began).
    present: bool = True
    #: When a worker said, by its clock, that all records of the partition are counted and committed.
    idle_ms: int | None = None

    @classmethod
    def of(cls, mark: Mark, sent_ms: int) -> PartitionStand:
        """The stand a progress message of ``sent_ms`` tells; the ledger must have heard the message."""
        idle = mark.committed == mark.position >= mark.high_watermark
        return cls(idle_ms=sent_ms if idle else None)


class OpenMemory(msgspec.Struct, frozen=True, array_like=True):
    """A window that was open, or a revision not said yet."""

    start_ms: int
    revision: int
    #: Panes confirmed by this message of the panes topic or later ones are in it.
    from_at: int


class WindowsMemory(msgspec.Struct, frozen=True, array_like=True):
    """What a restart needs besides the replay. At most 512 windows and 64 numbers."""

    #: The message that confirmed the last pane.
    through: int = -1
    open: tuple[OpenMemory, ...] = ()
    #: Start and next revision number of windows said lately.
    revisions: tuple[tuple[int, int], ...] = ()
    #: Windows that start before this one and are not in ``revisions`` may have been said.
    forgotten_ms: int | None = None


class Windows:
    """The windows of one topic.

    A window closes at the first of these:

    - every present partition is past its end: the last pane confirmed there belongs to a later window,
      or it was idle at or after the window's end, or while another partition was already past it;
    - ``grace_ms`` after the first partition was found past its end, or up to six times that while the slowest one
      catches up: at the pace it had since then it will be past the end by that time;
    - no partition is past it, and nothing was added to it for ``window_ms + grace_ms`` (so stray timestamps leave
      nothing behind);
    - it is the one added to least lately, and more than 512 are open or they hold over a million rows.

    The first rule needs no clock, so a backlog closes window after window as fast as it is read; the
    others go by ``now_ms``, never by event time. A wrong pane time, years ahead or behind, makes a
    window of its own; as a partition is where its *last* pane is, it holds for one pane only.

    What comes for a window that was said is a revision, which closes by the same rules. Revisions of a
    window have rising numbers: 1, 2, .. while it is remembered; the offset of the confirming message
    (which is higher) for windows older than the 64 that were said last.

    Restart: made from the memory of another, and given again the panes confirmed up to then (those the
    ledger confirms again, from :meth:`oldest_needed` on), it holds exactly what that one had not said.
    """

    def __init__(self, *, window_ms: int, grace_ms: int, memory: WindowsMemory | None = None) -> None:
        memory = memory or WindowsMemory()
        #: Windows closed for want of room.
        self.forced = 0
        self._window_ms = window_ms
        self._grace_ms = grace_ms
        #: Panes confirmed by this message and earlier ones come from a replay.
        self._replayed = self._through = memory.through
        self._open = {each.start_ms: OpenWindow(each.start_ms, each.revision, each.from_at) for each in memory.open}
        self._revisions = dict(memory.revisions)
        self._forgotten_ms = memory.forgotten_ms
        #: Event time of each partition's last confirmed pane.
        self._reached: dict[tuple[str, int], int] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, confirmed: Confirmed) -> None:
        """Take in a pane. All panes that one message confirms must be added before anything is closed."""
        pane = confirmed.pane
        start_ms = pane.time_ms // self._window_ms * self._window_ms
        self._reached[pane.source, pane.partition] = pane.time_ms
        window = self._open.get(start_ms)
        if confirmed.at <= self._replayed:
            if window is None or confirmed.at < window.from_at:
                return  # said before the restart
        elif window is None:
            window = OpenWindow(start_ms, self._revision(start_ms, confirmed.at), confirmed.at)
            self._open[start_ms] = window
        self._through = max(self._through, confirmed.at)
        window.add(confirmed)

    def close(self, now_ms: int, partitions: Mapping[tuple[str, int], PartitionStand]) -> tuple[ClosedWindow, ...]:
        """The windows that close now, by event time; what is to be said of them is said once.

        ``partitions`` are all partitions of the topic's sources, by source and number.
        """
        reaches = _Reaches(self._reached, partitions)
        ready = [window for window in self._open.values() if self._is_ready(window, now_ms, reaches)]
        for window in ready:
            del self._open[window.start_ms]
        ready += self._make_room()
        return tuple(self._close(window, reaches) for window in sorted(ready, key=_start) if window.parts)

    def oldest_needed(self) -> int | None:
        """Where in the panes topic the oldest pane of an open window, or of a revision not said, is first seen."""
        return min((window.first_at for window in self._open.values() if window.parts), default=None)

    def memory(self) -> WindowsMemory:
        """To be taken between messages, with everything said that :meth:`close` returned."""
        return WindowsMemory(
            through=self._through,
            open=tuple(OpenMemory(w.start_ms, w.revision, w.from_at) for w in self._open.values() if w.parts),
            revisions=tuple(self._revisions.items()),
            forgotten_ms=self._forgotten_ms,
        )

    def _revision(self, start_ms: int, at: int) -> int:
        known = self._revisions.get(start_ms)
        if known is not None:
            return known
        forgotten = self._forgotten_ms is not None and start_ms < self._forgotten_ms
        return max(1, at) if forgotten else 0

    def _is_ready(self, window: OpenWindow, now_ms: int, reaches: _Reaches) -> bool:
        window.look(now_ms)
        end_ms = window.start_ms + self._window_ms
        if reaches.all_past(end_ms, window.passed_ms):
            return True
        if not reaches.any_past(end_ms):
            window.passed_ms = None
            return now_ms - window.touched_ms >= self._window_ms + self._grace_ms
        if window.passed_ms is None or now_ms < window.passed_ms:
            window.passed_ms, window.slowest = now_ms, None
        if window.slowest is None and -inf < reaches.slowest < inf:
            window.slowest = (now_ms, reaches.slowest)
        over_ms = window.passed_ms + self._grace_ms
        return now_ms >= over_ms and not self._catches_up(window, now_ms, reaches.slowest)

    def _catches_up(self, window: OpenWindow, now_ms: int, slowest: float) -> bool:
        """Whether the slowest partition, at its pace since the window waits for it, is past the end in time."""
        if window.passed_ms is None or window.slowest is None:
            return False
        since_ms, was = window.slowest
        left_ms = window.passed_ms + MAX_GRACES * self._grace_ms - now_ms
        behind_ms = window.start_ms + self._window_ms - slowest
        return behind_ms > 0 and left_ms > 0 and behind_ms * (now_ms - since_ms) <= (slowest - was) * left_ms

    def _make_room(self) -> list[OpenWindow]:
        taken: list[OpenWindow] = []
        rows = sum(window.rows for window in self._open.values())
        if len(self._open) <= MAX_OPEN and rows <= MAX_ROWS:
            return taken
        for window in sorted(self._open.values(), key=lambda window: (window.touched_ms, window.start_ms)):
            if len(self._open) <= MAX_OPEN and (rows <= MAX_ROWS or len(self._open) == 1):
                break
            rows -= window.rows
            taken.append(self._open.pop(window.start_ms))
            self.forced += 1
        return taken

    def _close(self, window: OpenWindow, reaches: _Reaches) -> ClosedWindow:
        self._revisions[window.start_ms] = window.revision + 1
        while len(self._revisions) > _REMEMBERED:
            oldest_ms = min(self._revisions)
            del self._revisions[oldest_ms]
            self._forgotten_ms = max(self._forgotten_ms or 0, oldest_ms + 1)
        share = reaches.share_past(window.start_ms + self._window_ms, window.passed_ms)
        return window.closed(self._window_ms, share)


class _Reaches:
    """How far in event time the source partitions are."""

    def __init__(
        self, reached: Mapping[tuple[str, int], int], partitions: Mapping[tuple[str, int], PartitionStand]
    ) -> None:
        present = [(reached.get(place, -inf), stand.idle_ms) for place, stand in partitions.items() if stand.present]
        self._all = len(partitions)
        #: Event time reached by the partitions that are busy.
        self._busy = sorted(reach for reach, idle_ms in present if idle_ms is None)
        #: Event time reached by the busy one that is least far; infinite where none is busy.
        self.slowest = self._busy[0] if self._busy else inf
        #: The same of the idle ones, whose word counts as well, and when they gave it.
        self._idle = sorted((max(reach, idle_ms), idle_ms) for reach, idle_ms in present if idle_ms is not None)

    def any_past(self, end_ms: int) -> bool:
        return bool((self._busy and self._busy[-1] >= end_ms) or (self._idle and self._idle[-1][0] >= end_ms))

    def all_past(self, end_ms: int, passed_ms: int | None) -> bool:
        if self._busy and self._busy[0] < end_ms:
            return False
        return bool(self._busy or self._idle) and self._idle_past(end_ms, passed_ms) == len(self._idle)

    def share_past(self, end_ms: int, passed_ms: int | None) -> float:
        """The share of all partitions, present or not, that are past a window's end."""
        busy_past = len(self._busy) - bisect_left(self._busy, end_ms)
        return (busy_past + self._idle_past(end_ms, passed_ms)) / self._all if self._all else 0.0

    def _idle_past(self, end_ms: int, passed_ms: int | None) -> int:
        first = bisect_left(self._idle, (end_ms, 0))
        said_since = sum(idle_ms >= passed_ms for _, idle_ms in self._idle[:first]) if passed_ms is not None else 0
        return len(self._idle) - first + said_since


def _start(window: OpenWindow) -> int:
    return window.start_ms
