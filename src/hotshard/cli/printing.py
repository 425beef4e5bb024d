"""Data to stdout, messages to stderr."""

from __future__ import annotations

import contextlib
import shutil
import sys
from typing import TYPE_CHECKING, TextIO, cast

from hotshard.cli.loading import from_extra
from hotshard.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.report.page import Look


def stdout() -> TextIO:
    """Standard output. Raises OutputError where whoever started us has closed it."""
    out: TextIO | None = sys.stdout
    if out is None:
        raise OutputError
    return out


def put(data: str) -> None:
    """Print data, to its last byte. What stdout's encoding does not have is escaped as JSON does it: JSON stays JSON.

    Raises:
        OutputError: it cannot be written.
        BrokenPipeError: who read it has gone.

    """
    out = stdout()
    try:
        out.write(_escaped(data, out) + "\n")
        out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(
            f"standard output cannot be written: {error.strerror or error}; nothing more is said"
        ) from None


def tell(message: str) -> None:
    """Print a message for a person, in one line; where stderr is closed or full there is nobody to tell."""
    err: TextIO | None = sys.stderr
    if err is not None:
        with contextlib.suppress(OSError):
            err.write(_escaped(f"hotshard: {' '.join(message.split())}\n", err))


def look(environ: Mapping[str, str]) -> Look:
    """How stdout is written to. Raises OutputError where it is closed."""
    out = stdout()
    columns = shutil.get_terminal_size().columns if out.isatty() or "COLUMNS" in environ else None
    return cast("Look", from_extra("worker", "hotshard.report.page", "look_of")(out, environ, columns))


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
