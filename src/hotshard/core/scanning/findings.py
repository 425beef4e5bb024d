"""What stretches were found to be: the windows that are told, what was hot since when, what has been so lately."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.causes.evidence import Cause

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.scanning.heating import Hot

#: Windows that are told.
MAX_WINDOWS: Final = 1000
#: Hot keys, or tenants, that are told of one window, the heaviest.
MAX_HOT: Final = 50
#: Names of which it is remembered that they were hot; beyond twice as many the lightest are let go.
_MAX_SPELLS: Final = 1000
#: Windows that are recent.
RECENT: Final = 12


class Window(NamedTuple):
    """A window as it is told."""

    number: int
    start_ms: int | None
    end_ms: int | None
    records: int
    hot_keys: tuple[bytes, ...]
    hot_tenants: tuple[bytes, ...]
    cause: Cause

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Those with findings come first, then the largest, then the earliest."""
        found = bool(self.hot_keys or self.hot_tenants) or self.cause is not Cause.NONE
        return found, self.records, -self.number


@dataclass(slots=True)
class Spell:
    """Since when a name is hot, in how many windows it was, and the one where it had the largest share."""

    since_ms: int | None
    windows: int
    worst: Hot
    #: Load by production partition in that one, and the heaviest names that were hot in it.
    loads: Mapping[int, int]
    among: Sequence[Hot]
    #: How long that one lasted; 0: not known.
    span_s: float = 0.0

    def add(self, hot: Hot, loads: Mapping[int, int], among: Sequence[Hot], span_s: float) -> None:
        self.windows += 1
        if hot.share > self.worst.share:
            self.worst, self.loads, self.among, self.span_s = hot, loads, among, span_s


class Recent(NamedTuple):
    """A window that decided: what was hot in it, and the hottest partition's top name where that was uneven."""

    hot: frozenset[bytes]
    top: bytes | None


class Findings:
    """Bounded, however many windows there are."""

    def __init__(self) -> None:
        self.windows_total = 0
        #: Windows that decided, their records, and those in which something was hot.
        self.decided = self.decided_records = self.decided_hot = 0
        self.keys: dict[bytes, Spell] = {}
        self.tenants: dict[bytes, Spell] = {}
        self.recent: deque[Recent] = deque(maxlen=RECENT)
        #: The worst last.
        self._told: list[tuple[tuple[bool, int, int], Window]] = []

    def windows(self) -> list[Window]:
        """Those that are told, in the order of the input."""
        return sorted((window for _, window in self._told), key=lambda window: window.number)

    def tell(self, window: Window) -> None:
        self.windows_total += 1
        entry = (window.rank, window)
        if len(self._told) < MAX_WINDOWS:
            heappush(self._told, entry)
        else:
            heappushpop(self._told, entry)

    def decide(self, records: int, keys: Sequence[Hot], tenants: Sequence[Hot], top: bytes | None) -> None:
        """A window decided."""
        self.decided += 1
        self.decided_records += records
        self.decided_hot += bool(keys or tenants)
        self.recent.append(Recent(frozenset(hot.name for hot in (*keys, *tenants)), top))

    def heat(
        self,
        keys: Sequence[Hot],
        tenants: Sequence[Hot],
        start_ms: int | None,
        loads: Mapping[int, int],
        span_s: float = 0.0,
    ) -> None:
        """These were hot in a window that began then and lasted so long (0: not known)."""
        for spells, hots in ((self.keys, keys), (self.tenants, tenants)):
            among = tuple(hots[:MAX_HOT])
            for hot in hots:
                if hot.name in spells:
                    spells[hot.name].add(hot, loads, among, span_s)
                else:
                    spells[hot.name] = Spell(start_ms, 1, hot, loads, among, span_s)
            if len(spells) > 2 * _MAX_SPELLS:
                _let_go(spells)


def _let_go(spells: dict[bytes, Spell]) -> None:
    light = sorted(spells, key=lambda name: (-spells[name].worst.share, name))[_MAX_SPELLS:]
    for name in light:
        del spells[name]
