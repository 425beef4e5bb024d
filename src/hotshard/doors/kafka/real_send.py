"""A producer of aiokafka that is thrown away after a doubt, never repaired."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import TYPE_CHECKING, Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from hotshard.doors.kafka.real_link import Link, require
from hotshard.errors import TopicMismatchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aiokafka.structs import RecordMetadata

    from hotshard.doors.kafka.contract import Out

#: Large enough that one wait carries a second's panes of a partition.
_BATCH_BYTES: Final = 512 * 1024
#: Open transactions of a dead speaker hold up readers this long if nobody takes its id.
_TRANSACTION_TIMEOUT_MS: Final = 20_000
_LETTING_GO_S: Final = 2.0


class Sending:
    """One producer, plain or with a transactional id, from its start to its end."""

    def __init__(self, link: Link, transactional_id: str | None = None, *, idempotent: bool = True) -> None:
        self._link = link
        self._partitions: dict[str, int] = {}
        options: dict[str, Any] = {"acks": "all", "enable_idempotence": idempotent, "max_batch_size": _BATCH_BYTES}
        if transactional_id is not None:
            options |= {"transactional_id": transactional_id, "transaction_timeout_ms": _TRANSACTION_TIMEOUT_MS}
        self.producer = AIOKafkaProducer(**link.kwargs(), **options)

    async def start(self, doing: str) -> None:
        """Connect and get a producer id; lets go of everything when that fails."""
        try:
            async with self._link.connecting(doing):
                await self.producer.start()
        except BaseException:
            await self.drop()
            raise

    async def send(self, outs: Sequence[Out]) -> tuple[int | None, ...]:
        """Send all, then wait for all; the offsets. Raises aiokafka's errors and TimeoutError."""
        await self._check(outs)
        waiting: list[asyncio.Future[RecordMetadata]] = []
        try:
            for out in outs:
                future = await self.producer.send(out.topic, out.value, out.key, out.partition)
                waiting.append(future)
            await asyncio.wait(waiting)
            return tuple(_offset(future.result()) for future in waiting)
        finally:
            for future in waiting:
                future.add_done_callback(_seen)

    async def _check(self, outs: Sequence[Out]) -> None:
        """Aiokafka would wait for a missing topic (and have it made), and asserts on a missing partition."""
        for out in outs:
            if out.topic not in self._partitions:
                look = await require(self.producer.client, out.topic, self._link.connection)
                self._partitions[out.topic] = len(look.leaders)
            count = self._partitions[out.topic]
            if out.partition is not None and out.partition >= count:
                raise TopicMismatchError(f"topic {out.topic!r} has {count} partitions; there is no {out.partition}")

    async def stop(self) -> None:
        """End in good order; what is sent has been waited for, so nothing is flushed for long."""
        self._see_failures()
        try:
            async with asyncio.timeout(_LETTING_GO_S):
                await self.producer.stop()
        except (KafkaError, OSError, TimeoutError):
            await self.drop()

    async def drop(self) -> None:
        """End at once: nothing that still waits here is sent later, by nobody.

        aiokafka's own ``stop`` waits for a broker that is gone, so its parts are ended one by one,
        which rests on private names.
        """
        producer = self.producer
        self._see_failures()
        sender = producer._sender.sender_task  # noqa: SLF001 -- see above
        if sender is not None:
            sender.add_done_callback(_seen)
            sender.remove_done_callback(producer._sender._fail_all)  # noqa: SLF001 -- it cannot fail an idle producer
            sender.cancel()
            await asyncio.wait([sender], timeout=0.1)
        producer._closed = True  # noqa: SLF001 -- else its finalizer warns
        with contextlib.suppress(KafkaError, OSError, TimeoutError):
            async with asyncio.timeout(_LETTING_GO_S):
                await producer.client.close()
        if sender is not None:
            sender.cancel()
            await asyncio.wait([sender], timeout=_LETTING_GO_S)

    def _see_failures(self) -> None:
        """What is being sent by somebody else now may fail; it is for them to hear of it."""
        for future in _inner_futures(self.producer):
            future.add_done_callback(_seen)


def _offset(written: RecordMetadata) -> int | None:
    return written.offset if written.offset >= 0 else None


def _inner_futures(producer: AIOKafkaProducer) -> Iterator[asyncio.Future[object]]:
    """What aiokafka fails and nobody awaits; asyncio would report each as an error never retrieved."""
    if producer._txn_manager is not None and producer._txn_manager._transaction_waiter is not None:  # noqa: SLF001
        yield producer._txn_manager._transaction_waiter  # noqa: SLF001
    accumulator = producer._message_accumulator  # noqa: SLF001
    for batch in itertools.chain(*accumulator._batches.values(), accumulator._pending_batches):  # noqa: SLF001
        yield batch._drain_waiter  # noqa: SLF001


def _seen(future: asyncio.Future[object]) -> None:
    """Look at a future's error, so that asyncio does not report it as never retrieved."""
    if not future.cancelled():
        future.exception()
