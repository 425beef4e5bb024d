"""The way without the hook: records as aiokafka gives them, joined into the same slabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.fields import Extracted
from hotshard.core.slab import Slab
from hotshard.doors.kafka.slabs.parser import SLAB_RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    from hotshard.core.fields import FieldReader

    class StockRecord(Protocol):
        """What is read of aiokafka's ``ConsumerRecord``."""

        @property
        def offset(self) -> int: ...
        @property
        def key(self) -> bytes | None: ...
        @property
        def value(self) -> bytes | None: ...
        @property
        def timestamp(self) -> int | None: ...
        @property
        def headers(self) -> Sequence[tuple[str, bytes | None]]: ...


_NOTHING = Extracted(None, None, 0)


def join(  # noqa: PLR0913
    tp: tuple[str, int],
    start: int,
    end: int,
    records: Sequence[StockRecord],
    limit: int = SLAB_RECORDS,
    *,
    fields: FieldReader | None = None,
) -> Iterator[Slab]:
    """Yield slabs of at most ``limit`` records that tile ``[start, end)``, the positions before and after ``records``.

    Records below ``start`` are left out. ``fields`` reads headers and values where anything of them is wanted.
    ``generation`` and ``high_watermark`` are for the caller to set.
    """
    wanted = [record for record in records if record.offset >= start]
    if not wanted and end > start:
        yield Slab(*tp, start, end, generation=-1, high_watermark=-1)
    for first in range(0, len(wanted), limit):
        part = wanted[first : first + limit]
        found = _NOTHING if fields is None else fields.read([r.headers for r in part], [r.value for r in part])
        stop = end if first + limit >= len(wanted) else part[-1].offset + 1
        yield Slab(
            *tp,
            start,
            stop,
            generation=-1,
            high_watermark=-1,
            keys=[record.key for record in part],
            sizes=[len(record.key or b"") + len(record.value or b"") for record in part],
            timestamps=[-1 if record.timestamp is None else record.timestamp for record in part],
            tenants=found.tenants,
            discriminators=found.discriminators,
            damaged=found.damaged,
        )
        start = stop
