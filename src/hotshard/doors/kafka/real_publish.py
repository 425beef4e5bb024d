"""The real publisher, and the real speaker in both forms."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from aiokafka.errors import IncompatibleBrokerVersion, UnknownError

from hotshard.doors.kafka.real_send import Sending
from hotshard.errors import FencedError, HotshardError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.doors.kafka.contract import Out
    from hotshard.doors.kafka.real_link import Link

#: What a broker without producer ids answers (Tansu: an unknown error).
_NO_IDEMPOTENCE: Final = (IncompatibleBrokerVersion, UnknownError)

_log = logging.getLogger(__name__)


class AioPublisher:
    """See :class:`~hotshard.doors.kafka.contract.Publisher`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._sending: Sending | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        await self._started()

    async def publish(self, outs: Sequence[Out]) -> None:
        await self.send(outs)

    async def send(self, outs: Sequence[Out]) -> tuple[int | None, ...]:
        """As ``publish``, and returns the offsets."""
        if not outs:
            return ()
        sending = await self._started()
        try:
            async with self._link.calling("publishing"):
                return await sending.send(outs)
        except FencedError as error:
            await self._drop(sending)
            raise UnavailableError(f"publishing was cut off by the broker: {error}") from error
        except BaseException:
            await self._drop(sending)
            raise

    async def stop(self) -> None:
        sending, self._sending = self._sending, None
        if sending is not None:
            await sending.stop()

    async def _drop(self, sending: Sending) -> None:
        if self._sending is sending:
            self._sending = None
        await sending.drop()

    async def _started(self) -> Sending:
        async with self._starting:
            if self._sending is None:
                self._sending = await self._start()
            return self._sending

    async def _start(self) -> Sending:
        sending = Sending(self._link)
        try:
            await sending.start("publishing")
        except HotshardError as error:
            if not isinstance(error.__cause__, _NO_IDEMPOTENCE):
                raise
            _log.warning("this broker gives no producer ids: after an outage a message may stand twice")
            sending = Sending(self._link, idempotent=False)
            await sending.start("publishing")
        return sending


class AioSpeaker:
    """See :class:`~hotshard.doors.kafka.contract.Speaker`; with transactions."""

    def __init__(self, link: Link, transactional_id: str) -> None:
        self._link = link
        self._id = transactional_id
        self._sending: Sending | None = None
        self._why: HotshardError = UnavailableError(f"transactional id {transactional_id} is not taken")

    async def take(self) -> None:
        await self._drop(UnavailableError(f"transactional id {self._id} could not be taken"))
        sending = Sending(self._link, self._id)
        try:
            await sending.start(f"taking transactional id {self._id}")
        except HotshardError as error:
            if not isinstance(error.__cause__, _NO_IDEMPOTENCE):
                raise
            advice = "if this broker has no transactions, set worker.transactions to false"
            raise UnavailableError(
                f"Kafka at {self._link.connection.address} gives no producer ids; {advice}"
            ) from error
        self._sending = sending

    async def say(self, outs: Sequence[Out]) -> tuple[int | None, ...]:
        sending = self._sending
        if sending is None:
            raise type(self._why)(str(self._why))
        if not outs:
            return ()
        try:
            async with self._link.calling("a transaction"):
                await sending.producer.begin_transaction()
                offsets = await sending.send(outs)
                await sending.producer.commit_transaction()
                return offsets
        except FencedError as error:
            await self._drop(error)
            raise
        except BaseException:
            await self._drop(UnavailableError(f"transactional id {self._id} must be taken again after an error"))
            raise

    async def stop(self) -> None:
        sending, self._sending = self._sending, None
        if sending is not None:
            await sending.stop()

    async def _drop(self, why: HotshardError) -> None:
        self._why = why
        sending, self._sending = self._sending, None
        if sending is not None:
            await sending.drop()


class PlainSpeaker:
    """The speaker for brokers without transactions: what it says stands at least once."""

    def __init__(self, link: Link) -> None:
        self._publisher = AioPublisher(link)
        self._taken = False

    async def take(self) -> None:
        self._taken = False
        await self._publisher.stop()
        await self._publisher.start()
        self._taken = True

    async def say(self, outs: Sequence[Out]) -> tuple[int | None, ...]:
        if not self._taken:
            raise UnavailableError("the speaker must be taken (again) before it speaks")
        try:
            return await self._publisher.send(outs)
        except BaseException:
            self._taken = False
            raise

    async def stop(self) -> None:
        self._taken = False
        await self._publisher.stop()
