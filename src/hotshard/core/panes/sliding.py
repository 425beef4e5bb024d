"""Loads by name in a set of panes that come and go, as running sums."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_NEVER: Final = 1 << 63


class Bounds(NamedTuple):
    """A true load lies in ``[lower, upper]``."""

    lower: int
    upper: int


class NameSum:
    """What the panes say of one name."""

    __slots__ = ("above", "by_partition", "lower", "name", "panes")

    def __init__(self, name: bytes) -> None:
        self.name = name
        #: How many panes list it.
        self.panes = 0
        self.lower = 0
        #: Its upper bounds, each less the error of its list.
        self.above = 0
        #: Lower bounds by partition of the pane; kept once somebody asked.
        self.by_partition: dict[int, int] | None = None


class Listed:
    """The list of one pane, as it was added; 24 bytes a row."""

    __slots__ = ("aboves", "error", "lowers", "partition", "sums")

    def __init__(self, rows: list[tuple[bytes, int, int]], error: int, partition: int) -> None:
        self.partition = partition
        self.error = error
        self.lowers = array("q", [lower for _, lower, _ in rows])
        self.aboves = array("q", [upper - error for _, _, upper in rows])
        self.sums: list[NameSum] = []


class SlidingSums:
    """The lists of keys, or of tenants, of the panes in a view, added up.

    Adding and removing a list costs as much as it has rows. Nothing else depends on how many panes or
    names there are, except that :meth:`candidates` looks at every name when it is asked for less than
    half of what it was asked for before.
    """

    def __init__(self) -> None:
        #: Upper bound of the load of a name that no list has: the sum of the lists' errors.
        self.error = 0
        self._sums: dict[bytes, NameSum] = {}
        self._aliases: Mapping[bytes, bytes] = {}
        #: Every name under which records of a routed key stand, by base key.
        self._wires: dict[bytes, tuple[bytes, ...]] = {}
        #: Names with a lower bound of ``_mark`` or more, and some that had it.
        self._warm: set[NameSum] = set()
        self._mark = _NEVER

    def __len__(self) -> int:
        return len(self._sums)

    @property
    def aliases(self) -> Mapping[bytes, bytes]:
        """The base key of every name that is part of another; what stands under such a name counts for its base."""
        return self._aliases

    @aliases.setter
    def aliases(self, aliases: Mapping[bytes, bytes]) -> None:
        wires: dict[bytes, list[bytes]] = {}
        for wire, base in aliases.items():
            wires.setdefault(base, [base] if base not in aliases else []).append(wire)
        self._aliases = aliases
        self._wires = {base: tuple(each) for base, each in wires.items()}

    def add(self, rows: Iterable[tuple[bytes, int, int]], error: int, partition: int) -> Listed:
        """Add a list: name, lower and upper bound, and the largest upper bound of what it leaves out."""
        given = list(rows)
        listed = Listed(given, error, partition)
        sums, mark, warm, found = self._sums, self._mark, self._warm, listed.sums
        for (name, _, _), lower, above in zip(given, listed.lowers, listed.aboves, strict=True):
            each = sums.get(name)
            if each is None:
                each = sums[name] = NameSum(name)
            found.append(each)
            each.panes += 1
            each.lower += lower
            each.above += above
            if each.lower >= mark:
                warm.add(each)
            if each.by_partition is not None:
                each.by_partition[partition] = each.by_partition.get(partition, 0) + lower
        self.error += error
        return listed

    def remove(self, listed: Listed) -> None:
        """Take away what :meth:`add` returned, once."""
        partition = listed.partition
        for each, lower, above in zip(listed.sums, listed.lowers, listed.aboves, strict=True):
            each.panes -= 1
            if not each.panes:
                del self._sums[each.name]
            each.lower -= lower
            each.above -= above
            if each.by_partition is not None:
                each.by_partition[partition] -= lower
        self.error -= listed.error

    def names_of(self, name: bytes) -> tuple[bytes, ...]:
        """The names under which records of ``name`` stand: of a routed base key all, else itself."""
        return self._wires.get(name, (name,))

    def bounds(self, name: bytes) -> Bounds:
        """Bounds of the load of a name, or of a routed base key under all its names, whether any list has it or not."""
        names = self.names_of(name)
        found = [each for wire in names if (each := self._sums.get(wire)) is not None]
        return Bounds(sum(each.lower for each in found), sum(each.above for each in found) + len(names) * self.error)

    def candidates(self, least: int) -> list[tuple[bytes, int, int]]:
        """Every name with a lower bound of at least ``least`` (and 1), with its bounds, in no order."""
        least = max(1, least)
        self._warm_up(least)
        singles = [each.name for each in self._warm if each.lower >= least and each.name not in self._aliases]
        found = [(name, self.bounds(name)) for name in (*singles, *self._wires)]
        return [(name, bounds.lower, bounds.upper) for name, bounds in found if bounds.lower >= least]

    def lower(self, name: bytes) -> int:
        """The lower bound of just this name, routed or not."""
        each = self._sums.get(name)
        return 0 if each is None else each.lower

    def by_partition(self, name: bytes, lists: Iterable[Listed]) -> Mapping[int, int]:
        """The lower bound of just this name by partition; ``lists`` are all that were added and not removed."""
        each = self._sums.get(name)
        if each is None:
            return {}
        if each.by_partition is None:
            each.by_partition = _by_partition(each, lists)
        return each.by_partition

    def _warm_up(self, least: int) -> None:
        """Bring the warm ones in line with what is asked for, and let go of those that are no more."""
        known: Iterable[NameSum] = self._warm
        if least < self._mark:
            known = self._sums.values()
        if not self._mark <= least <= 4 * self._mark:
            self._mark = max(1, least // 2)
        self._warm = {each for each in known if each.panes and each.lower >= self._mark}


def _by_partition(each: NameSum, lists: Iterable[Listed]) -> dict[int, int]:
    loads: dict[int, int] = {}
    for partition, lower in _said_of(each, lists):
        loads[partition] = loads.get(partition, 0) + lower
    return loads


def _said_of(each: NameSum, lists: Iterable[Listed]) -> Iterator[tuple[int, int]]:
    for listed in lists:
        if each in listed.sums:
            yield listed.partition, listed.lowers[listed.sums.index(each)]
