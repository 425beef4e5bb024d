"""Where records of a key lie in production, for a topic whose source is laid out otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.partitioners import partitioner
from hotshard.core.topic import PartitionsFrom
from hotshard.core.wire.pane import is_cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from hotshard.core.topic import TopicSpec


def partition_of_names(spec: TopicSpec, partitions: int) -> Callable[[bytes], int | None] | None:
    """Gives the production partition of a key as it travels, or None: a cut key, or one without a place of its own.

    None instead of a function: the partition is that of the source.
    """
    if spec.partitions_from is PartitionsFrom.SOURCE:
        return None
    place = partitioner(spec.partitioner).partition
    return lambda name: None if is_cut(name) else place(name, partitions)
