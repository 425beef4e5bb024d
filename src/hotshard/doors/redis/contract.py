"""The door to the registry: what the detector writes, what clients read, and what people command.

All of it has an in-memory twin in :mod:`hotshard.doors.redis.memory` with the same semantics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection

    from hotshard.core.wire.route import HotEntry, TopicState
    from hotshard.doors.redis.commands import Command

#: A hash as Redis answers it; None where the key holds something that is no hash.
RawHash = dict[bytes, bytes] | None


class RegistryDoor(Protocol):
    """The detector's side. Every method raises UnavailableError or RefusedError, and may then be tried again."""

    async def publish(self, state: TopicState) -> bool:
        """Make Redis hold exactly ``state`` for its topic, and log the difference.

        False, and nothing changed, when Redis already holds an equal or higher (epoch, version).
        """
        ...

    async def beat(self, topic: str, epoch: int, version: int) -> bool:
        """Say that the detector of ``topic`` is alive.

        False, and nothing said, when Redis does not hold just this (epoch, version): it was emptied, is
        behind, or holds another detector's.
        """
        ...

    async def commands(self, after: str, limit: int = 100) -> tuple[Command, ...]:
        """What people commanded after the command of id ``after`` (``"0"`` for all), in order.

        Damaged ones come as :attr:`CommandKind.UNREADABLE`, so that a reader moves past them.
        """
        ...

    async def close(self) -> None: ...


class CommandDoor(Protocol):
    """A person's side."""

    async def command(self, command: Command) -> str:
        """Leave a command for the detector; the id under which it will be read."""
        ...

    async def hot(self, topic: str) -> tuple[HotEntry, ...]:
        """What is hot now in ``topic``; damaged entries are left out."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class RawSnapshot:
    """The registry as of one moment, unchecked."""

    meta: RawHash
    routes: dict[str, RawHash]
    #: The log's last entry then; what comes after it is not in the snapshot.
    last_id: bytes
    #: Redis' clock then.
    now_ms: int


class RawChange(NamedTuple):
    """An entry of the log, unchecked."""

    id: bytes
    fields: dict[bytes, bytes]


class RegistryReader(Protocol):
    """A client's side, for one task. After an exception :meth:`reset` makes it as new."""

    async def snapshot(self, topics: Collection[str] | None) -> RawSnapshot:
        """All of ``topics``, or of every topic in the registry, in one transaction."""
        ...

    async def changes(self, after: bytes, wait_s: float) -> list[RawChange]:
        """Entries of the log after ``after``; waits up to ``wait_s`` for the first."""
        ...

    async def meta(self, topics: Collection[str] | None) -> RawHash:
        """The part of ``meta`` that concerns ``topics``, or all."""
        ...

    async def reset(self) -> None:
        """Drop every connection; the next call makes new ones."""
        ...


class BlockingReader(Protocol):
    """The same for one thread. Only :meth:`interrupt` may be called from another."""

    def snapshot(self, topics: Collection[str] | None) -> RawSnapshot: ...

    def changes(self, after: bytes, wait_s: float) -> list[RawChange]: ...

    def meta(self, topics: Collection[str] | None) -> RawHash: ...

    def reset(self) -> None: ...

    def interrupt(self) -> None:
        """Make a call that waits return or raise at once."""
        ...
