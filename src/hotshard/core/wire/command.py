"""What people command: entries of the registry's ``commands`` stream, which the detector reads in order. JSON."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from hotshard.core.wire.names import key_bytes
from hotshard.errors import WireError

SCHEMA: Final = 1
MAX_COMMAND_BYTES: Final = 16 * 1024
#: More shards than this are no wish but damage.
MAX_PINNED_SHARDS: Final = 1024
#: Longest pause that a ``retire`` may ask for: 30 days.
MAX_PAUSE_S: Final = 2_592_000
#: Length of the mark of an entry.
MARK_BYTES: Final = 8
_MAX_TOPIC: Final = 249
_MAX_KEY_BYTES: Final = 4096


class CommandKind(StrEnum):
    APPROVE = "approve"  #: put the proposed plan of a key into force
    PIN = "pin"  #: split a key whatever is measured, or never touch it
    UNPIN = "unpin"
    FREEZE = "freeze"  #: change no route until thawed
    THAW = "thaw"  #: end what freeze and retire have stopped
    RETIRE = "retire"  #: take back the plan of a key, of a topic, or all, and plan none for a while


#: Commands that are for one key of one topic, and those that are never for a key.
_OF_A_KEY: Final = frozenset({CommandKind.APPROVE, CommandKind.PIN, CommandKind.UNPIN})
_OF_NO_KEY: Final = frozenset({CommandKind.FREEZE, CommandKind.THAW})


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command. Without ``topic`` it is for all topics, without a key for all keys of the topic."""

    schema: int = SCHEMA
    kind: CommandKind
    topic: str | None = None
    key: str | None = None
    key_b64: str | None = None
    #: ``pin``: split over so many shards; 0: as many as the plan finds, at least two; None: never touch.
    shards: int | None = None
    #: ``approve``: the plan that the person saw; where both are empty, whatever plan is proposed.
    suffixes: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    #: ``retire``: nothing is planned for so long; None: as long as the detector thinks right.
    pause_s: int | None = None
    #: Who, when (by the person's clock) and why, for the history.
    by: str = ""
    at_ms: int = 0
    reason: str = ""

    @property
    def base_key(self) -> bytes | None:
        if self.key is None and self.key_b64 is None:
            return None
        return key_bytes(self.key, self.key_b64)

    def concerns(self, topic: str) -> bool:
        return self.topic is None or self.topic == topic


class StreamId(NamedTuple):
    """The place of an entry in the stream; ``0-0`` lies before all."""

    ms: int
    number: int

    def __str__(self) -> str:
        return f"{self.ms}-{self.number}"


START: Final = StreamId(0, 0)


class Heard(NamedTuple):
    """An entry of the stream: a command, or None with what is wrong with it."""

    id: StreamId
    #: ``MARK_BYTES`` bytes that tell this entry from every other, whichever stream it stands in.
    mark: bytes
    command: Command | None
    fault: str = ""


class Page(NamedTuple):
    """Entries after some place, in order, and the last entry of the whole stream as of that moment (none: START)."""

    newest: StreamId
    entries: tuple[Heard, ...]


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Command)


def write_command(command: Command) -> bytes:
    return _encoder.encode(command)


def read_id(text: str | bytes) -> StreamId:
    """Read ``ms-number``.

    Raises:
        WireError: it is not of that form.

    """
    word = text.decode("ascii", "replace") if isinstance(text, bytes) else text
    ms, _, number = word.partition("-")
    if not all(part.isascii() and part.isdigit() and len(part) <= 20 for part in (ms, number)):
        raise WireError(f"{word[:50]!r} is no place in a stream")
    return StreamId(int(ms), int(number))


def hear(place: StreamId, value: bytes) -> Heard:
    """Read an entry; never raises."""
    mark = hashlib.blake2b(f"{place} ".encode() + value, digest_size=MARK_BYTES).digest()
    try:
        return Heard(place, mark, _checked(value))
    except (WireError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Heard(place, mark, None, " ".join(str(error).split())[:200])


def _checked(value: bytes) -> Command:
    if len(value) > MAX_COMMAND_BYTES:
        raise WireError(f"a command of {len(value)} bytes")
    command = _decoder.decode(value)
    if command.schema != SCHEMA:
        raise WireError(f"a command of schema {command.schema}")
    fault = fault_of(command)
    if fault is not None:
        raise WireError(fault)
    return command


def fault_of(command: Command) -> str | None:
    """What is wrong with a command, or None.

    Raises:
        WireError: its key is damaged.

    """
    return next((fault for rule in _RULES if (fault := rule(command)) is not None), None)


def _key_fits(command: Command) -> str | None:
    key = command.base_key
    if key is None:
        return f"{command.kind} without a key" if command.kind in _OF_A_KEY else None
    if not 0 < len(key) <= _MAX_KEY_BYTES:
        return f"a command for a key of {len(key)} bytes"
    return f"{command.kind} cannot be for one key" if command.kind in _OF_NO_KEY else None


def _topic_fits(command: Command) -> str | None:
    if command.topic is None:
        return None if command.base_key is None else "a command for a key of no topic"
    return None if 0 < len(command.topic) <= _MAX_TOPIC else f"a topic name of {len(command.topic)} characters"


def _numbers_fit(command: Command) -> str | None:
    shards, pause_s = command.shards, command.pause_s
    if shards is not None and not (shards == 0 or 2 <= shards <= MAX_PINNED_SHARDS):
        return f"a pin to {shards} shards; say 2 to {MAX_PINNED_SHARDS}, or 0 for as many as the plan finds"
    if pause_s is not None and not 0 <= pause_s <= MAX_PAUSE_S:
        return f"a pause of {pause_s} s; say 0 to {MAX_PAUSE_S}"
    too_many = max(len(command.suffixes), len(command.partitions)) > MAX_PINNED_SHARDS
    return "a plan of too many shards" if too_many else None


_RULES: Final = (_key_fits, _topic_fits, _numbers_fit)
