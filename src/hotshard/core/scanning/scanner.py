"""A stretch of input, from its first record to its last, and what is to be said of it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hotshard.core.slab import Slab
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.scan import ScanReport

WINDOW_MS: Final = 60_000


class By(StrEnum):
    """What a record's partition is computed from, where it is computed."""

    KEY = "key"
    TENANT = "tenant"


class Scanner:
    """Reads slabs once, in bounded memory, by the worker's own code.

    ``spec`` says how a record's key is built, what load is, the partitioner and the policy; ``partitions``
    is the partition count in production. Slabs of one ``(topic, partition)`` must tile its offsets.
    """

    def __init__(self, spec: TopicSpec, partitions: int, *, window_ms: int = WINDOW_MS, by: By = By.KEY) -> None:
        raise NotImplementedError

    def add(self, slab: Slab) -> None:
        """Take in the records that come next.

        Raises:
            UsageError: partitions are to be computed from the tenant, and the records have none.

        """
        raise NotImplementedError

    def finish(self) -> ScanReport:
        """What is so, of all that was added. To be called once."""
        raise NotImplementedError
