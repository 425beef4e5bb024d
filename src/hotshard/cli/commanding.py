"""Leaving a command for the detector, and waiting until it is obeyed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.core.wire.command import Command, CommandKind, fault_of
from hotshard.core.wire.route import RouteState
from hotshard.errors import HotshardError, UsageError
from hotshard.report.registry import SILENT_MS, age_ms
from hotshard.report.times import stretch
from hotshard.settings.kinds import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.wire.command import StreamId
    from hotshard.core.wire.orders import Done
    from hotshard.core.wire.route import Route
    from hotshard.doors.redis.contract import CommandDoor, Desk, TopicDesk

_LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a command for one topic; ``done`` is None when nobody has dealt with it."""

    done: Done | None
    route: Route | None
    silent_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A command as it was left, and what came of it by topic."""

    id: StreamId
    command: Command
    waited_s: float
    answers: Mapping[str, Answer]

    @property
    def obeyed(self) -> bool:
        """Whether it is applied everywhere; a command that was not waited for is taken for obeyed."""
        return not self.waited_s or all(each.done is not None and each.done.applied for each in self.answers.values())


async def send(door: CommandDoor, command: Command, wait_s: float) -> Sent:
    """Leave ``command``, and wait for every topic that it concerns.

    Raises:
        UsageError: the command makes no sense.
        HotshardError: there is no such topic, or nothing to approve.

    """
    fault = fault_of(command)
    if fault is not None:
        raise UsageError(fault)
    desk = await door.desk()
    topics = tuple(desk.topics) if command.topic is None else (known(desk, command.topic),)
    if not topics:
        raise HotshardError("the registry holds no topic yet; it does once a worker has counted something")
    command = _naming_the_plan(desk, command)
    place = await door.command(command)
    until_s = time.monotonic() + wait_s
    while True:
        desk = await door.desk(topics)
        answers = {topic: _answer(desk, topic, place, command) for topic in topics}
        if time.monotonic() >= until_s or all(_is_over(each, command) for each in answers.values()):
            return Sent(id=place, command=command, waited_s=wait_s, answers=answers)
        await asyncio.sleep(_LOOK_S)


def known(desk: Desk, topic: str) -> str:
    """The topic, if the registry holds it.

    Raises:
        HotshardError: it does not; the message names the nearest.

    """
    if topic not in desk.topics:
        held = f"it holds {', '.join(sorted(desk.topics)[:20])}" if desk.topics else "it holds none"
        raise HotshardError(f"the registry holds no topic {topic!r}, {held}{nearest(topic, desk.topics)}")
    return topic


def _naming_the_plan(desk: Desk, command: Command) -> Command:
    """An approval is for the plan that is proposed now: it is named in the command."""
    if command.kind is not CommandKind.APPROVE or command.topic is None:
        return command
    route = _route_of(desk.topics[command.topic], command)
    if route is None or not route.partitions or route.state is RouteState.RETIRED:
        raise HotshardError(
            f"no plan is proposed for this key of {command.topic}; `hotshard registry show {command.topic}` shows all"
        )
    return msgspec.structs.replace(command, suffixes=route.suffixes, partitions=route.partitions)


def _answer(desk: Desk, topic: str, place: StreamId, command: Command) -> Answer:
    each = desk.topics.get(topic)
    if each is None:
        return Answer(done=None, route=None, silent_ms=0)
    done = next((done for done in each.orders.done if done.id == str(place)), None)
    return Answer(done=done, route=_route_of(each, command), silent_ms=age_ms(desk, each))


def _route_of(each: TopicDesk, command: Command) -> Route | None:
    return next((route for route in each.routes if route.base_key == command.base_key), None)


def _is_over(answer: Answer, command: Command) -> bool:
    """Whether there is nothing more to wait for: an approved plan is also to be given to producers."""
    if answer.done is None:
        return False
    approved = command.kind is CommandKind.APPROVE and answer.done.applied
    return not approved or answer.route is None or answer.route.state is not RouteState.PROPOSED


def why_unanswered(answer: Answer, waited_s: float) -> str:
    """What to tell of a command that nobody has dealt with."""
    if answer.silent_ms > SILENT_MS:
        silent = stretch(answer.silent_ms / 1000)
        return f"no detector answers, the last word of one is {silent} old; the command is obeyed when one runs again"
    return (
        f"not obeyed within {stretch(waited_s)} though the detector was heard just now; its log says why"
        " (it may lack the rights that deploy/redis.acl lists)"
    )
