"""Kinds of values by which people say what is to be done about a key or a tenant, whatever is measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hotshard.core.topic import Pin
from hotshard.settings.kinds import Value, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

NEVER: Final = "never"
AUTO: Final = "auto"
_MOST_SHARDS: Final = 10_000
_PIN: Final = f'a whole number of shards from 2 to {_MOST_SHARDS}, "{AUTO}" (split as planned) or "{NEVER}"'


def pin_of(word: int | str) -> Pin:
    """The pin that a checked word stands for."""
    if word == NEVER:
        return Pin(None)
    return Pin(0 if word == AUTO else int(word))


@dataclass(frozen=True, slots=True)
class PinWord:
    """One pin: how many shards, or a word."""

    wants = _PIN

    def check(self, value: object) -> Value:
        return _pin(value)

    def read(self, text: str) -> Value:
        return _pin(_read_word(text.strip()))


@dataclass(frozen=True, slots=True)
class Pins:
    """Pins by the name they are for. As one text: ``NAME=PIN,NAME=PIN``, or a JSON object where names have commas."""

    what: str

    @property
    def wants(self) -> str:
        return f"a table of {self.what}, each with {_PIN}"

    def check(self, value: object) -> Value:
        if not isinstance(value, dict):
            raise ValueError(f"is not {self.wants}")  # noqa: TRY004 -- a wrong setting is one kind of error
        return {_name(name, self.what): _pin_for(name, pin) for name, pin in value.items()}

    def read(self, text: str) -> Value:
        if text.strip().startswith("{"):
            return self.check(_json(text, self.wants))
        pairs = [each.rpartition("=") for each in text.split(",") if each.strip()]
        if any(not equals for _, equals, _ in pairs):
            raise ValueError(f"is not NAME=PIN,NAME=PIN: {self.wants}")
        return self.check({unescaped(name.strip()): _read_word(pin.strip()) for name, _, pin in pairs})


@dataclass(frozen=True, slots=True)
class Names:
    """A list of names. As one text they are separated by commas, or a JSON list."""

    what: str

    @property
    def wants(self) -> str:
        return f"a list of {self.what}"

    def check(self, value: object) -> Value:
        if not isinstance(value, list):
            raise ValueError(f"is not {self.wants}")  # noqa: TRY004 -- see above
        return tuple(_name(each, self.what) for each in value)

    def read(self, text: str) -> Value:
        if text.strip().startswith("["):
            return self.check(_json(text, self.wants))
        return self.check([unescaped(each.strip()) for each in text.split(",") if each.strip()])


def unescaped(text: str) -> str:
    """The separator of keys may be written as TOML and JSON write it."""
    return text.replace("\\u001f", "\x1f").replace("\\u001F", "\x1f")


def pins_of(pins: Mapping[str, int | str], deny: tuple[str, ...] = ()) -> dict[str, Pin]:
    """The pins of keys; one that is denied is never touched.

    Raises:
        ValueError: a denied key has another pin.

    """
    for key in deny:
        if pins.get(key, NEVER) != NEVER:
            raise ValueError(f"{key!r} is in deny, and pins say {pins[key]}; keep one of them")
    return {**{key: pin_of(word) for key, word in pins.items()}, **dict.fromkeys(deny, Pin(None))}


def _name(name: object, what: str) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"is not made of {what}: {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"has a name that cannot be encoded as UTF-8: {name!r}") from None
    return name


def _pin_for(name: object, value: object) -> int | str:
    try:
        return _pin(value)
    except ValueError as error:
        raise ValueError(f"has for {name!r} {value!r}, which {error}") from None


def _pin(value: object) -> int | str:
    if isinstance(value, str):
        if value in {AUTO, NEVER}:
            return value
        raise ValueError(f"is not {_PIN}{nearest(value, (AUTO, NEVER))}")
    if isinstance(value, bool) or not isinstance(value, int) or not 2 <= value <= _MOST_SHARDS:
        raise ValueError(f"is not {_PIN}")
    return value


def _read_word(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _json(text: str, wants: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or a number of thousands of digits, or lists in lists as deep
        raise ValueError(f"is not JSON, in which it would be {wants}") from None
