"""The checksum of a batch is judged as aiokafka judges it, of every format, whatever byte is wrong."""

from __future__ import annotations

import pytest
from aiokafka.consumer import fetcher
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from hotshard.doors.kafka.slabs import selfcheck
from hotshard.doors.kafka.slabs.sample import Record, batch
from hotshard.doors.kafka.slabs.sound import KeptRecords, keep_bytes, keep_none

_V2 = batch(0, [Record(b"a", b"1"), Record(None, b"22")]) + batch(2, [Record(b"b", b"v" * 300)] * 40, gzipped=True)


def _legacy(magic: int) -> bytes:
    builder = LegacyRecordBatchBuilder(magic, 0, 10_000)
    for offset in range(3):
        builder.append(offset, 1_700_000_000_000, b"k%d" % offset, b"value")
    return bytes(builder.build())


def _judged(data: bytes) -> tuple[list[bool], list[bool]]:
    """Each batch as aiokafka finds it, and as we do."""
    stock, kept = MemoryRecords(data), KeptRecords(data)
    theirs, ours = [], []
    while stock.has_next():
        theirs.append(stock.next_batch().validate_crc())
        assert kept.has_next()
        ours.append(kept.sound(kept.next_batch()))
    assert not kept.has_next()
    return theirs, ours


@pytest.mark.parametrize("data", [_V2, _legacy(0), _legacy(1)], ids=["v2", "v0", "v1"])
def test_sound_batches_are_sound_in_every_format(data: bytes) -> None:
    theirs, ours = _judged(data)
    assert theirs == ours
    assert all(ours)
    assert len(ours) > 1


def test_whatever_byte_is_wrong_it_is_judged_as_aiokafka_does() -> None:
    data = batch(0, [Record(b"a", b"1"), Record(None, b"22")])
    found = 0
    for at in range(12, len(data)):  # the length before says where the next batch is
        damaged = bytearray(data)
        damaged[at] ^= 0x41
        try:
            theirs, ours = _judged(bytes(damaged))
        except ValueError:  # a format that there is none of
            continue
        assert theirs == ours
        found += False in ours
    assert found > len(data) // 2


def test_what_is_cut_off_at_the_end_is_no_batch() -> None:
    theirs, ours = _judged(_V2[:-3])
    assert theirs == ours == [True]
    assert not KeptRecords(b"").has_next()
    assert KeptRecords(_V2[:5]).size_in_bytes() == 5


def test_the_fetcher_is_made_to_keep_bytes_and_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "MemoryRecords", MemoryRecords)
    keep_bytes()
    keep_bytes()
    assert fetcher.MemoryRecords is KeptRecords
    keep_none()
    keep_none()
    assert fetcher.MemoryRecords is MemoryRecords


def test_the_self_check_fails_when_the_fetcher_keeps_no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "MemoryRecords", MemoryRecords)
    with pytest.raises(TypeError, match="keeps no bytes"):
        selfcheck.self_check()
