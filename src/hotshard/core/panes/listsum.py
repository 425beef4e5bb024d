"""Rows of panes, and lists of them added up in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.wire.pane import HeavyList, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

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

    __slots__ = ("_above", "_error", "_floor", "_kept", "_lost", "_lowers", "_pinned", "_recent")

    def __init__(self) -> None:
        self._lowers: dict[bytes, int] = {}
        #: What the upper bound of a name is above the sum of all errors.
        self._above: dict[bytes, int] = {}
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
        self._pinned |= pane.exact.keys()
        self._add(key_rows(pane), pane.keys)

    def add_tenants(self, pane: Pane) -> None:
        self._add(((row.key, row.lower, row.upper) for row in pane.tenants.rows), pane.tenants)

    def add_subs(self, pane: Pane) -> None:
        self._add(((row.key, row.lower, row.upper) for row in pane.subs.rows), pane.subs)

    def remembers(self, name: bytes) -> bool:
        """Whether the name is listed, or was in no list so far."""
        return name in self._lowers or not self._lost

    def __contains__(self, name: bytes) -> bool:
        return name in self._lowers

    def heavy(self) -> HeavyList:
        error, lowers, recent = self._error, self._lowers, self._recent
        # The order of heaviest_first: the sum of errors moves all upper bounds alike.
        ordered = sorted((-above, name) for name, above in self._above.items())
        return HeavyList(
            tuple([Row(name, lowers[name], error - below, recent.get(name, ())) for below, name in ordered]),
            self.unlisted,
        )

    def _add(self, rows: Iterator[tuple[bytes, int, int]], heavy: HeavyList) -> None:
        lowers, above, floor, error = self._lowers, self._above, self._floor, heavy.error
        for name, lower, upper in rows:
            lowers[name] = lowers.get(name, 0) + lower
            above[name] = above.get(name, floor) + upper - error
        self._error += error
        for row in heavy.rows:
            if row.recent:
                self._recent[row.key] = row.recent
        if len(lowers) - len(self._pinned) > 2 * KEPT_ROWS:
            self._let_go()

    def _let_go(self) -> None:
        above = self._above
        light = sorted(above.keys() - self._pinned, key=lambda name: (-above[name], name))[KEPT_ROWS:]
        self._floor, self._lost = max(self._floor, above[light[0]]), True
        for name in light:
            del above[name], self._lowers[name]
            self._recent.pop(name, None)
