"""What the evidence comes to in numbers: how uneven load is, how sure that is, and who makes it so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import sqrt
from typing import TYPE_CHECKING, Final

from hotshard.core.skew import describe_skew

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.causes.evidence import Evidence
    from hotshard.core.skew import Skew

#: A count of records is off by chance by less than so many times its square root (99.9 % of Poisson counts).
CHANCE: Final = 3.0


@dataclass(frozen=True)
class Spread:
    """How a load of so many records lies on the partitions."""

    loads: Sequence[float]
    records: int
    eps: float

    @cached_property
    def skew(self) -> Skew:
        return describe_skew(self.loads)

    @property
    def mean(self) -> float:
        return self.skew.total / len(self.loads) if self.loads else 0.0

    @property
    def limit(self) -> float:
        """What a partition may carry."""
        return (1 + self.eps) * self.mean

    @property
    def excess(self) -> float:
        """What the hottest partition carries above the mean."""
        return self.skew.max - self.mean

    @property
    def is_uneven(self) -> bool:
        return self.skew.max > self.limit

    @property
    def is_surely_uneven(self) -> bool:
        """The hottest partition is above its limit even when chance gave it as much as it may give.

        ``max * (1 - 3 / sqrt(r)) > (1 + eps) * mean``, r being the records that the hottest partition
        has of its load.
        """
        if not self.skew.total:
            return False
        records = self.records * self.skew.max / self.skew.total
        return records > 0 and self.skew.max * (1 - CHANCE / sqrt(records)) > self.limit


@lru_cache(maxsize=8)  # asked by nearly every predicate of one evidence
def keyed(evidence: Evidence) -> Spread:
    """The load of the records that have a key."""
    return Spread(evidence.loads, max(0, evidence.records - evidence.unkeyed), evidence.eps)


def with_unkeyed(evidence: Evidence) -> Spread:
    """The load of all records, as far as it is known where those without a key lie."""
    if not evidence.unkeyed_loads:
        return keyed(evidence)
    loads = [one + other for one, other in zip(evidence.loads, evidence.unkeyed_loads, strict=True)]
    return Spread(loads, evidence.records, evidence.eps)


def explained(evidence: Evidence, names: int) -> float:
    """The part of the hottest partition's excess that its so many heaviest keys make up; 0 without an excess."""
    excess = keyed(evidence).excess
    return sum(load for _, load in evidence.top_of_hottest[:names]) / excess if excess > 0 else 0.0
