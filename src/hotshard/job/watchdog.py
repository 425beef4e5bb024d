"""Liveness is that the loop turns: a thread looks whether it does, and says so when it does not."""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

log = logging.getLogger("hotshard.watchdog")

#: How often the loop says that it turns, and is looked at.
TURN_S: Final = 1.0
#: The loop stands still when it has not turned for this long.
STILL_S: Final = 15.0


class Watchdog:
    """Watches one event loop from a thread of its own."""

    def __init__(self, still_s: float = STILL_S, turn_s: float = TURN_S) -> None:
        self._still_s = still_s
        self._turn_s = turn_s
        self._turned_s = time.monotonic()
        self._ended = threading.Event()
        self._loop_thread = threading.get_ident()

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin; call it in the loop's thread."""
        self._loop_thread = threading.get_ident()
        self._turn(loop)
        threading.Thread(target=self._look, name="hotshard-watchdog", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._turned_s = time.monotonic()
        if not self._ended.is_set():
            loop.call_later(self._turn_s, self._turn, loop)

    def _look(self) -> None:
        said = False
        while not self._ended.wait(self._turn_s):
            still_s = time.monotonic() - self._turned_s
            if still_s < self._still_s:
                said = False
            elif not said:
                said = True
                frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 -- the only way to see it
                where = "".join(traceback.format_stack(frame)) if frame is not None else "unknown"
                log.error("the worker's loop has stood still for %.0f s, in:\n%s", still_s, where)
