"""The README's picture of a scan: made-up traffic, scanned and told as on a terminal.

``python -m hotshard.demo.scan_picture docs/scan.svg`` writes the picture; it is the same every time.
"""

from __future__ import annotations

import io
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from hotshard.core.scanning.scanner import Scanner
from hotshard.core.topic import KeyLayout, Ordering, PartitionsFrom, TopicSpec
from hotshard.demo.picture import drawn
from hotshard.doors.files.opening import open_stream
from hotshard.errors import UsageError
from hotshard.report.scan import render_scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WIDTH: Final = 80
_PARTITIONS: Final = 12
_SECONDS: Final = 600
_PER_S: Final = 200
_START_MS: Final = 1_767_225_600_000
#: Tenants with 50 baskets each; the first of them floods from the fourth minute to the seventh.
_TENANTS: Final = ("acme", "bolt", "crest", "dune", "ember", "flint", "grove", "haven")
_FLOOD: Final = range(180, 420)


def rows() -> Iterator[bytes]:
    """Lines as ``hotshard scan`` reads them."""
    draw = random.Random(17)  # noqa: S311 - traffic, no secrets
    for second in range(_SECONDS):
        for number in range(_PER_S):
            flooded = second in _FLOOD and number % 3 == 0
            tenant = _TENANTS[0] if flooded else draw.choice(_TENANTS)
            basket = 17 if flooded else draw.randrange(1, 51)
            at_ms = _START_MS + second * 1000 + number * 1000 // _PER_S
            yield b"%d\t%s\t%s/basket-%d\t120\n" % (at_ms, tenant.encode(), tenant.encode(), basket)


def svg() -> str:
    spec = TopicSpec(
        name="orders",
        sources=("orders",),
        layout=KeyLayout.ENTITY,
        ordering=Ordering.PER_DISCRIMINATOR,
        partitions_from=PartitionsFrom.COMPUTED,
    )
    scanner = Scanner(spec, _PARTITIONS)
    with io.BytesIO(b"".join(rows())) as stream:
        for slab in open_stream(stream, "orders.tsv", format_="tsv"):
            scanner.add(slab)
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text.from_ansi(render_scan(scanner.finish(), width=_WIDTH, plain=False)))
    title = f"hotshard scan orders.tsv --partitions {_PARTITIONS}"
    return drawn(console, title, "One key is hot: since when, how sure that is, what would help, and every partition")


def main(arguments: Sequence[str]) -> None:
    """Write the picture to the file that is named."""
    if len(arguments) != 1:
        raise UsageError("usage: python -m hotshard.demo.scan_picture FILE.svg")
    Path(arguments[0]).write_text(svg(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
