"""Suffixes that a topic's own partitioner sends where a plan wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.keys import with_suffix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.planning.situation import Situation

#: Values tried per partition of the topic: with a hash, a given partition is missed by all with probability e^-64.
_TRIES_PER_PARTITION: Final = 64


def find_suffixes(now: Situation, wanted: Sequence[int]) -> tuple[str, ...] | None:
    """The smallest decimal number for each wanted partition with which the key lands there, in their order.

    Some ``partitions * ln(len(wanted))`` values are tried (Java's murmur2: 0.1 ms for 12 partitions,
    2 ms for 100). None when a partition is not reached within a bound on the tries.
    """
    found: dict[int, str] = {}
    missing = set(wanted)
    for number in range(_TRIES_PER_PARTITION * now.partitions):
        if not missing:
            break
        suffix = str(number)
        place = now.terms.partitioner.partition(with_suffix(now.key, suffix), now.partitions)
        if place in missing:
            found[place] = suffix
            missing.discard(place)
    return None if missing else tuple(found[place] for place in wanted)
