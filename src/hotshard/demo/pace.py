"""How many records are due by now, at a steady rate. Pure."""

from __future__ import annotations

from typing import Final

#: What more than this long a standstill would have sent is not sent: it would be a burst that nobody asked for.
MOST_BEHIND_S: Final = 0.5


class Pace:
    """A steady stream of ``per_s`` records a second, from ``now_s`` on."""

    def __init__(self, per_s: float, now_s: float) -> None:
        self._per_s = per_s
        self._since_s = now_s
        self._owed = 0.0

    def due(self, now_s: float) -> int:
        """Take what has come due since the last call."""
        passed_s = max(0.0, now_s - self._since_s)
        self._since_s = now_s
        self._owed = min(self._owed + passed_s * self._per_s, max(1.0, MOST_BEHIND_S * self._per_s))
        whole = int(self._owed)
        self._owed -= whole
        return whole
