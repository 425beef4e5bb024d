"""``hotshard registry``: what the registry holds, and what people command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hotshard.cli.actions import WAIT_S, add_actions
from hotshard.cli.commanding import known, send
from hotshard.cli.key_words import pasteable
from hotshard.cli.printing import put
from hotshard.cli.sent import sent_json, sent_text
from hotshard.cli.wanted import command_of, seconds
from hotshard.doors.redis.real import RedisRegistry
from hotshard.report.registry import desk_json, desk_text
from hotshard.settings import load

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from hotshard.cli.commanding import Sent
    from hotshard.core.wire.command import Command
    from hotshard.doors.redis.contract import Desk
    from hotshard.settings import Settings

HELP: Final = "show what is hot and what is done about it; approve, pin, freeze, retire"
EXAMPLE: Final = """examples:
  hotshard registry show --redis redis://redis:6379/0
  hotshard registry approve orders acme cart-7 --reason "checked with the team"
  hotshard registry pin orders acme cart-7 --shards 8
  hotshard registry freeze --reason incident
  hotshard registry retire --all --reason incident

A command is left in the registry and obeyed by the topic's detector, which is waited for (--wait). 1 also
when a topic did not obey: it refused, or no detector answers. What was ordered outlives restarts."""


def add(parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
    add_actions(parser, environ)


def run(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    given = {"redis.url": args.redis, "worker.namespace": args.namespace}
    flags = {name: text for name, text in given.items() if text is not None}
    settings = load(Path(args.settings) if args.settings else None, environ, flags)
    if args.action == "show":
        return _show(asyncio.run(_desk(settings, args.topic)), settings, in_json=args.json)
    command, wait_s = command_of(args), seconds("--wait", args.wait, WAIT_S)
    sent = asyncio.run(_send(settings, command, wait_s))
    put(json.dumps(sent_json(sent)) if args.json else "\n".join(sent_text(sent)))
    return 0 if sent.obeyed else 1


def _show(desk: Desk, settings: Settings, *, in_json: bool) -> int:
    namespace = settings.worker.namespace
    if in_json:
        put(json.dumps(desk_json(desk, namespace), indent=2))
    else:
        put(desk_text(desk, pasteable) or f"the registry {namespace} at {settings.redis.address} holds no topic yet")
    return 0


async def _desk(settings: Settings, topic: str | None) -> Desk:
    door = _door(settings)
    try:
        desk = await door.desk()
        return desk if topic is None else await door.desk([known(desk, topic)])
    finally:
        await door.close()


async def _send(settings: Settings, command: Command, wait_s: float) -> Sent:
    door = _door(settings)
    try:
        return await send(door, command, wait_s)
    finally:
        await door.close()


def _door(settings: Settings) -> RedisRegistry:
    redis = settings.redis
    return RedisRegistry(redis.url, namespace=settings.worker.namespace, options=redis.options())
