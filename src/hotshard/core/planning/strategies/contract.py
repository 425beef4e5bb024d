"""What a way of placing records is given, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.planning.situation import Terms


class Ground(NamedTuple):
    """The partition count of a topic, and the terms on which its keys are placed."""

    partitions: int
    terms: Terms


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of records in the order in which they come, as columns; an entry is None where a record has none."""

    keys: Sequence[bytes | None]
    tenants: Sequence[bytes | None]
    #: The partition to which the topic's partitioner sends the key as it is.
    homes: Sequence[int | None]


class Strategy(Protocol):
    """Places a stream, stretch after stretch, and looks at no record before its turn.

    What is learnt of a stretch as a whole holds from the next one on, so a stretch is the pace at
    which a strategy can react.
    """

    def place(self, stretch: Stretch) -> list[int | None]:
        """The partition of every record, one entry each; None for a record that has nothing to be placed by."""
        ...
