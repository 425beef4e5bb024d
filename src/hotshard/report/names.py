"""Keys as a person reads them."""

from __future__ import annotations

from hotshard.core.keys import SEPARATOR


def key_name(key: str | bytes) -> str:
    """Return a key with its parts told apart by a slash, and nothing in it that a terminal would act upon."""
    text = key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else key
    parts = text.split(SEPARATOR)
    return " / ".join("".join(_harmless(character) for character in part) for part in parts)


def _harmless(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]
