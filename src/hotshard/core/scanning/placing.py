"""Where names go, for very many of them: hashed by the thousand, and remembered."""

from __future__ import annotations

from itertools import filterfalse
from typing import TYPE_CHECKING, Final

import numpy as np

from hotshard.core.partitioners import Partitioner, partitioner

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from numpy.typing import NDArray

#: Names that are remembered; then all are forgotten. Some 20 MB at most in ordinary use.
_REMEMBERED: Final = 1 << 17
#: Longer names are hashed one by one, and not remembered.
_LONG: Final = 64
#: Fewer are hashed one by one: numpy has costs of its own.
_FEW: Final = 32
_M: Final = np.uint32(0x5BD1E995)
_SEED: Final = np.uint32(0x9747B28C)


class Places(dict[bytes, int]):
    """The partition of each name, by the topic's partitioner; a name that is asked for is there.

    Names without a place of their own are given partitions in turn, for a producer strews them too.
    """

    def __init__(self, name: str, partitions: int) -> None:
        super().__init__()
        self._partitioner: Partitioner = partitioner(name)
        self._partitions = partitions
        self._turn = 0
        #: ``of(name)``: the mapping's own look-up.
        self.of: Callable[[bytes], int] = self.__getitem__

    def __missing__(self, name: bytes) -> int:
        place = self._partitioner.partition(name, self._partitions)
        if place is None:
            self._turn = (self._turn + 1) % self._partitions
            return self._turn
        if len(name) <= _LONG:
            self._make_room(1)
            self[name] = place
        return place

    def learn(self, names: Iterable[bytes]) -> None:
        """Remember the places of names that are about to be asked for, all at once where that is quicker."""
        if self._partitioner.name != "murmur2":
            return
        fresh = [name for name in filterfalse(self.__contains__, names) if len(name) <= _LONG]
        if len(fresh) < _FEW:
            return
        self._make_room(len(fresh))
        places = (murmur2_of_each(fresh) & np.uint32(0x7FFFFFFF)) % np.uint32(self._partitions)
        self.update(zip(fresh, places.tolist(), strict=True))

    def _make_room(self, fresh: int) -> None:
        if len(self) + fresh > _REMEMBERED:
            self.clear()


def murmur2_of_each(names: Collection[bytes]) -> NDArray[np.uint32]:
    """:func:`~hotshard.core.partitioners.murmur2` of each name, in their order; each takes memory as the longest."""
    lengths = np.fromiter(map(len, names), np.uint32, len(names))
    words = _words(names, int(lengths.max(initial=0)) // 4 + 1)
    whole, rest = lengths >> np.uint32(2), lengths & np.uint32(3)
    hashed = _SEED ^ lengths
    for column in range(words.shape[1]):
        mixed = words[:, column] * _M
        mixed ^= mixed >> np.uint32(24)
        hashed = np.where(whole > column, hashed * _M ^ mixed * _M, hashed)
    # Zeros follow each name, so the word after its last whole one is what is left of it.
    last = words[np.arange(len(names)), whole]
    hashed = np.where(rest > 0, (hashed ^ last) * _M, hashed)
    hashed = (hashed ^ hashed >> np.uint32(13)) * _M
    return hashed ^ hashed >> np.uint32(15)


def _words(names: Collection[bytes], columns: int) -> NDArray[np.uint32]:
    """Each name as a row of little-endian words, with zeros behind it."""
    return np.array(list(names), f"S{4 * columns}").view("<u4").reshape(len(names), columns)
