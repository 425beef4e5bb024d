"""Checksums by the processor's own instruction, where aiokafka computes them in C by table.

aiokafka's compiled ``MemoryRecords`` shows nobody the bytes that it was given, so the fetcher is made to keep them:
:func:`keep_bytes` puts :class:`KeptRecords` in the place of that one name. On values of 1 KB the table took a fifth
of the time of all that a worker does.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from aiokafka.consumer import fetcher
from aiokafka.record.memory_records import MemoryRecords
from google_crc32c import value as crc32c

if TYPE_CHECKING:
    from hotshard.doors.kafka.slabs.parser import Batch

#: Where a batch of format v2 has its length (counted from behind it), its format, and its CRC (of all behind it).
_LENGTH_AT: Final = 8
_LENGTH_FROM: Final = 12
_MAGIC_AND_CRC: Final = Struct(">bI")
_MAGIC_AT: Final = 16
_CRC_FROM: Final = 21
_V2: Final = 2


class KeptRecords:
    """The batches of ``data`` as aiokafka's ``MemoryRecords`` gives them, and whether the last one is sound."""

    def __init__(self, data: bytes) -> None:
        self._records = MemoryRecords(data)
        self._data = data
        self._start = self._end = 0
        self.has_next = self._records.has_next
        self.size_in_bytes = self._records.size_in_bytes

    def next_batch(self) -> Batch:
        batch: Batch = self._records.next_batch()
        start = self._start = self._end
        self._end = start + _LENGTH_FROM + int.from_bytes(self._data[start + _LENGTH_AT : start + _LENGTH_FROM])
        return batch

    def sound(self, batch: Batch) -> bool:
        """Whether the checksum of ``batch``, the last one given, is right.

        Formats v0 and v1 have another checksum, which is left to aiokafka.
        """
        magic, crc = _MAGIC_AND_CRC.unpack_from(self._data, self._start + _MAGIC_AT)
        if magic != _V2:
            return batch.validate_crc()
        return bool(crc == crc32c(self._data[self._start + _CRC_FROM : self._end]))


def keep_bytes() -> None:
    """From now on aiokafka's consumers keep the bytes of a fetch beside its batches: all of the process, once for all.

    A consumer without the hook reads as ever. :func:`keep_none` takes it back.
    """
    if fetcher.MemoryRecords is MemoryRecords:
        fetcher.MemoryRecords = KeptRecords


def keep_none() -> None:
    """Let aiokafka's consumers read with their own ``MemoryRecords`` again."""
    if fetcher.MemoryRecords is KeptRecords:
        fetcher.MemoryRecords = MemoryRecords
