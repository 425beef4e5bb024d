"""What is known of one source partition while its panes are confirmed; when to do what is the ledger's."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from hotshard.core.wire.pane import Mark, Pane, Progress

#: Versions of one open pane that are remembered; beyond these the oldest of the lowest generation goes.
MAX_VERSIONS: Final = 64
#: Panes of one partition that are set aside, the newest ones.
MAX_ASIDE: Final = 8
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
    it; one message may confirm several panes.
    """

    pane: Pane
    first_at: int
    at: int
    #: Offsets before the pane's start that were deleted before they were read.
    lost_before: int = 0
    #: Whether the partition started anew with this pane: its offsets may have been counted before.
    restarted: bool = False


class Version(NamedTuple):
    """A version of a pane, and where it stands in the panes topic."""

    pane: Pane
    at: int

    @property
    def age(self) -> tuple[int, int]:
        """Rises with the generation, and within it with time."""
        return self.pane.generation, self.at


class Claim(NamedTuple):
    """A worker's word, in the message ``at``, that the group's committed offset of a partition is ``start``."""

    start: int
    worker: str
    generation: int
    high_watermark: int
    at: int
    by_pane: bool

    @classmethod
    def of_pane(cls, pane: Pane, at: int) -> Claim:
        return cls(pane.start, pane.worker, pane.generation, pane.high_watermark, at, by_pane=True)

    @classmethod
    def of_mark(cls, mark: Mark, message: Progress, at: int) -> Claim:
        return cls(mark.committed, message.worker, mark.generation, mark.high_watermark, at, by_pane=False)

    def goes_on(self, aside: Version) -> bool:
        """Whether it comes from the worker that cut a pane, no earlier than that."""
        return self.worker == aside.pane.worker and self.generation >= aside.pane.generation


class Line:
    """One source partition."""

    __slots__ = ("aside", "first_at", "now", "past", "versions")

    def __init__(self, now: Expected) -> None:
        self.now = now
        #: Versions of the open pane by their end, and where its first one stands.
        self.versions: dict[int, Version] = {}
        self.first_at = now.at
        #: The newest version of each pane set aside, by worker, generation and start; the newest last.
        self.aside: dict[tuple[str, int, int], Version] = {}
        #: For what was confirmed by one message, the oldest first: its ``first_at``, and what was expected before.
        self.past: deque[tuple[int, Expected]] = deque()

    @property
    def generation(self) -> int:
        """The highest generation that was ever believed to have the partition."""
        return max([self.now.generation, *(version.pane.generation for version in self.versions.values())])

    def keep(self, pane: Pane, at: int) -> None:
        """Keep a version: of the open pane, or aside."""
        if pane.start == self.now.offset:
            self._hold(Version(pane, at))
        else:
            told_by = (pane.worker, pane.generation, pane.start)
            self.aside.pop(told_by, None)
            self.aside[told_by] = Version(pane, at)
            if len(self.aside) > MAX_ASIDE:
                del self.aside[next(iter(self.aside))]

    def _hold(self, version: Version) -> None:
        """Keep a version of the open pane.

        The owner of a higher generation read the committed offset after all lower ones had come to
        their end, and found it where the pane starts: their versions can no longer be committed.
        """
        if not self.versions:
            self.first_at = version.at
        for older in tuple(self.versions.values()):
            if older.pane.generation < version.pane.generation:
                del self.versions[older.pane.end]
        known = self.versions.get(version.pane.end)
        if known is None or known.pane.generation <= version.pane.generation:
            self.versions[version.pane.end] = version
        if len(self.versions) > MAX_VERSIONS:
            del self.versions[min(self.versions.values(), key=lambda each: each.age).pane.end]

    def aside_at(self, at: int) -> list[Version]:
        """The panes set aside that are not forgotten yet, the newest last."""
        return [each for each in self.aside.values() if at - each.at <= ASIDE_MESSAGES]

    def chain(self, claim: Claim) -> list[Version]:
        """Panes set aside of which each ends where the next one starts, and the last one where ``claim`` does."""
        chain: list[Version] = []
        by_end = {each.pane.end: each for each in self.aside_at(claim.at)}
        while (version := by_end.get(chain[0].pane.start if chain else claim.start)) is not None:
            chain.insert(0, version)
        return chain

    def readings(self, until: int, at: int) -> list[Version]:
        """What somebody read of the offsets from what is expected to ``until``, none of them twice."""
        version = self.versions.get(max((end for end in self.versions if end <= until), default=-1))
        found = [] if version is None else [version]
        position = self.now.offset if version is None else version.pane.end
        for aside in sorted(self.aside_at(at), key=lambda each: (each.pane.start, -each.pane.end)):
            if position <= aside.pane.start and aside.pane.end <= until:
                found.append(aside)
                position = aside.pane.end
        return found

    def confirm(self, version: Version, claim: Claim) -> Confirmed:
        before, pane = self.now, version.pane
        self.past.append((self.first_at, before))
        self.expect(pane.end, claim._replace(generation=max(pane.generation, claim.generation)))
        return Confirmed(pane, self.first_at, claim.at, before.lost, before.restarted)

    def expect(self, offset: int, claim: Claim, *, lost: int = 0, restarted: bool = False) -> None:
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

    def skip_to(self, offset: int, claim: Claim) -> int:
        """Go forward to ``offset``; returns how many offsets are lost by that."""
        gap = offset - self.now.offset
        if gap:
            self.expect(offset, claim, lost=self.now.lost + gap, restarted=self.now.restarted)
        return gap

    def expected_at(self, offset: int) -> Expected:
        return next((before for first_at, before in self.past if first_at >= offset), self.now)

    def forget_before(self, offset: int) -> None:
        while self.past and self.past[0][0] < offset:
            self.past.popleft()
