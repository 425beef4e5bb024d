"""``hotshard schema``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hotshard.cli.printing import put
from hotshard.core.wire.schema import NAMES, all_schemas, schema_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

HELP: Final = "print the JSON Schema of events, reports and registry entries"
EXAMPLE: Final = f"""examples:
  hotshard schema
  hotshard schema event

There are: {", ".join(NAMES)}."""


def add(parser: argparse.ArgumentParser, _environ: Mapping[str, str]) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="one of them by itself; all in one document if none")


def run(args: argparse.Namespace, _environ: Mapping[str, str]) -> int:
    put(json.dumps(all_schemas() if args.name is None else schema_of(args.name), indent=2))
    return 0
