"""Telling the allocator to keep what was freed."""

from __future__ import annotations

import platform
from types import SimpleNamespace

import pytest

from hotshard.job.transport.allocator import KEPT_BYTES, keep_freed_memory


class Library:
    """A C library that notes what it is told."""

    def __init__(self, answer: int = 1) -> None:
        self.told: dict[int, int] = {}
        self._answer = answer

    def mallopt(self, parameter: int, value: int) -> int:
        self.told[parameter] = value
        return self._answer


def test_up_to_128_mb_are_kept() -> None:
    library = Library()
    assert keep_freed_memory({}, library)
    assert library.told[-1] == KEPT_BYTES == 134_217_728


@pytest.mark.parametrize(
    "name", ["MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"]
)
def test_what_the_environment_says_stands(name: str) -> None:
    library = Library()
    assert not keep_freed_memory({name: "1"}, library)
    assert library.told == {}


def test_a_library_without_it_or_that_refuses_changes_nothing() -> None:
    assert not keep_freed_memory({}, SimpleNamespace())
    assert not keep_freed_memory({}, Library(answer=0))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only the GNU C library has mallopt")
def test_the_gnu_c_library_does_as_it_is_told() -> None:
    assert keep_freed_memory({})
