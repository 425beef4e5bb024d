"""What handles the records of one partition: one after another, each as long as the other. Pure."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Arrived(NamedTuple):
    """A record as far as the demo looks at it."""

    partition: int
    key: bytes
    #: The producer's clock when it was sent, ms since 1970.
    created_ms: int


class Desk:
    """Handles ``per_s`` records a second and no more; who comes while it is busy waits in line."""

    def __init__(self, per_s: float) -> None:
        self._each_s = 1.0 / per_s
        self._line: deque[tuple[Arrived, float]] = deque()
        self._free_at_s = 0.0

    @property
    def waiting(self) -> int:
        return len(self._line)

    def oldest_ms(self) -> int | None:
        """When the record that is next was sent."""
        return self._line[0][0].created_ms if self._line else None

    def arrive(self, records: Iterable[Arrived], now_s: float) -> None:
        """Put records in line."""
        self._line.extend((record, now_s) for record in records)

    def handled(self, now_s: float) -> list[Arrived]:
        """Take those whose handling is over by now, in order."""
        done: list[Arrived] = []
        while self._line:
            record, arrived_s = self._line[0]
            over_s = max(self._free_at_s, arrived_s) + self._each_s
            if over_s > now_s:
                break
            self._free_at_s = over_s
            self._line.popleft()
            done.append(record)
        return done
