"""From a name to an open stream of records."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from hotshard.doors.files.reader import FORMATS, FileRecords
from hotshard.doors.files.source import Source
from hotshard.errors import InputError, UsageError

if TYPE_CHECKING:
    from hotshard.doors.files.contract import Records

STANDARD_INPUT: Final = "-"
AUTO: Final = "auto"


def open_records(name: str, *, format_: str = AUTO, stdin: BinaryIO | None = None) -> Records:
    """Open a file, or for ``-`` standard input, plain or gzip; a pipe or device goes as well.

    Raises:
        UsageError: there is no such file, or it is a directory, or standard input is closed.
        InputError: it cannot be read, or is of a form that is not read.

    """
    if name == STANDARD_INPUT:
        if stdin is None:
            raise UsageError("standard input is closed; give a file, or pipe something in")
        return open_stream(stdin, "standard input", format_=format_)
    if not name:
        raise UsageError("FILE is empty; give the name of a file, or - for standard input")
    try:
        stream = Path(name).open("rb")  # noqa: SIM115 -- FileRecords closes it
    except FileNotFoundError:
        hint = "; a topic is written kafka://HOST:PORT/TOPIC" if "://" in name or name.startswith("kafka:") else ""
        raise UsageError(f"no such file: {name}{hint}") from None
    except IsADirectoryError:
        raise UsageError(f"{name} is a directory; give a file, or pipe its files in: cat {name}/* | ... -") from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{name} cannot be read: {reason}; check its path and permissions") from None
    return open_stream(stream, name, format_=format_)


def open_stream(stream: BinaryIO, name: str, *, format_: str = AUTO) -> Records:
    """Read any binary stream: how tests and other code give what is no file. The stream is closed with the records.

    Raises:
        InputError: see :func:`open_records`; the stream is closed then.

    """
    known = next((each for each in FORMATS if each == format_), None)
    try:
        if known is None and format_ != AUTO:
            raise UsageError(f"no format is called {format_!r}; there are {AUTO}, {', '.join(FORMATS)}")  # noqa: TRY301
        return FileRecords(Source(stream, name, _size(stream)), stream, known)
    except BaseException:
        stream.close()
        raise


def _size(stream: BinaryIO) -> int | None:
    """Bytes from here to the end, where the stream is a regular file."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return None
    return found.st_size - stream.tell() if stat.S_ISREG(found.st_mode) else None
