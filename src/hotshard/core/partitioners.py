"""Partitioners: on which partition a client's producer puts a key.

A partitioner is added by a line in the table at the end; its rule for the empty key belongs to it.
"""

from __future__ import annotations

import difflib
import itertools
import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hotshard.core.hashing import fnv1a_32
from hotshard.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_MASK: Final = 0xFFFFFFFF
_M: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C
_SIGN: Final = 1 << 31
#: Keys whose partition is remembered, per partitioner and partition count: about 3 MB at most in ordinary use.
_REMEMBERED: Final = 16_384


@dataclass(frozen=True, slots=True)
class Partitioner:
    """A rule of a producer. Keys are bytes and never null: a null key has no partition in any of them."""

    name: str
    #: The partition of a key that is hashed.
    hashed: Callable[[bytes, int], int]
    #: Whether an empty key is treated as none, and goes anywhere.
    scatters_empty: bool = False
    #: The same for keys that begin alike, of their ends: what they begin with is hashed once.
    hashed_ends: Callable[[bytes, int], Callable[[bytes], int]] | None = None
    #: Whether its hash is computed outside Python, so that it is quicker to ask.
    compiled: bool = False

    def partition(self, key: bytes, partitions: int) -> int | None:
        """Where ``key`` goes among ``partitions``, or None when it has no place of its own."""
        if self.scatters_empty and not key:
            return None
        return self.hashed(key, partitions)

    def partition_of_ends(self, head: bytes, partitions: int) -> Callable[[bytes], int]:
        """Where ``head + end`` goes, as a function of ``end``; ``head`` is not empty. For very many short ends."""
        if self.hashed_ends is not None:
            return self.hashed_ends(head, partitions)
        return lambda end: self.hashed(head + end, partitions)


def murmur2(data: bytes) -> int:
    """MurmurHash2 with the seed of Kafka's Java client (``org.apache.kafka.common.utils.Utils``), unsigned."""
    # As below, in one piece: it is asked of every key where partitions are computed.
    length = len(data)
    words = length >> 2
    hashed = _SEED ^ length
    for word in struct.unpack_from(f"<{words}I", data):
        mixed = word * _M & _MASK
        hashed = (hashed * _M ^ (mixed ^ mixed >> 24) * _M) & _MASK
    if length & 3:
        hashed = (hashed ^ int.from_bytes(data[words << 2 :], "little")) * _M & _MASK
    hashed = (hashed ^ hashed >> 13) * _M & _MASK
    return hashed ^ hashed >> 15


def murmur2_of_ends(head: bytes) -> Callable[[bytes], int]:
    """:func:`murmur2` of ``head + end``, as a function of ``end``."""
    whole = len(head) & ~3
    begin, rest = head[:whole], head[whole:]
    #: By length, which is part of the hash from the beginning on.
    begun: dict[int, int] = {}

    def hashed(end: bytes) -> int:
        length = whole + len(rest) + len(end)
        if length not in begun:
            begun[length] = _mixed(begin, _SEED ^ length)
        last = rest + end
        return _finished(last, _mixed(last, begun[length]))

    return hashed


def _mixed(data: bytes, hashed: int) -> int:
    """Take in the whole words of ``data``."""
    for word in struct.unpack_from(f"<{len(data) >> 2}I", data):
        mixed = word * _M & _MASK
        hashed = (hashed * _M ^ (mixed ^ mixed >> 24) * _M) & _MASK
    return hashed


def _finished(data: bytes, hashed: int) -> int:
    """Take in the bytes of ``data`` after its last whole word, and finish."""
    if len(data) & 3:
        hashed = (hashed ^ int.from_bytes(data[len(data) & ~3 :], "little")) * _M & _MASK
    hashed = (hashed ^ hashed >> 13) * _M & _MASK
    return hashed ^ hashed >> 15


