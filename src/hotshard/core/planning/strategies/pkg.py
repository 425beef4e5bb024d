"""Partial Key Grouping: every key has two partitions, and each record takes the less loaded of them."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hotshard.core.planning.strategies.contract import Ground, Stretch

#: Keys whose partitions are remembered.
_REMEMBERED: Final = 100_000


def choices(key: bytes, home: int, partitions: int, count: int) -> list[int]:
    """``count`` partitions for a key by independent hashes, the first being the topic's own; some may be equal."""
    places = [home]
    for number in range(-(-(count - 1) // 8)):
        digest = blake2b(key, digest_size=64, salt=number.to_bytes(8, "big")).digest()
        places += [int.from_bytes(digest[at : at + 8], "big") % partitions for at in range(0, 64, 8)]
    return places[:count]


class PartialKeyGrouping:
    """The power of both choices, with key splitting and local counts.

    Nasir, De Francisci Morales, Garcia-Soriano, Kourtellis and Serafini, "The Power of Both Choices:
    Practical Load Balancing for Distributed Stream Processing Engines", ICDE 2015, arXiv 1504.00788.
    Whoever reads a key has to put two parts together, for every key of the topic.
    """

    def __init__(self, ground: Ground) -> None:
        self._partitions = ground.partitions
        self._loads = [0] * ground.partitions
        self._second: dict[bytes, int] = {}

    def place(self, stretch: Stretch) -> list[int | None]:
        return list(self._placed(stretch))

    def _placed(self, stretch: Stretch) -> Iterator[int | None]:
        loads, second = self._loads, self._second
        for key, home in zip(stretch.keys, stretch.homes, strict=True):
            if key is None or home is None:
                yield None
                continue
            other = second.get(key)
            if other is None:
                other = self._remember(key, home)
            place = home if loads[home] <= loads[other] else other
            loads[place] += 1
            yield place

    def _remember(self, key: bytes, home: int) -> int:
        if len(self._second) >= _REMEMBERED:
            self._second.clear()
        self._second[key] = other = choices(key, home, self._partitions, 2)[1]
        return other
