"""Keys as a person reads them."""

from __future__ import annotations

from hotshard.core.keys import SEPARATOR


def key_name(key: str | bytes) -> str:
    """Return a key with its parts told apart by a slash, and nothing in it that a terminal would act upon."""
    text = key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else key
    parts = text.split(SEPARATOR)
    return " / ".join("".join(_harmless(character) for character in part) for part in parts)


def name_of(key: str | None, key_b64: str | None = None) -> str:
    """Return a name as reports have it: its text, or its base64 where it is none."""
    if key is None:
        return f"base64 {key_b64}" if key_b64 else "(not text)"
    return key_name(key) or "(empty)"


def _harmless(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]
