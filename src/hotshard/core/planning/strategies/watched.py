"""What strategies that adapt know of the stream so far: the loads of its last records, by key and by partition."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.partitioners import partition_of
from hotshard.core.sketching.tally import Tally
from hotshard.core.wire.pane import is_cut, travelling_key

if TYPE_CHECKING:
    from hotshard.core.planning.strategies.contract import Ground, Stretch

#: What is known is that of the last one to two times so many records.
SPAN: Final = 1 << 17
#: Partitions share tallies beyond so many, lest memory grow with their number.
_MOST_TALLIES: Final = 64
#: A count of c that came about by chance deviates by about sqrt(c).
_DEVIATIONS: Final = 3.0


class Weighed(NamedTuple):
    """A key with its load, and the partition that its hash gives it."""

    key: bytes
    load: int
    home: int


def surely(load: float) -> float:
    """What a key that was seen ``load`` times comes to again, chance allowed for: three deviations less."""
    return load - _DEVIATIONS * math.sqrt(load)


class _Generation:
    __slots__ = ("loads", "records", "tallies")

    def __init__(self, partitions: int) -> None:
        self.loads = [0] * partitions
        self.records = 0
        self.tallies = [Tally() for _ in range(min(partitions, _MOST_TALLIES))]

    def add(self, home: int, loads: dict[bytes, int]) -> None:
        load = sum(loads.values())
        self.loads[home] += load
        self.records += load
        self.tallies[home % len(self.tallies)].add(loads)


class Watched:
    """The last 131,072 to 262,144 records, counted in bounded memory with the worker's sketches.

    As in the worker each partition has a tally of its own (64 at most are kept), exact for 2,048 keys
    and a sketch beyond. Loads of keys are lower bounds, short by less than 0.2 % of their tally's load.
    """

    def __init__(self, ground: Ground, span: int = SPAN) -> None:
        self._partitions = ground.partitions
        self._place = partition_of(ground.terms.partitioner.name, ground.partitions)
        self._span = span
        self._now = _Generation(ground.partitions)
        self._before = _Generation(ground.partitions)

    def add(self, stretch: Stretch) -> None:
        if self._now.records >= self._span:
            self._before, self._now = self._now, _Generation(self._partitions)
        homes = dict(zip(stretch.keys, stretch.homes, strict=True))
        by_home: defaultdict[int, dict[bytes, int]] = defaultdict(dict)
        for key, load in Counter(stretch.keys).items():
            home = homes[key]
            if key is not None and home is not None:
                by_home[home][travelling_key(key)] = load
        for home, loads in by_home.items():
            self._now.add(home, loads)

    @property
    def records(self) -> int:
        return self._now.records + self._before.records

    @property
    def loads(self) -> list[int]:
        """What each partition would carry if every key were where its hash puts it."""
        return [now + before for now, before in zip(self._now.loads, self._before.loads, strict=True)]

    def home(self, key: bytes) -> int:
        return self._place(key)

    def load(self, key: bytes) -> int:
        number = self._place(key) % len(self._now.tallies)
        return sum(each.tallies[number].lower(key) for each in (self._now, self._before))

    def heavy(self, least: float) -> list[Weighed]:
        """Keys that surely have a load of ``least`` (and 1), the heaviest first.

        Keys that are too long to travel whole are left out: they are never moved.
        """
        found = [each for number in range(len(self._now.tallies)) for each in self._of_tally(number, least)]
        return sorted(found, key=lambda each: (-each.load, each.key))

    def _of_tally(self, number: int, least: float) -> list[Weighed]:
        tallies = [each.tallies[number] for each in (self._now, self._before)]
        half = max(1, math.ceil(least / 2))  # a sum of two reaches least only if one of them reaches half of it
        names = {name for tally in tallies for name in tally.at_least(half) if name and not is_cut(name)}
        sums = ((name, sum(tally.lower(name) for tally in tallies)) for name in names)
        return [Weighed(name, load, self._place(name)) for name, load in sums if surely(load) >= least]
