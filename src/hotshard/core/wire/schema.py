"""JSON Schema of what others read: events, reports, and the registry's entries, made from the types."""

from __future__ import annotations

import difflib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from hotshard.core.wire.event import Event
from hotshard.core.wire.report import WindowReport
from hotshard.core.wire.route import HotEntry, Route
from hotshard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

#: What has a schema, by the name it is asked for.
NAMES: Final[Mapping[str, type[msgspec.Struct]]] = MappingProxyType(
    {"event": Event, "report": WindowReport, "route": Route, "hot": HotEntry}
)


def schema_of(name: str) -> dict[str, Any]:
    """The schema of one of :data:`NAMES`.

    Raises:
        UsageError: there is none of that name; the message names the nearest.

    """
    if name not in NAMES:
        near = "".join(f"; did you mean {close}?" for close in difflib.get_close_matches(name, NAMES, n=1))
        raise UsageError(f"no schema is called {name!r}, there are {', '.join(NAMES)}{near}")
    return {"$schema": DIALECT, **msgspec.json.schema(NAMES[name], ref_template="#/$defs/{name}")}


def all_schemas() -> dict[str, Any]:
    """One document that takes any of them; each stands in ``$defs`` under the name of its type."""
    roots, definitions = msgspec.json.schema_components(NAMES.values(), ref_template="#/$defs/{name}")
    return {"$schema": DIALECT, "title": "hotshard", "anyOf": list(roots), "$defs": definitions}
