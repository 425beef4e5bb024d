"""``hotshard scan``."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeVar, cast

from hotshard.cli.ending import FAILED, FINE
from hotshard.cli.flags import Flags, whole
from hotshard.cli.inputs import Input, add_input_flags, open_input
from hotshard.cli.loading import from_extra
from hotshard.cli.printing import look, put, stdout, tell
from hotshard.core.partitioners import ALIASES, PARTITIONERS, partitioner
from hotshard.core.topic import Load, Ordering, TopicSpec
from hotshard.core.wire.scan import encode
from hotshard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from hotshard.core.scanning.scanner import Scanner
    from hotshard.core.wire.scan import ScanReport

_Kind = TypeVar("_Kind", bound=StrEnum)

HELP: Final = "say what is hot in a file, a pipe or a stretch of a topic, why, and what would help"
EXAMPLE: Final = """examples:
  hotshard scan traffic.tsv.gz --partitions 12
  kcat -C -b kafka:9092 -t orders -o -100000 -e -f '%k\\n' | hotshard scan -
  hotshard scan kafka://kafka:9092/orders --last 10m --json

Lines are TSV (timestamp_ms, tenant, key, bytes), JSON objects with these fields, or keys alone.
It exits with 0 where nothing is wrong, and with 1 where something is hot, load is uneven or the input is damaged:
cut off, or without one good line. Wrong lines among good ones are counted, skipped and told."""

PARTITIONS: Final = 32
_MOST_PARTITIONS: Final = 100_000
#: Seconds since 1970 that are times of data, as nobody has milliseconds of the first years.
_SECONDS: Final = (100_000_000, 100_000_000_000)
#: Objects made before the garbage collector looks for cycles.
_SELDOM: Final = 100_000


def add(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    add_input_flags(parser, environ)
    flags = Flags(parser, environ)
    flags.value(
        "--partitions", "HOTSHARD_PARTITIONS", f"partitions in production; {PARTITIONS} if none and nothing tells it",
        metavar="N",
    )  # fmt: skip
    known = ", ".join([*PARTITIONERS, *ALIASES])
    flags.value("--partitioner", "HOTSHARD_PARTITIONER", f"what puts a key on a partition: {known}", metavar="NAME")
    flags.value("--by", "HOTSHARD_BY", "what is put on partitions, key or tenant", choices=("key", "tenant"))
    flags.value("--window", "HOTSHARD_WINDOW", "seconds of a window; 60 if none", metavar="SECONDS")
    flags.value("--load", "HOTSHARD_LOAD", "what is counted, records or bytes", choices=[*map(str, Load)])
    flags.value(
        "--ordering", "HOTSHARD_ORDERING",
        "what must stay in order, for what is advised: per_key, per_discriminator or none",
        choices=[*map(str, Ordering)],
    )  # fmt: skip
    flags.switch("--json", "HOTSHARD_JSON", "print one JSON object")


def run(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    stdout()  # whatever is wrong with it is better said before an hour's work
    with open_input(args, environ) as given, _cycles_sought_seldom():
        scanner = _scanner(args, given)
        for slab in given.slabs():
            scanner.add(slab)
        report = scanner.finish()
    if times_look_like_seconds(report):
        tell(f"{given.name}: as milliseconds its times lie in the 1970s, so they look like seconds; multiply by 1000")
    put(encode(report).decode() if args.json else _rendered(report, environ))
    return FAILED if found_something(report) or given.failed(report.records) else FINE


def found_something(report: ScanReport) -> bool:
    """Whether something is hot, or another cause than none was found."""
    return report.cause != "none" or any(each.hot for each in (*report.keys, *report.tenants))


def times_look_like_seconds(report: ScanReport) -> bool:
    """Whether all windows would be of the years 1973 to 5138 if their times were seconds."""
    ends = [window.end_ms for window in report.windows if window.end_ms is not None]
    return bool(ends) and min(ends) >= _SECONDS[0] and max(ends) < _SECONDS[1]


@contextmanager
def _cycles_sought_seldom() -> Iterator[None]:
    """What is read is in no cycle, and looking through it again and again takes a fifth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(_SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _scanner(args: argparse.Namespace, given: Input) -> Scanner:
    made = from_extra("worker", "hotshard.core.scanning.scanner", "Scanner")
    kinds = from_extra("worker", "hotshard.core.scanning.scanner", "By")
    partitions = (
        whole("--partitions", args.partitions, _MOST_PARTITIONS) if args.partitions else given.partitions or PARTITIONS
    )
    scanner = made(
        _spec(args, given.spec),
        partitions,
        window_ms=_window_ms(args.window),
        by=_one_of("--by", args.by or "key", kinds),
    )
    return cast("Scanner", scanner)


def _spec(args: argparse.Namespace, spec: TopicSpec) -> TopicSpec:
    """The input's, with what flags say."""
    if args.partitioner:
        spec = replace(spec, partitioner=partitioner(args.partitioner).name)
    if args.load:
        spec = replace(spec, load=_one_of("--load", args.load, Load))
    if args.ordering or not args.config:
        spec = replace(spec, ordering=_one_of("--ordering", args.ordering or Ordering.PER_DISCRIMINATOR, Ordering))
    return spec


def _one_of(flag: str, text: str, kinds: type[_Kind]) -> _Kind:
    """The kind of that name; argparse does not look at what the environment gives."""
    try:
        return kinds(text)
    except ValueError:
        raise UsageError(f"{flag} is one of {', '.join(kinds)}, not {text!r}") from None


def _window_ms(text: str | None) -> int:
    try:
        window_s = float(text) if text else 60.0
    except ValueError:
        window_s = 0.0
    if not 0.1 <= window_s <= 86_400 * 365:
        raise UsageError(f"--window takes seconds, from 0.1 to a year, not {text!r}")
    return round(window_s * 1000)


def _rendered(report: ScanReport, environ: Mapping[str, str]) -> str:
    render, how = from_extra("worker", "hotshard.report.scan", "render_scan"), look(environ)
    return cast("str", render(report, width=how.width, plain=how.plain)).rstrip("\n")
