"""Where commands stand in Redis: the form of the stream's entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.wire.command import Heard, hear, read_id

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Commands kept in the stream, about; they are few, and the detector keeps their effect.
COMMANDS_LENGTH: Final = 1000
#: The one field of an entry.
FIELD: Final = b"command"


def read_entry(place: bytes, fields: Mapping[bytes, bytes]) -> Heard:
    """Read an entry of the stream; what it says never raises."""
    return hear(read_id(place), fields.get(FIELD, b""))
