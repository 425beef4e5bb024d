"""How a key is written where it must be text: as itself when it is UTF-8, else in base64 beside a null."""

from __future__ import annotations

import base64
import binascii

from hotshard.errors import WireError


def key_text(key: bytes) -> tuple[str | None, str | None]:
    """The pair ``(key, key_b64)`` of which exactly one is not None."""
    try:
        return key.decode(), None
    except UnicodeDecodeError:
        return None, base64.b64encode(key).decode("ascii")


def key_bytes(key: str | None, key_b64: str | None) -> bytes:
    """The bytes of a pair made by :func:`key_text`.

    Raises:
        WireError: both or neither is given, or the base64 or the text is damaged.

    """
    if (key is None) == (key_b64 is None):
        raise WireError("exactly one of key and key_b64 must be given")
    try:
        return key.encode() if key is not None else base64.b64decode(key_b64 or "", validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        raise WireError("damaged key") from None
