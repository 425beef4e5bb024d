"""A worker that counts made-up traffic of a topic, and a decider's view of what it publishes at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hotshard.core.deciding.heat import TopicHeat
from hotshard.core.deciding.moment import Moment
from hotshard.core.panes.cutting import PartitionPanes
from hotshard.core.panes.pulse import Pulse
from tests.support.counting import NOW_MS, WINDOW_MS, slab

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.pane import Pane

LOOK_MS = 100
NO_ROUTES: dict[bytes, bytes] = {}


@dataclass
class Round:
    """What one look published, and what the policy then said was hot."""

    at_ms: int
    early: list[Pane]
    final: list[Pane]
    hot_keys: frozenset[bytes] = frozenset()
    hot_tenants: frozenset[bytes] = frozenset()


@dataclass
class World:
    """One worker with all partitions of a topic; time is in milliseconds since it began."""

    spec: TopicSpec
    partitions: int
    now_ms: int = 0
    rounds: list[Round] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._pulse = Pulse(self.spec, self.partitions)
        self._panes = [
            PartitionPanes(
                spec=self.spec, source="mirror.orders", partition=partition, worker="w1", start=0, generation=1,
                now_ms=NOW_MS, window_ms=WINDOW_MS, pulse=self._pulse,
            )
            for partition in range(self.partitions)
        ]  # fmt: skip
        self._heat = TopicHeat(self.spec, self.partitions, None, NOW_MS)

    @property
    def clock_ms(self) -> int:
        return NOW_MS + self.now_ms

    def look(self, loads: Mapping[int, Mapping[bytes, int]]) -> Round:
        """A tenth of a second of traffic, given by partition and key, and a look at the end of it."""
        self.now_ms += LOOK_MS
        clock_ms = self.clock_ms
        for partition, keys in loads.items():
            self._add(self._panes[partition], keys, clock_ms)
        made = Round(self.now_ms, [], [])
        for panes in self._panes:
            if panes.due(clock_ms):
                panes.seal(clock_ms)
                made.final += _committed(panes)
        made.early += [version for panes in self._panes if (version := panes.early(clock_ms)) is not None]
        self._decide(made, clock_ms)
        self.rounds.append(made)
        return made

    def _add(self, panes: PartitionPanes, keys: Mapping[bytes, int], clock_ms: int) -> None:
        records = [key for key, count in keys.items() for _ in range(count)]
        if records:
            given = slab(panes.position, records, at_ms=clock_ms)
            panes.add(given, clock_ms, NO_ROUTES)

    def _decide(self, made: Round, clock_ms: int) -> None:
        """What is said once all final versions are heard, and then of each early one by itself."""
        for panes in (made.final, *([pane] for pane in made.early)):
            for pane in panes:
                self._heat.put(pane)
            self._heat.settle(clock_ms, NO_ROUTES, 1.0)
            self._heat.step(Moment(1, self.now_ms, clock_ms))
        made.hot_keys, made.hot_tenants = self._heat.hot_keys, self._heat.hot_tenants


def _committed(panes: PartitionPanes) -> Iterable[Pane]:
    while (pane := panes.publishable()) is not None:
        yield pane
        panes.committed(pane.end)
