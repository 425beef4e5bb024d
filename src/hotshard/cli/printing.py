"""Data to stdout, messages to stderr."""

from __future__ import annotations

import sys
from typing import TextIO


def put(data: str) -> None:
    """Print data. What stdout's encoding does not have is escaped as JSON does it, so JSON stays JSON."""
    sys.stdout.write(_escaped(data, sys.stdout) + "\n")


def tell(message: str) -> None:
    """Print a message for a person, in one line."""
    sys.stderr.write(_escaped(f"hotshard: {' '.join(message.split())}\n", sys.stderr))


def _escaped(text: str, stream: TextIO) -> str:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(character if character.isascii() else _units(character) for character in text)
    return text


def _units(character: str) -> str:
    """A character as the escapes of its UTF-16 units."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
