"""Loads by name in a set of panes that come and go, as running sums."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NEVER: Final = 1 << 63


class Bounds(NamedTuple):
    """A true load lies in ``[lower, upper]``."""

    lower: int
    upper: int


class Said(NamedTuple):
    """A list as columns; one may be added to several sums."""

    names: list[bytes]
    lowers: array[int]
    #: Upper bounds less the list's error.
    aboves: array[int]
    #: The largest upper bound of what the list leaves out.
    error: int
    partition: int

    @classmethod
    def of(cls, rows: Iterable[tuple[bytes, int, int]], error: int, partition: int) -> Said:
        """From rows of a name, its lower and its upper bound."""
        names, lowers, uppers = tuple(zip(*rows, strict=True)) or ((), (), ())
        return cls(list(names), array("q", lowers), array("q", [upper - error for upper in uppers]), error, partition)


class Listed(NamedTuple):
    """A list as it was added; 24 bytes a row."""

    #: Where the sums of each row's name stand.
    places: array[int]
    lowers: array[int]
    aboves: array[int]
    error: int
    partition: int


class SlidingSums:
    """The lists of keys, or of tenants, of the panes in a view, added up.

    Adding and removing a list costs as much as it has rows. Nothing else depends on how many panes or
    names there are, except that :meth:`at_least` looks at every name when it is asked for less than
    half of what it was asked for before.

    Sums stand in columns and not in objects, of which a million would keep the garbage collector busy.
    """

    def __init__(self) -> None:
        #: Upper bound of the load of a name that no list has: the sum of the lists' errors.
        self.error = 0
        #: Where the sums of a name stand in the columns.
        self._places: dict[bytes, int] = {}
        self._names: list[bytes] = []
        #: How many lists have the name, the sums of its lower bounds, and of its upper bounds less the lists' errors.
        self._lists, self._lowers, self._aboves = array("q"), array("q"), array("q")
        self._free: list[int] = []
        #: Places with a lower bound of ``_mark`` or more, and some that had it.
        self._warm: set[int] = set()
        self._mark = _NEVER
        #: Lower bounds by partition, for places that somebody asked for.
        self._followed: dict[int, dict[int, int]] = {}
        self._aliases: Mapping[bytes, bytes] = {}
        #: Every name under which records of a routed key stand, by base key.
        self._wires: dict[bytes, tuple[bytes, ...]] = {}

    def __len__(self) -> int:
        return len(self._places)

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

    def add(self, said: Said) -> Listed:
        """Add a list."""
        listed = Listed(self._places_of(said.names), *said[1:])
        lists, lowers, aboves, mark, warm = self._lists, self._lowers, self._aboves, self._mark, self._warm
        followed, partition = self._followed, said.partition
        for place, lower, above in zip(listed.places, listed.lowers, listed.aboves, strict=True):
            lists[place] += 1
            aboves[place] += above
            lowers[place] = total = lowers[place] + lower
            if total >= mark:
                warm.add(place)
            if place in followed:
                loads = followed[place]
                loads[partition] = loads.get(partition, 0) + lower
        self.error += said.error
        return listed

    def remove(self, listed: Listed) -> None:
        """Take away what :meth:`add` returned, once."""
        lists, lowers, aboves = self._lists, self._lowers, self._aboves
        followed, partition = self._followed, listed.partition
        for place, lower, above in zip(listed.places, listed.lowers, listed.aboves, strict=True):
            lists[place] = left = lists[place] - 1
            lowers[place] -= lower
            aboves[place] -= above
            if place in followed:
                followed[place][partition] -= lower
            if not left:
                self._let_go(place)
        self.error -= listed.error

    def names_of(self, name: bytes) -> tuple[bytes, ...]:
        """The names under which records of ``name`` stand: of a routed base key all, else itself."""
        return self._wires.get(name, (name,))

    def bounds(self, name: bytes) -> Bounds:
        """Bounds of the load of a name, or of a routed base key under all its names, whether any list has it or not."""
        names = self._wires.get(name)
        if names is None:
            one = self._places.get(name)
            return Bounds(0, self.error) if one is None else Bounds(self._lowers[one], self._aboves[one] + self.error)
        places = [place for each in names if (place := self._places.get(each)) is not None]
        lowers, aboves = self._lowers, self._aboves
        return Bounds(
            sum([lowers[place] for place in places]),
            sum([aboves[place] for place in places]) + len(names) * self.error,
        )

    def candidates(self, least: int) -> list[tuple[bytes, int, int]]:
        """Every name with a lower bound of at least ``least`` (and 1), with its bounds, in no order."""
        return [(name, *self.bounds(name)) for name in self.at_least(least)]

    def at_least(self, least: int) -> set[bytes]:
        """Every name with a lower bound of at least ``least`` (and 1)."""
        least = max(1, least)
        self._warm_up(least)
        lowers, names = self._lowers, self._names
        found = {names[place] for place in self._warm if lowers[place] >= least}
        if self._wires:
            found -= self._aliases.keys()
            found.update(base for base in self._wires if self.bounds(base).lower >= least)
        return found

    def lower(self, name: bytes) -> int:
        """The lower bound of just this name, routed or not."""
        place = self._places.get(name)
        return 0 if place is None else self._lowers[place]

    def is_in(self, name: bytes, listed: Listed) -> bool:
        """Whether a list that was added has just this name."""
        place = self._places.get(name)
        return place is not None and place in listed.places

    def by_partition(self, name: bytes, lists: Iterable[Listed]) -> Mapping[int, int]:
        """The lower bound of just this name by partition; ``lists`` are all that were added and not removed."""
        place = self._places.get(name)
        if place is None:
            return {}
        if place not in self._followed:
            loads = self._followed[place] = {}
            for listed in lists:
                if place in listed.places:
                    lower = listed.lowers[listed.places.index(place)]
                    loads[listed.partition] = loads.get(listed.partition, 0) + lower
        return self._followed[place]

    def _places_of(self, names: list[bytes]) -> array[int]:
        """Where the sums of these names stand, from now on if they are new."""
        known, free = self._places, self._free
        places = list(map(known.get, names))
        if None in places:
            for name in {name for name, place in zip(names, places, strict=True) if place is None}:
                if not free:
                    self._grow()
                place = free.pop()
                known[name] = place
                self._names[place] = name
            places = list(map(known.get, names))
        return array("q", places)  # type: ignore[arg-type]  # none is None any more

    def _grow(self) -> None:
        have, more = len(self._names), 1024
        self._names += [b""] * more
        for column in (self._lists, self._lowers, self._aboves):
            column.frombytes(bytes(more * column.itemsize))
        self._free.extend(range(have + more - 1, have - 1, -1))

    def _let_go(self, place: int) -> None:
        del self._places[self._names[place]]
        self._names[place] = b""
        self._followed.pop(place, None)
        self._free.append(place)

    def _warm_up(self, least: int) -> None:
        """Bring the warm ones in line with what is asked for, and let go of those that no longer are."""
        known: Iterable[int] = self._warm
        if least < self._mark:
            known = self._places.values()
        if not self._mark <= least <= 4 * self._mark:
            self._mark = max(1, least // 2)
        self._warm = {place for place in known if self._lowers[place] >= self._mark}
