"""Which panes count: every offset of every source partition once, whatever workers did.

The argument rests on two facts about workers and one about Kafka. A worker publishes a pane and has the
acknowledgement before it commits the pane's end; it publishes the next pane only when that commit
succeeded; and a broker takes a commit only of the group's current generation. So whenever a pane
starts at an offset, the pane that ends there is already in the log before it, and it is the only one
that counts up to there. Versions that nobody's start confirms were never committed, and whoever has
the partition next counts those records again.

What generations mean. They are compared only where a pane starts *before* what is expected; everywhere
else the offsets decide. Such a pane comes from a worker that lost the partition and did not notice (a
zombie), or the group was set back, or the topic was made again. ``Expected.generation`` is the highest
generation that ever took part in a confirmation, and never falls:

- above it, no zombie is possible: the partition starts anew at once;
- equal to it, and with a high watermark below what is expected, the worker that holds the partition met
  a topic made again: it starts anew at once;
- otherwise the pane is set aside. If the same worker in the same generation then goes on from its end,
  a commit succeeded there after the higher generation had been seen. No zombie can do that, so the group
  itself was deleted and counts its generations from 1 again (or an equal generation went back with the
  watermark already past what was expected): the partition starts anew with the pane that was set aside.

So a group made again costs no record, only the time of one more pane. The stale watermark of a zombie's
pane, lower than what is expected by now, does no harm.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hotshard.core.wire.pane import Mark, Pane, Progress

#: Versions of one open pane that are remembered; beyond these the oldest of the lowest generation goes.
MAX_VERSIONS: Final = 64
#: Panes of one partition that are set aside, the newest ones.
_MAX_ASIDE: Final = 8
#: A pane set aside is forgotten after so many messages of the panes topic, lest it hold the replay back for ever.
ASIDE_MESSAGES: Final = 10_000


class Expected(msgspec.Struct, frozen=True, array_like=True):
    """Where the counting of one source partition stands."""

    source: str
    partition: int
    #: Every offset before this one has been counted, or counted as lost.
    offset: int
    #: The highest generation that took part in a confirmation.
    generation: int
    #: Messages of the panes topic before this offset are already in it.
    at: int = 0
    #: Offsets just before ``offset`` that were deleted unread.
    lost: int = 0
    #: Whether the partition starts anew at ``offset``.
    restarted: bool = False


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A pane that counts.

    ``first_at`` is where its first version stands in the panes topic, ``at`` the message that confirmed
    it; several panes, of different partitions, may be confirmed by one progress message.
    """

    pane: Pane
    first_at: int
    at: int
    #: Offsets before the pane's start that were deleted before they were read.
    lost_before: int = 0
    #: Whether the partition started anew with this pane: its offsets may have been counted before.
    restarted: bool = False


class _Version(NamedTuple):
    pane: Pane
    at: int


class _Claim(NamedTuple):
    """That a worker has the partition and committed ``start``, told by the message ``at``."""

    start: int
    worker: str
    generation: int
    high_watermark: int
    at: int
    by_pane: bool

    def goes_on(self, aside: _Version) -> bool:
        """Whether the worker that cut a pane says that it was committed."""
        return self.worker == aside.pane.worker and self.generation >= aside.pane.generation


