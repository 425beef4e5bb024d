"""Commands on the wire: read back as written, or passed over with what is wrong."""

from __future__ import annotations

import msgspec
import pytest

from hotshard.core.wire.command import (
    START,
    Command,
    CommandKind,
    StreamId,
    fault_of,
    hear,
    read_id,
    write_command,
)
from hotshard.errors import WireError

AT = StreamId(1, 2)
KEY = "acme\x1fcart-7"

GOOD = [
    Command(kind=CommandKind.PIN, topic="orders", key=KEY, shards=0, by="ann", at_ms=1, reason="sale"),
    Command(kind=CommandKind.PIN, topic="orders", key_b64="/w==", shards=None),
    Command(kind=CommandKind.PIN, topic="orders", key=KEY, shards=1024),
    Command(kind=CommandKind.APPROVE, topic="orders", key=KEY, suffixes=("0", "1"), partitions=(3, 4)),
    Command(kind=CommandKind.UNPIN, topic="orders", key=KEY),
    Command(kind=CommandKind.FREEZE),
    Command(kind=CommandKind.THAW, topic="orders"),
    Command(kind=CommandKind.RETIRE, pause_s=0),
    Command(kind=CommandKind.RETIRE, topic="orders", key=KEY, pause_s=3600),
]


@pytest.mark.parametrize("command", GOOD, ids=lambda command: str(command.kind))
def test_a_command_is_read_back_as_it_was_written(command: Command) -> None:
    heard = hear(AT, write_command(command))
    assert (heard.id, heard.command, heard.fault) == (AT, command, "")


@pytest.mark.parametrize(
    "value",
    [
        b"", b"{}", b"\xff", b"null", b'{"kind":"explode"}', b'{"kind":"freeze","schema":2}', b"[" * 5_000,
        b'{"kind":"freeze"}' + b" " * 20_000,
    ],
)  # fmt: skip
def test_a_damaged_command_is_passed_over_in_its_place(value: bytes) -> None:
    heard = hear(AT, value)
    assert (heard.id, heard.command) == (AT, None)
    assert heard.fault


@pytest.mark.parametrize(
    "changes",
    [
        {"key": None},
        {"key": ""},
        {"key": "k" * 5000},
        {"key": "a", "key_b64": "eA=="},
        {"key": None, "key_b64": "?"},
        {"topic": None},
        {"topic": ""},
        {"topic": "t" * 300},
        {"shards": 1},
        {"shards": -1},
        {"shards": 5000},
        {"kind": CommandKind.FREEZE},
        {"kind": CommandKind.THAW},
        {"kind": CommandKind.RETIRE, "topic": None},
        {"kind": CommandKind.RETIRE, "pause_s": -1},
        {"kind": CommandKind.RETIRE, "pause_s": 10**9},
        {"kind": CommandKind.APPROVE, "partitions": tuple(range(2000))},
        {"kind": CommandKind.UNPIN, "key": None},
    ],
    ids=str,
)
def test_a_command_that_makes_no_sense_is_refused(changes: dict[str, object]) -> None:
    command = msgspec.structs.replace(Command(kind=CommandKind.PIN, topic="orders", key=KEY), **changes)
    assert hear(AT, write_command(command)).command is None


def test_what_the_wire_refuses_the_sender_is_told_beforehand() -> None:
    assert fault_of(Command(kind=CommandKind.PIN, topic="orders", key=KEY, shards=1)) is not None
    assert all(fault_of(command) is None for command in GOOD)


def test_the_mark_tells_entries_apart_by_place_and_by_content() -> None:
    values = [write_command(command) for command in GOOD]
    marks = {hear(StreamId(ms, n), value).mark for ms in range(3) for n in range(3) for value in values}
    assert len(marks) == 9 * len(values)
    assert {len(mark) for mark in marks} == {8}
    assert hear(AT, values[0]).mark == hear(AT, values[0]).mark


def test_places_are_ordered_as_numbers() -> None:
    places = [START, StreamId(2, 10), StreamId(10, 2), StreamId(10, 11), StreamId(2**64 - 1, 2**64 - 1)]
    assert sorted(places, reverse=True) == places[::-1]
    assert [read_id(str(place)) for place in places] == places
    assert read_id(b"7-3") == StreamId(7, 3)


@pytest.mark.parametrize("text", ["", "1", "-1", "1-", "a-b", "1-2-3", "1--2", "9" * 30 + "-0", "+1-2"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(WireError):
        read_id(text)
