"""The door to the registry: what the detector writes, what clients read, and what people command.

All of it has an in-memory twin in :mod:`hotshard.doors.redis.memory` with the same semantics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hotshard.core.wire.command import Command, Heard, Page, StreamId
    from hotshard.core.wire.orders import Orders
    from hotshard.core.wire.route import HotEntry, Route, TopicState
    from hotshard.doors.redis.entries import Mark

#: A hash as Redis answers it; None where the key holds something that is no hash.
RawHash = dict[bytes, bytes] | None


class Beat(NamedTuple):
    """A topic, and the state of it that Redis should hold."""

    topic: str
    epoch: int
    version: int


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

    async def beats(self, beats: Sequence[Beat]) -> tuple[bool, ...]:
        """Each of these as :meth:`beat`, in their order, in one round trip and by one write."""
        ...

    async def commands(self, after: StreamId, limit: int = 100) -> Page:
        """What people commanded after the entry at ``after`` (``START`` for all), in order, at most ``limit``.

        Damaged entries, and those too large to be commands, come without a command, so that a reader moves past them.
        """
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDesk:
    """What a person may know of one topic. ``damaged`` entries of the registry are left out and counted."""

    mark: Mark
    mode: str
    orders: Orders
    routes: tuple[Route, ...]
    hot: tuple[HotEntry, ...]
    damaged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The registry as a person reads it, as of one moment."""

    #: Redis' clock.
    now_ms: int
    topics: Mapping[str, TopicDesk]
    #: The newest entries of the commands stream, in order.
    commands: tuple[Heard, ...]


class CommandDoor(Protocol):
    """A person's side. Every method raises UnavailableError or RefusedError, and may then be tried again."""

    async def command(self, command: Command) -> StreamId:
        """Leave a command for the detector; the place under which it will be read."""
        ...

    async def hot(self, topic: str) -> tuple[HotEntry, ...]:
        """What is hot now in ``topic``; damaged entries are left out."""
        ...

    async def desk(self, topics: Collection[str] | None = None) -> Desk:
        """Everything that the registry holds of these topics, or of every topic.

        Raises:
            WireError: the registry has a newer schema than is known here.

        """
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
