"""Secrets do not leave the process in words: they are masked wherever settings are shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from hotshard.settings.kinds import RedisUrl, Value

if TYPE_CHECKING:
    from hotshard.settings.setting import Setting

MASK: Final = "********"
_V = TypeVar("_V", bound=Value)

#: ``user:password@``, with or without a scheme, up to the last ``@``: a password may be written unquoted by mistake.
_IN_LOGIN: Final = re.compile(r"^((?:[^:/?#@]*://)?[^:@]*):.*@", re.DOTALL)
#: ``password=`` among the options of a URL.
_IN_OPTIONS: Final = re.compile(r"([?&][^=&#]*password=)[^&#]*", re.IGNORECASE)


def masked(setting: Setting, value: _V) -> _V | str:
    """``value`` as it may be shown."""
    if setting.secret:
        return MASK if value else value
    if isinstance(setting.kind, RedisUrl) and isinstance(value, str):
        return masked_url(value)
    return value


def masked_url(url: str) -> str:
    return _IN_OPTIONS.sub(rf"\1{MASK}", _IN_LOGIN.sub(rf"\1:{MASK}@", url))
