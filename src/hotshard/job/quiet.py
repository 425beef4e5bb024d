"""Saying the same thing at most every ten seconds: our own lines, and those of other people's loggers."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

EVERY_S = 10.0

#: In a broker's stop of 15 s aiokafka alone writes 5,000 lines (measured). mode names the loggers of services
#: after their modules, so those of ours stand below ``hotshard.job``.
LOUD = ("aiokafka", "faust", "mode", "hotshard.job")

#: Lines of Faust that are wrong for an app with its own commits, or of no use to anybody.
_NEVER = (
    "Aiokafka has not sent fetch request",
    "Aiokafka stopped fetching",
    "No active partitions for",
    "Thread keepalive is not responding",
    "Timer %s woke up too",
)

#: What aiokafka says of an outage, which is told in a line of our own by whoever waits for its end.
_OUTAGE = (
    "Cannot send",
    "Error sending",
    "Failed fetch messages from",
    "Got error produce response",
    "Group Coordinator Request failed",
    "Heartbeat failed for group",
    "Heartbeat failed: local member_id",
    "Heartbeat send request failed",
    "Heartbeat session expired",
    "LeaveGroup request failed",
    "Marking the coordinator dead",
    "OffsetCommit failed for group %s due to group",
    "Sending username and password in the clear",
    "Unable connect to",
    "Unable to request metadata",
    "Unable to update metadata",
)


@dataclass(slots=True)
class _Said:
    at_s: float
    held_back: int = 0


@dataclass(slots=True)
class Pace:
    """Tells when something may be said again. Not more than ``most`` things are remembered."""

    every_s: float = EVERY_S
    monotonic_s: Callable[[], float] = time.monotonic
    most: int = 1000
    _said: dict[Hashable, _Said] = field(default_factory=dict)

    def held_back(self, what: Hashable) -> int | None:
        """None when ``what`` was said less than ``every_s`` ago; else how often it was held back since then.

        Asking counts as saying, when the answer is a number.
        """
        now = self.monotonic_s()
        said = self._said.get(what)
        if said is not None and now - said.at_s < self.every_s:
            said.held_back += 1
            return None
        if said is None and len(self._said) >= self.most:
            self._said.clear()
        self._said[what] = _Said(now)
        return 0 if said is None else said.held_back


class Teller:
    """Writes to a logger, each kind of line at most every ``every_s``."""

    def __init__(self, logger: logging.Logger, pace: Pace | None = None) -> None:
        self._logger = logger
        self._pace = pace or Pace()

    def __call__(self, kind: Hashable, message: str, level: int = logging.WARNING) -> None:
        """Write ``message``, unless one of its ``kind`` was written a moment ago."""
        held_back = self._pace.held_back(kind)
        if held_back is not None:
            self._logger.log(level, "%s%s", message, _more(held_back))


class _Relay(logging.Handler):
    """Passes a logger's records on to the root's handlers, each kind at most every ``every_s``."""

    def __init__(self, pace: Pace, never: tuple[str, ...]) -> None:
        super().__init__()
        self._pace = pace
        self._never = never

    def emit(self, record: logging.LogRecord) -> None:
        text = _unlabelled(str(record.msg))
        if text.startswith(self._never):
            return
        held_back = self._pace.held_back((record.name, record.levelno, text.partition(":")[0][:60]))
        if held_back is None:
            return
        if held_back:
            record.msg, record.args = record.getMessage() + _more(held_back), None
        logging.getLogger().handle(record)


def limit_loggers(
    names: tuple[str, ...] = LOUD, *, level: int = logging.WARNING, pace: Pace | None = None, outages: bool = False
) -> Callable[[], None]:
    """Let these loggers, and all below them, say the same thing at most every ten seconds. Returns the way back.

    What they say of outages is left out, unless ``outages`` asks for it: it is told by us, in one line.
    """
    relay = _Relay(pace or Pace(), _NEVER if outages else _NEVER + _OUTAGE)
    before = []
    for logger in map(logging.getLogger, names):
        before.append((logger, logger.propagate, logger.level))
        logger.addHandler(relay)
        logger.propagate = False
        logger.setLevel(level)

    def undo() -> None:
        for logger, propagate, old_level in before:
            logger.removeHandler(relay)
            logger.propagate = propagate
            logger.setLevel(old_level)

    return undo


def _unlabelled(text: str) -> str:
    """The line without the service's name that mode puts before it: ``[^--Consumer]: line``."""
    return text.partition("]: ")[2] if text.startswith("[^") else text


def _more(held_back: int) -> str:
    return f" (and {held_back} times more since it was last said)" if held_back else ""