class _Line:
    """One source partition."""

    __slots__ = ("aside", "first_at", "now", "past", "versions")

    def __init__(self, now: Expected) -> None:
        self.now = now
        #: Versions of the open pane by their end, and where its first one stands.
        self.versions: dict[int, _Version] = {}
        self.first_at = now.at
        #: The newest version of each pane set aside, by worker, generation and start; the newest last.
        self.aside: dict[tuple[str, int, int], _Version] = {}
        #: For each confirmed pane, the oldest first, its ``first_at`` and what was expected before it.
        self.past: deque[tuple[int, Expected]] = deque()

    def keep(self, pane: Pane, at: int) -> None:
        if pane.start == self.now.offset:
            self._hold(pane, at)
        else:
            self._set_aside(pane, at)

    def _hold(self, pane: Pane, at: int) -> None:
        """Keep a version of the open pane.

        The owner of a higher generation read the committed offset after all lower ones had come to
        their end, and found it where the pane starts: their versions can no longer be committed.
        """
        if not self.versions:
            self.first_at = at
        for version in tuple(self.versions.values()):
            if version.pane.generation < pane.generation:
                del self.versions[version.pane.end]
        known = self.versions.get(pane.end)
        if known is None or known.pane.generation <= pane.generation:
            self.versions[pane.end] = _Version(pane, at)
        if len(self.versions) > MAX_VERSIONS:
            del self.versions[min(self.versions.values(), key=_age).pane.end]

    def _set_aside(self, pane: Pane, at: int) -> None:
        told_by = (pane.worker, pane.generation, pane.start)
        self.aside.pop(told_by, None)
        self.aside[told_by] = _Version(pane, at)
        if len(self.aside) > _MAX_ASIDE:
            del self.aside[next(iter(self.aside))]

    def aside_at(self, at: int) -> list[_Version]:
        """The panes set aside that are not forgotten yet, the newest last."""
        return [each for each in self.aside.values() if at - each.at <= ASIDE_MESSAGES]

    def chain(self, claim: _Claim) -> list[_Version]:
        """Panes set aside of which each ends where the next one starts, and the last one where ``claim`` does."""
        chain: list[_Version] = []
        by_end = {each.pane.end: each for each in self.aside_at(claim.at)}
        while (version := by_end.get(chain[0].pane.start if chain else claim.start)) is not None:
            chain.insert(0, version)
        return chain

    @property
    def generation(self) -> int:
        """The highest generation that was ever believed to have the partition."""
        return max([self.now.generation, *(version.pane.generation for version in self.versions.values())])

    def confirm(self, version: _Version, claim: _Claim) -> Confirmed:
        before, pane = self.now, version.pane
        self.past.append((self.first_at, before))
        self.expect(pane.end, claim._replace(generation=max(pane.generation, claim.generation)))
        return Confirmed(pane, self.first_at, claim.at, before.lost, before.restarted)

    def expect(self, offset: int, claim: _Claim, *, lost: int = 0, restarted: bool = False) -> None:
        """Go to ``offset``, where a pane opens of which no version is known yet."""
        self.now = Expected(
            source=self.now.source,
            partition=self.now.partition,
            offset=offset,
            generation=max(self.now.generation, claim.generation),
            at=claim.at,
            lost=lost,
            restarted=restarted,
        )
        self.versions.clear()
        self.aside.clear()

    def expected_at(self, offset: int) -> Expected:
        return next((before for first_at, before in self.past if first_at >= offset), self.now)


