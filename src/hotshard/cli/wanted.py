"""From the words and flags of ``hotshard registry`` to the command that a person wants given."""

from __future__ import annotations

import getpass
import math
import socket
import time
from typing import TYPE_CHECKING, Any

from hotshard.cli import key_words
from hotshard.core.wire.command import MAX_PAUSE_S, Command, CommandKind
from hotshard.core.wire.names import key_text
from hotshard.errors import UsageError

if TYPE_CHECKING:
    import argparse


def command_of(args: argparse.Namespace) -> Command:
    """The command that the words and flags say.

    Raises:
        UsageError: they do not say one thing.

    """
    kind = CommandKind(args.action)
    words = getattr(args, "key", None) or []
    text, b64 = key_text(key_words.key_of(words, in_base64=args.base64)) if words else (None, None)
    more: dict[str, Any] = {}
    if kind is CommandKind.PIN:
        more["shards"] = _shards(args)
    if kind is CommandKind.RETIRE:
        _check_retire(args, words=bool(words))
        pause_s = None if args.pause is None else math.ceil(seconds("--pause", args.pause, 0.0))
        more["pause_s"] = pause_s
    return Command(
        kind=kind,
        topic=args.topic,
        key=text,
        key_b64=b64,
        by=_who() if args.by is None else args.by,
        at_ms=time.time_ns() // 1_000_000,
        reason=args.reason or "",
        **more,
    )


def _shards(args: argparse.Namespace) -> int | None:
    if sum((args.shards is not None, args.auto, args.never)) != 1:
        raise UsageError("say one of --shards N, --auto and --never")
    if args.shards is None:
        return 0 if args.auto else None
    if not args.shards.isdecimal() or len(args.shards) > 6 or int(args.shards) < 2:
        raise UsageError(f"--shards is {args.shards!r}; give a number from 2 on, or --auto")
    return int(args.shards)


def _check_retire(args: argparse.Namespace, *, words: bool) -> None:
    if args.all == words:
        of = f" of {args.topic}" if args.topic else ""
        raise UsageError(f"say KEY, or --all for every plan{of}" + ("; not both" if words else ""))


def seconds(flag: str, text: str | None, default: float) -> float:
    """A number of seconds given to ``flag``. Raises UsageError where it is none, or absurd."""
    if text is None:
        return default
    try:
        given = float(text)
    except ValueError:
        given = math.nan
    if not 0 <= given <= MAX_PAUSE_S:
        raise UsageError(f"{flag} is {text!r}; give seconds, 0 to {MAX_PAUSE_S}")
    return given


def _who() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # no name anywhere, as in a container with a bare user id
        user = "unknown"
    return f"{user}@{socket.gethostname()}"
