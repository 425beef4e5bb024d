"""What a person reads of the registry: what is hot, what is done about it, who ordered what, who listens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from hotshard.core.wire.command import START, Command, StreamId, read_id
from hotshard.core.wire.route import HotKind, RouteState
from hotshard.errors import WireError
from hotshard.report.names import key_name
from hotshard.report.numbers import count, percent
from hotshard.report.times import stretch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hotshard.core.wire.orders import Done, Given, Pause, PinOrder
    from hotshard.core.wire.route import HotEntry, Route
    from hotshard.doors.redis.contract import Desk, TopicDesk

#: A detector that was heard this long ago is told of as silent; it speaks every second.
SILENT_MS: Final = 5_000
_LATELY: Final = 8


def waiting(desk: Desk, topic: str) -> list[tuple[StreamId, Command]]:
    """Commands for a topic that its detector has not dealt with yet, as far as the registry shows them."""
    done = {each.id for each in desk.topics[topic].orders.done}
    concern = [(heard.id, heard.command) for heard in desk.commands if heard.command is not None]
    concern = [(place, command) for place, command in concern if command.concerns(topic)]
    last = max((number for number, (place, _) in enumerate(concern, 1) if str(place) in done), default=None)
    if last is not None:
        return concern[last:]
    newest = max(map(_place, done), default=START)
    return [(place, command) for place, command in concern if place > newest]


def _place(text: str) -> StreamId:
    try:
        return read_id(text)
    except WireError:
        return START


def desk_json(desk: Desk, namespace: str) -> dict[str, Any]:
    """All of it; the entries as they stand in the registry."""
    return {
        "namespace": namespace,
        "now_ms": desk.now_ms,
        "topics": {topic: _topic_json(desk, topic, each) for topic, each in desk.topics.items()},
    }


def _topic_json(desk: Desk, topic: str, each: TopicDesk) -> dict[str, Any]:
    orders = msgspec.to_builtins(each.orders)
    return {
        "mode": each.mode,
        "epoch": each.mark.epoch,
        "version": each.mark.version,
        "heartbeat_age_s": age_ms(desk, each) / 1000,
        "hot": msgspec.to_builtins(each.hot),
        "routes": msgspec.to_builtins(each.routes),
        **orders,
        "waiting": [{"id": str(place), **msgspec.to_builtins(each)} for place, each in waiting(desk, topic)],
        "damaged": each.damaged,
    }


def age_ms(desk: Desk, each: TopicDesk) -> int:
    """How long ago the topic's detector was last heard."""
    return max(0, desk.now_ms - each.mark.at_ms)


def desk_text(desk: Desk, pasteable: Callable[[bytes], str]) -> str:
    """One paragraph a topic. ``pasteable`` gives a key as the command line takes it."""
    return "\n\n".join(
        "\n".join(_Paragraph(desk, topic, each, pasteable).lines()) for topic, each in desk.topics.items()
    )


