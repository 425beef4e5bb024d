"""Which commands are new, whatever became of the stream."""

from __future__ import annotations

import pytest

from hotshard.core.deciding.reading import Reading
from hotshard.core.wire.command import START, Command, CommandKind, Heard, Page, StreamId, hear, write_command
from hotshard.core.wire.orders import MAX_MARKS, Seen


def entry(ms: int, reason: str = "") -> Heard:
    return hear(StreamId(ms, 0), write_command(Command(kind=CommandKind.FREEZE, reason=reason)))


class Stream:
    """A stream that is read to its end as a worker reads it, a page after the other."""

    def __init__(self, *entries: Heard) -> None:
        self.entries = list(entries)

    def page(self, after: StreamId, limit: int = 2) -> Page:
        newest = self.entries[-1].id if self.entries else START
        return Page(newest, tuple(each for each in self.entries if each.id > after)[:limit])

    def read(self, reading: Reading) -> list[Heard]:
        found: list[Heard] = []
        for _ in range(len(self.entries) + 2):
            for heard in reading.unseen(self.page(reading.position)):
                reading.dealt(heard)
                found.append(heard)
        assert reading.position == self.page(START).newest
        return found


def test_every_entry_is_new_once() -> None:
    stream, reading = Stream(entry(1), entry(2), entry(3)), Reading(Seen())
    assert stream.read(reading) == stream.entries
    assert stream.read(reading) == []
    stream.entries.append(entry(4))
    assert stream.read(reading) == [entry(4)]


def test_another_that_remembers_the_same_goes_on_from_there() -> None:
    stream, reading = Stream(entry(1), entry(2)), Reading(Seen())
    stream.read(reading)
    other = Reading(reading.seen)
    stream.entries.append(entry(3))
    assert stream.read(other) == [entry(3)]


def test_a_stream_made_again_with_lower_places_is_read_from_its_start() -> None:
    reading = Reading(Seen())
    Stream(entry(1000), entry(1001)).read(reading)
    again = Stream(entry(5), entry(6))
    assert again.read(reading) == [entry(5), entry(6)]
    assert again.read(reading) == []
    again.entries.append(entry(7))
    assert again.read(reading) == [entry(7)]


def test_a_stream_set_back_gives_nothing_that_was_dealt_with_and_all_that_is_new() -> None:
    reading = Reading(Seen())
    stream = Stream(*(entry(each) for each in range(1, 10)))
    stream.read(reading)
    stream.entries = stream.entries[:4]
    assert stream.read(reading) == []
    stream.entries.append(entry(5, "another one"))
    assert stream.read(reading) == [entry(5, "another one")]
    assert stream.read(Reading(reading.seen)) == []


def test_an_emptied_stream_blocks_nothing() -> None:
    reading = Reading(Seen())
    Stream(entry(1000)).read(reading)
    emptied = Stream()
    assert emptied.read(reading) == []
    emptied.entries.append(entry(3))
    assert emptied.read(reading) == [entry(3)]


def test_an_absurd_place_blocks_nothing_once_the_stream_is_made_again() -> None:
    reading = Reading(Seen())
    Stream(Heard(StreamId(2**64 - 1, 2**64 - 1), b"x" * 8, Command(kind=CommandKind.THAW))).read(reading)
    assert Stream(entry(3)).read(reading) == [entry(3)]


@pytest.mark.parametrize("position", ["", "?", "1-2-3", "9" * 99])
def test_a_damaged_memory_of_the_place_repeats_nothing(position: str) -> None:
    reading = Reading(Seen())
    stream = Stream(entry(1), entry(2))
    stream.read(reading)
    assert stream.read(Reading(Seen(position=position, marks=reading.seen.marks))) == []


def test_what_is_remembered_is_bounded() -> None:
    reading = Reading(Seen())
    entries = [Heard(StreamId(ms, 0), ms.to_bytes(8, "big"), None) for ms in range(1, MAX_MARKS + 100)]
    for heard in reading.unseen(Page(entries[-1].id, tuple(entries))):
        reading.dealt(heard)
    assert len(reading.seen.marks) == 8 * MAX_MARKS
    page = Page(entries[-1].id, tuple(entries))
    again = Reading(reading.seen)
    again.again()
    assert list(again.unseen(page)) == []  # the place alone says that the first were read


def test_after_an_outage_nothing_of_another_stream_is_missed() -> None:
    reading = Reading(Seen())
    Stream(entry(100)).read(reading)
    other = Stream(entry(50), entry(150))
    reading.again()
    assert other.read(reading) == [entry(50), entry(150)]
    reading.again()
    assert other.read(reading) == []
