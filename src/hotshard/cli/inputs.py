"""What is read by ``scan`` and ``simulate``: FILE, ``-`` or ``kafka://HOST:PORT/TOPIC``, and the flags for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from hotshard.core.slab import Slab
    from hotshard.core.topic import TopicSpec
    from hotshard.doors.files.contract import Records


@dataclass(frozen=True, slots=True)
class Input:
    """An open input and what is known of it. Use it as a context manager."""

    #: How a message names it: the file's name, ``standard input``, or the topic's name.
    name: str
    records: Records
    #: A topic's spec: as ``--config`` says, else with defaults, ``partitions_from`` source.
    #: Of a file: ``layout`` entity, ``partitions_from`` computed; with ``--config`` its defaults for topics.
    spec: TopicSpec
    #: The partition count in production where the input tells it (a topic); None for files.
    partitions: int | None

    def slabs(self) -> Iterator[Slab]:
        """Every slab, with progress on stderr where that is a terminal; at the end what was skipped or damaged is told there."""
        raise NotImplementedError

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *_: object) -> None:
        self.records.close()


def add_input_flags(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """Add the word FILE (``args.file``) and ``--format``, ``--last``, ``--config``."""
    raise NotImplementedError


def open_input(args: argparse.Namespace, environ: Mapping[str, str]) -> Input:
    """Open what ``args.file`` names.

    Raises:
        UsageError: no such file, or flags that do not go together.
        SettingsError: ``--config`` is wrong.
        InputError: it cannot be read, or is not text.
        UnavailableError, RefusedError, MissingTopicError: of Kafka.

    """
    raise NotImplementedError
