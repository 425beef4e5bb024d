"""Saying that something is being waited for: at once, then at most every 10 s, and once when it is over."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from hotshard.job.quiet import Pace

if TYPE_CHECKING:
    from hotshard.doors.clock import Clock

log = logging.getLogger("hotshard")


class Says:
    """One voice per subject; all may be called in a tight loop, from any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pace = Pace(monotonic_s=clock.monotonic_s)
        self._since_s: dict[str, float] = {}
        #: Subjects whose present waiting was told.
        self._told: set[str] = set()

    def waiting(self, subject: str, why: object) -> None:
        """Tell that ``subject`` is being waited for, unless that was told in the last 10 s."""
        since_s = self._since_s.setdefault(subject, self._clock.monotonic_s())
        if self._pace.held_back(subject) is not None:
            self._told.add(subject)
            log.warning("waiting for %s (%.0f s): %s", subject, self._clock.monotonic_s() - since_s, why)

    def well(self, subject: str) -> None:
        """Tell that ``subject`` is there again, if it was told that it is waited for.

        What comes and goes is told no more often than what stays away.
        """
        since_s = self._since_s.pop(subject, None)
        if since_s is not None and subject in self._told:
            self._told.discard(subject)
            log.warning("%s is there again after %.0f s", subject, self._clock.monotonic_s() - since_s)

    def failed(self, what: str, fault: Exception) -> None:
        """Tell a fault of our own, with its traceback, unless the same was told in the last 10 s."""
        if self._pace.held_back(what) is not None:
            log.error("%s", what, exc_info=fault)
