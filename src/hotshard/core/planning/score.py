"""What a plan is scored by: how uneven the partitions are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def imbalance(loads: Sequence[float]) -> float:
    """The largest load over the mean: 1 when even, ``len(loads)`` when one partition has everything.

    1 also where there is no load at all.
    """
    total = sum(loads)
    return max(loads) * len(loads) / total if total else 1.0


def with_load(background: Sequence[float], load: Mapping[int, float]) -> list[float]:
    """Loads by partition after ``load`` has been added; the background is left as it is."""
    loads = [float(each) for each in background]
    for partition, part in load.items():
        loads[partition] += part
    return loads


def without_load(loads: Sequence[float], load: Mapping[int, float]) -> list[float]:
    """Loads by partition after ``load`` has been taken away; none falls below 0."""
    return [max(0.0, each - load.get(partition, 0.0)) for partition, each in enumerate(loads)]


def spread(load: float, partitions: Iterable[int]) -> dict[int, float]:
    """``load`` in equal parts over distinct partitions."""
    places = tuple(partitions)
    return {partition: load / len(places) for partition in places}
