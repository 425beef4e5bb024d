"""Which shard of a plan a sub-unit belongs to."""

from __future__ import annotations

from hotshard.core.hashing import fnv1a_64, jump_hash


def shard_of(discriminator: str | bytes, shards: int) -> int:
    """The number, from 0 to ``shards - 1``, of the shard of a discriminator.

    Jump consistent hashing on FNV-1a 64 over UTF-8: a plan that grows from s to s + 1 shards moves
    1/(s + 1) of the sub-units, all of them to the new shard.

    Raises:
        ValueError: there are no shards.

    """
    return jump_hash(fnv1a_64(discriminator), shards)
