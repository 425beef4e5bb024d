"""``hotshard config``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from hotshard.cli.choosing import add_settings_flags, settings_of
from hotshard.cli.flags import Flags
from hotshard.cli.printing import put
from hotshard.settings import show
from hotshard.settings.sources import AS_MIRROR, DEFAULT

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

HELP: Final = "print the settings in force, and where each came from"
EXAMPLE: Final = """examples:
  hotshard config --settings settings.toml --changed
  hotshard config --reference toml > settings.toml

Secrets are masked."""

_REFERENCES: Final = {"toml": show.reference_toml, "markdown": show.reference_markdown}


def add(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    add_settings_flags(parser, environ)
    flags = Flags(parser, environ)
    flags.switch("--changed", "HOTSHARD_CONFIG_CHANGED", "only what is not at its default")
    flags.switch("--json", "HOTSHARD_JSON", "print one JSON object")
    flags.value(
        "--reference", "HOTSHARD_CONFIG_REFERENCE", "print every setting there is instead, toml or markdown",
        choices=sorted(_REFERENCES), metavar="FORMAT",
    )  # fmt: skip


def run(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    if args.reference is not None:
        put(_REFERENCES[args.reference]().rstrip("\n"))
        return 0
    entries = settings_of(args, environ).in_force
    chosen = [each for each in entries if not args.changed or each.origin not in (DEFAULT, AS_MIRROR)]
    if args.json:
        put(json.dumps(show.in_force_json(chosen), indent=2))
    elif chosen:
        put(show.in_force_text(chosen))
    return 0
