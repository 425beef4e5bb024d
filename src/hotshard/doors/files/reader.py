"""A stream of lines as slabs."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Final

from hotshard.core.slab import Slab
from hotshard.doors.files.columns import Columns, bounded
from hotshard.doors.files.contract import FileFormat, Progress
from hotshard.doors.files.jsonl import Jsonl
from hotshard.doors.files.keys import Keys
from hotshard.doors.files.lines import LONGEST_LINE_BYTES, Block, blocks
from hotshard.doors.files.sniff import recognised
from hotshard.doors.files.tsv import Tsv, is_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hotshard.doors.files.columns import Format
    from hotshard.doors.files.source import Source

FORMATS: Final[Mapping[FileFormat, Format]] = {"tsv": Tsv(), "jsonl": Jsonl(), "keys": Keys()}
SLAB_RECORDS: Final = 20_000


class FileRecords:
    """See :class:`~hotshard.doors.files.contract.Records`. Without a format it is told from the first piece.

    Raises:
        InputError: the stream cannot be read, or its format is none of ours.

    """

    def __init__(self, source: Source, stream: BinaryIO, format_: FileFormat | None) -> None:
        self._source = source
        self._stream = stream
        self._pieces = source.pieces()
        first = next(self._pieces, b"")
        self.format: FileFormat = format_ or recognised(first, source.name)
        self._parser = FORMATS[self.format]
        self.has_times = self._parser.has_times
        self.has_tenants = self._parser.has_tenants
        self._blocks = blocks(chain([first], self._pieces))
        self._rows = 0
        self._bytes = 0
        self._headers = 0
        self._skipped = 0
        self._complaint: str | None = None

    @property
    def progress(self) -> Progress:
        return Progress(self._source.done, self._source.total, "bytes", self._rows)

    @property
    def skipped(self) -> int:
        return self._skipped

    @property
    def complaint(self) -> str | None:
        return self._complaint

    @property
    def damage(self) -> str | None:
        return self._source.damage

    def close(self) -> None:
        self._stream.close()

    def __iter__(self) -> Iterator[Slab]:
        for number, block in enumerate(self._blocks):
            if not block.ended and self.damage is not None:
                return  # a line that was cut off might be read as another
            columns = self._parser.parse(self._without_header(block.lines) if number == 0 else block.lines)
            self._bytes = bounded(columns, self._bytes)
            yield from self._slabs(columns, self._count(block, columns))

    def _without_header(self, lines: bytes) -> bytes:
        first, _, others = lines.partition(b"\n")
        self._headers = int(self.format == "tsv" and is_header(first))
        return others if self._headers else lines

    def _count(self, block: Block, columns: Columns) -> int:
        """Note what was skipped; how many it is."""
        if self._complaint is None and block.too_long:
            self._complaint = f"line {self._line(0):,}: longer than {LONGEST_LINE_BYTES:,} bytes"
        if self._complaint is None and columns.first_wrong is not None:
            index, why = columns.first_wrong
            self._complaint = f"line {self._line(block.too_long + index):,}: {why}"
        skipped = block.too_long + columns.skipped
        self._skipped += skipped
        return skipped

    def _line(self, index: int) -> int:
        """The number, from 1, of the line ``index`` after all that were read."""
        return self._rows + self._headers + index + 1

    def _slabs(self, columns: Columns, skipped: int) -> Iterator[Slab]:
        """The block as slabs; the skipped lines stand in the first."""
        # one slab at least where there is anything to tell
        for first in range(0, max(len(columns.keys), min(skipped, 1)), SLAB_RECORDS):
            part = slice(first, first + SLAB_RECORDS)
            keys = columns.keys[part]
            start, self._rows = self._rows, self._rows + len(keys) + skipped
            yield Slab(
                topic="",
                partition=0,
                start=start,
                end=self._rows,
                generation=0,
                high_watermark=self._rows,
                keys=keys,
                sizes=columns.sizes[part],
                timestamps=columns.timestamps[part],
                tenants=None if columns.tenants is None else columns.tenants[part],
                skipped=skipped,
            )
            skipped = 0
