"""A topic as input: ``kafka://HOST:PORT/TOPIC``, and what settings say of it."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hotshard.cli.inputs import SCHEME, Input, last_s
from hotshard.core.fields import reader_for
from hotshard.core.topic import PartitionsFrom, Place
from hotshard.doors.clock import SystemClock
from hotshard.doors.files.opening import AUTO
from hotshard.doors.kafka.real import AioKafka
from hotshard.doors.kafka.stretch import StretchRecords
from hotshard.errors import UsageError
from hotshard.settings.load import load
from hotshard.settings.sources import DEFAULT

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from hotshard.core.topic import TopicSpec
    from hotshard.doors.kafka.connection import KafkaConnection
    from hotshard.settings import Settings

#: How far back is read where nobody says so.
LAST: Final = "10m"
_PORT: Final = 9092
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SERVER: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@/?#\s]+)(:[0-9]{1,5})?")
_FORM: Final = f"write {SCHEME}HOST:PORT/TOPIC, or {SCHEME}/TOPIC with --config; a login goes into the settings"


@dataclass(frozen=True, slots=True)
class Address:
    """A topic, and the servers of its cluster as ``host:port``; none: those of the settings."""

    servers: tuple[str, ...]
    topic: str


def address_of(word: str) -> Address:
    """Take ``kafka://HOST:PORT,HOST:PORT/TOPIC`` apart. Raises UsageError."""
    servers, slash, topic = word.removeprefix(SCHEME).partition("/")
    found = [_SERVER.fullmatch(server) for server in servers.split(",")] if servers else []
    if not slash or not _TOPIC.fullmatch(topic) or None in found:
        shown = re.sub(r"//[^/]*@", "//***@", word)
        raise UsageError(f"{shown!r} is no topic's address: {_FORM}")
    return Address(tuple(f"{each[1]}{each[2] or f':{_PORT}'}" for each in found if each), topic)


def open_topic(args: argparse.Namespace, environ: Mapping[str, str]) -> Input:
    """See :func:`hotshard.cli.inputs.open_input`."""
    at = address_of(args.file)
    if (args.format or AUTO) != AUTO and args.format != environ.get("HOTSHARD_FORMAT"):
        raise UsageError("--format is for files; a topic has records")
    last = last_s(args.last or LAST)
    settings, named = _settings(at, args.config, environ)
    spec, connection = chosen(at, settings)
    # what aiokafka logs of an outage is said by our own error
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    committed = settings.worker.isolation_level == "read_committed"
    records = StretchRecords(
        AioKafka(connection).stretches(committed=committed, fields=reader_for(spec)),
        at.topic,
        now_ms=SystemClock().now_ms(),
        last_ms=None if last is None else round(last * 1000),
        has_tenants=spec.tenant.place in {Place.HEADER, Place.JSON},
    )
    try:
        partitions = _partitions(spec, at, settings, records)
        return Input(at.topic, records, spec, partitions, looked_at=not named and _by_default(spec, settings))
    except BaseException:
        records.close()
        raise


def _settings(at: Address, config: str | None, environ: Mapping[str, str]) -> tuple[Settings, bool]:
    """Settings that have the topic, and whether they name it; if not, it has their defaults."""
    path = Path(config) if config else None
    if not at.servers and path is None:
        raise UsageError(f"an address without a host takes that of the settings: {_FORM}")
    settings = load(path, environ)
    if any(at.topic in (spec.name, *spec.sources) for spec in settings.topics):
        return settings, True
    return load(path, environ, topics=(f"{at.topic}={at.topic}",)), False


def _by_default(spec: TopicSpec, settings: Settings) -> bool:
    """Whether nobody has said how the topic's keys are built."""
    name = f"topics.{spec.name}.layout"
    return any(each.name == name and each.origin == DEFAULT for each in settings.in_force)


def chosen(at: Address, settings: Settings) -> tuple[TopicSpec, KafkaConnection]:
    """What the settings say of a topic, and how its cluster is reached.

    A source is read from the mirror, for the production topic it stands for. A production topic that is no
    source, or at an address of production's, is read itself: its partitions are what they are.
    """
    spec = next((spec for spec in settings.topics if at.topic in spec.sources), None)
    production = bool(set(at.servers) & set(settings.production.bootstrap_servers))
    if spec is None or (at.topic == spec.name and production):
        spec = next(spec for spec in settings.topics if at.topic == spec.name)
        spec = replace(spec, sources=(at.topic,), partitions_from=PartitionsFrom.SOURCE, partitions=None)
        return spec, _reached(settings.production, at)
    return spec, _reached(settings.mirror, at)


def _reached(connection: KafkaConnection, at: Address) -> KafkaConnection:
    return replace(connection, bootstrap_servers=at.servers) if at.servers else connection


def _partitions(spec: TopicSpec, at: Address, settings: Settings, records: StretchRecords) -> int:
    """The partition count in production; the topic's own where nothing else is known of it."""
    own = len(records.stretch.starts)
    if spec.partitions is not None or spec.name == at.topic:
        return spec.partitions or own
    return asyncio.run(_asked(settings.production, spec.name)) or own


async def _asked(connection: KafkaConnection, topic: str) -> int | None:
    admin = AioKafka(connection).admin()
    try:
        return await admin.partitions(topic)
    finally:
        await admin.stop()
