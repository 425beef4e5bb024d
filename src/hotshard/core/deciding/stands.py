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
    """The newest word on every source partition. ``sources`` gives the partition count of each source, as looked up."""

    def __init__(self, sources: Mapping[str, int], now_ms: int) -> None:
        self._counts = dict(sources)
        self._heard_ms: dict[Place, int] = {}
        self._stands: dict[Place, PartitionStand] = {}
        #: Partitions whose panes go to windows only; that a view holds nothing of them says nothing.
        self._behind: set[Place] = set()
        self._begun_ms = now_ms
        self._places: list[Place] = []

    def hear(self, message: Progress, now_ms: int) -> None:
        """Take a worker's word; decide only once the ledger has heard it, too."""
        self._grow(message.source, message.partitions)
        for mark in message.marks:
            place = (message.source, mark.partition)
            if self._is_news(place, min(message.sent_ms, now_ms)):
                self._stands[place] = PartitionStand.of(mark, message.sent_ms)
                if mark.position >= mark.high_watermark:
                    self._behind.discard(place)

    def counted(self, pane: Pane, now_ms: int) -> None:
        """A pane is a word on its partition, too: that it is not idle."""
        self._grow(pane.source, pane.partition + 1)
        place = (pane.source, pane.partition)
        if self._is_news(place, min(pane.cut_ms, now_ms)):
            self._stands[place] = PartitionStand()
            (self._behind.discard if pane.live else self._behind.add)(place)

    def present(self, now_ms: int) -> Present:
        """What is known now. Partitions nobody spoke for lately are not present; just after the begin all are."""
        young = now_ms - self._begun_ms < BELIEVED_MS
        absent, spoken = PartitionStand(present=young), PartitionStand()
        places, seen, partitions = self._all(), 0, dict[Place, PartitionStand]()
        for place in places:
            if now_ms - self._heard_ms.get(place, now_ms - BELIEVED_MS) < BELIEVED_MS:
                partitions[place] = self._stands.get(place, spoken)
                seen += place not in self._behind
            else:
                partitions[place] = absent
        return Present(partitions, seen / len(places) if places else 0.0)

    def _all(self) -> list[Place]:
        """All source partitions; asked many times a second, and there seldom are more than before."""
        if len(self._places) != sum(self._counts.values()):
            self._places = [(source, number) for source, count in self._counts.items() for number in range(count)]
        return self._places

    def _grow(self, source: str, partitions: int) -> None:
        """A source may have got more partitions; one that the settings do not name (any more) is left out."""
        if source in self._counts:
            self._counts[source] = max(partitions, self._counts[source])

    def _is_news(self, place: Place, said_ms: int) -> bool:
        if said_ms < self._heard_ms.get(place, said_ms):
            return False
        self._heard_ms[place] = said_ms
        return True
