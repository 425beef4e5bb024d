"""Kinds of values: what a setting takes, from TOML or from text, and how it is written down.

A kind says in ``wants`` what it takes, and raises ``ValueError`` with what is wrong.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from hotshard.core.fields import parse_field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hotshard.core.topic import Place

#: What a setting's value is, once checked.
Value = str | int | float | bool | tuple[str, ...] | Mapping[str, int | str] | None

_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
#: A whole number may be larger than any that a setting is computed with.
_LARGEST: Final = sys.float_info.max
_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/,\[\]]+)(:\d{1,5})?")


class Kind(Protocol):
    """A kind of value."""

    @property
    def wants(self) -> str:
        """What it takes, as it stands in messages and in the reference."""
        ...

    def check(self, value: object) -> Value:
        """A value as TOML gave it."""
        ...

    def read(self, text: str) -> Value:
        """A value as the environment or the command line gave it."""
        ...


def nearest(word: str, known: Iterable[str]) -> str:
    """The tail of a message that names the nearest known word, or nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def as_toml(value: Value) -> str:
    """A value as TOML writes it; what is not set is the empty text."""
    match value:
        case None:
            return '""'
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(map(as_toml, value))}]"
        case Mapping():
            return f"{{ {pairs} }}" if (pairs := ", ".join(map(_pair, value.items()))) else "{}"
        case str():
            # A basic string of TOML is one of JSON, but for the delete character.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def toml_key(name: str) -> str:
    """A name as a part of a dotted key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else as_toml(name)


def _pair(pair: tuple[str, int | str]) -> str:
    return f"{as_toml(pair[0])} = {as_toml(pair[1])}"


@dataclass(frozen=True, slots=True)
class Text:
    """A text; ``optional``: the empty one stands for not set."""

    optional: bool = False
    pattern: str = ""
    what: str = "a text"

    @property
    def wants(self) -> str:
        return f'{self.what}, "" for none' if self.optional else self.what

    def check(self, value: object) -> Value:
        if not isinstance(value, str):
            raise ValueError(f"is not {self.wants}")  # noqa: TRY004 -- a wrong setting is one kind of error
        if not value and self.optional:
            return None
        if not value or (self.pattern and not re.fullmatch(self.pattern, value)):
            raise ValueError(f"is not {self.wants}")
        return value

    def read(self, text: str) -> Value:
        return self.check(text)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words; ``optional``: the empty text stands for not set."""

    words: tuple[str, ...]
    optional: bool = False

    @property
    def wants(self) -> str:
        words = "one of " + ", ".join(self.words)
        return f'{words}, "" for none' if self.optional else words

    def check(self, value: object) -> Value:
        if self.optional and value == "":
            return None
        if not isinstance(value, str) or value not in self.words:
            near = nearest(value, self.words) if isinstance(value, str) else ""
            raise ValueError(f"is not {self.wants}{near}")
        return value

    def read(self, text: str) -> Value:
        return self.check(text)


@dataclass(frozen=True, slots=True)
class Switch:
    """True or false."""

    wants = "true or false"

    def check(self, value: object) -> Value:
        if not isinstance(value, bool):
            raise ValueError(f"is not {self.wants}")  # noqa: TRY004 -- see above
        return value

    def read(self, text: str) -> Value:
        word = text.strip().lower()
        if word not in _TRUE + _FALSE:
            raise ValueError(f"is not {self.wants}")
        return word in _TRUE


@dataclass(frozen=True, slots=True)
class Number:
    """A number within bounds, both included. ``unset``: the word, such as ``auto``, that stands for not set."""

    low: float
    high: float
    whole: bool = True
    unset: str | None = None

    @property
    def wants(self) -> str:
        what = "a whole number" if self.whole else "a number"
        bounds = f"from {self.low:.15g} to {self.high:.15g}" if math.isfinite(self.high) else f"from {self.low:.15g} on"
        return f'{what} {bounds}, or "{self.unset}"' if self.unset else f"{what} {bounds}"

    def check(self, value: object) -> Value:
        if self.unset and value == self.unset:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
            raise ValueError(f"is not {self.wants}")
        if self.whole and value != int(value):
            raise ValueError(f"is not {self.wants}")
        if not self.low <= value <= self.high:
            raise ValueError(f"is out of range: {self.wants}")
        return int(value) if self.whole else float(value)

    def read(self, text: str) -> Value:
        word = text.strip()
        if self.unset and word == self.unset:
            return None
        return self.check(_number(word, whole=self.whole))


@dataclass(frozen=True, slots=True)
class Words:
    """A list of texts; as one text they are separated by commas."""

    pattern: str
    what: str
    least: int = 0

    @property
    def wants(self) -> str:
        return f"a list of {self.what}"

    def check(self, value: object) -> Value:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ValueError(f"is not {self.wants}")
        if len(value) < self.least:
            raise ValueError("is empty")
        for each in value:
            if not re.fullmatch(self.pattern, each):
                raise ValueError(f"is not {self.wants}: {each!r}")
        return tuple(value)

    def read(self, text: str) -> Value:
        return self.check([each.strip() for each in text.split(",") if each.strip()])


@dataclass(frozen=True, slots=True)
class FieldOf:
    """Where in a record something stands: one of some places, as text."""

    places: tuple[Place, ...]

    @property
    def wants(self) -> str:
        *some, last = [_FIELD_TEXTS[place] for place in self.places]
        return f"{', '.join(some)} or {last}"

    def check(self, value: object) -> Value:
        if not isinstance(value, str):
            raise ValueError(f"is not {self.wants}")  # noqa: TRY004 -- see above
        try:
            place = parse_field(value).place
        except ValueError:
            if value.strip().partition(":")[0] in {"header", "json"}:
                raise
            place = None
        if place not in self.places:
            raise ValueError(f"is not {self.wants}{nearest(value.strip(), map(str, self.places))}")
        return value.strip()

    def read(self, text: str) -> Value:
        return self.check(text)


_FIELD_TEXTS: Final = {
    "none": '"none"',
    "key": '"key"',
    "header": '"header:NAME"',
    "json": '"json:FIELD" (a.b: field b in field a)',
}


@dataclass(frozen=True, slots=True)
class RedisUrl:
    """The address of a Redis."""

    wants = "an address such as redis://host:6379/0, rediss://host:6380/0 or unix:///path"

    def check(self, value: object) -> Value:
        if not isinstance(value, str) or not _is_redis_url(value):
            raise ValueError(f"is not {self.wants}")
        return value

    def read(self, text: str) -> Value:
        return self.check(text)


def _number(word: str, *, whole: bool) -> float | None:
    """The number a text is; None when it is none."""
    try:
        return int(word) if whole else float(word)
    except ValueError:
        return None


def _is_redis_url(text: str) -> bool:
    try:
        parts, port = urlsplit(text), urlsplit(text).port
    except ValueError:
        return False
    return parts.scheme in ("redis", "rediss", "unix") and port != 0


TOPIC: Final = Text(pattern=_TOPIC.pattern, what="a topic name")
ADDRESSES: Final = Words(_ADDRESS.pattern, "addresses host:port")
SOURCES: Final = Words(
    r"([A-Za-z0-9._-]|\{topic\}){1,249}", "topic names, in which {topic} is the production topic's", 1
)
