"""Where a record goes: the answer of ``route``, and what gives it out for one key."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from hotshard.core.keys import with_suffix
from hotshard.core.planning.shards import shard_of
from hotshard.core.topic import Carry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.wire.route import Route

Headers = tuple[tuple[str, bytes], ...]

BASE_HEADER: Final = "hotshard-base"  #: the base key, where the key got a suffix
EPOCH_HEADER: Final = "hotshard-epoch"  #: ``registry.offset``: the route the record was sent by
FENCE_HEADER: Final = "hotshard-fence"  #: reserved for changes with order

#: Discriminators whose shard is remembered, per key; computing one costs microseconds.
_REMEMBERED: Final = 4096

K_co = TypeVar("K_co", covariant=True)
_Key = TypeVar("_Key", str, bytes)
_Discriminator = TypeVar("_Discriminator", str, bytes)


class Routed(NamedTuple, Generic[K_co]):
    """What to send a record with. ``partition`` of None leaves it to the producer's partitioner.

    The key is of the type that was given; ``headers`` come in addition to the record's own.
    """

    key: K_co
    partition: int | None = None
    headers: Headers = ()


class Spread(Generic[_Key]):
    """The shards of one key: in turn, or by discriminator. Safe in threads without a lock."""

    __slots__ = ("_bytes_places", "_shards", "_text_places", "partition_count", "turn")

    def __init__(self, shards: Sequence[Routed[_Key]], start: int = 0, partition_count: int | None = None) -> None:
        #: The partition count that the shards' partitions are of; None where no partition is given. A suffix
        #: has a place whatever the count, and to give it up would put the whole key on one partition.
        self.partition_count = partition_count
        self._shards: tuple[Routed[_Key], ...] = tuple(shards)
        first = start % len(self._shards)
        #: What gives the next shard, where there is no discriminator: ``next`` of it is atomic.
        self.turn: cycle[Routed[_Key]] = cycle(self._shards[first:] + self._shards[:first])
        # Apart, as text and bytes that look alike would be compared, which `python -bb` forbids.
        self._text_places: dict[str, Routed[_Key]] = {}
        self._bytes_places: dict[bytes, Routed[_Key]] = {}

    def __len__(self) -> int:
        return len(self._shards)

    def pick(self, discriminator: str | bytes | None) -> Routed[_Key]:
        """The next shard, or the one that ``discriminator`` always goes to while this route stands.

        Raises:
            TypeError: the discriminator is neither text nor bytes.

        """
        if discriminator is None:
            return next(self.turn)
        if isinstance(discriminator, str):
            return self._text_places.get(discriminator) or self._place(discriminator, self._text_places)
        if isinstance(discriminator, bytes):
            return self._bytes_places.get(discriminator) or self._place(discriminator, self._bytes_places)
        raise TypeError(f"a discriminator must be str or bytes, not {type(discriminator).__name__}")

    def _place(self, discriminator: _Discriminator, places: dict[_Discriminator, Routed[_Key]]) -> Routed[_Key]:
        shard = self._shards[shard_of(discriminator, len(self._shards))]
        if len(places) >= _REMEMBERED:
            places.clear()
        places[discriminator] = shard
        return shard


def spread(route: Route, key: _Key, start: int) -> Spread[_Key]:
    """What sends records of ``key``, the route's base key as text or bytes, by ``route``."""
    epoch = (EPOCH_HEADER, f"{route.epoch.registry}.{route.epoch.offset}".encode())
    if route.carry is Carry.PARTITION:
        given = [Routed(key, partition, (epoch,)) for partition in route.partitions]
        return Spread(given, start, route.partition_count)
    headers = ((BASE_HEADER, route.base_key), epoch)
    return Spread([Routed(with_suffix(key, suffix), None, headers) for suffix in route.suffixes], start)
