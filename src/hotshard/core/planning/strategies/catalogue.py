"""All ways of placing records by name, in the order in which they are told."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hotshard.core.planning.strategies.choices import DChoices, WChoices
from hotshard.core.planning.strategies.hashed import HashedSuffixes
from hotshard.core.planning.strategies.pkg import PartialKeyGrouping
from hotshard.core.planning.strategies.placed import Placed
from hotshard.core.planning.strategies.plain import HashByKey, HashByTenant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hotshard.core.planning.strategies.contract import Ground, Strategy

STRATEGIES: Final[Mapping[str, Callable[[Ground], Strategy]]] = MappingProxyType(
    {
        "tenant": HashByTenant,
        "key": HashByKey,
        "hashed": HashedSuffixes,
        "placed": Placed,
        "pkg": PartialKeyGrouping,
        "d-choices": DChoices,
        "w-choices": WChoices,
    }
)
