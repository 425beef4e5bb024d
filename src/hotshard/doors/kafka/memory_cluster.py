"""A cluster in memory: logs with offsets and control records, transactions, fencing, and dials that make trouble."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.partitioners import partition_of
from hotshard.doors.kafka.contract import GroupLook, Log, Out, TopicWanted
from hotshard.errors import (
    FencedError,
    MissingTopicError,
    RefusedError,
    TopicMismatchError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.doors.clock import Clock

#: The largest message a broker takes with its default settings.
_MAX_BYTES: Final = 1_048_576


class Fate(Enum):
    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(slots=True)
class Transaction:
    fate: Fate = Fate.OPEN
    touched: set[tuple[str, int]] = field(default_factory=set)


class _Slot(NamedTuple):
    """One offset: a message, or a control record when ``log`` is None."""

    log: Log | None
    transaction: Transaction | None

    @property
    def fate(self) -> Fate:
        return Fate.COMMITTED if self.transaction is None else self.transaction.fate


@dataclass(slots=True)
class MemoryPartition:
    slots: list[_Slot] = field(default_factory=list)
    first: int = 0

    def stable(self) -> int:
        """The last stable offset: that of the first message whose transaction is open."""
        for offset in range(self.first, len(self.slots)):
            if self.slots[offset].fate is Fate.OPEN:
                return offset
        return len(self.slots)

    def all(self, start: int, end: int) -> list[Log]:
        """Messages of open and aborted transactions, too."""
        return [slot.log for slot in self.slots[max(start, self.first) : end] if slot.log is not None]

    def committed(self, start: int, end: int) -> list[Log]:
        slots = self.slots[max(start, self.first) : end]
        return [slot.log for slot in slots if slot.log is not None and slot.fate is Fate.COMMITTED]


@dataclass(slots=True)
class _Holder:
    """Who holds a transactional id, and its open transaction."""

    epoch: int = 0
    open: Transaction | None = None


class Cluster:
    """What the in-memory Kafka holds. Its public attributes are the dials."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        #: While True nothing answers.
        self.down = False
        #: So many of the next writes take place, but their answer is lost: UnavailableError.
        self.lose_answers = 0
        #: So many of the next writes do not take place: UnavailableError.
        self.lose_requests = 0
        #: How groups stand to topics; put in by hand, as nobody consumes here.
        self.groups: dict[tuple[str, str], GroupLook] = {}
        self._topics: dict[str, list[MemoryPartition]] = {}
        self._wanted: dict[str, TopicWanted] = {}
        self._holders: defaultdict[str, _Holder] = defaultdict(_Holder)
        self._turn = itertools.count()
        self._changed = asyncio.Event()

    def create(self, wanted: TopicWanted) -> None:
        self._topics[wanted.name] = [MemoryPartition() for _ in range(wanted.partitions)]
        self._wanted[wanted.name] = wanted

    def created(self, topic: str) -> TopicWanted:
        """How a topic was made."""
        return self._wanted[topic]

    def leave_open(self, transactional_id: str, outs: Sequence[Out]) -> None:
        """Write within the id's transaction without a commit, as a speaker does that dies in between."""
        holder = self._holders[transactional_id]
        holder.open = holder.open or Transaction()
        self._append(outs, holder.open)

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Drop the messages before an offset, as retention does."""
        self.partition(topic, partition).first = offset

    def check_up(self) -> None:
        if self.down:
            raise UnavailableError("Kafka in memory is down")

    def count(self, topic: str) -> int | None:
        self.check_up()
        return len(self._topics[topic]) if topic in self._topics else None

    def partitions(self, topic: str) -> list[MemoryPartition]:
        self.check_up()
        if topic not in self._topics:
            raise MissingTopicError(f"topic {topic!r} does not exist; create it or correct its name in the settings")
        return self._topics[topic]

    def partition(self, topic: str, partition: int) -> MemoryPartition:
        partitions = self.partitions(topic)
        if partition >= len(partitions):
            raise TopicMismatchError(f"topic {topic!r} has {len(partitions)} partitions; there is no {partition}")
        return partitions[partition]

    def write(self, outs: Sequence[Out], transaction: Transaction | None = None) -> tuple[int, ...]:
        """Write (in a transaction: and commit), with the trouble that the dials make; the offsets."""
        self.check_up()
        if self.lose_requests > 0:
            self.lose_requests -= 1
            raise UnavailableError("a request to Kafka in memory was lost")
        offsets = self._append(outs, transaction)
        if transaction is not None:
            self._end(transaction, Fate.COMMITTED)
        if self.lose_answers > 0:
            self.lose_answers -= 1
            raise UnavailableError("an answer of Kafka in memory was lost")
        return offsets

    def take(self, transactional_id: str) -> int:
        """Fence older holders of the id and abort what they left open; the new epoch."""
        self.check_up()
        holder = self._holders[transactional_id]
        holder.epoch += 1
        if holder.open is not None:
            self._end(holder.open, Fate.ABORTED)
            holder.open = None
        return holder.epoch

    def check_epoch(self, transactional_id: str, epoch: int) -> None:
        self.check_up()
        if self._holders[transactional_id].epoch != epoch:
            raise FencedError

    async def change(self, timeout_s: float) -> None:
        """Wait until something is written, or the time is up."""
        changed = self._changed
        try:
            async with asyncio.timeout(timeout_s):
                await changed.wait()
        except TimeoutError:
            return

    def _append(self, outs: Sequence[Out], transaction: Transaction | None) -> tuple[int, ...]:
        chosen = [self._choose(out) for out in outs]
        offsets = []
        for out, number in zip(outs, chosen, strict=True):
            slots = self._topics[out.topic][number].slots
            offsets.append(len(slots))
            log = Log(out.topic, number, len(slots), out.key, out.value, self.clock.now_ms())
            slots.append(_Slot(log, transaction))
            if transaction is not None:
                transaction.touched.add((out.topic, number))
        self._wake()
        return tuple(offsets)

    def _choose(self, out: Out) -> int:
        partitions = self.partitions(out.topic)
        if len(out.key or b"") + len(out.value or b"") >= _MAX_BYTES:
            raise RefusedError(f"a message for topic {out.topic!r} is larger than the broker takes")
        if out.partition is not None:
            self.partition(out.topic, out.partition)
            return out.partition
        if out.key is None:
            return next(self._turn) % len(partitions)
        return partition_of("murmur2", len(partitions))(out.key)

    def _end(self, transaction: Transaction, fate: Fate) -> None:
        transaction.fate = fate
        for topic, partition in transaction.touched:
            self._topics[topic][partition].slots.append(_Slot(None, None))
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
