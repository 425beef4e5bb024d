"""``hotshard worker``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from hotshard.cli.choosing import add_settings_flags, settings_of
from hotshard.cli.loading import from_extra
from hotshard.errors import SettingsError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

HELP: Final = "watch topics, and keep the registry that producers read"
EXAMPLE: Final = """examples:
  hotshard worker --bootstrap kafka:9092 --redis redis://redis:6379/0 --topic orders
  hotshard worker --settings settings.toml --set worker.window_s=30

It runs until SIGTERM or Ctrl-C, and waits through outages of Kafka and Redis."""


def add(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    add_settings_flags(parser, environ)


def run(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    settings = settings_of(args, environ)
    if not settings.topics:
        raise SettingsError(
            "no topic to watch; name one with --topic, HOTSHARD_TOPICS, or a section [topics.<name>] in the file"
        )
    return cast("int", from_extra("worker", "hotshard.job.run", "run_worker")(settings))
