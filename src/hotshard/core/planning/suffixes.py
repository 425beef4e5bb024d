"""Suffixes that a topic's own partitioner, or both of a mixed fleet, send where a plan wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.keys import with_suffix
from hotshard.core.topic import Carry

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hotshard.core.planning.situation import Situation

#: Values tried per place that a suffix can take: a given one is missed by all with probability e^-64.
_TRIES_PER_PLACE: Final = 64
#: And never more than this, which takes some tenths of a second; see :func:`reachable`.
_MAX_TRIES: Final = 50_000


def find_suffixes(now: Situation, wanted: Sequence[int]) -> tuple[str, ...] | None:
    """The smallest decimal number for each wanted partition with which the key lands there, in their order.

    Some ``partitions * ln(len(wanted))`` values are tried (Java's murmur2: 0.1 ms for 12 partitions,
    2 ms for 100); where two partitioners must agree, ``partitions`` times as many. None when a partition is
    not reached within a bound on the tries. Without suffixes (``carry`` ``partition``) there is nothing to find.
    """
    if now.terms.carry is Carry.PARTITION:
        return ()
    found = _search(now, set(wanted))
    return tuple(found[place] for place in wanted) if len(found) == len(wanted) else None


def reachable(now: Situation) -> dict[int, str]:
    """Every partition that a suffix was found for within the bound on the tries, with the smallest such number.

    With two partitioners among many partitions that is not every one: of n, about ``n (1 - e^(-tries/n^2))``.
    """
    return _search(now, set(range(now.partitions)))


def _search(now: Situation, wanted: Collection[int]) -> dict[int, str]:
    missing, found = set(wanted), dict[int, str]()
    head = with_suffix(now.key, "0")[:-1]
    first, *others = (each.partition_of_ends(head, now.partitions) for each in now.terms.partitioners)
    for number in range(_tries(now)):
        if not missing:
            break
        end = b"%d" % number
        place = first(end)
        # The others, which may be slow, are asked of few.
        if place in missing and all(other(end) == place for other in others):
            found[place] = end.decode()
            missing.discard(place)
    return found


def _tries(now: Situation) -> int:
    places = now.partitions if now.terms.also is None else now.partitions * now.partitions
    return min(_TRIES_PER_PLACE * places, _MAX_TRIES)