def partitioner(name: str) -> Partitioner:
    """The partitioner of that name, or of that name in librdkafka.

    Raises:
        SettingsError: there is none; the message names those there are and the nearest.

    """
    found = PARTITIONERS.get(ALIASES.get(name, name))
    if found is None:
        known = [*PARTITIONERS, *ALIASES]
        nearest = "".join(f"; did you mean {close}?" for close in difflib.get_close_matches(name, known, n=1))
        raise SettingsError(f"no partitioner is called {name!r}, known are {', '.join(known)}{nearest}")
    return found


@lru_cache(maxsize=64)
def partition_of(name: str, partitions: int) -> Callable[[bytes], int]:
    """A function that gives the partition of a key and remembers many of them; for counting.

    Keys without a place of their own are given partitions in turn, for a producer strews them too.

    Raises:
        SettingsError: no partitioner has that name.
        ValueError: there are no partitions.

    """
    if partitions < 1:
        raise ValueError("there must be at least one partition")
    chosen = partitioner(name)
    remembered = lru_cache(maxsize=_REMEMBERED)(partial(_swapped, chosen.hashed, partitions))
    if not chosen.scatters_empty:
        return remembered
    turn = itertools.count()
    return lambda key: remembered(key) if key else next(turn) % partitions


def _swapped(hashed: Callable[[bytes, int], int], partitions: int, key: bytes) -> int:
    return hashed(key, partitions)


def _java(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def _java_ends(head: bytes, partitions: int) -> Callable[[bytes], int]:
    hashed = murmur2_of_ends(head)
    return lambda end: (hashed(end) & 0x7FFFFFFF) % partitions


def _crc32(key: bytes, partitions: int) -> int:
    return zlib.crc32(key) % partitions


def _crc32_ends(head: bytes, partitions: int) -> Callable[[bytes], int]:
    begun = zlib.crc32(head)
    return lambda end: zlib.crc32(end, begun) % partitions


def _fnv1a(key: bytes, partitions: int) -> int:
    return _unsigned(fnv1a_32(key)) % partitions


def _fnv1a_ends(head: bytes, partitions: int) -> Callable[[bytes], int]:
    begun = fnv1a_32(head)
    return lambda end: _unsigned(fnv1a_32(end, begun)) % partitions


def _unsigned(hashed: int) -> int:
    """A signed number of 32 bits without its sign, as Go's ``%`` and then a negation give the remainder."""
    return hashed if hashed < _SIGN else (1 << 32) - hashed


def _fnv1a_masked(key: bytes, partitions: int) -> int:
    return (fnv1a_32(key) & 0x7FFFFFFF) % partitions


def _fnv1a_masked_ends(head: bytes, partitions: int) -> Callable[[bytes], int]:
    begun = fnv1a_32(head)
    return lambda end: (fnv1a_32(end, begun) & 0x7FFFFFFF) % partitions


#: ``murmur2``: Java, aiokafka, kafka-python, Faust; an empty key is hashed. ``crc32``: librdkafka's
#: ``consistent_random``, its default; an empty key goes to a random partition. ``consistent``: the same
#: with the empty key hashed. ``fnv1a``: librdkafka's, and Sarama's NewHashPartitioner, which it copies
#: with the negation where Java has a mask. ``sarama_reference``: Sarama's NewReferenceHashPartitioner, with
#: the mask. Both hash an empty key.
PARTITIONERS: Final[Mapping[str, Partitioner]] = MappingProxyType(
    {
        each.name: each
        for each in (
            Partitioner("murmur2", _java, hashed_ends=_java_ends),
            Partitioner("crc32", _crc32, scatters_empty=True, hashed_ends=_crc32_ends, compiled=True),
            Partitioner("consistent", _crc32, hashed_ends=_crc32_ends, compiled=True),
            Partitioner("fnv1a", _fnv1a, hashed_ends=_fnv1a_ends),
            Partitioner("sarama_reference", _fnv1a_masked, hashed_ends=_fnv1a_masked_ends),
        )
    }
)

#: Other names of the same rules. librdkafka's ``..._random`` differ from the name without it in null keys alone.
ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "murmur2_random": "murmur2",
        "consistent_random": "crc32",
        "fnv1a_random": "fnv1a",
        "sarama": "fnv1a",
        "sarama_crc32": "consistent",
    }
)
