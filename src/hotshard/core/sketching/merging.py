"""Lists of heavy names from several panes, added up with bounds that still hold."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from hotshard.core.wire.pane import HeavyList, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Names below one in so many of the load are left out of lists.
_PART: Final = 1000


def least_listed(load: int) -> int:
    """0.1 % of a load, rounded up: lighter names are left out of a list."""
    return -(-load // _PART)


def threshold(merged_error: int, load: int) -> int:
    """T: every name with more than T load is in the list.

    T is the merged error, and at least 0.1 % of the load, rounded up.
    """
    return max(merged_error, least_listed(load))


def merge(lists: Iterable[HeavyList]) -> HeavyList:
    """The lists of panes that have no record in common, as one; it has every row of all of them.

    A name's bounds are the sums of its bounds, where a list that does not have it gives 0 and that
    list's error. The merged error is the sum of the errors. Merging is associative and commutative,
    rows and their order included, and ``HeavyList()`` changes nothing. Of ``recent`` the largest of
    each window is kept, the newest windows aligned: right for panes of one window.
    """
    lowers: dict[bytes, int] = {}
    # What a row says above the error of its own list; so errors are added once, at the end.
    above: dict[bytes, int] = {}
    recents: dict[bytes, tuple[int, ...]] = {}
    error = 0
    for heavy in lists:
        error += heavy.error
        for name, lower, upper, recent in map(_fields, heavy.rows):
            lowers[name] = lowers.get(name, 0) + lower
            above[name] = above.get(name, 0) + upper - heavy.error
            if recent:
                recents[name] = _largest(recents.get(name, ()), recent)
    rows = (Row(name, lower, above[name] + error, recents.get(name, ())) for name, lower in lowers.items())
    return HeavyList(tuple(sorted(rows, key=heaviest_first)), error)


def heaviest_first(row: Row) -> tuple[int, bytes]:
    """The order of rows in a list: falling upper bound, then the name, so that equal lists are equal."""
    return -row.upper, row.key


def _fields(row: Row) -> tuple[bytes, int, int, tuple[int, ...]]:
    return row.key, row.lower, row.upper, row.recent


def _largest(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    pairs = zip_longest(reversed(one), reversed(other), fillvalue=0)
    return tuple(max(pair) for pair in pairs)[::-1]
