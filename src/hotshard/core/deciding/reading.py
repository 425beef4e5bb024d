"""Which entries of the commands stream are new to a topic, whatever became of the stream meanwhile."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from hotshard.core.wire.command import MARK_BYTES, START, StreamId, read_id
from hotshard.core.wire.orders import MAX_MARKS, Seen
from hotshard.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotshard.core.wire.command import Heard, Page


class Reading:
    """How far the commands were read. Made from what another one has seen, it goes on as that one would have.

    The stream's places rise, so what is new stands after the last place read. But it may be made again, or set
    back, and then the clock of another Redis gives the places. So it is read from its start by whoever takes
    over, after an outage, and where it ends before the last place read: what was dealt with is known by its
    mark. The stream keeps fewer entries than there are marks. Should more have been dealt with all the same,
    only a stream that ends too early is read again.
    """

    def __init__(self, seen: Seen) -> None:
        marks = (seen.marks[each : each + MARK_BYTES] for each in range(0, len(seen.marks), MARK_BYTES))
        self._marks = deque(marks, MAX_MARKS)
        self._known = set(self._marks)
        self._seen = seen
        self._position = _place(seen.position)
        self.again()

    def again(self) -> None:
        """Read from the start, as the stream may be another one now."""
        if len(self._marks) < MAX_MARKS:
            self._position = START

    @property
    def position(self) -> StreamId:
        """What comes after this place is to be read next."""
        return self._position

    @property
    def seen(self) -> Seen:
        """What is to be remembered; the same object until something more was dealt with."""
        return self._seen

    def unseen(self, page: Page) -> Iterator[Heard]:
        """The entries of a page read after :attr:`position` that were not dealt with, each of them once."""
        if page.newest < self._position:
            self._position = START
            return
        for heard in page.entries:
            if heard.id > self._position:
                self._position = heard.id
                if heard.mark not in self._known:
                    yield heard

    def dealt(self, heard: Heard) -> None:
        """From now on this entry is known, wherever it stands."""
        if len(self._marks) == MAX_MARKS:
            self._known.discard(self._marks[0])
        self._marks.append(heard.mark)
        self._known.add(heard.mark)
        self._seen = Seen(position=str(self._position), marks=b"".join(self._marks))


def _place(text: str) -> StreamId:
    try:
        return read_id(text)
    except WireError:
        return START
