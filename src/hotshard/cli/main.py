"""``hotshard``: the commands and what they share."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import hotshard
from hotshard.cli.ending import CODES, ended
from hotshard.cli.flags import Flags
from hotshard.settings.kinds import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Command(NamedTuple):
    """A command: its line of help, its examples, what adds its flags, what runs it."""

    help: str
    example: str
    add: Callable[[argparse.ArgumentParser, Mapping[str, str]], None]
    run: Callable[[argparse.Namespace, Mapping[str, str]], int]


#: Each is a module of this package. It is imported when it is needed: a scan needs no registry, and starts sooner.
COMMANDS: Final = ("demo", "worker", "scan", "simulate", "registry", "config", "schema")
_ABOUT: Final = "Names the tenant and the key that choke a Kafka partition, and lets producers spread that key."


class _CommandParser(argparse.ArgumentParser):
    """The parser of one command. It answers for what it does not know itself: with its own usage, and a guess."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401 -- as argparse has it
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            flag = unknown[0].partition("=")[0]
            self.error(f"unrecognized arguments: {' '.join(unknown)}{nearest(flag, self._option_string_actions)}")
        return known, unknown


def command_of(name: str) -> Command:
    module = import_module(f"hotshard.cli.{name}")
    return Command(module.HELP, module.EXAMPLE, module.add, module.run)


def build_parser(environ: Mapping[str, str], names: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser with these commands. Raises UsageError when the environment gives a flag what it cannot take."""
    parser = argparse.ArgumentParser(
        prog="hotshard",
        description=_ABOUT,
        epilog=f"See it work:\n  hotshard demo\n\n{CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"hotshard {hotshard.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_CommandParser)
    for name in names:
        command = command_of(name)
        sub = commands.add_parser(
            name,
            help=command.help,
            description=f"{command.help[0].upper()}{command.help[1:]}.",
            epilog=f"{command.example}\n\n{CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add(sub, environ)
        Flags(sub, environ).count("-v", "--verbose", "HOTSHARD_VERBOSE", "say more; -vv: tracebacks too")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    environ = dict(os.environ)
    return ended(lambda: _run(argv, environ), tracebacks=False)


def _run(argv: Sequence[str] | None, environ: Mapping[str, str]) -> int:
    words = sys.argv[1:] if argv is None else argv
    wanted = words[:1] if words and words[0] in COMMANDS else COMMANDS
    args = build_parser(environ, wanted).parse_args(words)
    command = command_of(args.command)
    return ended(lambda: command.run(args, environ), tracebacks=args.verbose > 1)
