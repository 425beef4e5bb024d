r"""One key a line, taken as it stands; an empty line is a null key. As ``kcat -C -f '%k\n'`` writes them."""

from __future__ import annotations

from hotshard.doors.files.columns import NO_TIME, Columns


class Keys:
    """See :class:`~hotshard.doors.files.columns.Format`. The size of a record is that of its key."""

    has_times = False
    has_tenants = False

    def parse(self, block: bytes) -> Columns:
        lines = block.split(b"\n")
        lines.pop()
        keys: list[bytes | None] = [line or None for line in lines]
        return Columns(keys, [*map(len, lines)], [NO_TIME] * len(lines))