class Ledger:
    """Confirms panes of one topic from the messages of the panes topic, in their order.

    A ledger made from ``other.expected_at(offset)`` that hears the messages from
    ``min(offset, other.oldest_open())`` on confirms again, at the same messages, exactly the panes
    whose first version stands at or after ``offset``, and ends as ``other``.
    """

    def __init__(self, expected: Iterable[Expected] = ()) -> None:
        #: Versions that came too late to count, partitions that started anew, offsets deleted unread.
        self.dropped = self.restarted = self.lost = 0
        self._lines = {(each.source, each.partition): _Line(each) for each in expected}
        self._at = max((line.now.at for line in self._lines.values()), default=0)

    def pane(self, pane: Pane, at: int) -> tuple[Confirmed, ...]:
        """Hear a version of a pane; ``at`` is its offset in the panes topic. Returns what it confirms."""
        self._at = at
        place = (pane.source, pane.partition)
        line = self._lines.get(place)
        if line is None:
            start = Expected(pane.source, pane.partition, pane.start, pane.generation, at)
            line = self._lines[place] = _Line(start)
        if at < line.now.at:
            return ()
        confirmed = tuple(self._hear(line, _pane_claim(pane, at)))
        if pane.start != line.now.offset:
            self.dropped += 1
        if pane.end > pane.start:
            line.keep(pane, at)
        return confirmed

    def progress(self, message: Progress, at: int) -> tuple[Confirmed, ...]:
        """Hear how far a worker is; the committed start of a partition confirms as the start of a pane does.

        It never sets a partition back: the panes that follow do.
        """
        self._at = at
        return tuple(
            confirmed
            for mark in message.marks
            if (line := self._lines.get((message.source, mark.partition))) is not None and at >= line.now.at
            for confirmed in self._hear(line, _mark_claim(mark, message, at))
        )

    def open_version(self, source: str, partition: int) -> Pane | None:
        """The newest version of the open pane: of the highest generation, the latest."""
        line = self._lines.get((source, partition))
        if line is None or not line.versions:
            return None
        return max(line.versions.values(), key=_age).pane

    def expected_at(self, offset: int) -> tuple[Expected, ...]:
        """What a ledger must be made from to confirm again the panes first seen at or after ``offset``.

        ``offset`` is the oldest message that windows and views still need (any above all messages stands
        for none); it must not be below what was given to :meth:`forget_before`.
        """
        return tuple(line.expected_at(offset) for _, line in sorted(self._lines.items()))

    def oldest_open(self) -> int | None:
        """Where the first version stands of the oldest pane that is not confirmed, or is set aside."""
        open_at = [line.first_at for line in self._lines.values() if line.versions]
        aside_at = [version.at for line in self._lines.values() for version in line.aside_at(self._at)]
        return min(open_at + aside_at, default=None)

    def forget_before(self, offset: int) -> None:
        """Forget what :meth:`expected_at` was for offsets below this one."""
        for line in self._lines.values():
            while line.past and line.past[0][0] < offset:
                line.past.popleft()

    def _hear(self, line: _Line, claim: _Claim) -> list[Confirmed]:
        """Move to where a worker says that it is, if it is to be believed."""
        if claim.start in line.versions:
            return [line.confirm(line.versions[claim.start], claim)]
        if claim.start == line.now.offset:
            return []
        chain = line.chain(claim)
        forward = claim.start > line.now.offset
        later = claim.generation > line.generation
        if chain and (later or claim.goes_on(chain[-1])):
            return self._go(line, claim, chain)
        return self._go(line, claim, []) if later and (forward or claim.by_pane) else []

    def _go(self, line: _Line, claim: _Claim, chain: list[_Version]) -> list[Confirmed]:
        """Go where a worker is, by way of panes set aside that lead there."""
        before, known = line.now, len(line.past)
        # What is confirmed together is heard again together, from before the first of it.
        heard = [each.at for each in line.aside_at(claim.at)] + [line.first_at] * bool(line.versions)
        line.first_at = min(heard, default=claim.at)
        start = chain[0].pane.start if chain else claim.start
        go = self._forward if start >= before.offset else self._anew
        confirmed = [*go(line, start, claim), *(line.confirm(version, claim) for version in chain)]
        while len(line.past) > known:
            line.past.pop()
        line.past.extend([(line.first_at, before)] * bool(confirmed))
        return confirmed

    def _forward(self, line: _Line, start: int, claim: _Claim) -> Iterator[Confirmed]:
        """Go forward to ``start``: what nobody can read any more counts as far as somebody did, the rest is lost."""
        version = line.versions.get(max((end for end in line.versions if end <= start), default=-1))
        pieces = [version] if version is not None else []
        for aside in sorted(line.aside_at(claim.at), key=lambda each: (each.pane.start, -each.pane.end)):
            if aside.pane.start >= (pieces[-1].pane.end if pieces else line.now.offset) and aside.pane.end <= start:
                pieces.append(aside)
        for piece in pieces:
            self._skip(line, piece.pane.start, claim)
            yield line.confirm(piece, claim)
        self._skip(line, start, claim)

    def _skip(self, line: _Line, start: int, claim: _Claim) -> None:
        gap = start - line.now.offset
        if gap:
            self.lost += gap
            line.expect(start, claim, lost=line.now.lost + gap, restarted=line.now.restarted)

    def _anew(self, line: _Line, start: int, claim: _Claim) -> Iterator[Confirmed]:
        """The partition starts anew at ``start``.

        Where the topic was made again nobody can read the open pane's records any more: its longest
        version counts. Where the group was set back they are about to be read again: none does.
        """
        self.restarted += 1
        if claim.high_watermark < line.now.offset and line.versions:
            yield line.confirm(line.versions[max(line.versions)], claim)
        line.expect(start, claim, restarted=True)


def _pane_claim(pane: Pane, at: int) -> _Claim:
    return _Claim(pane.start, pane.worker, pane.generation, pane.high_watermark, at, by_pane=True)


def _mark_claim(mark: Mark, message: Progress, at: int) -> _Claim:
    return _Claim(mark.committed, message.worker, mark.generation, mark.high_watermark, at, by_pane=False)


def _age(version: _Version) -> tuple[int, int]:
    return version.pane.generation, version.at
