"""Lists of partitions that have no record in common, added up, routed keys under all their names."""

from __future__ import annotations

from heapq import nlargest, nsmallest
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from hotshard.core.wire.pane import HeavyList, Row


class Heavy(NamedTuple):
    """A name with its load; the true load and ``estimate`` lie in ``[lower, upper]``."""

    name: bytes
    lower: int
    upper: int
    estimate: int
    #: Estimates of the windows before, the newest last.
    recent: tuple[int, ...]

    @property
    def order(self) -> tuple[int, int, bytes]:
        """Falling upper bound, then falling estimate, then the name."""
        return -self.upper, -self.estimate, self.name


class _Sum:
    """What lists say of one name."""

    __slots__ = ("estimate", "lower", "recent")

    def __init__(self) -> None:
        self.lower = 0
        #: Upper bounds of the lists that have it: a sketch is nearest to the truth there, and a list that
        #: does not have a name is from a partition where it hardly is.
        self.estimate = 0
        self.recent: tuple[int, ...] = ()

    def add(self, row: Row) -> None:
        self.lower += row.lower
        self.estimate += row.upper
        if row.recent:
            self.recent = added(self.recent, row.recent)


class Folded:
    """The sum of some lists by name as on the wire, for a look at the heaviest.

    As :func:`~hotshard.core.sketching.merging.merge`, and with an estimate; estimates of the windows
    before are of other records in every partition, so they are added, and not the largest kept.

    Half a million rows take a part of a second, so only names that are asked for are looked at closely.
    """

    def __init__(self, lists: Sequence[HeavyList]) -> None:
        self._lists = lists
        #: Upper bound of a name that no list has.
        self.error = sum(heavy.error for heavy in lists)
        #: Upper bounds, each less the error of its list.
        self._above: dict[bytes, int] = {}
        above = self._above
        get = above.get
        for heavy in lists:
            error = heavy.error
            for row in heavy.rows:
                name = row.key
                above[name] = get(name, 0) + row.upper - error

    def heaviest(self, count: int, aliases: Mapping[bytes, bytes], also: AbstractSet[bytes]) -> tuple[list[Heavy], int]:
        """The heaviest names, and the largest upper bound of what is not among them.

        They are in order: ``count`` names, or all there are, those of ``also`` that are in a list, and
        every routed base key with the load of all its names.
        """
        wires: dict[bytes, set[bytes]] = {base: {base} for base in aliases.values()}
        for wire, base in aliases.items():
            wires[base].add(wire)
        routed = aliases.keys() | wires.keys()
        names, least = self._top(count, routed)
        wanted = {name: {name} for name in {*names, *(also & self._above.keys())} - routed} | wires
        return sorted(self._folded(wanted), key=lambda row: row.order), max(self.error, least)

    def by_wire(self, count: int) -> list[Heavy]:
        """The ``count`` heaviest names as on the wire."""
        names, _ = self._top(count, frozenset())
        return self._folded({name: {name} for name in names})

    def _top(self, count: int, without: AbstractSet[bytes]) -> tuple[list[bytes], int]:
        """The heaviest names, and the largest upper bound of those left over."""
        left = {name: self._above[name] for name in without & self._above.keys()}
        above = {name: each for name, each in self._above.items() if name not in left} if left else self._above
        largest = nlargest(count + 1, above.values())
        if len(largest) <= count:
            return list(above), 0
        last = largest[count - 1]
        names = [name for name, each in above.items() if each > last]
        names += nsmallest(count - len(names), [name for name, each in above.items() if each == last])
        return names, largest[count] + self.error

    def _folded(self, wanted: Mapping[bytes, AbstractSet[bytes]]) -> list[Heavy]:
        """These names, each the sum of the names on the wire that it is given with."""
        name_of = {wire: name for name, wires in wanted.items() for wire in wires}
        sums = {name: _Sum() for name in wanted}
        for heavy in self._lists:
            for row in heavy.rows:
                name = name_of.get(row.key)
                if name is not None:
                    sums[name].add(row)
        return [
            Heavy(name, each.lower, self._upper(wanted[name]), each.estimate, each.recent)
            for name, each in sums.items()
        ]

    def _upper(self, wires: Iterable[bytes]) -> int:
        return sum(self._above.get(wire, 0) + self.error for wire in wires)


def added(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Two runs of windows added, their newest aligned."""
    pairs = zip_longest(reversed(one), reversed(other), fillvalue=0)
    return tuple(sum(pair) for pair in pairs)[::-1]
