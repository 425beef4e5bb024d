"""What came of a command, for a person and for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hotshard.cli.commanding import why_unanswered
from hotshard.core.planning.verdict import RefusalReason
from hotshard.core.wire.command import CommandKind
from hotshard.core.wire.orders import Outcome
from hotshard.core.wire.route import RouteState
from hotshard.report.names import key_name
from hotshard.report.registry import wish

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.cli.commanding import Answer, Sent
    from hotshard.core.wire.command import Command
    from hotshard.core.wire.route import Route


def sent_json(sent: Sent) -> dict[str, Any]:
    return {
        "id": str(sent.id),
        "command": sent.command.kind,
        "topics": {
            topic: {
                "applied": None if answer.done is None else answer.done.applied,
                "outcome": None if answer.done is None else answer.done.outcome,
                "route_state": None if answer.route is None else answer.route.state,
                "heartbeat_age_s": answer.silent_ms / 1000,
            }
            for topic, answer in sent.answers.items()
        },
    }


def sent_text(sent: Sent) -> list[str]:
    """A line for every topic."""
    command = sent.command
    key = command.base_key
    name = "" if key is None else f" {key_name(key)}"
    if not sent.waited_s:
        return [f"{command.kind}{name}: left as {sent.id}, not waited for"]
    return [f"{topic}{name}: {_said(answer, sent)}" for topic, answer in sent.answers.items()]


def _said(answer: Answer, sent: Sent) -> str:
    done, command = answer.done, sent.command
    if done is None:
        return why_unanswered(answer, sent.waited_s)
    if not done.applied:
        return f"refused: {_sentence(done.outcome, command)}"
    approved = answer.route if command.kind is CommandKind.APPROVE else None
    return _sentence(done.outcome, command) + ("" if approved is None else _on_its_way(approved))


def _on_its_way(route: Route) -> str:
    if route.state is RouteState.ACTIVE:
        return f", {len(route.partitions)} shards are in force"
    return ", not given to producers yet"


def _sentence(outcome: str, command: Command) -> str:
    """What came of it, for a person; a code of a later version as it is."""
    return _SENTENCES.get(outcome, outcome).replace("{wish}", wish(command.shards))


_IN_ORDER: Final = "all records of a key of this topic must stay in order; where they need not, set its ordering"

_SENTENCES: Final[Mapping[str, str]] = {
    Outcome.APPROVED: "approved",
    Outcome.IN_FORCE: "its plan is in force already",
    Outcome.PINNED: "pinned: {wish}",
    Outcome.UNPINNED: "its pin is taken away",
    Outcome.NOT_PINNED: "no command had pinned it (a pin of the settings is changed there)",
    Outcome.FROZEN: "frozen: no route changes until it is thawed",
    Outcome.THAWED: "thawed",
    Outcome.NOT_FROZEN: "nothing was frozen or paused",
    Outcome.RETIRED: "retired; nothing is planned until the pause is over, or `thaw`",
    Outcome.PAUSED: "there was no plan; none is made until the pause is over, or `thaw`",
    Outcome.NO_PLAN: "no plan is proposed",
    Outcome.PLAN_CHANGED: "another plan is proposed by now; look at it with `registry show`",
    Outcome.TOO_MANY: "the topic has all the orders of this kind that it may have; take some away",
    # Why a topic's plans wait for no approval.
    "mode_observe": "in mode observe nothing is planned; set the topic's mode to approve",
    "mode_shadow": "in mode shadow plans are not given to producers; set the topic's mode to approve",
    "mode_active": "in mode active plans are given without an approval",
    "ordering_per_key": _IN_ORDER,
    "ordering_per_discriminator": "plans of a topic with ordering per_discriminator are not given yet",
    # Why a key is never split.
    RefusalReason.PER_KEY_ORDER: _IN_ORDER,
    RefusalReason.COMPACTED_TOPIC: "a compacted topic would keep one record of each shard, so its keys are never split",
    RefusalReason.COPARTITIONED: "the topic is joined by partition, so its keys stay where they are",
    RefusalReason.PARTITIONS_UNSEEN: "with carry partition the source must keep production's partitions; set carry to"
    " suffix, or partitions_from to source",
    RefusalReason.EMPTY_KEY: "an empty key names nothing",
    RefusalReason.BINARY_KEY: "the key is not text, and a suffix would spoil it; set the topic's carry to partition",
    RefusalReason.KEY_TOO_LONG: "the key is too long to be split",
    RefusalReason.KEY_FORM: "the key has not the form of the topic's layout; check the words, or the layout",
}
