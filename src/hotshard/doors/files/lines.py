"""Pieces of bytes as blocks of whole lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: A longer line is no record: whatever it is, it must not fill the memory. Pieces are shorter than this,
#: but for the first, of which the first line alone may be longer.
LONGEST_LINE_BYTES: Final = 1 << 20
BOM: Final = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Whole lines, each ended by one newline."""

    lines: bytes
    #: So many lines before them were too long and are left out.
    too_long: int = 0
    #: False for a last line that had no end of its own.
    ended: bool = True


def blocks(pieces: Iterable[bytes]) -> Iterator[Block]:
    """Every line in order. A line ends at a newline, with or without a carriage return; the last may end without.

    A byte order mark before the first line is left out.
    """
    for block in _blocks(_without_mark(iter(pieces))):
        yield block if b"\r" not in block.lines else block._replace(lines=block.lines.replace(b"\r\n", b"\n"))


def _without_mark(pieces: Iterator[bytes]) -> Iterator[bytes]:
    first = b""
    while len(first) < len(BOM) and (piece := next(pieces, b"")):
        first += piece
    yield first.removeprefix(BOM)
    yield from pieces


def _blocks(pieces: Iterable[bytes]) -> Iterator[Block]:
    rest = b""  # of a line whose end has not come
    beyond = False  # what came of that line was too long already, and is dropped
    for piece in pieces:
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield _after(beyond, rest + piece[:cut])
            rest, beyond = piece[cut:], False
        elif not beyond:
            rest += piece
            beyond = len(rest) > LONGEST_LINE_BYTES
            rest = b"" if beyond else rest
    if rest or beyond:
        yield Block(b"", 1) if beyond else Block(rest + b"\n", ended=False)


def _after(beyond: bool, lines: bytes) -> Block:  # noqa: FBT001
    """A block without its first line if that is too long; all others lie within one piece."""
    end = lines.index(b"\n") + 1
    return Block(lines[end:], 1) if beyond or end - 1 > LONGEST_LINE_BYTES else Block(lines)
