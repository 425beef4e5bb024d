"""``hotshard demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from hotshard.cli.flags import Flags
from hotshard.cli.loading import from_extra

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

HELP: Final = "a flood, found and spread, on servers of its own; takes about a minute"
EXAMPLE: Final = """examples:
  hotshard demo
  hotshard demo --kafka localhost:9092 --redis redis://localhost:6379/0 --json

1 also when something that it shows did not come about."""


def add(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    flags = Flags(parser, environ)
    flags.value("--kafka", "HOTSHARD_DEMO_KAFKA", "take this running broker", metavar="HOST:PORT")
    flags.value("--redis", "HOTSHARD_DEMO_REDIS", "take this running Redis", metavar="URL")
    flags.switch("--json", "HOTSHARD_JSON", "print what was measured as the last line, one JSON object")


def run(args: argparse.Namespace, _environ: Mapping[str, str]) -> int:
    run_demo = from_extra("demo", "hotshard.demo.run", "run_demo")
    options = from_extra("demo", "hotshard.demo.run", "DemoOptions")
    return cast("int", run_demo(options(json=args.json, kafka=args.kafka, redis=args.redis)))
