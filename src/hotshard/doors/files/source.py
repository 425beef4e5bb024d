"""Bytes of a file or pipe as they are meant: unpacked where they are gzip, in pieces of bounded size."""

from __future__ import annotations

import contextlib
import zlib
from typing import TYPE_CHECKING, BinaryIO, Final

from hotshard.doors.files.lines import LONGEST_LINE_BYTES
from hotshard.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

#: The size of a piece. Larger ones do not fit the cache of a core and are slower to take apart.
PIECE_BYTES: Final = 1 << 18
#: What is saved from a damaged gzip comes in pieces about so long.
_PATCHED_BYTES: Final = 4096
GZIP: Final = b"\x1f\x8b"
_WITH_HEADER: Final = 16 + zlib.MAX_WBITS
#: What compressed files begin with, and what unpacks them.
_PACKED: Final = (
    (b"\x28\xb5\x2f\xfd", "zstd -dc"),
    (b"\xfd7zXZ\0", "xz -dc"),
    (b"\x04\x22\x4d\x18", "lz4 -dc"),
    (b"PK\x03\x04", "unzip -p"),
)
#: After three letters, which a key may begin with, and a digit.
_BZIP2: Final = b"1AY&SY"


def _is_too_little(first: bytes) -> bool:
    return len(first) < PIECE_BYTES or (len(first) <= LONGEST_LINE_BYTES and b"\n" not in first)


class Source:
    """A stream, read once. ``total`` is its size in bytes where that is known."""

    def __init__(self, stream: BinaryIO, name: str, total: int | None = None) -> None:
        self.name = name
        self.total = total
        #: Bytes read, before unpacking.
        self.done = 0
        #: Why the input ended before its end, after the last piece; what came before is good.
        self.damage: str | None = None
        self._stream = stream

    def pieces(self) -> Iterator[bytes]:
        """Every byte, in pieces that are never empty and shorter than twice ``PIECE_BYTES``. Raises InputError.

        Only the first may be longer, as a format is told from it: it is at least ``PIECE_BYTES``, or all there is,
        and has a whole line where that is not longer than a record may be.
        """
        pieces = self._unpacked_or_plain()
        first = b""
        while _is_too_little(first) and (piece := next(pieces, b"")):
            first += piece
        if first:
            yield first
        yield from pieces

    def _unpacked_or_plain(self) -> Iterator[bytes]:
        first = self._read()
        if first.startswith(GZIP):
            yield from self._unpacked(first)
            return
        self._refuse_packed(first)
        while first:
            yield first
            first = self._read()

    def _read(self) -> bytes:
        """Read a full piece, or what there is up to the end: some streams give less than they are asked for."""
        piece = b""
        try:
            while len(piece) < PIECE_BYTES and (more := self._stream.read(PIECE_BYTES - len(piece))):
                piece += more
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror or error}") from error
        self.done += len(piece)
        return piece

    def _refuse_packed(self, first: bytes) -> None:
        how = next((unpacker for magic, unpacker in _PACKED if first.startswith(magic)), None)
        if how is None and first.startswith(b"BZh") and first[4:10] == _BZIP2:
            how = "bzip2 -dc"
        if how is not None:
            raise InputError(f"{self.name} is compressed, and not by gzip; pipe it in: {how} FILE | hotshard ... -")

    def _unpacked(self, packed: bytes) -> Iterator[bytes]:
        try:
            yield from self._members(packed)
        except zlib.error:
            self.damage = f"{self.name} is damaged: its gzip could be unpacked only in part"
        except EOFError:
            self.damage = f"{self.name} is cut off: its gzip ends at byte {self.done:,}, before its own end"

    def _members(self, packed: bytes) -> Iterator[bytes]:
        """One gzip after another, as ``cat`` joins them, and zeros after the last, as tapes fill up."""
        while packed:
            packed = yield from self._member(packed)
            while packed and not (packed := packed.lstrip(b"\0")):
                packed = self._read()
            if len(packed) == 1:
                packed += self._read()
            if packed and not packed.startswith(GZIP):
                self.damage = f"{self.name} has bytes after the end of its gzip; they were left out"
                return

    def _member(self, packed: bytes) -> Generator[bytes, None, bytes]:
        """Unpack up to the end of a gzip; return what was read beyond it. Raises zlib.error and EOFError."""
        member = zlib.decompressobj(_WITH_HEADER)
        while True:
            before = member.copy()
            try:
                piece = member.decompress(packed, PIECE_BYTES)
            except zlib.error:
                yield from _before_damage(before, packed)
                raise
            if piece:
                yield piece
            if member.eof:
                return member.unused_data or self._read()
            packed = member.unconsumed_tail or self._read()
            if not packed and not piece:
                raise EOFError


def _before_damage(member: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """What a failed call would have given: zlib throws it away together with what is wrong."""
    piece = b""
    with contextlib.suppress(zlib.error):
        for at in range(len(packed)):
            piece += member.decompress(packed[at : at + 1], PIECE_BYTES)
            if len(piece) > _PATCHED_BYTES:
                yield piece
                piece = b""
    if piece:
        yield piece
