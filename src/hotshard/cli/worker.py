"""``hotshard worker``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, cast

from hotshard.cli.choosing import add_settings_flags, settings_of, words_of
from hotshard.cli.loading import from_extra
from hotshard.errors import SettingsError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from hotshard.settings.model import WorkerSettings

HELP: Final = "watch topics, and keep the registry that producers read"
EXAMPLE: Final = """examples:
  hotshard worker --bootstrap kafka:9092 --redis redis://redis:6379/0 --topic orders
  hotshard worker --settings settings.toml --set worker.window_s=30
  hotshard worker --settings settings.toml --processes 4

It runs until SIGTERM or Ctrl-C, and waits through outages of Kafka and Redis."""


def add(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    add_settings_flags(parser, environ)


def run(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    settings = settings_of(args, environ)
    if not settings.topics:
        raise SettingsError(
            "no topic to watch; name one with --topic, HOTSHARD_TOPICS, or a section [topics.<name>] in the file"
        )
    if settings.worker.processes > 1:
        run_processes = from_extra("worker", "hotshard.job.supervisor", "run_processes")
        return cast("int", run_processes(commands(settings.worker, words_of(args))))
    return cast("int", from_extra("worker", "hotshard.job.run", "run_worker")(settings))


def commands(worker: WorkerSettings, words: Sequence[str]) -> list[list[str]]:
    """A command for each process: the same settings, names of its own."""
    return [
        [sys.executable, "-m", "hotshard", "worker", *words, *_own(worker, number)]
        for number in range(1, worker.processes + 1)
    ]


def _own(worker: WorkerSettings, number: int) -> list[str]:
    own = {"worker.processes": "1"}
    if worker.name is not None:
        own["worker.name"] = f"{worker.name}-{number}"
    if worker.instance_id is not None:
        own["worker.instance_id"] = f"{worker.instance_id}-{number}"
    return [f"--set={name}={value}" for name, value in own.items()]
