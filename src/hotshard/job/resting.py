"""How long deciders rest between two rounds."""

from __future__ import annotations

from typing import Final

#: Least time between two rounds, and the most that is taken between them so that deciding leaves the loop to others.
#: What is heard after a rest is decided on at once, so only what follows on its heels waits.
REST_S: Final = 0.1
MAX_REST_S: Final = 0.25
#: Between two rounds so many times the processor time is left that the deciders took: a 40th of it is theirs, as long
#: as a round takes 6 ms at most; beyond that the longest rest holds, and their part grows.
_LEFT: Final = 40


def rest_s(took_s: float) -> float:
    """How long to rest after a round in which deciders took so much processor time.

    For a few dozen partitions that is the least there is; for many, deciding less often is what keeps it cheap.
    """
    return min(max(REST_S, _LEFT * took_s), MAX_REST_S)
