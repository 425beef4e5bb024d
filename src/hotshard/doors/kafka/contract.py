"""What hotshard asks of Kafka beside the observed stream: to publish, to speak once, to read a log, to administer.

Every method may raise, and raises nothing else:
``UnavailableError`` (no answer in time, or an outcome that is not known),
``RefusedError`` (credentials, rights, or something the broker will never take),
``MissingTopicError`` (a topic that does not exist; none of these calls makes one, except ``ensure``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from hotshard.core.fields import FieldReader
    from hotshard.doors.kafka.stretch import StretchReader


class Out(NamedTuple):
    """A message to be written. Key or value is given; without a partition the key chooses it (murmur2)."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None


class Log(NamedTuple):
    """A message as it stands in a log."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicWanted:
    """A topic as it is to be when it is created. ``replication`` of -1 is the broker's own default."""

    name: str
    partitions: int
    replication: int = -1
    #: Topic settings by their Kafka names, for example ``cleanup.policy`` or ``retention.ms``.
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLook:
    """A consumer group seen from outside."""

    #: The offset to be read next by partition; one without a commit is not in it.
    committed: Mapping[int, int]
    #: None where the broker does not tell.
    members: int | None
    #: The member that has each partition; empty while that is being decided, and where nobody knows.
    owners: Mapping[int, str] = field(default_factory=dict)


class Publisher(Protocol):
    """Writes messages, in order per partition, each acknowledged by all replicas in sync."""

    async def start(self) -> None:
        """Connect; ``publish`` does so by itself when it was not called."""
        ...

    async def publish(self, outs: Sequence[Out]) -> None:
        """Write all of them and wait until every one is acknowledged.

        After an error any part of them may stand in the log; later calls start afresh.
        """
        ...

    async def stop(self) -> None: ...


class Speaker(Protocol):
    """Holds one transactional id, which only one speaker in the world holds at a time.

    Not for use by several tasks at once. The form without transactions has the same methods, fences
    nobody, and after an error any part of what was said may stand in the log.
    """

    async def take(self) -> None:
        """Take the id: older holders are fenced and their open transaction is aborted when this returns.

        May be called again at any time; it begins anew.
        """
        ...

    async def say(self, outs: Sequence[Out]) -> tuple[int | None, ...]:
        """Write all of them in one transaction, and return their offsets (None where the broker gave none).

        Raises:
            FencedError: another speaker took the id; nothing of this call stands. So it goes until ``take``.
            UnavailableError: not taken yet, or all or nothing of it may stand. So it goes until ``take``.
            RefusedError: the broker will not take it; nothing of it stands. UnavailableError until ``take``.

        """
        ...

    async def stop(self) -> None:
        """Let go of the connection; the id stays with whoever takes it next."""
        ...


class Reader(Protocol):
    """Reads logs without a group, committed messages only."""

    async def read_all(self, topic: str, partition: int) -> list[Log]:
        """Every message of a partition, from its beginning to its end as of this call.

        A transaction that is open at that end is waited for; ``UnavailableError`` when it does not end.
        """
        ...

    def follow(self, topic: str, from_offsets: Mapping[int, int] | None = None) -> AsyncGenerator[list[Log], None]:
        """Messages of all partitions as they come, in order per partition; it goes on through outages.

        A partition that is not in ``from_offsets`` is read from its beginning, one added later too.
        Close the iterator (``aclose``) to let go of the connection.
        """
        ...

    async def stop(self) -> None: ...


class Admin(Protocol):
    """Looks at topics and makes hotshard's own."""

    async def partitions(self, topic: str) -> int | None:
        """How many partitions a topic has; None when it does not exist."""
        ...

    async def ensure(self, wanted: TopicWanted, *, exact: bool = False) -> int:
        """Create the topic if it is missing, and return the partition count that stands.

        Raises:
            TopicMismatchError: with ``exact``, when it stands with another partition count.

        """
        ...

    async def start_offsets(self, topic: str) -> dict[int, int]:
        """The first offset still held, by partition."""
        ...

    async def end_offsets(self, topic: str) -> dict[int, int]:
        """The high watermark by partition: the offset of the next message to be written, open transactions included.

        The embedded broker tells the offset after the first message of the last batch instead.
        """
        ...

    async def stable_offsets(self, topic: str) -> dict[int, int]:
        """The last stable offset by partition: the high watermark, or the first message of an open transaction.

        A reader of committed messages comes no further. The embedded broker, without transactions, tells its end.
        """
        ...

    async def group(self, group: str, topic: str) -> GroupLook:
        """How a group stands to a topic, without joining it; one that does not exist has nothing and no members."""
        ...

    async def stop(self) -> None: ...


class Kafka(Protocol):
    """One cluster; makes the five. What it makes belongs to the event loop it is used in."""

    def publisher(self) -> Publisher: ...

    def speaker(self, transactional_id: str, *, transactional: bool = True) -> Speaker: ...

    def reader(self) -> Reader: ...

    def admin(self) -> Admin: ...

    def stretches(self, *, committed: bool = False, fields: FieldReader | None = None) -> StretchReader:
        """``committed`` leaves out records of aborted transactions, and what follows an open one.

        ``fields`` read tenants and discriminators that do not stand in the key.
        """
        ...
