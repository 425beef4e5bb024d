"""Whether a worker is at work: it observes every partition, and decides."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from hotshard.core.wire.pane import Progress, decode
from hotshard.demo.watch import heard_ms
from hotshard.errors import MissingTopicError, UnavailableError, WireError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.wire.pane import Mark
    from hotshard.doors.kafka.contract import Log, Reader
    from hotshard.doors.redis.contract import RegistryReader

_AGAIN_S: Final = 0.1


class Observing:
    """Hears the panes topic, and tells when every partition is observed by a worker begun after ``since_ms``. Pure."""

    def __init__(self, partitions: int, since_ms: int, most_behind: int) -> None:
        self._missing = set(range(partitions))
        self._since_ms = since_ms
        self._most_behind = most_behind

    def hear(self, logs: Iterable[Log]) -> bool:
        """Whether all are, by what was heard so far."""
        for log in logs:
            for mark in self._marks(log):
                behind = mark.high_watermark - mark.position
                (self._missing.add if behind > self._most_behind else self._missing.discard)(mark.partition)
        return not self._missing

    def _marks(self, log: Log) -> tuple[Mark, ...]:
        try:
            message = decode(log.value or b"")
        except WireError:
            return ()
        return message.marks if isinstance(message, Progress) and message.sent_ms > self._since_ms else ()


async def observing(reader: Reader, panes_topic: str, hears: Observing) -> None:
    """Wait until every partition is observed. The panes topic need not be there yet."""
    while True:
        try:
            logs = reader.follow(panes_topic)
            async for news in logs:
                if hears.hear(news):
                    return
        except (MissingTopicError, UnavailableError):
            await asyncio.sleep(_AGAIN_S)


async def deciding(reader: RegistryReader, topic: str) -> None:
    """Wait until the detector of ``topic`` has been heard since this call."""
    _, since_ms = await heard_ms(reader, topic)
    while True:
        at_ms, _ = await heard_ms(reader, topic)
        if at_ms is not None and at_ms > since_ms:
            return
        await asyncio.sleep(_AGAIN_S)


async def at_work(observes: tuple[Reader, str, Observing], decides: tuple[RegistryReader, str]) -> None:
    """Wait for both."""
    async with asyncio.TaskGroup() as group:
        group.create_task(observing(*observes))
        group.create_task(deciding(*decides))
