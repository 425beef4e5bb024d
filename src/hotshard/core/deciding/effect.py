"""Did a plan help: the load that its partitions carry, held against what the plan promised. Pure.

A plan is given :data:`SHOW_S` to be heard of and its old records to be read, and is then looked at in each
closed window; only what is so in :data:`WINDOWS` of them on end is told, once for each plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.core.causes.measures import CHANCE
from hotshard.core.keys import with_suffix
from hotshard.core.planning.score import imbalance
from hotshard.core.topic import Carry
from hotshard.core.wire.route import Epoch, RouteState, Treatment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hotshard.core.wire.route import Route

#: A window that begins earlier than this after a plan was given says nothing of it.
SHOW_S: Final = 20.0
WINDOWS: Final = 3
#: A plan helped when so much of what it promised came true.
_ENOUGH: Final = 0.5
#: Something is the reason when it makes up so much of what is too much.
_EXPLAINS: Final = 0.5
#: A plan is not followed while more than so much of the key's load lies where it lay.
_MOST_OF_IT: Final = 0.5


class EffectMemory(msgspec.Struct, frozen=True, array_like=True):
    """How often in a row a plan has not helped, and whether that was told."""

    key: bytes
    epoch: Epoch
    windows: int = 0
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InWindow:
    """One window, as far as it concerns a plan. Loads are estimates but for ``loads``, which are exact."""

    start_ms: int
    end_ms: int
    #: Load of keyed records by production partition, one entry each, and how many records that is.
    loads: Sequence[float]
    records: int
    #: Load by partition of every key on the wire that belongs to the plan's base key.
    wires: Mapping[bytes, Mapping[int, float]]
    completeness: float = 1.0

    @property
    def mean(self) -> float:
        return sum(self.loads) / len(self.loads) if self.loads else 0.0

    def of(self, wire: bytes, partition: int) -> float:
        return self.wires.get(wire, {}).get(partition, 0.0)

    @property
    def load(self) -> float:
        """What the key has under all its names."""
        return sum(sum(places.values()) for places in self.wires.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What became of a plan in one window; ``reason`` is None where it helped."""

    promised: float
    measured: float
    reason: str | None
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Missed:
    """A plan that did not keep what it promised, on the partition where that shows most."""

    route: Route
    seen: InWindow
    home: int | None
    worst: int
    #: The load on it above what was promised.
    too_much: float

    def explains(self, load: float) -> bool:
        return load >= _EXPLAINS * self.too_much

    @property
    def left_at_home(self) -> float:
        """Load of the key where it lay before the plan, beyond what the plan sends there."""
        if self.home is None:
            return 0.0
        base, shards = self.route.base_key, self.route.partitions
        here = self.seen.of(base, self.home)
        by_plan = self.seen.load / len(shards) if self.route.carry is Carry.PARTITION and self.home in shards else 0.0
        return max(0.0, here - by_plan)

    @property
    def shard_surplus(self) -> float:
        """Load of the shard on the worst partition beyond an equal part."""
        route = self.route
        if self.worst not in route.partitions:
            return 0.0
        shard = route.base_key
        if route.carry is Carry.SUFFIX:
            shard = with_suffix(shard, route.suffixes[route.partitions.index(self.worst)])
        return self.seen.of(shard, self.worst) - self.seen.load / len(route.partitions)


def producers_are_without_the_library(missed: _Missed) -> bool:
    """What still goes out under the base key is half of what is too much on its old partition, or of all the key has.

    The latter also where another of its partitions has come to be fuller: first of all nobody follows the plan.
    """
    if missed.left_at_home > _MOST_OF_IT * missed.seen.load:
        return True
    return missed.worst == missed.home and missed.explains(missed.left_at_home)


def discriminator_is_skewed(missed: _Missed) -> bool:
    """One shard is so much larger than an equal part that this is half of what is too much."""
    return missed.explains(missed.shard_surplus)


def tenant_leaks(missed: _Missed) -> bool:
    """What was isolated is still there."""
    return missed.route.treatment is Treatment.ISOLATE and missed.seen.load > 0


def load_grew(missed: _Missed) -> bool:
    """The key has so much more load than when it was planned that its equal parts are too much."""
    return missed.route.upper > 0 and missed.explains(
        (missed.seen.load - missed.route.share * sum(missed.seen.loads)) / max(1, len(missed.route.partitions))
    )


