"""Flags, each with an environment variable that its help names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hotshard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

_ON: Final = ("true", "yes", "on", "1")
_OFF: Final = ("false", "no", "off", "0", "")
#: A longer number is none.
_DIGITS: Final = 9


class Flags:
    """Adds flags to a parser. What the command line does not give is taken from ``environ``."""

    def __init__(self, parser: argparse.ArgumentParser, environ: Mapping[str, str]) -> None:
        self._parser = parser
        self._environ = environ

    def value(self, name: str, variable: str, text: str, **options: Any) -> None:  # noqa: ANN401 -- as argparse takes them
        """A flag with a value, which is a text."""
        self._add(name, variable, text, default=self._environ.get(variable) or None, **options)

    def switch(self, name: str, variable: str, text: str) -> None:
        word = self._environ.get(variable, "").strip().lower()
        if word not in _ON + _OFF:
            raise UsageError(f"{variable} is {word!r}; say true or false")
        self._add(name, variable, text, action="store_true", default=word in _ON)

    def count(self, short: str, name: str, variable: str, text: str) -> None:
        word = self._environ.get(variable, "").strip() or "0"
        if not word.isdecimal() or len(word) > _DIGITS:
            raise UsageError(f"{variable} is {word!r}; give a number such as 2")
        self._add(name, variable, text, short=short, action="count", default=int(word))

    def setting(self, name: str, variable: str, text: str, **options: Any) -> None:  # noqa: ANN401 -- see above
        """A flag whose variable the settings read themselves, so that they can say where a value came from."""
        self._add(name, variable, text, default=None, **options)

    def _add(self, name: str, variable: str, text: str, *, short: str = "", **options: Any) -> None:  # noqa: ANN401
        names = (short, name) if short else (name,)
        self._parser.add_argument(*names, help=f"{text} [env {variable}]".replace("%", "%%"), **options)


def whole(flag: str, text: str, most: int) -> int:
    """The whole number from 1 to ``most`` that was given to ``flag``. Raises UsageError."""
    if not text.isdecimal() or len(text) > _DIGITS or not 1 <= int(text) <= most:
        raise UsageError(f"{flag} takes a whole number from 1 to {most:,}, not {text[:40]!r}")
    return int(text)
