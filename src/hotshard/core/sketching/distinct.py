"""How many different names there were: exactly while few, about so from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.sketching.binding import HyperLogLog

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Names told apart exactly.
EXACT_DISTINCT: Final = 256
#: Windows that are counted at a time: panes at a window's edge may take turns.
_WINDOWS: Final = 2


class Distinct:
    """The number of different names put in; putting one in again changes nothing."""

    __slots__ = ("_few", "_many")

    def __init__(self) -> None:
        self._few: set[bytes] = set()
        self._many: HyperLogLog | None = None

    def add(self, names: Iterable[bytes]) -> None:
        if self._many is not None:
            self._many.add(map(hash, names))
            return
        self._few.update(names)
        if len(self._few) > EXACT_DISTINCT:
            self._spill()

    def merge(self, many: HyperLogLog) -> None:
        """Put in all names that ``many`` has; it stays as it is."""
        self._spill().merge(many)

    @property
    def count(self) -> int:
        return len(self._few) if self._many is None else self._many.count

    def _spill(self) -> HyperLogLog:
        many = self._many = self._many or HyperLogLog()
        many.add(map(hash, self._few))
        self._few = set()
        return many


class WindowDistinct:
    """Different names by window, of the two windows that were added to last."""

    __slots__ = ("_windows",)

    def __init__(self) -> None:
        # The one added to last comes last.
        self._windows: dict[int, Distinct] = {}

    def add(self, window: int, names: Iterable[bytes]) -> None:
        self._use(window).add(names)

    def merge(self, window: int, names: HyperLogLog) -> None:
        self._use(window).merge(names)

    def count(self, window: int) -> int:
        """So many so far; 0 for a window that was never added to, or is forgotten."""
        found = self._windows.get(window)
        return found.count if found else 0

    def _use(self, window: int) -> Distinct:
        found = self._windows.pop(window, None) or Distinct()
        self._windows[window] = found
        if len(self._windows) > _WINDOWS:
            del self._windows[next(iter(self._windows))]
        return found
