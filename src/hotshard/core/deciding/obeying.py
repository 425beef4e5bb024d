"""What comes of a command: one named rule per kind, each changing nothing but the wishes."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hotshard.core.deciding.book import LIVE
from hotshard.core.deciding.drafting import why_not_given
from hotshard.core.deciding.wishes import DETECTOR, differ_at_the_tail
from hotshard.core.planning.allowed import forbidden
from hotshard.core.policy.choosing import Policies
from hotshard.core.topic import Mode, Ordering
from hotshard.core.wire.command import CommandKind
from hotshard.core.wire.names import key_bytes
from hotshard.core.wire.orders import Approval, Done, Given, Outcome, Pause, PinOrder
from hotshard.core.wire.route import RouteState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hotshard.core.deciding.book import RouteBook
    from hotshard.core.deciding.wishes import Wishes
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.command import Command, Heard
    from hotshard.core.wire.event import Ineffective
    from hotshard.core.wire.route import Route

#: How long nothing is planned after a ``retire`` that does not say: else what is hot would be split again at once.
PAUSE_S: Final = 600
#: A shorter pause might be over before the routes are retired.
LEAST_PAUSE_S: Final = 5
#: More of what people write about themselves is cut off.
_MAX_BY: Final = 64
_MAX_REASON: Final = 200

_REFUSALS: Final = frozenset({Outcome.NO_PLAN, Outcome.PLAN_CHANGED, Outcome.TOO_MANY})


@dataclass(frozen=True, slots=True)
class Obeying:
    """Where commands for one topic are dealt with."""

    spec: TopicSpec
    wishes: Wishes
    book: RouteBook

    def obey(self, heard: Heard, now_ms: int, *, since_ms: int | None = None) -> Done:
        """Do what a command says, at once and whole; what came of it is also kept among the wishes.

        ``since_ms``: count a pause from this moment, for a command that was given long before the topic was known.
        """
        command = heard.command
        if command is None:
            raise ValueError("what is damaged cannot be obeyed")
        given = Given(by=command.by[:_MAX_BY], at_ms=now_ms, reason=command.reason[:_MAX_REASON])
        outcome = _RULES[command.kind](self, command, given, now_ms if since_ms is None else since_ms)
        done = Done(
            id=str(heard.id),
            kind=command.kind,
            key=command.key,
            key_b64=command.key_b64,
            applied=isinstance(outcome, Outcome) and outcome not in _REFUSALS,
            outcome=str(outcome),
            given=given,
        )
        self.wishes.done(done)
        return done

    def give_up(self, plan: Ineffective, now_ms: int) -> bool:
        """Let a plan that did not help be retired with the next step, and none be made for its key for a while.

        False where nothing is done: the topic is frozen, or a person wants the key split.
        """
        if self.wishes.frozen is not None or self.wishes.split(key_bytes(plan.key, plan.key_b64)) is not None:
            return False
        policies = Policies(self.spec.policy, self.spec.tenant_policies)
        policy = policies.of_tenant(None if plan.tenant is None else plan.tenant.encode())
        pause_s = max(LEAST_PAUSE_S, policy.flap_window_s)
        given = Given(by=DETECTOR, at_ms=now_ms, reason=plan.reason)
        until_ms = now_ms + round(pause_s * 1000)
        return self.wishes.pause(Pause(key=plan.key, key_b64=plan.key_b64, until_ms=until_ms, given=given))

    def live(self, key: bytes) -> Route | None:
        route = self.book.get(key)
        return route if route is not None and route.state in LIVE else None


def _approve(obeying: Obeying, command: Command, given: Given, _now_ms: int) -> Outcome | str:
    """Put the plan that is proposed into force, if it is the one that the person saw, or that one grown or cut."""
    key = command.base_key or b""
    route = obeying.live(key)
    if route is None or not route.partitions:
        return Outcome.NO_PLAN
    if command.partitions and not differ_at_the_tail(command, route):
        return Outcome.PLAN_CHANGED
    if route.state is not RouteState.PROPOSED:
        return Outcome.IN_FORCE
    if obeying.spec.mode is not Mode.APPROVE or obeying.spec.ordering is not Ordering.NONE:
        return why_not_given(obeying.spec)
    approval = Approval(
        key=command.key,
        key_b64=command.key_b64,
        suffixes=route.suffixes,
        partitions=route.partitions,
        given=given,
    )
    return Outcome.APPROVED if obeying.wishes.approve(approval) else Outcome.TOO_MANY


def _pin(obeying: Obeying, command: Command, given: Given, _now_ms: int) -> Outcome | str:
    """Split the key whatever is measured, unless the topic or the key forbids it; or never touch it."""
    refusal = None if command.shards is None else forbidden(command.base_key or b"", obeying.spec)
    if refusal is not None:
        return str(refusal.reason)
    pin = PinOrder(key=command.key, key_b64=command.key_b64, shards=command.shards, given=given)
    return Outcome.PINNED if obeying.wishes.put_pin(pin) else Outcome.TOO_MANY


def _unpin(obeying: Obeying, command: Command, _given: Given, _now_ms: int) -> Outcome:
    """Take away the pin of a command; one of the settings is in force again."""
    pin = obeying.wishes.pins.pop(command.base_key or b"", None)
    return Outcome.NOT_PINNED if pin is None else Outcome.UNPINNED


def _freeze(obeying: Obeying, _command: Command, given: Given, _now_ms: int) -> Outcome:
    """Change no route from now on, but to retire what a person wants retired."""
    obeying.wishes.frozen = given
    return Outcome.FROZEN


def _thaw(obeying: Obeying, _command: Command, _given: Given, _now_ms: int) -> Outcome:
    """Go on as if nothing had been frozen or paused."""
    return Outcome.THAWED if obeying.wishes.go_on() else Outcome.NOT_FROZEN


def _retire(obeying: Obeying, command: Command, given: Given, now_ms: int) -> Outcome:
    """Take back the plan of the key, or all of them, and plan none until the pause is over."""
    key = command.base_key
    pause_s = PAUSE_S if command.pause_s is None else max(LEAST_PAUSE_S, command.pause_s)
    pause = Pause(key=command.key, key_b64=command.key_b64, until_ms=now_ms + pause_s * 1000, given=given)
    stood = bool(obeying.book.live()) if key is None else obeying.live(key) is not None
    if not obeying.wishes.pause(pause):
        return Outcome.TOO_MANY
    return Outcome.RETIRED if stood else Outcome.PAUSED


_RULES: Final[Mapping[CommandKind, Callable[[Obeying, Command, Given, int], Outcome | str]]] = MappingProxyType(
    {
        CommandKind.APPROVE: _approve,
        CommandKind.PIN: _pin,
        CommandKind.UNPIN: _unpin,
        CommandKind.FREEZE: _freeze,
        CommandKind.THAW: _thaw,
        CommandKind.RETIRE: _retire,
    }
)
