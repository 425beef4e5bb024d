"""The names of the ways of placing records, in the order in which they are told, and what each does."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

#: One entry for each in ``catalogue.STRATEGIES``.
POLICIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tenant": "plain hash of the tenant",
        "key": "plain hash of the key",
        "hashed": "hot keys with suffixes 0 to s-1, which are hashed",
        "placed": "hot keys where hotshard's plans put them",
        "pkg": "Partial Key Grouping: two partitions for every key",
        "d-choices": "D-Choices: more partitions for heavy keys, all as many",
        "w-choices": "W-Choices: all partitions for heavy keys",
    }
)
