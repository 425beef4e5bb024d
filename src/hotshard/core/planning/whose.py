"""Whose partitioner put a key where it was seen: for telling a fleet whose producers disagree.

Beside the partitioners that can be set this knows rules that are found in the wild and are wrong for
Kafka, or are another system's. One key proves little, as a wrong rule meets a partition with
probability 1/n: the more keys a name explains, the surer it is.
"""

from __future__ import annotations

from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hotshard.core.hashing import fnv1a_32
from hotshard.core.partitioners import PARTITIONERS, murmur2

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    Rule = Callable[[bytes, int], int | None]

_WORD: Final = 0xFFFFFFFF
_MASK: Final = 0x7FFFFFFF
#: A fleet of more than so many partitioners is not looked for: so many explain anything.
_MOST_IN_A_FLEET: Final = 2


def java_string_hash(text: str) -> int:
    """Java's ``String.hashCode``: 31-based over UTF-16 units, signed 32 bits."""
    units = text.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        hashed = (31 * hashed + (high << 8 | low)) & _WORD
    return hashed - (1 << 32) if hashed > _MASK else hashed


def _murmur2_unsigned(key: bytes, partitions: int) -> int:
    return murmur2(key) % partitions


def _fnv1a_unsigned(key: bytes, partitions: int) -> int:
    return fnv1a_32(key) % partitions


def _java_floor_mod(key: bytes, partitions: int) -> int | None:
    text = _text(key)
    return None if text is None else java_string_hash(text) % partitions


def _java_masked(key: bytes, partitions: int) -> int | None:
    text = _text(key)
    return None if text is None else (java_string_hash(text) & _MASK) % partitions


def _text(key: bytes) -> str | None:
    try:
        return key.decode()
    except UnicodeDecodeError:
        return None


#: Rules that no setting takes. ``murmur2_unsigned``: ports of Java's partitioner without its mask.
#: ``fnv1a_unsigned``: Sarama with the option of an unsigned hash. ``java_hash_code``: ``floorMod`` of
#: ``String.hashCode``. ``java_hash_code_masked``: the same hash with the sign masked, as Kafka's first producer.
DIAGNOSED: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        "murmur2_unsigned": _murmur2_unsigned,
        "fnv1a_unsigned": _fnv1a_unsigned,
        "java_hash_code": _java_floor_mod,
        "java_hash_code_masked": _java_masked,
    }
)

#: All rules by name, those that can be set first.
RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {**{name: each.partition for name, each in PARTITIONERS.items()}, **DIAGNOSED}
)

#: librdkafka's partitioners without ``_random`` put every record without a key on one partition, as if its
#: key were empty.
NULLS_AS_EMPTY: Final[Mapping[str, Rule]] = MappingProxyType(
    {name: PARTITIONERS[name].hashed for name in ("murmur2", "consistent", "fnv1a")}
)


def explain(key: bytes | None, partitions_seen: Collection[int], partition_count: int) -> dict[int, tuple[str, ...]]:
    """Which rules put ``key`` on each of the partitions it was seen on; an empty tuple where none does.

    A key of None stands for records without one: then it is librdkafka's names that put them all there.

    Raises:
        ValueError: there are no partitions.

    """
    if partition_count < 1:
        raise ValueError("there must be at least one partition")
    rules = NULLS_AS_EMPTY if key is None else RULES
    places = {name: rule(key or b"", partition_count) for name, rule in rules.items()}
    return {seen: tuple(name for name, place in places.items() if place == seen) for seen in partitions_seen}


def agreeing(seen: Mapping[bytes, int], partition_count: int) -> tuple[str, ...]:
    """The rules that put every one of these keys on the partition it was seen on."""
    return tuple(
        name
        for name, rule in RULES.items()
        if seen and all(rule(key, partition_count) == place for key, place in seen.items())
    )


def fleet(scattered: Mapping[bytes, Collection[int]], partition_count: int) -> tuple[str, ...]:
    """The one or two rules that explain every partition of every key; settable names are preferred.

    Empty when no two do: then the hash is unstable, the partition is given by hand, or there are keys
    that only look alike.
    """
    explained = [names for key, places in scattered.items() for names in explain(key, places, partition_count).values()]
    if not explained:
        return ()
    for size in range(1, _MOST_IN_A_FLEET + 1):
        for names in combinations(RULES, size):
            if all(not set(names).isdisjoint(known) for known in explained):
                return names
    return ()
