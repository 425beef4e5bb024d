"""What people command: entries of the ``commands`` stream, which the detector reads in order."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from hotshard.core.wire.names import key_bytes
from hotshard.errors import WireError

SCHEMA: Final = 1
MAX_COMMAND_BYTES: Final = 16 * 1024
#: Commands kept in the stream, about; they are few, and the detector keeps their effect.
COMMANDS_LENGTH: Final = 1000
#: The one field of an entry.
FIELD: Final = b"command"


class CommandKind(StrEnum):
    APPROVE = "approve"  #: put the proposed plan of a key into force
    PIN = "pin"  #: keep the plan of a key as it is
    UNPIN = "unpin"
    FREEZE = "freeze"  #: change nothing until thawed
    THAW = "thaw"
    RETIRE = "retire"  #: take back the plan of a key, or all of a topic
    UNREADABLE = "unreadable"  #: not a command of a form known here; stands for one that was damaged


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command. Without ``topic`` it is for all topics, without a key for all keys of the topic."""

    schema: int = SCHEMA
    #: Its place in the stream, given by Redis.
    id: str = ""
    kind: CommandKind
    topic: str | None = None
    key: str | None = None
    key_b64: str | None = None
    #: Who, when and why, for the history.
    by: str = ""
    at_ms: int = 0
    reason: str = ""

    @property
    def base_key(self) -> bytes | None:
        if self.key is None and self.key_b64 is None:
            return None
        return key_bytes(self.key, self.key_b64)


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Command)


def write_command(command: Command) -> bytes:
    return _encoder.encode(command)


def read_command(entry_id: bytes, fields: dict[bytes, bytes]) -> Command:
    """Read an entry of the stream; never raises."""
    place = entry_id.decode("ascii", "replace")
    try:
        return msgspec.structs.replace(_checked(fields.get(FIELD, b"")), id=place)
    except (WireError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Command(id=place, kind=CommandKind.UNREADABLE, reason=str(error)[:200])


def _checked(value: bytes) -> Command:
    if len(value) > MAX_COMMAND_BYTES:
        raise WireError(f"a command of {len(value)} bytes")
    command = _decoder.decode(value)
    if command.schema != SCHEMA:
        raise WireError(f"a command of schema {command.schema}")
    if command.base_key == b"":
        raise WireError("a command for an empty key")
    return command
