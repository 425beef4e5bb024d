"""Values as they come: a slab stays a slab, bytes stay bytes."""

from __future__ import annotations

from typing import Any

import faust


class AsIs(faust.Schema):  # type: ignore[type-arg]  # Faust's generic has no use here
    """Faust's schema that decodes nothing, so that nothing can fail in decoding."""

    def loads_key(self, app: Any, message: Any, **_: Any) -> Any:  # noqa: ANN401, ARG002 - Faust's signature
        return message.key

    def loads_value(self, app: Any, message: Any, **_: Any) -> Any:  # noqa: ANN401, ARG002 - Faust's signature
        return message.value
