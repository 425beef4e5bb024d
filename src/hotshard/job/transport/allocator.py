"""Freed memory is kept for the next fetch, instead of being given back and asked for again a moment later."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# Numbers of mallopt(3), of the GNU C library.
_M_TRIM_THRESHOLD: Final = -1
_M_TOP_PAD: Final = -2
_M_MMAP_THRESHOLD: Final = -3
#: So much at the end of the heap is kept at most, and so much is asked for at a time.
KEPT_BYTES: Final = 128 << 20
_AT_ONCE_BYTES: Final = 16 << 20
#: Blocks from this size on are mapped, and given back, one by one. It is the most that every version takes.
_MAPPED_BYTES: Final = 32 << 20
#: By these its user has decided already.
_DECIDED_BY: Final = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory(environment: Mapping[str, str] = os.environ, library: Any = None) -> bool:  # noqa: ANN401 - ctypes
    """Tell the C library's allocator, for the whole process; False where it has no such thing, or is told otherwise.

    A fetch of large values takes megabytes and frees them. Given back each time, they come as new pages: faults and
    zeroing were a fifth of the time at values of 1 KB.
    """
    if any(name in environment for name in _DECIDED_BY):
        return False
    try:
        mallopt = (ctypes.CDLL(None) if library is None else library).mallopt
    except (OSError, AttributeError, TypeError):
        return False  # not the GNU C library
    # The last first: to set either of the others alone pins it where it is, which is far too low.
    told = ((_M_MMAP_THRESHOLD, _MAPPED_BYTES), (_M_TRIM_THRESHOLD, KEPT_BYTES), (_M_TOP_PAD, _AT_ONCE_BYTES))
    return all(mallopt(parameter, value) for parameter, value in told)
