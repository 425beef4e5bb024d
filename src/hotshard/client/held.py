"""What a client holds of one topic, and the look-up tables made from it, which are never changed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hotshard.client.routed import Spread, spread
from hotshard.core.keys import with_suffix
from hotshard.core.topic import Carry, Ordering
from hotshard.core.wire.route import Route, RouteState
from hotshard.doors.redis.entries import obeyed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: A wire key under which data may lie, and until when (ms since 1970); None as long as the route stands.
Place = tuple[bytes, int | None]


@dataclass(frozen=True, slots=True)
class Entry:
    """A route as it was read, and what sends by it: None where producers do not obey it."""

    raw: bytes
    route: Route
    texts: Spread[str] | None = None
    keys: Spread[bytes] | None = None


def entry(raw: bytes, route: Route, before: Entry | None = None) -> Entry:
    """Take in a route. Where only its numbers changed it goes on sending as ``before`` did."""
    # Orders other than none need the protocol of a change, which this version does not speak.
    if not obeyed(route) or route.ordering is not Ordering.NONE:
        return Entry(raw, route)
    if before is not None and before.keys is not None and _same_places(before.route, route):
        return Entry(raw, route, before.texts, before.keys)
    # Producers that start together shall not send to the same shard together.
    start = random.randrange(len(route.partitions))  # noqa: S311 - not a secret
    base = route.base_key
    texts = spread(route, route.key, start) if route.key is not None else None
    return Entry(raw, route, texts, spread(route, base, start))


def _same_places(one: Route, other: Route) -> bool:
    return _places_of(one) == _places_of(other)


def _places_of(route: Route) -> tuple[object, ...]:
    return (route.epoch, route.carry, route.suffixes, route.partitions, route.partition_count)


@dataclass(frozen=True, slots=True)
class TopicTable:
    """The look-ups of one topic. ``places`` and ``bases`` are for readers, by base key and by shard."""

    texts: Mapping[str, Spread[str]] = field(default_factory=dict)
    keys: Mapping[bytes, Spread[bytes]] = field(default_factory=dict)
    places: Mapping[bytes, tuple[Place, ...]] = field(default_factory=dict)
    bases: Mapping[bytes, bytes] = field(default_factory=dict)


def table(entries: Iterable[tuple[bytes, Entry]]) -> TopicTable:
    held = list(entries)
    places = {base: found for base, one in held if (found := _places(base, one.route))}
    return TopicTable(
        texts={one.route.key: one.texts for _, one in held if one.texts is not None and one.route.key is not None},
        keys={base: one.keys for base, one in held if one.keys is not None},
        places=places,
        bases={shard: base for base, found in places.items() for shard, _ in found},
    )


def _places(base: bytes, route: Route) -> tuple[Place, ...]:
    """Every shard under which data of ``base`` may lie, the present ones first; none twice.

    Where partitions are given there are none: all of it lies under the key itself.
    """
    found: dict[bytes, int | None] = {}
    if route.carry is Carry.SUFFIX and route.state is not RouteState.PROPOSED:
        # A retired route keeps its suffixes where nothing says until when they are readable.
        found.update((with_suffix(base, suffix), None) for suffix in route.suffixes)
    for earlier in reversed(route.earlier):
        for suffix in earlier.suffixes:
            found.setdefault(with_suffix(base, suffix), earlier.until_ms)
    return tuple(found.items())


@dataclass(slots=True)
class TopicHeld:
    """What is known of one topic: its routes by field, their state's (epoch, version), and signs of life."""

    epoch: int = -1
    version: int = -1
    #: The registry's time when its detector was last heard, and our own clock when that last moved.
    at_ms: int | None = None
    moved_s: float = float("-inf")
    entries: dict[bytes, Entry] = field(default_factory=dict)
    #: An older state that the registry was seen to hold: (epoch, version, time).
    older: tuple[int, int, int] | None = None

    @property
    def obeyed(self) -> bool:
        """Whether producers obey any route of it."""
        return any(one.keys is not None for one in self.entries.values())