def others_crowd_it(missed: _Missed) -> bool:
    """Others make up half of what is too much on the worst partition."""
    own = sum(places.get(missed.worst, 0.0) for places in missed.seen.wires.values())
    return missed.explains(missed.seen.loads[missed.worst] - own - missed.seen.mean)


#: Reasons in the order in which they are asked, with a phrase each.
REASONS: Final[Mapping[str, tuple[Callable[[_Missed], bool], str]]] = {
    "tenant_leaks": (tenant_leaks, "its records still come to this topic: some producer does not isolate it"),
    "producers_without_library": (
        producers_are_without_the_library,
        "records still go out under its base key: some producer does not use the library, or does not hear of plans",
    ),
    "skewed_discriminator": (
        discriminator_is_skewed,
        "one of its shards has far more than its part: its discriminator is skewed, so split by a finer one",
    ),
    "load_grew": (load_grew, "its load has grown since it was planned"),
    "others_crowd_it": (others_crowd_it, "other keys have come to crowd its partitions"),
    "unexplained": (lambda _: True, "it is not known why"),
}


def promise(route: Route) -> tuple[float | None, float | None]:
    """The load of the fullest partition over the mean, as it was and as the plan would have it.

    Of the key's own partitions: while another key has a partition as full, all partitions together show nothing.
    """
    if route.own_before is None or route.own_after is None:
        return route.imbalance_before, route.imbalance_after
    return route.own_before, route.own_after


def effect(route: Route, seen: InWindow, home: int | None, least_share: float) -> Effect | None:
    """What a plan came to in a window; None where the window says nothing of it.

    ``home`` is the partition of the base key without a plan, ``least_share`` the share of the load from which
    on the key is worth a plan at all. Measured is the fullest of the partitions that the key lies on, over
    the mean; a plan helped when half of the promised relief is there, chance allowed for.
    """
    before, promised = promise(route)
    if route.state is not RouteState.ACTIVE or before is None or promised is None or not seen.mean:
        return None
    if seen.start_ms < route.changed_ms + SHOW_S * 1000 or seen.completeness < 1:
        return None
    if seen.load < least_share * sum(seen.loads) or len(seen.loads) != route.partition_count:
        return None
    places = {*route.partitions, *(() if home is None else (home,))}
    worst = max(sorted(places), key=lambda place: seen.loads[place])
    measured = seen.loads[worst] / seen.mean
    numbers = {
        "imbalance": imbalance(seen.loads),
        "worst_partition": float(worst),
        "key_share": seen.load / sum(seen.loads),
    }
    if _helped(before, promised, measured, seen.records * seen.loads[worst] / sum(seen.loads)):
        return Effect(promised=promised, measured=measured, reason=None, numbers=numbers)
    missed = _Missed(route=route, seen=seen, home=home, worst=worst, too_much=seen.loads[worst] - promised * seen.mean)
    numbers |= {
        "base_share": missed.left_at_home / seen.load if seen.load else 0.0,
        "shard_surplus_share": missed.shard_surplus / seen.load if seen.load else 0.0,
    }
    reason = next(name for name, (holds, _) in REASONS.items() if holds(missed))
    return Effect(promised=promised, measured=measured, reason=reason, numbers=numbers)


def _helped(before: float, promised: float, measured: float, records: float) -> bool:
    by_chance = CHANCE / sqrt(records) if records > 0 else 1.0
    return measured * (1 - by_chance) <= promised or before - measured >= _ENOUGH * (before - promised)


def remembered(memory: EffectMemory | None, route: Route, found: Effect | None) -> EffectMemory:
    """What is remembered after a window; a window that says nothing changes nothing."""
    if memory is None or memory.epoch != route.epoch:
        memory = EffectMemory(key=route.base_key, epoch=route.epoch)
    if found is None:
        return memory
    return msgspec.structs.replace(memory, windows=memory.windows + 1 if found.reason is not None else 0)


def is_to_be_told(memory: EffectMemory) -> bool:
    """Whether it is so for long enough, and has not been told of this plan."""
    return memory.windows >= WINDOWS and not memory.told
