"""What is read by ``scan`` and ``simulate``: FILE, ``-`` or ``kafka://HOST:PORT/TOPIC``, and the flags for it."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, cast

from hotshard.cli.flags import Flags
from hotshard.cli.loading import from_extra
from hotshard.cli.printing import tell
from hotshard.core.keys import SEPARATOR
from hotshard.core.topic import Field, KeyLayout, PartitionsFrom, Place, TopicSpec
from hotshard.doors.files.opening import AUTO, STANDARD_INPUT, open_records
from hotshard.errors import UsageError
from hotshard.report.numbers import count
from hotshard.report.progress import Meter
from hotshard.settings.load import load
from hotshard.settings.table import FILE_VARIABLE, TOPICS_VARIABLE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from hotshard.core.slab import Slab
    from hotshard.doors.files.contract import Records

_SEPARATOR: Final = SEPARATOR.encode()
SCHEME: Final = "kafka://"
_FORMAT_VARIABLE: Final = "HOTSHARD_FORMAT"
_LAST_VARIABLE: Final = "HOTSHARD_LAST"
_NOTHING: Final = ("it is empty", "nothing was written in that time; --last says how far back is read, --last all: all")
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
#: Its name stands for whatever a file holds when settings are asked for it.
_FILES_TOPIC: Final = "input"


class Input:
    """An open input and what is known of it. Use it as a context manager."""

    def __init__(
        self, name: str, records: Records, spec: TopicSpec, partitions: int | None, *, looked_at: bool = False
    ) -> None:
        """``looked_at``: how keys are built is told from the first of them, as nobody has said it."""
        #: How a message names it: the file's name, ``standard input``, or the topic's name.
        self.name = name
        self.records = records
        #: A topic's spec: as ``--config`` says, else with defaults. Of a file: an opaque key, partitions computed
        #: from it, and with ``--config`` the rest as its defaults for topics are. Of keys alone, and of a topic that
        #: no settings name, the layout is that of the first keys.
        self.spec = spec
        #: The partition count in production where the input or its settings tell it; None for most files.
        self.partitions = partitions
        self._slabs = iter(records)
        if looked_at:
            first = self._first()
            self._slabs = chain(() if first is None else (first,), self._slabs)
            self.spec = with_layout(spec, () if first is None else first.keys)
        self._meter = Meter(sys.stderr) if _on_terminal() else None

    def _first(self) -> Slab | None:
        try:
            return next(self._slabs, None)
        except BaseException:
            self.records.close()
            raise

    def slabs(self) -> Iterator[Slab]:
        """Every slab, once; with progress on stderr where that is a terminal.

        After the last, what was skipped and why the input ended early is told there, in a line each.
        """
        if self._meter is None:
            yield from self._slabs
        else:
            yield from self._meter.watch(self._slabs, lambda: self.records.progress)
            self._meter.clear()
        if not self.records.progress.rows:
            tell(f"{self.name}: {_NOTHING[self.records.format == 'kafka']}")
        if self.records.skipped:
            tell(f"{self.name}: {count(self.records.skipped)} skipped; {self.records.complaint}")
        if self.records.damage is not None:
            tell(f"{self.records.damage}; what could be read is counted")

    def failed(self, records: int) -> bool:
        """Whether what was given, with so many records in it, is cut off, or has not one good line."""
        return self.records.damage is not None or bool(self.records.skipped and not records)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._meter is not None:
            self._meter.clear()
        self.records.close()


def with_layout(spec: TopicSpec, keys: Iterable[bytes | None]) -> TopicSpec:
    """``spec`` with the layout that most keys have: tenant U+001F entity, or else opaque."""
    given = [key for key in keys if key is not None]
    if 2 * sum(_SEPARATOR in key for key in given) > len(given):
        tenant = Field(Place.KEY) if spec.tenant.place is Place.NOWHERE else spec.tenant
        return replace(spec, layout=KeyLayout.TENANT_ENTITY, tenant=tenant)
    return replace(spec, layout=KeyLayout.ENTITY)


def add_input_flags(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """Add the word FILE (``args.file``) and ``--format``, ``--last``, ``--config``."""
    parser.add_argument(
        "file", metavar="FILE", help=f"a file, plain or gzip; - is standard input; or {SCHEME}HOST:PORT/TOPIC"
    )
    flags = Flags(parser, environ)
    flags.value("--format", _FORMAT_VARIABLE, "of a file: tsv, jsonl, keys; auto finds out", metavar="FORMAT")
    flags.value(
        "--last", _LAST_VARIABLE, "of a topic: read what was written in this time, such as 90s, 10m, 2h, 7d, or all;"
        " 10m if none", metavar="TIME",
    )  # fmt: skip
    flags.value(
        "--config", FILE_VARIABLE, "settings: how to log in, how a topic's keys are built, thresholds", metavar="FILE"
    )


def open_input(args: argparse.Namespace, environ: Mapping[str, str]) -> Input:
    """Open what ``args.file`` names.

    Raises:
        UsageError: no such file, or flags that do not go together.
        SettingsError: ``--config`` is wrong.
        InputError: it cannot be read, or is not text.
        MissingExtraError: a topic, and the worker's packages are not installed.
        UnavailableError, RefusedError, MissingTopicError: of Kafka.

    """
    return _topic(args, environ) if args.file.startswith(SCHEME) else _file(args, environ)


def _file(args: argparse.Namespace, environ: Mapping[str, str]) -> Input:
    if args.last is not None and args.last != environ.get(_LAST_VARIABLE):
        raise UsageError(f"--last is for a topic, {SCHEME}HOST:PORT/TOPIC; a file is read whole")
    stdin = None if sys.stdin is None else sys.stdin.buffer
    if args.file == STANDARD_INPUT and stdin is not None and stdin.isatty():
        tell("reading what is typed here; Ctrl-D ends it")
    spec = _spec_of_files(args.config, environ)
    records = open_records(args.file, format_=args.format or AUTO, stdin=stdin)
    name = "standard input" if args.file == STANDARD_INPUT else args.file
    return Input(name, records, spec, spec.partitions, looked_at=records.format == "keys")


def _spec_of_files(config: str | None, environ: Mapping[str, str]) -> TopicSpec:
    """The defaults, or what settings say of topics that they do not name."""
    spec = _unnamed(config, environ) if config else TopicSpec(name=_FILES_TOPIC, sources=())
    return replace(
        spec, sources=("",), layout=KeyLayout.ENTITY, tenant=Field(), discriminator=Field(),
        partitions_from=PartitionsFrom.COMPUTED,
    )  # fmt: skip


def _unnamed(config: str, environ: Mapping[str, str]) -> TopicSpec:
    others = {name: text for name, text in environ.items() if name != TOPICS_VARIABLE}
    specs = load(Path(config), others, topics=(_FILES_TOPIC,)).topic_specs()
    return next(spec for spec in specs if spec.name == _FILES_TOPIC)


def _topic(args: argparse.Namespace, environ: Mapping[str, str]) -> Input:
    return cast("Input", from_extra("worker", "hotshard.cli.inputs_kafka", "open_topic")(args, environ))


def last_s(text: str) -> float | None:
    """A time back from now in seconds, None for all there is. Raises UsageError."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhd])", text.strip())
    if text.strip() == "all":
        return None
    if found is None:
        raise UsageError(f"--last takes a time with its unit, such as 90s, 10m, 2h or 7d, or all; not {text!r}")
    return float(found[1]) * _UNITS_S[found[2]]


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
