"""Suffixes that a topic's own partitioner, or both of a mixed fleet, send where a plan wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.keys import with_suffix
from hotshard.core.topic import Carry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from hotshard.core.planning.situation import Situation

#: Values tried per place that a suffix can take: a given one is missed by all with probability e^-64.
_TRIES_PER_PLACE: Final = 64
#: And never more than this, which takes about half a second; see :func:`reachable`.
_MAX_TRIES: Final = 100_000


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


def _search(now: Situation, missing: Collection[int]) -> dict[int, str]:
    missing, found = set(missing), {}
    for number in range(_tries(now)):
        if not missing:
            break
        suffix = str(number)
        place = _place(now, with_suffix(now.key, suffix), missing)
        if place is not None:
            found[place] = suffix
            missing.discard(place)
    return found


def _tries(now: Situation) -> int:
    places = now.partitions if now.terms.also is None else now.partitions * now.partitions
    return min(_TRIES_PER_PLACE * places, _MAX_TRIES)


def _place(now: Situation, key: bytes, wanted: Collection[int]) -> int | None:
    """The wanted partition on which all partitioners put ``key``; None where there is none."""
    places = _places(now, key)
    first = next(places)
    if first is None or first not in wanted:
        return None  # the others, which may be slow, are not asked
    return first if all(place == first for place in places) else None


def _places(now: Situation, key: bytes) -> Iterator[int | None]:
    return (each.partition(key, now.partitions) for each in now.terms.partitioners)
