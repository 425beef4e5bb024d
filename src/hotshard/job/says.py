"""Saying that something is being waited for: at once, then at most every 10 s, and once when it is over."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hotshard.doors.clock import Clock

EVERY_S: Final = 10.0

log = logging.getLogger("hotshard")


class Says:
    """One voice per subject: ``waiting`` may be called in a tight loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said_at_s: dict[str, float] = {}
        self._since_s: dict[str, float] = {}

    def waiting(self, subject: str, why: object) -> None:
        """Tell that ``subject`` is being waited for, unless that was said in the last 10 s."""
        now_s = self._clock.monotonic_s()
        since_s = self._since_s.setdefault(subject, now_s)
        if now_s - self._said_at_s.get(subject, float("-inf")) < EVERY_S:
            return
        self._said_at_s[subject] = now_s
        log.warning("waiting for %s (%.0f s): %s", subject, now_s - since_s, why)

    def well(self, subject: str) -> None:
        """Tell that ``subject`` is there again, if it was waited for."""
        since_s = self._since_s.pop(subject, None)
        if since_s is None:
            return
        self._said_at_s.pop(subject, None)
        log.warning("%s is there again after %.0f s", subject, self._clock.monotonic_s() - since_s)
