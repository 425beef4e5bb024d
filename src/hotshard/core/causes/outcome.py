"""What a treatment would come to: the imbalance after it, computed from the loads as measured.

Every function answers None where the evidence does not tell.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from hotshard.core.causes.measures import keyed
from hotshard.core.partitioners import partitioner
from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.score import imbalance, with_load, without_load
from hotshard.core.planning.situation import HotLoad, Terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.causes.evidence import Evidence, HotName
    from hotshard.core.planning.verdict import Plan, Refusal


def load_of(name: HotName) -> float:
    """The middle of its bounds."""
    return (name.lower + name.upper) / 2


def placed(evidence: Evidence, name: HotName) -> Mapping[int, float]:
    """Its load by partition, none of it more than the partition has; empty where it is not known where it lies."""
    known: tuple[tuple[int, float], ...] = name.by_partition or tuple(
        (each, load_of(name)) for each in name.partitions[:1]
    )
    return {place: min(load, evidence.loads[place]) for place, load in known if 0 <= place < evidence.partitions}


def crest_of(evidence: Evidence, name: HotName) -> float | None:
    """What the most loaded of its partitions carries."""
    places = placed(evidence, name) or dict.fromkeys(each for each in name.partitions if each < evidence.partitions)
    return max((evidence.loads[place] for place in places), default=None)


@lru_cache(maxsize=8)  # asked by several predicates of one evidence; a plan of 1,000 partitions takes 10 ms
def split(evidence: Evidence, name: HotName) -> Plan | Refusal:
    """The plan that would be made for it, or why there would be none."""
    current = placed(evidence, name)
    terms = name.terms or Terms(partitioner=partitioner(evidence.partitioner), eps=evidence.eps)
    hot = HotLoad(name.name, sum(current.values()) or load_of(name), current or None, name.largest_sub)
    return plan_split(hot, without_load(evidence.loads, current), terms)


def room_for(evidence: Evidence, name: HotName) -> float:
    """How much more than the others' load the least loaded partition may carry."""
    eps = evidence.eps if name.terms is None else name.terms.eps
    return (1 + eps) * keyed(evidence).mean - min(without_load(evidence.loads, placed(evidence, name)))


def capacity(evidence: Evidence, name: HotName) -> float | None:
    """What a partition takes in this stretch, in the unit of its load; None where that is not known."""
    if name.terms is not None:
        return name.terms.capacity
    return None if evidence.capacity_per_s is None else evidence.capacity_per_s * (evidence.span_s or 0.0) or None


def after_isolating(evidence: Evidence, name: HotName) -> float | None:
    """What the fullest partition carries when it has gone to a topic of its own, in means of now.

    Measured with the mean of what is left it could only read as worse: that falls with what has gone.
    """
    current, mean = placed(evidence, name), keyed(evidence).mean
    return max(without_load(evidence.loads, current)) / mean if current and mean else None


def after_spreading(evidence: Evidence, name: HotName) -> float | None:
    """The imbalance when its keys are so fine that its load lies evenly: the best that another key can do."""
    current = placed(evidence, name)
    if not current:
        return None
    even = sum(current.values()) / evidence.partitions
    return imbalance(with_load(without_load(evidence.loads, current), dict.fromkeys(range(evidence.partitions), even)))


def bearable(evidence: Evidence, name: HotName) -> float | None:
    """The load of it with which no partition it lies on is above ``1 + eps`` times the mean, others being as they are.

    With b the load of others, x its own, B and X their sums, and s the part of it that is let through:
    ``b_p + s x_p <= (1 + eps) (B + s X) / n`` for every p where it weighs more than others. None where
    nothing of it could be let through, or all of it can.
    """
    current = placed(evidence, name)
    others = without_load(evidence.loads, current)
    own = sum(current.values())
    limit = (1 + evidence.eps) / evidence.partitions
    parts = [
        (limit * sum(others) - others[place]) / weight
        for place, load in current.items()
        if (weight := load - limit * own) > 0
    ]
    part = min(parts, default=1.0)
    return part * own if 0 < part < 1 else None


def after_limiting(evidence: Evidence, name: HotName, load: float) -> float | None:
    """The imbalance when so much of its load is let through."""
    current = placed(evidence, name)
    own = sum(current.values())
    if not own:
        return None
    left = {place: part * min(1.0, load / own) for place, part in current.items()}
    return imbalance(with_load(without_load(evidence.loads, current), left))


def own_partitions(evidence: Evidence, name: HotName) -> int:
    """How many partitions it would fill if it had its own, each as loaded as the mean is now."""
    mean = keyed(evidence).mean
    return max(1, -int(-load_of(name) // mean)) if mean else 1
