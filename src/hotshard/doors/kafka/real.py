"""Kafka through aiokafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.doors.kafka.real_admin import AioAdmin
from hotshard.doors.kafka.real_link import Link
from hotshard.doors.kafka.real_publish import AioPublisher, AioSpeaker, PlainSpeaker
from hotshard.doors.kafka.real_read import AioReader
from hotshard.doors.kafka.stretch_real import AioStretchReader

if TYPE_CHECKING:
    from hotshard.core.fields import FieldReader
    from hotshard.doors.kafka.connection import KafkaConnection
    from hotshard.doors.kafka.contract import Admin, Publisher, Reader, Speaker
    from hotshard.doors.kafka.stretch import StretchReader


class AioKafka:
    """See :class:`~hotshard.doors.kafka.contract.Kafka`; no call lasts much longer than ``timeout_s``."""

    def __init__(self, connection: KafkaConnection, *, client_id: str = "hotshard", timeout_s: float = 15.0) -> None:
        self._link = Link(connection, client_id, timeout_s)

    @property
    def link(self) -> Link:
        """For what only a real cluster has, such as the offsets of a group."""
        return self._link

    def publisher(self) -> Publisher:
        return AioPublisher(self._link)

    def speaker(self, transactional_id: str, *, transactional: bool = True) -> Speaker:
        return AioSpeaker(self._link, transactional_id) if transactional else PlainSpeaker(self._link)

    def reader(self) -> Reader:
        return AioReader(self._link)

    def admin(self) -> Admin:
        return AioAdmin(self._link)

    def stretches(self, *, committed: bool = False, fields: FieldReader | None = None) -> StretchReader:
        return AioStretchReader(self._link, committed=committed, fields=fields)
