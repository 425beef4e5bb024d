"""What people command for one topic: heard once, obeyed at once, and told with what is decided next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.deciding.obeying import Obeying
from hotshard.core.deciding.reading import Reading

if TYPE_CHECKING:
    from hotshard.core.deciding.book import RouteBook
    from hotshard.core.deciding.wishes import Wishes
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.command import Page
    from hotshard.core.wire.orders import Done, Seen


class Commanded:
    """Entries of the commands stream become wishes; made from what another one has seen, it goes on as that one would.

    ``reading`` is how far the stream was read, ``obeying`` where commands are dealt with.
    """

    def __init__(self, spec: TopicSpec, wishes: Wishes, book: RouteBook, seen: Seen) -> None:
        self.reading = Reading(seen)
        self.obeying = Obeying(spec, wishes, book)
        self._topic = spec.name
        #: What came of the commands that were heard and not told of yet.
        self._done: list[Done] = []

    def hear(self, page: Page, now_ms: int, *, known: bool) -> None:
        """Obey what is new in a page read after the place of :attr:`reading`.

        ``known``: the topic was decided on before. One that was not has nothing to retire, and what was commanded
        long ago is over.
        """
        for heard in self.reading.unseen(page):
            if heard.command is not None and heard.command.concerns(self._topic):
                since_ms = now_ms if known else min(now_ms, heard.id.ms)
                self._done.append(self.obeying.obey(heard, now_ms, since_ms=since_ms))
                self.reading.dealt(heard)

    def take_done(self) -> list[Done]:
        """What came of the commands that were heard since this was asked last."""
        done, self._done = self._done, []
        return done
