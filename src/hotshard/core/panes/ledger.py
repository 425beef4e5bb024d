"""Which panes count: every offset of every source partition once, whatever workers did.

The argument rests on two facts about workers and one about Kafka. A worker has a pane acknowledged by
the panes topic before it commits the pane's end, and publishes the next one only when that commit
succeeded; where it begins at another offset than the committed one (records were deleted, the topic was
made again, the group is new), it commits that first. So whatever a worker gives as a pane's start, or as
the committed start in its progress, was the group's committed offset at some time. And a broker takes
a commit only of the group's current generation. So when a pane starts at an offset, the pane that ended
there is already in the log, and it is the one that counts. Versions that no start confirms were never
committed, and whoever has the partition next counts those records again.

A start that is neither what is expected nor the end of a version (of its own generation or an earlier
one: nobody knows of a commit before it was made) is the word of a zombie, a worker that lost the
partition and did not notice; or it is the truth after records were deleted unread, the group was set
back, or the topic or the group was made again. These are told apart by generations:

- It comes from a generation above every one that was believed so far. Whoever has the partition in a
  later generation read a later committed offset, so this is no zombie, and is believed at once.
- Otherwise its pane is set aside. A worker that then goes on from the end of a pane of its own that was
  set aside proves it: a commit succeeded there after the higher generation had been seen, which no
  zombie can do. Of two cases one is so proven: a worker that was in its place all the while and found
  records deleted or the topic made again under it; and a group that was deleted, whose generations
  begin at 1 again.

``Expected.generation`` never falls, so after a group was deleted every jump costs one pane more until
it is believed, and no record. Panes that lead up to one that is believed count with it. The watermark only
tells, where a partition starts anew, whether the topic was made again (see :meth:`Ledger._anew`): in a
zombie's pane it is as stale as the rest. Two things are beyond this: a zombie of a *deleted* group with
a generation that was never seen is believed once; and of a topic made again whose watermark has already
passed what was expected, the last pane before may be missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.panes.line import Claim, Confirmed, Expected, Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hotshard.core.panes.line import Version
    from hotshard.core.wire.pane import Pane, Progress

__all__ = ["Confirmed", "Expected", "Ledger"]


class Ledger:
    """Confirms panes of one topic from the messages of the panes topic, in their order.

    A ledger made from ``other.expected_at(offset)`` that hears the messages from
    ``min(offset, other.oldest_open())`` on confirms again, at the same messages, exactly the panes
    whose first version stands at or after ``offset``, and ends as ``other``.
    """

    def __init__(self, expected: Iterable[Expected] = ()) -> None:
        #: Versions that did not fit when they came.
        self.dropped = 0
        #: Times that a partition started anew, before what had been counted.
        self.restarted = 0
        #: Offsets deleted unread.
        self.lost = 0
        self._lines = {(each.source, each.partition): Line(each) for each in expected}
        self._at = max((line.now.at for line in self._lines.values()), default=0)

    def pane(self, pane: Pane, at: int) -> tuple[Confirmed, ...]:
        """Hear a version of a pane; ``at`` is its offset in the panes topic. Returns what it confirms."""
        self._at = at
        place = (pane.source, pane.partition)
        line = self._lines.get(place)
        if line is None:
            line = self._lines[place] = Line(Expected(*place, pane.start, pane.generation, at))
        if at < line.now.at:
            return ()
        confirmed = self._hear(line, Claim.of_pane(pane, at))
        if pane.start != line.now.offset:
            self.dropped += 1
        if pane.end > pane.start:
            line.keep(pane, at)
        return tuple(confirmed)

    def progress(self, message: Progress, at: int) -> tuple[Confirmed, ...]:
        """Hear how far a worker is; the committed start of a partition confirms as the start of a pane does.

        Alone it sets no partition back: the panes that follow do.
        """
        self._at = at
        return tuple(
            confirmed
            for mark in message.marks
            if (line := self._lines.get((message.source, mark.partition))) is not None and at >= line.now.at
            for confirmed in self._hear(line, Claim.of_mark(mark, message, at))
        )

    def open_version(self, source: str, partition: int) -> Pane | None:
        """The newest version of the open pane: of the highest generation, the latest."""
        line = self._lines.get((source, partition))
        if line is None or not line.versions:
            return None
        return max(line.versions.values(), key=lambda version: version.age).pane

    def expected_at(self, offset: int) -> tuple[Expected, ...]:
        """What a ledger must be made from to confirm again the panes first seen at or after ``offset``.

        ``offset`` is the oldest message that windows and views still need, or the next one to come; it
        must not be below what was given to :meth:`forget_before`.
        """
        return tuple(line.expected_at(offset) for _, line in sorted(self._lines.items()))

    def oldest_open(self) -> int | None:
        """Where the first version stands of the oldest pane that is not confirmed, or is set aside."""
        open_at = [line.first_at for line in self._lines.values() if line.versions]
        aside_at = [version.at for line in self._lines.values() for version in line.aside_at(self._at)]
        return min(open_at + aside_at, default=None)

    def forget_before(self, offset: int) -> None:
        """Forget what :meth:`expected_at` was for offsets below this one.

        An open pane need not be in that offset: a partition that is silent for long would make the
        histories of all others long.
        """
        for line in self._lines.values():
            line.forget_before(offset)

    def _hear(self, line: Line, claim: Claim) -> list[Confirmed]:
        """Move to where a worker says that it is, if it is to be believed."""
        version = line.versions.get(claim.start)
        if version is not None and version.pane.generation <= claim.generation:
            return [line.confirm(version, claim)]
        if claim.start == line.now.offset:
            return []
        chain = line.chain(claim)
        later = claim.generation > line.generation
        if chain and (later or claim.goes_on(chain[-1])):
            return self._go(line, claim, chain)
        if later and (claim.by_pane or claim.start > line.now.offset):
            return self._go(line, claim, [])
        return []

    def _go(self, line: Line, claim: Claim, chain: list[Version]) -> list[Confirmed]:
        """Go where a worker is, by way of panes set aside that lead there."""
        before, known = line.now, len(line.past)
        start = chain[0].pane.start if chain else claim.start
        # What is confirmed together is heard again together, from before the first of it.
        heard_at = [each.at for each in line.aside_at(claim.at)] + [line.first_at] * bool(line.versions)
        line.first_at = min(heard_at, default=claim.at)
        go = self._forward if start >= before.offset else self._anew
        confirmed = [*go(line, start, claim), *(line.confirm(version, claim) for version in chain)]
        while len(line.past) > known:
            line.past.pop()
        if confirmed:
            line.past.append((line.first_at, before))
        return confirmed

    def _forward(self, line: Line, start: int, claim: Claim) -> Iterator[Confirmed]:
        """Go forward to ``start``: of what nobody can read any more, what somebody did read counts, the rest is lost.

        (What is expected and ``start`` may be the same: then nothing is.)
        """
        for version in line.readings(start, claim.at):
            self.lost += line.skip_to(version.pane.start, claim)
            yield line.confirm(version, claim)
        self.lost += line.skip_to(start, claim)

    def _anew(self, line: Line, start: int, claim: Claim) -> Iterator[Confirmed]:
        """The partition starts anew at ``start``, before what is expected.

        Where the topic was made again (the watermark is below what is expected) nobody can read the
        open pane's records any more: its longest version counts. Where the group was set back they
        are about to be read again: none does.
        """
        self.restarted += 1
        if claim.high_watermark < line.now.offset and line.versions:
            yield line.confirm(line.versions[max(line.versions)], claim)
        line.expect(start, claim, restarted=True)
