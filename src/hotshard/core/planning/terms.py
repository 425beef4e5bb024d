"""The terms of a topic: what its settings, its policy and people say about the plans of a key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hotshard.core.partitioners import partitioner
from hotshard.core.planning.situation import Terms

if TYPE_CHECKING:
    from hotshard.core.policy.thresholds import Policy
    from hotshard.core.topic import TopicSpec


def terms_of(spec: TopicSpec, policy: Policy | None = None, *, capacity: float | None = None) -> Terms:
    """The terms of the keys that have ``policy``, the topic's own where there is none.

    ``capacity`` is what one partition takes, in the unit of the loads that plans are made on.

    Raises:
        SettingsError: no partitioner has one of the names of ``spec``.

    """
    policy = policy or spec.policy
    also = None if spec.also_partitioner is None else partitioner(spec.also_partitioner)
    first = partitioner(spec.partitioner)
    return Terms(
        partitioner=first,
        also=None if also is first else also,
        eps=policy.eps,
        min_shards=policy.min_shards,
        max_shards=policy.max_shards,
        carry=spec.carry,
        capacity=capacity,
    )


def pinned(terms: Terms, shards: int) -> Terms:
    """The terms of a key that a person wants split over ``shards``; 0: as many as the plan finds, at least two."""
    if shards:
        return replace(terms, forced=True, min_shards=shards, max_shards=shards, capacity=None)
    return replace(terms, forced=True, min_shards=max(2, terms.min_shards), max_shards=max(2, terms.max_shards))
