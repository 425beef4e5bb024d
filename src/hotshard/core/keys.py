"""Keys as they stand on the wire: composed, told apart, given a suffix and freed of it.

The form is a versioned contract: ``tenant U+001F entity``, and for a shard ``tenant U+001F entity
U+001F suffix``, UTF-8. Another separator or another order of the fields would remap every key.
"""

from __future__ import annotations

from typing import AnyStr, Final

from hotshard.core.hashing import fnv1a_32
from hotshard.core.topic import KeyLayout
from hotshard.core.wire.pane import WHOLE_KEY_BYTES
from hotshard.errors import DiscriminatorRequiredError, KeyPartError

SEPARATOR: Final = "\x1f"
_SEPARATOR_BYTE: Final = b"\x1f"
#: No suffix is longer than this many bytes.
MAX_SUFFIX_BYTES: Final = 8
#: Beyond this a key gets no suffix: its shards would no longer travel whole in a pane.
MAX_SUFFIXABLE_BYTES: Final = WHOLE_KEY_BYTES - MAX_SUFFIX_BYTES - len(_SEPARATOR_BYTE)

#: Business parts of a base key, which is how many separators a shard's key has.
_PARTS: Final = {KeyLayout.TENANT_ENTITY: 2, KeyLayout.TENANT: 1, KeyLayout.ENTITY: 1}


def partition_key(tenant: str, entity: str) -> str:
    """The base key of an entity of a tenant.

    Raises:
        KeyPartError: a part is missing, empty, not text, not encodable as UTF-8, or holds U+001F.

    """
    return f"{_part('tenant', tenant)}{SEPARATOR}{_part('entity', entity)}"


def sharded_partition_key(tenant: str, entity: str, *, shard_count: int = 1, discriminator: str | None = None) -> str:
    """The key of the shard that ``discriminator`` belongs to, of an entity spread by hand over ``shard_count`` shards.

    The suffix is FNV-1a 32 of the discriminator in UTF-8, modulo ``shard_count``. With one shard it
    is the base key. The discriminator is only hashed, so it may hold any character.

    Raises:
        KeyPartError: a part is refused as by :func:`partition_key`, or ``shard_count`` is below 1.
        DiscriminatorRequiredError: ``shard_count`` is above 1 and there is no discriminator.

    """
    key = partition_key(tenant, entity)
    _check_count(shard_count)
    if shard_count == 1:
        return key
    if not discriminator:
        raise DiscriminatorRequiredError
    return with_suffix(key, str(fnv1a_32(_text("discriminator", discriminator)) % shard_count))


def base_key(key: AnyStr, layout: KeyLayout = KeyLayout.TENANT_ENTITY) -> AnyStr:
    """``key`` without its suffix; a key without one comes back as it is, and so do bytes that are not UTF-8.

    Pure layout: it takes away whatever follows the business parts, whether a route once put it
    there or not. Text stays text and bytes stay bytes.

    Raises:
        KeyPartError: ``key`` is neither text nor bytes.

    """
    _check_key(key)
    if isinstance(key, str):
        return _head(key, SEPARATOR, _PARTS[layout])
    return _head(key, _SEPARATOR_BYTE, _PARTS[layout]) if _is_utf8(key) else key


def with_suffix(key: AnyStr, suffix: str) -> AnyStr:
    """The key of the shard of ``key`` that ``suffix`` names. Text stays text and bytes stay bytes.

    Raises:
        KeyPartError: the suffix is empty, holds U+001F or is not encodable as UTF-8.

    """
    _part("suffix", suffix)
    if isinstance(key, str):
        return f"{key}{SEPARATOR}{suffix}"
    return b"".join((key, _SEPARATOR_BYTE, suffix.encode()))


def tenant_of(key: bytes, layout: KeyLayout) -> bytes | None:
    """The tenant in a key on the wire, with or without suffix; None where the layout or the key has none."""
    if layout is KeyLayout.ENTITY:
        return None
    head, separator, _ = key.partition(_SEPARATOR_BYTE)
    if not separator and layout is KeyLayout.TENANT_ENTITY:
        return None
    return head or None


def is_binary(key: bytes) -> bool:
    """Whether a key is no text of ours: not UTF-8, or with the zero byte that opens a key of a schema registry."""
    return key.startswith(b"\x00") or not _is_utf8(key)


def is_suffixable(key: bytes, layout: KeyLayout | None = None) -> bool:
    """Whether a base key may be given a suffix: text, not empty, and short enough for its shards to travel whole.

    With a ``layout`` it must also have that form, so that ``base_key`` gives it back.
    """
    if not 0 < len(key) <= MAX_SUFFIXABLE_BYTES or is_binary(key):
        return False
    return layout is None or has_form(key, layout)


def has_form(key: bytes, layout: KeyLayout) -> bool:
    """Whether ``key`` is a base key of ``layout``: all its parts there, none empty, nothing after them."""
    parts = key.split(_SEPARATOR_BYTE)
    return len(parts) == _PARTS[layout] and all(parts)


def _head(key: AnyStr, separator: AnyStr, parts: int) -> AnyStr:
    return separator.join(key.split(separator, parts)[:parts])


def _part(name: str, value: object) -> str:
    text = _text(name, value)
    if not text or SEPARATOR in text:
        raise KeyPartError(f"the {name} is empty or holds U+001F; give it a value without that character")
    return text


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise KeyPartError(f"the {name} is missing or not text; give it as a str")
    if not _encodable(value):
        raise KeyPartError(f"the {name} holds half a surrogate pair and cannot be encoded as UTF-8; repair it")
    return value


def _check_count(shard_count: object) -> None:
    if not isinstance(shard_count, int) or shard_count < 1:
        raise KeyPartError("shard_count must be a whole number of at least 1")


def _check_key(key: object) -> None:
    if not isinstance(key, (str, bytes)):
        raise KeyPartError("a key must be text or bytes")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_utf8(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True
