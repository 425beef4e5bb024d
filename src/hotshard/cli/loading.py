"""Commands that need an extra say so when it is not installed."""

from __future__ import annotations

import importlib
from typing import Any

from hotshard.errors import MissingExtraError


def from_extra(extra: str, module: str, name: str) -> Any:  # noqa: ANN401 -- whatever stands there
    """``name`` of ``module``, which may import what only the extra installs.

    Raises:
        MissingExtraError: the extra is not installed; the message has the command that does it.

    """
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hotshard"):
            raise
        raise MissingExtraError(
            f"package {error.name} is not installed; this command needs: pip install 'hotshard[{extra}]'"
        ) from error
