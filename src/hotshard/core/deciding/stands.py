"""How far the source partitions of a topic are, as their workers say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hotshard.core.panes.windows import PartitionStand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.wire.pane import Pane, Progress

#: A worker's word on a partition is believed this long.
BELIEVED_MS: Final = 10_000

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Present:
    """All source partitions of a topic, and the share of them that is in the views.

    That is those that somebody spoke for lately, without those that are read too far behind.
    """

    partitions: Mapping[Place, PartitionStand]
    completeness: float


class Stands:
    """The newest word on every source partition."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._heard_ms: dict[Place, int] = {}
        self._stands: dict[Place, PartitionStand] = {}
        #: Partitions whose panes go to windows only; that a view holds nothing of them says nothing.
        self._behind: set[Place] = set()
        self._begun_ms: int | None = None

    def hear(self, message: Progress, now_ms: int) -> None:
        """Take a worker's word; call it before the ledger hears the message or after, but decide after both."""
        if self._begun_ms is None:
            self._begun_ms = now_ms
        self._counts[message.source] = max(message.partitions, self._counts.get(message.source, 0))
        for mark in message.marks:
            place = (message.source, mark.partition)
            if message.sent_ms >= self._heard_ms.get(place, message.sent_ms):
                self._heard_ms[place] = message.sent_ms
                self._stands[place] = PartitionStand.of(mark, message.sent_ms)
                if mark.position >= mark.high_watermark:
                    self._behind.discard(place)

    def counted(self, pane: Pane) -> None:
        """A pane is a word on its partition, too: that it is not idle."""
        place = (pane.source, pane.partition)
        self._counts[pane.source] = max(pane.partition + 1, self._counts.get(pane.source, 0))
        if pane.cut_ms >= self._heard_ms.get(place, pane.cut_ms):
            self._heard_ms[place] = pane.cut_ms
            self._stands[place] = PartitionStand()
            (self._behind.discard if pane.live else self._behind.add)(place)

    def present(self, now_ms: int) -> Present:
        """What is known now. Partitions nobody spoke for lately are not present; just after the begin all are."""
        places = [(source, number) for source, count in self._counts.items() for number in range(count)]
        young = self._begun_ms is None or now_ms - self._begun_ms < BELIEVED_MS
        lately = {p for p in places if now_ms - self._heard_ms.get(p, now_ms - BELIEVED_MS) < BELIEVED_MS}
        partitions = {
            place: self._stands.get(place, PartitionStand()) if place in lately else PartitionStand(present=young)
            for place in places
        }
        return Present(partitions, len(lately - self._behind) / len(places) if places else 0.0)
