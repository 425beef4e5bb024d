"""What a count surely says of the traffic it is a sample of."""

from __future__ import annotations

import math
from typing import Final

#: Standard deviations allowed for. A scan tests hundreds of names in each of hundreds of windows, and at three
#: one in 740 that is not hot would pass for it; at five one in 3.5 million.
SIGMAS: Final = 5.0


def beyond_chance(load: int, mean_record: float = 1.0, largest_record: int = 1) -> int:
    """The least load that a name would have on the average, where it was seen to have ``load``; 0 or more.

    ``load - 5 * sqrt(load * mean_record)``: records come by chance (Poisson), and each carries ``mean_record``
    (1 where load is records). A few records much larger than others so count as many of the mean, as it is
    their load that is heavy; but what one record can bring says nothing of a next one, so it is never more than
    what is left without ``largest_record``.
    """
    left = load - largest_record
    return max(0, min(left, math.floor(load - SIGMAS * math.sqrt(load * mean_record)))) if left > 0 else 0
