"""The flags by which a command is told its settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from hotshard.cli.flags import Flags
from hotshard.errors import UsageError
from hotshard.settings import Settings, load
from hotshard.settings.table import BY_NAME, FILE_VARIABLE, TOPICS_VARIABLE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

#: Flags for what is set most often; every other setting is reached by ``--set``.
_SHORT: Final = {
    "--bootstrap": ("mirror.bootstrap_servers", "HOST:PORT,...", "where the Kafka cluster that is read is reached"),
    "--redis": ("redis.url", "URL", "where the registry is"),
    "--group": ("worker.group", "NAME", "what the consumer groups are named after"),
    "--mode": ("defaults.mode", "MODE", "observe, shadow, approve or active, for topics that do not say"),
    "--processes": ("worker.processes", "N", "so many processes on this machine, one core each at most"),
    "--log-level": ("worker.log_level", "LEVEL", "debug, info, warning or error"),
}


def add_settings_flags(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    flags = Flags(parser, environ)
    flags.value("--settings", FILE_VARIABLE, "a TOML file, as deploy/settings.toml shows it", metavar="FILE")
    flags.setting(
        "--topic", TOPICS_VARIABLE, "a topic to watch, and what is read for it; may be repeated",
        action="append", metavar="NAME[=SOURCE+...]",
    )  # fmt: skip
    for flag, (name, metavar, text) in _SHORT.items():
        flags.setting(flag, BY_NAME[name].variable, text, metavar=metavar)
    flags.setting(
        "--set", "HOTSHARD_<NAME>", "any setting, such as worker.window_s=5; may be repeated",
        action="append", metavar="NAME=VALUE",
    )  # fmt: skip


def words_of(args: argparse.Namespace) -> list[str]:
    """The flags of ``args`` as words again, for a process that is to have the same settings."""
    single = {flag: getattr(args, flag.lstrip("-").replace("-", "_")) for flag in ("--settings", *_SHORT)}
    several = {"--topic": args.topic or (), "--set": args.set or ()}
    words = [f"{flag}={text}" for flag, text in single.items() if text is not None]
    words += [f"{flag}={text}" for flag, texts in several.items() for text in texts]
    return [*words, *(["-v"] * args.verbose)]


def settings_of(args: argparse.Namespace, environ: Mapping[str, str]) -> Settings:
    """The settings in force. Raises SettingsError and UsageError."""
    given = {name: getattr(args, flag.lstrip("-").replace("-", "_")) for flag, (name, _, _) in _SHORT.items()}
    flags = {name: text for name, text in given.items() if text is not None}
    for word in args.set or ():
        name, equals, text = word.partition("=")
        if not equals:
            raise UsageError(f"--set takes NAME=VALUE, not {word!r}")
        flags[name.strip()] = text
    if args.verbose:
        flags.setdefault("worker.log_level", "debug")
    return load(Path(args.settings) if args.settings else None, environ, flags, args.topic or ())
