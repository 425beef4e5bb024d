"""What a case is: an incident that somebody had, made again by code, and what is to be said of it.

A case is added by one entry in a table of this folder. Its answer comes from the incident, never from what
the code happens to say; a number that follows from the records is worked out by hand or by plain counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, kw_only=True)
class Incident:
    id: str
    kind: str
    #: What people saw, in a few words.
    symptom: str
    #: Runs the code on the case; what was seen, by name.
    seen: Callable[[], Mapping[str, Any]]
    #: What must have been seen, by the same names: a value, or something that says whether a value is right.
    answer: Mapping[str, Any]


@dataclass(frozen=True)
class AtLeast:
    least: float

    def __eq__(self, value: object) -> bool:
        return isinstance(value, int | float) and value >= self.least

    __hash__ = object.__hash__


@dataclass(frozen=True)
class AtMost:
    most: float

    def __eq__(self, value: object) -> bool:
        return isinstance(value, int | float) and value <= self.most

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Near:
    value: float
    by: float = 0.005

    def __eq__(self, value: object) -> bool:
        return isinstance(value, int | float) and abs(value - self.value) <= self.by

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Says:
    """A text in which this stands."""

    text: str

    def __eq__(self, value: object) -> bool:
        return isinstance(value, str) and self.text in value

    __hash__ = object.__hash__


@dataclass(frozen=True)
class SaysNothingOf:
    text: str

    def __eq__(self, value: object) -> bool:
        return isinstance(value, str) and self.text not in value

    __hash__ = object.__hash__


@dataclass(frozen=True)
class Holds:
    """A collection with this in it."""

    item: object

    def __eq__(self, value: object) -> bool:
        return isinstance(value, tuple | list | set | frozenset | dict) and self.item in value

    __hash__ = object.__hash__
