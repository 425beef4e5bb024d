"""A key as a person gives it on the command line, and as it is given back to be pasted."""

from __future__ import annotations

import base64
import binascii
import re
import shlex
from typing import TYPE_CHECKING, Final

from hotshard.core.keys import SEPARATOR
from hotshard.core.wire.names import key_text
from hotshard.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

HELP: Final = (
    r"TENANT ENTITY; or the key as one word, with \x1f for U+001F and \\ for a backslash "
    r"(also \t \n \r \xHH \uHHHH \UHHHHHHHH)"
)

_NAMED: Final = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r"}
_ESCAPE: Final = re.compile(r"\\(?:([\\tnr])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|)")


def key_of(words: Sequence[str], *, in_base64: bool) -> bytes:
    r"""The key that these words stand for.

    Two words are tenant and entity; a slash between them, as keys are shown, does no harm. One word is the
    key itself, in which ``\x1f`` stands for U+001F; with ``in_base64`` it is the key's bytes.

    Raises:
        UsageError: too many words, an escape or base64 that is none, an empty part.

    """
    parts = [words[0], words[2]] if len(words) == 3 and words[1] == "/" else list(words)
    if len(parts) > 2 or (in_base64 and len(parts) > 1):
        raise UsageError("a key is one word, or TENANT ENTITY; quote what holds spaces")
    if in_base64:
        return _from_base64(parts[0])
    if not all(parts):
        raise UsageError("a key, a tenant or an entity is not empty")
    try:
        return SEPARATOR.join(_unescaped(part) for part in parts).encode()
    except UnicodeEncodeError:
        raise UsageError("the key is no UTF-8; give its bytes with --base64") from None


def pasteable(key: bytes) -> str:
    """The words of a command line that stand for ``key``, quoted for a shell."""
    text, b64 = key_text(key)
    if text is None:
        return f"--base64 {shlex.quote(b64 or '')}"
    parts = text.split(SEPARATOR)
    words = parts if len(parts) == 2 and all(parts) else [text]
    dashes = "-- " if any(word.startswith("-") for word in words) else ""
    return dashes + " ".join(shlex.quote(_escaped(word)) for word in words)


def _from_base64(word: str) -> bytes:
    try:
        key = base64.b64decode(word, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError(f"{word!r} is no base64") from None
    if not key:
        raise UsageError("a key is not empty")
    return key


def _unescaped(word: str) -> str:
    return _ESCAPE.sub(_character, word)


def _character(match: re.Match[str]) -> str:
    named, *codes = match.groups()
    if named is not None:
        return _NAMED[named]
    code = next((each for each in codes if each is not None), None)
    if code is None or int(code, 16) > 0x10FFFF:
        raise UsageError(rf"a backslash in a key is written \\ ({match.string!r})")
    return chr(int(code, 16))


def _escaped(word: str) -> str:
    return "".join(
        character if character.isprintable() and character != "\\" else _escape(character) for character in word
    )


def _escape(character: str) -> str:
    return "\\\\" if character == "\\" else ascii(character)[1:-1]
