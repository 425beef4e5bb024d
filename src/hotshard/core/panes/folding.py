"""Lists of partitions that have no record in common, added up, routed keys under all their names."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotshard.core.wire.pane import HeavyList


class Heavy(NamedTuple):
    """A name with its load; ``lower <= estimate <= upper``, and the true load lies between the two bounds."""

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


class Named:
    """What lists say of one name."""

    __slots__ = ("above", "estimate", "lower", "recent")

    def __init__(self) -> None:
        self.lower = 0
        #: Upper bounds, each less the error of its list.
        self.above = 0
        #: Upper bounds of the lists that have it: a sketch is nearest to the truth there, and a list that
        #: does not have a name is from a partition where it hardly is.
        self.estimate = 0
        self.recent: tuple[int, ...] = ()

    def take_in(self, other: Named) -> None:
        self.lower += other.lower
        self.above += other.above
        self.estimate += other.estimate
        if other.recent:
            self.recent = added(self.recent, other.recent)


class Folded:
    """The sum of some lists, by name as on the wire.

    As :func:`~hotshard.core.sketching.merging.merge`, and with an estimate; estimates of the windows
    before are of other records in every partition, so they are added, and not the largest kept.
    """

    def __init__(self, lists: Iterable[HeavyList]) -> None:
        self.by_name: dict[bytes, Named] = {}
        #: Upper bound of a name that no list has.
        self.error = 0
        for heavy in lists:
            self._add(heavy)

    def _add(self, heavy: HeavyList) -> None:
        by_name, error = self.by_name, heavy.error
        self.error += error
        for row in heavy.rows:
            name = row.key
            named = by_name.get(name)
            if named is None:
                named = by_name[name] = Named()
            upper = row.upper
            named.lower += row.lower
            named.above += upper - error
            named.estimate += upper
            if row.recent:
                named.recent = added(named.recent, row.recent)

    def heaviest(self, aliases: Mapping[bytes, bytes]) -> list[Heavy]:
        """Every name some list has, and every routed base key; heaviest first, the load of shards under their base."""
        wires: dict[bytes, set[bytes]] = {base: {base} for base in aliases.values()}
        for wire, base in aliases.items():
            wires[base].add(wire)
        error = self.error
        rows = [
            Heavy(name, each.lower, each.above + error, each.estimate, each.recent)
            for name, each in self.by_name.items()
            if name not in aliases and name not in wires
        ]
        rows += [self._base(base, names) for base, names in wires.items()]
        return sorted(rows, key=lambda row: row.order)

    def _base(self, base: bytes, names: Iterable[bytes]) -> Heavy:
        total, count = Named(), 0
        for name in names:
            count += 1
            if name in self.by_name:
                total.take_in(self.by_name[name])
        return Heavy(base, total.lower, total.above + count * self.error, total.estimate, total.recent)


def added(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Two runs of windows added, their newest aligned."""
    pairs = zip_longest(reversed(one), reversed(other), fillvalue=0)
    return tuple(sum(pair) for pair in pairs)[::-1]