class _Paragraph:
    """What is said of one topic."""

    def __init__(self, desk: Desk, topic: str, each: TopicDesk, pasteable: Callable[[bytes], str]) -> None:
        self._desk, self._topic, self._each, self._pasteable = desk, topic, each, pasteable

    def lines(self) -> Iterator[str]:
        yield f"{self._topic}: mode {self._each.mode or 'unknown'}, {self._heard()}"
        yield from self._stopped()
        yield from _part("hot", map(self._hot, self._each.hot)) if self._each.hot else ["  nothing is hot"]
        yield from _part("plans", (line for route in self._each.routes for line in self._route(route)))
        yield from _part("pins", map(self._pin, self._each.orders.pins))
        yield from _part("waiting for the detector", map(self._waiting, waiting(self._desk, self._topic)))
        yield from _part("lately", map(self._done, reversed(self._each.orders.done[-_LATELY:])))
        if self._each.damaged:
            entries = "1 damaged entry is" if self._each.damaged == 1 else f"{self._each.damaged} damaged entries are"
            yield f"  {entries} left out; a detector that runs mends it"

    def _heard(self) -> str:
        if not self._each.mark.at_ms:
            return "when its detector was heard is not known"
        silent_ms = age_ms(self._desk, self._each)
        if silent_ms <= SILENT_MS:
            return f"its detector was heard {stretch(silent_ms / 1000)} ago"
        return f"NO DETECTOR ANSWERS, the last word is {stretch(silent_ms / 1000)} old; nothing changes until one does"

    def _stopped(self) -> Iterator[str]:
        frozen = self._each.orders.frozen
        if frozen is not None:
            yield f"  FROZEN {self._ago(frozen.at_ms)}, {by(frozen)}; `registry thaw` ends it"
        yield from (self._pause(pause) for pause in self._each.orders.pauses if pause.until_ms > self._desk.now_ms)

    def _pause(self, pause: Pause) -> str:
        left = stretch((pause.until_ms - self._desk.now_ms) / 1000)
        about = f"for {_name(pause.key, pause.key_b64)}" if pause.base_key else "at all"
        return f"  NO PLANS {about} for {left} more: retired {by(pause.given)}"

    def _ago(self, at_ms: int) -> str:
        return f"{stretch(max(0, self._desk.now_ms - at_ms) / 1000)} ago"

    def _hot(self, entry: HotEntry) -> str:
        what = "tenant " if entry.kind is HotKind.TENANT else ""
        hot_s = max(0, self._desk.now_ms - entry.since_ms) / 1000
        load = f"{percent(entry.share)} of the load, {count(entry.load_per_s)}/s, for {stretch(hot_s)}"
        return f"{what}{_name(entry.key, entry.key_b64)}: {load}"

    def _route(self, route: Route) -> Iterator[str]:
        name = _name(route.key, route.key_b64)
        if route.state is RouteState.RETIRED:
            yield f"{name}: retired {self._ago(route.changed_ms)} ({route.reason})"
            return
        where = f" on partitions {' '.join(map(str, route.partitions))}" if route.partitions else ""
        yield f"{name}: {route.state}, {route.treatment}{where} ({route.reason})"
        if route.imbalance_before is not None and route.imbalance_after is not None:
            yield f"  imbalance {route.imbalance_before:.2f} before, {route.imbalance_after:.2f} after"
        approval = next((each for each in self._each.orders.approvals if each.base_key == route.base_key), None)
        if approval is not None:
            yield f"  approved {by(approval.given)}"
        elif route.state is RouteState.PROPOSED and route.reason == "mode_approve":
            yield f"  to approve: hotshard registry approve {self._topic} {self._pasteable(route.base_key)}"

    def _pin(self, pin: PinOrder) -> str:
        return f"{_name(pin.key, pin.key_b64)}: {wish(pin.shards)}, {by(pin.given)}"

    def _waiting(self, given: tuple[StreamId, Command]) -> str:
        place, command = given
        return f"{self._ago(place.ms)}: {_commanded(command)} by {key_name(command.by) or 'nobody named'}"

    def _done(self, done: Done) -> str:
        about = f" {_name(done.key, done.key_b64)}" if done.base_key else ""
        refused = "" if done.applied else "REFUSED, "
        return f"{self._ago(done.given.at_ms)}: {done.kind}{about} {by(done.given)} ({refused}{done.outcome})"


def by(given: Given) -> str:
    """Who ordered it and why; nothing of it acts on a terminal."""
    who, why = key_name(given.by) or "nobody named", key_name(given.reason)
    return f"by {who}: {why}" if why else f"by {who}"


def wish(shards: int | None) -> str:
    """What a pin wants."""
    if shards is None:
        return "never touched"
    return f"always split over {shards} shards" if shards else "always split, over as many shards as the plan finds"


def _commanded(command: Command) -> str:
    about = f" {_name(command.key, command.key_b64)}" if command.base_key is not None else ""
    return f"{command.kind}{about}"


def _name(key: str | None, key_b64: str | None) -> str:
    return key_name(key) if key is not None else f"base64 {key_b64}"


def _part(title: str, lines: Iterator[str]) -> Iterator[str]:
    found = [f"    {line}" for line in lines]
    if found:
        yield f"  {title}"
        yield from found
