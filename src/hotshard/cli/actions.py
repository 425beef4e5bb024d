"""The actions of ``hotshard registry``: their help, their words and their flags."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.cli import key_words
from hotshard.cli.ending import CODES
from hotshard.cli.flags import Flags
from hotshard.settings.table import BY_NAME, FILE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

#: So long a command is waited for, unless said otherwise.
WAIT_S: Final = 5.0


class _Action(NamedTuple):
    """An action: what it does, an example, the words it takes (none, ``?`` optional, ``1`` needed), and more to say."""

    text: str
    example: str
    topic: str = "1"
    key: str = "1"
    more: str = ""


ACTIONS: Final = {
    "show": _Action(
        "what is hot, the plans and who wanted them, pins, what is frozen, what waits",
        "hotshard registry show orders --json",
        topic="?",
        key="",
    ),
    "approve": _Action(
        "give the plan that is proposed for a key to producers, in mode approve",
        "hotshard registry approve orders acme cart-7",
        more="The approval is for the plan as it is proposed now, and goes on while that plan grows\n"
        "or is cut at its end. Another plan, also the next one of the same key, waits again;\n"
        "`pin --auto` is for good.",
    ),
    "pin": _Action(
        "split a key whatever is measured, or never touch it",
        "hotshard registry pin orders acme cart-7 --never",
        more="A pinned split stands, hot or not, until `unpin`. In mode approve it is an approval given\n"
        "beforehand; it is no way around the topic's order, or around mode shadow.",
    ),
    "unpin": _Action(
        "take a pin away; one of the settings is in force again", "hotshard registry unpin orders acme cart-7"
    ),
    "freeze": _Action(
        "change no route until thawed, of one topic or of all",
        "hotshard registry freeze --reason incident",
        topic="?",
        key="",
        more="What turns hot goes on being told. `retire` is obeyed in a frozen topic too; what else is\n"
        "ordered waits for `thaw`.",
    ),
    "thaw": _Action("go on after freeze, and end what retire has paused", "hotshard registry thaw", topic="?", key=""),
    "retire": _Action(
        "take plans back at once, and plan none for a while",
        "hotshard registry retire --all --pause 3600",
        topic="?",
        key="?",
        more="Say KEY, or --all. Without the pause what is hot would be split again at once; a key that\n"
        "is pinned to be split is split again after it.",
    ),
}


def add_actions(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    """Give ``parser`` one parser for each action."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    for name, action in ACTIONS.items():
        sub = actions.add_parser(
            name,
            help=action.text,
            description=f"{action.text[0].upper()}{action.text[1:]}.",
            epilog="\n\n".join(part for part in (action.more, f"example:\n  {action.example}", CODES) if part),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        _add_words(sub, action)
        _add_flags(Flags(sub, environ), name)
        sub.add_argument(
            "-v", "--verbose", action="count", default=argparse.SUPPRESS,
            help="say more; -vv: tracebacks too [env HOTSHARD_VERBOSE]",
        )  # fmt: skip


def _add_words(parser: argparse.ArgumentParser, action: _Action) -> None:
    if action.topic == "1":
        parser.add_argument("topic", metavar="TOPIC", help="the production topic")
    else:
        parser.add_argument("topic", metavar="TOPIC", nargs="?", help="the production topic; all of them if none")
    if action.key:
        parser.add_argument("key", metavar="KEY", nargs="+" if action.key == "1" else "*", help=key_words.HELP)


def _add_flags(flags: Flags, action: str) -> None:
    flags.value("--settings", FILE_VARIABLE, "the worker's TOML file, for redis and namespace", metavar="FILE")
    flags.setting("--redis", BY_NAME["redis.url"].variable, "where the registry is", metavar="URL")
    flags.setting("--namespace", BY_NAME["worker.namespace"].variable, "which registry of that Redis", metavar="NAME")
    flags.switch("--json", "HOTSHARD_JSON", "print one JSON object")
    if action == "show":
        return
    if ACTIONS[action].key:
        flags.switch("--base64", "HOTSHARD_KEY_ENCODED", "KEY is the base64 of its bytes")
    flags.value("--by", "HOTSHARD_COMMANDED_BY", "who commands; user@host if not given", metavar="NAME")
    flags.value("--reason", "HOTSHARD_REASON", "why, for the history", metavar="TEXT")
    flags.value(
        "--wait", "HOTSHARD_WAIT", f"wait so long until it is obeyed, {WAIT_S:g} if not given; 0: do not wait",
        metavar="SECONDS",
    )  # fmt: skip
    if action == "pin":
        flags.value("--shards", "HOTSHARD_PIN_SHARDS", "always split over so many shards", metavar="N")
        flags.switch("--auto", "HOTSHARD_PIN_AUTO", "always split, over as many shards as the plan finds")
        flags.switch("--never", "HOTSHARD_PIN_NEVER", "never touch it; a plan that it has is retired")
    if action == "retire":
        flags.switch("--all", "HOTSHARD_RETIRE_ALL", "every plan, of TOPIC or of all topics")
        flags.value(
            "--pause", "HOTSHARD_RETIRE_PAUSE", "plan nothing for so long, 600 if not given; `thaw` ends it",
            metavar="SECONDS",
        )  # fmt: skip
