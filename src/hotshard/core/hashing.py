"""Hashes that every client, in any language, can compute: over bytes, text being taken as UTF-8.

Never the language's own ``hash()``, which differs between processes.
"""

from __future__ import annotations

from typing import Final

_MASK_32: Final = 0xFFFFFFFF
_MASK_64: Final = 0xFFFFFFFFFFFFFFFF


def fnv1a_32(data: str | bytes, begun: int = 0x811C9DC5) -> int:
    """FNV-1a in 32 bits (Fowler, Noll and Vo; draft-eastlake-fnv); ``begun`` is the hash of what comes before."""
    hashed = begun
    for byte in _octets(data):
        hashed = (hashed ^ byte) * 0x01000193 & _MASK_32
    return hashed


def fnv1a_64(data: str | bytes) -> int:
    """FNV-1a in 64 bits (Fowler, Noll and Vo; draft-eastlake-fnv)."""
    hashed = 0xCBF29CE484222325
    for byte in _octets(data):
        hashed = (hashed ^ byte) * 0x100000001B3 & _MASK_64
    return hashed


def jump_hash(key: int, buckets: int) -> int:
    """The bucket, from 0 to ``buckets - 1``, of a 64-bit key; one bucket more moves 1/(buckets + 1) of the keys.

    Jump consistent hashing: Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm",
    arXiv 1406.2294. Only the low 64 bits of ``key`` count.

    Raises:
        ValueError: there are no buckets.

    """
    if buckets < 1:
        raise ValueError("there must be at least one bucket")
    bucket, following = -1, 0
    while following < buckets:
        bucket = following
        key = key * 2862933555777941757 + 1 & _MASK_64
        following = int((bucket + 1) * (float(1 << 31) / float((key >> 33) + 1)))
    return bucket


def _octets(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data
