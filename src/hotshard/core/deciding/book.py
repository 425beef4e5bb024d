"""The routes of one topic: which stand, what changed, and which keys on the wire belong to which base key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hotshard.core.keys import with_suffix
from hotshard.core.wire.route import MAX_EARLIER, EarlierRoute, Route, RouteState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LIVE = frozenset({RouteState.PROPOSED, RouteState.CHANGING, RouteState.ACTIVE, RouteState.RETIRING})

#: A retired route is still counted exactly for so long, for producers that have not heard of it; later, what
#: stands under its suffixes is added up by the decider. Every pane carries what is counted exactly.
RETIRED_MS = 600_000


def wire_keys(route: Route) -> Iterator[bytes]:
    """Every key under which records of the route's base key may stand: itself, its shards, its earlier shards."""
    base = route.base_key
    yield base
    for suffix in {*route.suffixes, *(suffix for earlier in route.earlier for suffix in earlier.suffixes)}:
        yield with_suffix(base, suffix)


def counted_exactly(routes: Iterable[Route], hot: Iterable[bytes], now_ms: int) -> dict[bytes, bytes]:
    """The base key of every wire key that is counted beside the sketches: of routed keys, and of those hot now."""
    counted = {key: key for key in hot}
    for route in routes:
        if route.state is not RouteState.RETIRED or route.changed_ms >= now_ms - RETIRED_MS:
            counted.update(dict.fromkeys(wire_keys(route), route.base_key))
    return counted


def earlier_of(route: Route, now_ms: int, readable_ms: int) -> tuple[EarlierRoute, ...]:
    """What readers need of a route that is being replaced: its places, readable for ``readable_ms`` from now on.

    Each suffix stands once, where it is readable longest: plans of one key come back to the same suffixes,
    so a key may be split every hour and none of its places is forgotten before its time. A key that was
    split without suffixes has its partitions there in the same way.
    """
    readable = tuple(earlier for earlier in route.earlier if earlier.until_ms > now_ms)
    if not route.partitions or route.state is RouteState.PROPOSED:
        return readable
    left = EarlierRoute(
        epoch=route.epoch,
        suffixes=route.suffixes,
        partitions=route.partitions,
        until_ms=max([now_ms + readable_ms, *(earlier.until_ms for earlier in readable)]),
    )
    others = (_without(earlier, left) for earlier in readable)
    return (*(earlier for earlier in others if earlier.partitions), left)[-MAX_EARLIER:]


def _without(earlier: EarlierRoute, left: EarlierRoute) -> EarlierRoute:
    """What is told by ``earlier`` alone: its suffixes, or where it has none its partitions."""
    if bool(earlier.suffixes) != bool(left.suffixes):
        return earlier
    if not earlier.suffixes:
        kept = tuple(partition for partition in earlier.partitions if partition not in left.partitions)
        return msgspec.structs.replace(earlier, partitions=kept)
    places = zip(earlier.suffixes, earlier.partitions, strict=False)
    own = [place for place in places if place[0] not in left.suffixes]
    return msgspec.structs.replace(
        earlier,
        suffixes=tuple(suffix for suffix, _ in own),
        partitions=tuple(partition for _, partition in own),
    )


class RouteBook:
    """Routes by base key, and the changes that have not been said yet."""

    def __init__(self, routes: Iterable[Route] = ()) -> None:
        self._routes: dict[bytes, Route] = {route.base_key: route for route in routes}
        self._changed: dict[bytes, Route | None] = {}
        self._aliases = self._all_aliases()

    def get(self, key: bytes) -> Route | None:
        return self._routes.get(key)

    def live(self) -> tuple[Route, ...]:
        return tuple(route for route in self._routes.values() if route.state in LIVE)

    def all(self) -> tuple[Route, ...]:
        return tuple(self._routes.values())

    @property
    def aliases(self) -> Mapping[bytes, bytes]:
        """Base key of every wire key of every route, the base keys themselves included."""
        return self._aliases

    def put(self, route: Route) -> None:
        self._routes[route.base_key] = route
        self._changed[route.base_key] = route
        self._aliases = self._all_aliases()

    def forget_past(self, now_ms: int) -> None:
        """Let go of retired routes whose data can no longer be read."""
        past = [
            key
            for key, route in self._routes.items()
            if route.state is RouteState.RETIRED and all(earlier.until_ms <= now_ms for earlier in route.earlier)
        ]
        for key in past:
            del self._routes[key]
            self._changed[key] = None
        if past:
            self._aliases = self._all_aliases()

    def take_changed(self) -> dict[bytes, Route | None]:
        """The routes changed since the last call; None for one that was forgotten."""
        changed, self._changed = self._changed, {}
        return changed

    def _all_aliases(self) -> dict[bytes, bytes]:
        return {key: route.base_key for route in self._routes.values() for key in wire_keys(route)}
