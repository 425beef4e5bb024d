"""The sketches taken from Apache DataSketches, behind what we promise about them.

The binding does not guard itself; so here, and only here, it is called, and these rules hold:

- names are ``bytes`` and never crafted strings, weights are whole, positive and below 2**53;
- a threshold is never below a sketch's own error, as such a list misses names silently;
- count-min and HyperLogLog are fed with integers, as they leave out the empty string, and count-min's own lower
  bound is not used, as it is none;
- nothing is ever deserialized: damaged bytes can end the process. Sketches stay in the process,
  rows travel.
"""

from __future__ import annotations

import math
from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING, Final

from datasketches import (
    count_min_sketch,
    frequent_items_error_type,
    frequent_items_sketch,
    hll_sketch,
    hll_union,
    tgt_hll_type,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

#: A map of 2,048 places, of which three quarters are used: exact up to 1,536 names, 69 KB and the names.
_LG_MAP: Final = 11
_ROWS: Final = 4
_BUCKETS: Final = 1024
_LG_REGISTERS: Final = 12
#: Asked for to read a sketch's own error; no key that travels is longer than 272 bytes, so it is in no sketch.
_ABSENT: Final = b"\x00" * 300


class FrequentItems:
    """The heaviest names of a weighted stream, with bounds that always hold."""

    __slots__ = ("_sketch", "update")

    def __init__(self, lg_map: int = _LG_MAP) -> None:
        """A map of ``2 ** lg_map`` places, of which three quarters are used."""
        self._sketch = frequent_items_sketch(lg_map)
        #: ``update(name, weight)``: the binding's own method, called once per distinct name.
        self.update: Callable[[bytes, int], None] = self._sketch.update

    def add(self, weights: Mapping[bytes, int]) -> None:
        deque(map(self.update, weights, weights.values()), maxlen=0)

    @property
    def error(self) -> int:
        """No name's bounds are further apart, and no name that is not tracked weighs more."""
        return int(self._sketch.get_upper_bound(_ABSENT))

    @property
    def tracked(self) -> int:
        return int(self._sketch.num_active_items)

    def lower(self, name: bytes) -> int:
        return int(self._sketch.get_lower_bound(name))

    def upper(self, name: bytes) -> int:
        return int(self._sketch.get_upper_bound(name))

    def over(self, weight: int) -> tuple[int, list[tuple[bytes, int, int]]]:
        """A threshold, and ``(name, lower, upper)`` of every name whose upper bound is above it.

        The threshold is ``weight``, raised to the sketch's own error: the least for which no name is missing.
        """
        least = max(weight, self.error)
        rows = self._sketch.get_frequent_items(frequent_items_error_type.NO_FALSE_NEGATIVES, least)
        return least, [(name, lower, upper) for name, _, lower, upper in rows]


class CountMin:
    """The weight of any name, listed anywhere or not: never too low, too high within a stated probability.

    With 4 rows of 1,024 counters an estimate is at most ``error`` too high with a probability of
    ``CONFIDENCE``, for each name asked (Cormode and Muthukrishnan 2005: eps = e / buckets, delta =
    e ** -rows). Names are put in by Python's own hash, which is keyed per process: nobody outside can
    choose names that collide.
    """

    __slots__ = ("_sketch",)

    CONFIDENCE: Final = 1 - math.exp(-_ROWS)
    BYTES: Final = 8 * _ROWS * _BUCKETS

    def __init__(self) -> None:
        self._sketch = count_min_sketch(_ROWS, _BUCKETS)

    @property
    def error(self) -> int:
        """What an estimate may be too high by: eps times all that was put in, rounded up."""
        return math.ceil(math.e / _BUCKETS * float(self._sketch.total_weight))

    def add(self, weights: Mapping[bytes, int]) -> None:
        self.add_hashed(map(hash, weights), weights.values())

    def add_hashed(self, hashes: Iterable[int], weights: Collection[int]) -> None:
        """Put in names by their hashes, each with its weight."""
        # Weights as floats pick the binding's overload at once, which is a quarter faster.
        floats = repeat(1.0) if sum(weights) == len(weights) else map(float, weights)
        deque(map(self._sketch.update, hashes, floats), maxlen=0)

    def merge(self, other: CountMin) -> None:
        self._sketch.merge(other._sketch)

    def estimate(self, name: bytes) -> int:
        return int(self._sketch.get_estimate(hash(name)))


class HyperLogLog:
    """About how many different names there were; put in by their hash, as in :class:`CountMin`.

    With 2**12 registers of a byte the standard error is 1.04 / sqrt(2**12) = 1.6 % (Flajolet and others 2007), less
    while names are few.
    """

    __slots__ = ("_sketch",)

    ERROR: Final = 0.016

    def __init__(self) -> None:
        self._sketch = hll_sketch(_LG_REGISTERS, tgt_hll_type.HLL_8)

    def add(self, hashes: Iterable[int]) -> None:
        deque(map(self._sketch.update, hashes), maxlen=0)

    def merge(self, other: HyperLogLog) -> None:
        union = hll_union(_LG_REGISTERS)
        union.update(self._sketch)
        union.update(other._sketch)
        self._sketch = union.get_result(tgt_hll_type.HLL_8)

    @property
    def count(self) -> int:
        return round(float(self._sketch.get_estimate()))
