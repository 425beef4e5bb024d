"""What people have ordered for one topic, as it stands: part of the state, and shown in the registry."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from hotshard.core.wire.command import START, CommandKind
from hotshard.core.wire.names import key_bytes

#: So many orders of a kind may stand at once in a topic; more are refused.
MAX_STANDING: Final = 256
#: So many commands that were obeyed, or refused, are kept for people to read.
MAX_DONE: Final = 32
#: Marks kept of the commands that were dealt with. The stream itself holds about 1,000 entries.
MAX_MARKS: Final = 2048


class Outcome(StrEnum):
    """What came of a command. Beside these a refusal has the reason code for which a key or a topic has no plan."""

    APPROVED = "approved"
    IN_FORCE = "in_force"  #: the plan was given to producers already
    PINNED = "pinned"
    UNPINNED = "unpinned"
    NOT_PINNED = "not_pinned"  #: there was no pin of a command to take away
    FROZEN = "frozen"
    THAWED = "thawed"
    NOT_FROZEN = "not_frozen"  #: nothing had been stopped
    RETIRED = "retired"
    PAUSED = "paused"  #: there was no plan to retire; none is made for the time given
    NO_PLAN = "no_plan"  #: refused: no plan of this key is proposed
    PLAN_CHANGED = "plan_changed"  #: refused: another plan is proposed now than the one approved
    TOO_MANY = "too_many"  #: refused: the topic has all the orders of this kind that it may have


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Who gave an order, when it was obeyed, and why."""

    by: str = ""
    at_ms: int = 0
    reason: str = ""


class _OfAKey(msgspec.Struct, frozen=True, kw_only=True):
    key: str | None = None
    key_b64: str | None = None

    @property
    def base_key(self) -> bytes:
        """The key; empty for none, as no key that is ordered about is empty."""
        return b"" if self.key is None and self.key_b64 is None else key_bytes(self.key, self.key_b64)


class PinOrder(_OfAKey, frozen=True, kw_only=True):
    """A key that is split over so many shards (0: as the plan finds) whatever is measured, or (None) never touched."""

    shards: int | None
    given: Given


class Approval(_OfAKey, frozen=True, kw_only=True):
    """The plan of a key that a person wants in force."""

    suffixes: tuple[str, ...]
    partitions: tuple[int, ...]
    given: Given


class Pause(_OfAKey, frozen=True, kw_only=True):
    """A key, or without a key the whole topic, that has and gets no plan until ``until_ms``."""

    until_ms: int
    given: Given


class Done(_OfAKey, frozen=True, kw_only=True):
    """A command that was dealt with: its id in the stream, and what came of it."""

    id: str
    kind: CommandKind
    applied: bool
    #: A code: what was done, or why nothing was.
    outcome: str
    given: Given


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """All orders that stand. Keys stand once in each list."""

    frozen: Given | None = None
    pins: tuple[PinOrder, ...] = ()
    approvals: tuple[Approval, ...] = ()
    pauses: tuple[Pause, ...] = ()
    #: What was dealt with last, the newest at the end.
    done: tuple[Done, ...] = ()


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """How far the commands were read, and the marks of those that were dealt with, the newest at the end."""

    position: str = str(START)
    marks: bytes = b""
