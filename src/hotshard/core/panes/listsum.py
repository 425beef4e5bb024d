"""Rows of panes, and lists of them added up in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.wire.pane import HeavyList, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hotshard.core.wire.pane import Pane

#: Names kept of one partition's list when it grows to twice as many; a single pane's list has at most 256.
KEPT_ROWS: Final = 256


def key_rows(pane: Pane) -> Iterator[tuple[bytes, int, int]]:
    """Each key on the wire of which a pane says something, with its bounds: exactly where it counted exactly.

    A row of a routed key holds the load of its shards too, so where the key was counted exactly, and
    its shards each by themselves, the row is left out.
    """
    exact = pane.exact
    for key, load in exact.items():
        yield key, load, load
    for row in pane.keys.rows:
        if row.key not in exact:
            yield row.key, row.lower, row.upper


class ListSum:
    """The sum of the lists of one partition's panes: as :func:`~hotshard.core.sketching.merging.merge`, one at a time.

    When names grow too many the lightest are let go; ``unlisted`` then bounds what they may have had.
    Names added as exact are never let go.
    """

    __slots__ = ("_aboves", "_error", "_floor", "_lost", "_lowers", "_pinned", "_places", "_recent")

    def __init__(self) -> None:
        #: Where the sums of a name stand in the columns: looked up once a row, as rows are most of what a window costs.
        self._places: dict[bytes, int] = {}
        self._lowers: list[int] = []
        #: What the upper bound of a name is above the sum of all errors.
        self._aboves: list[int] = []
        self._recent: dict[bytes, tuple[int, ...]] = {}
        self._error = 0
        #: The same for a name that is not listed, at most.
        self._floor = 0
        self._pinned: set[bytes] = set()
        #: Whether a name was ever let go.
        self._lost = False

    def __len__(self) -> int:
        return len(self._lowers)

    @property
    def unlisted(self) -> int:
        """The largest upper bound of a name that is not listed."""
        return self._error + self._floor

    def add_keys(self, pane: Pane) -> None:
        exact, heavy = pane.exact, pane.keys
        rows: Sequence[Row] = heavy.rows
        if exact:
            self._pinned |= exact.keys()
            rows = [Row(key, load, load) for key, load in exact.items()]
            rows += [row for row in heavy.rows if row.key not in exact]
            self._recent.update({row.key: row.recent for row in heavy.rows if row.recent})
        self._add(rows, heavy.error)

    def add_tenants(self, pane: Pane) -> None:
        self._add(pane.tenants.rows, pane.tenants.error)

    def add_subs(self, pane: Pane) -> None:
        self._add(pane.subs.rows, pane.subs.error)

    def remembers(self, name: bytes) -> bool:
        """Whether the name is listed, or was in no list so far."""
        return name in self._places or not self._lost

    def __contains__(self, name: bytes) -> bool:
        return name in self._places

    def heavy(self) -> HeavyList:
        error, lowers, aboves, recent = self._error, self._lowers, self._aboves, self._recent
        # The order of heaviest_first: the sum of errors moves all upper bounds alike.
        ordered = sorted([(-aboves[place], name, lowers[place]) for name, place in self._places.items()])
        return HeavyList(
            tuple([Row(name, lower, error - below, recent.get(name, ())) for below, name, lower in ordered]),
            self.unlisted,
        )

    def _add(self, rows: Sequence[Row], error: int) -> None:
        places, lowers, aboves, floor = self._places, self._lowers, self._aboves, self._floor
        find = places.get
        for row in rows:
            name = row.key
            place = find(name)
            if place is None:
                places[name] = len(lowers)
                lowers.append(row.lower)
                aboves.append(floor + row.upper - error)
            else:
                lowers[place] += row.lower
                aboves[place] += row.upper - error
            if row.recent:
                self._recent[name] = row.recent
        self._error += error
        if len(lowers) - len(self._pinned) > 2 * KEPT_ROWS:
            self._let_go()

    def _let_go(self) -> None:
        places, lowers, aboves = self._places, self._lowers, self._aboves
        ordered = sorted([(-aboves[places[name]], name) for name in places.keys() - self._pinned])
        kept, light = ordered[:KEPT_ROWS], ordered[KEPT_ROWS:]
        self._floor, self._lost = max(self._floor, -light[0][0]), True
        for _, name in light:
            self._recent.pop(name, None)
        names = [*(self._pinned & places.keys()), *(name for _, name in kept)]
        self._lowers = [lowers[places[name]] for name in names]
        self._aboves = [aboves[places[name]] for name in names]
        self._places = {name: place for place, name in enumerate(names)}
