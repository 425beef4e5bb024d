"""A hot key among the loads of its topic, and the terms on which it may be spread.

All loads of one situation are in the same unit: records, bytes, or a rate of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from hotshard.core.planning.score import with_load
from hotshard.core.topic import Carry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.core.partitioners import Partitioner


class HotLoad(NamedTuple):
    """A base key, the upper bound of its load, and its load by partition as measured.

    ``current`` of None: all of it is where the partitioner puts the key. ``largest_sub`` is the part of
    its load, 0 to 1, that its largest sub-unit surely has; None where shards are taken in turn, or nothing is
    known.
    """

    key: bytes
    load: float
    current: Mapping[int, float] | None = None
    largest_sub: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The topic's partitioner, the tolerated imbalance, and the bounds on the shards of a key."""

    partitioner: Partitioner
    eps: float = 0.25
    max_shards: int = 64
    #: A plan has at least so many, if the topic has as many partitions.
    min_shards: int = 1
    #: A second partitioner in the fleet: a plan has only suffixes on which both agree.
    also: Partitioner | None = None
    #: ``partition``: a plan needs no suffixes.
    carry: Carry = Carry.SUFFIX
    #: What one partition takes, in the unit of the loads: a key gets no more shards than have room for it so.
    capacity: float | None = None
    #: A person wants the key split: whether it is worth it is not asked.
    forced: bool = False
    #: A key too small for a split may be moved whole, where it collides with others. See ``worth.worth_moving``.
    moves: bool = False

    @property
    def partitioners(self) -> tuple[Partitioner, ...]:
        """All that must agree on a suffix, the one that is quickest to ask first."""
        both = (self.partitioner,) if self.also is None else (self.partitioner, self.also)
        return tuple(sorted(both, key=lambda each: not each.compiled))


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A hot key, where its load lies, and what the partitions carry without it."""

    key: bytes
    load: float
    current: Mapping[int, float]
    background: Sequence[float]
    terms: Terms
    #: The load of its largest sub-unit, as far as is known.
    sub: float = 0.0

    @property
    def partitions(self) -> int:
        return len(self.background)

    @cached_property
    def total(self) -> float:
        return self.load + sum(self.background)

    @property
    def share(self) -> float:
        return self.load / self.total if self.total else 0.0

    @property
    def mean(self) -> float:
        return self.total / self.partitions

    @property
    def limit(self) -> float:
        """What a partition may carry."""
        return (1 + self.terms.eps) * self.mean

    @cached_property
    def before(self) -> list[float]:
        """What the partitions carry, the key included."""
        return with_load(self.background, self.current)

    @cached_property
    def crest(self) -> float:
        """What the most loaded of the partitions carries on which the key lies."""
        return max((self.before[partition] for partition, part in self.current.items() if part > 0), default=0.0)


def situation(hot: HotLoad, background: Sequence[float], terms: Terms) -> Situation:
    """The situation of ``hot``. A background below nothing, which taking away a bound can give, counts as 0.

    Raises:
        ValueError: the topic has no partitions.

    """
    if not background:
        raise ValueError("there must be at least one partition")
    cleared = tuple(max(0.0, float(each)) for each in background)
    current = places(hot, terms.partitioner, len(cleared))
    sub = hot.load * min(1.0, hot.largest_sub or 0.0)
    return Situation(key=hot.key, load=hot.load, current=current, background=cleared, terms=terms, sub=sub)


def places(hot: HotLoad, partitioner: Partitioner, partitions: int) -> Mapping[int, float]:
    """Where the load of a key lies: as measured, else all of it where the partitioner puts the key."""
    if hot.current is not None:
        return hot.current
    place = partitioner.partition(hot.key, partitions)
    return {} if place is None else {place: hot.load}
