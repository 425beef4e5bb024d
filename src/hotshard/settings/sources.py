"""Where values come from: defaults, then the file (strict), the environment (lenient), the command line (strict)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from hotshard.errors import SettingsError
from hotshard.settings.kinds import TOPIC, Value, nearest
from hotshard.settings.masking import masked
from hotshard.settings.table import BY_NAME, SECTIONS, TABLE, TOPIC_WORDS, TOPICS_VARIABLE
from hotshard.settings.topic_rows import OF_A_TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hotshard.settings.setting import Setting

DEFAULT: Final = "default"
COMMAND_LINE: Final = "command line"
#: The origin of what a connection that is not given takes from the mirror.
AS_MIRROR: Final = "as mirror"


class Given(NamedTuple):
    """A value, and where it came from."""

    value: Value
    origin: str


@dataclass(slots=True)
class Sheet:
    """What is in force so far: by full name, and what each topic's own section says by key."""

    values: dict[str, Given]
    topics: dict[str, dict[str, Given]] = field(default_factory=dict)

    def put(self, name: str, raw: object, origin: str) -> None:
        """Set one setting by its full name; text from outside TOML is read as text."""
        setting, topic = find(name, origin)
        given = Given(_checked(setting, name, raw, origin), origin)
        if topic is None:
            self.values[name] = given
        else:
            self.topic(topic, origin)[setting.key] = given

    def topic(self, name: str, origin: str) -> dict[str, Given]:
        """A topic's own section, made when it is not there."""
        try:
            TOPIC.check(name)
        except ValueError as error:
            raise SettingsError(f"topics.{name} ({origin}): {name!r} {error}") from None
        return self.topics.setdefault(name, {})

    def name_topics(self, text: str, origin: str) -> None:
        """Add topics from ``NAME`` or ``NAME=SOURCE+SOURCE``, separated by commas."""
        try:
            words = cast("tuple[str, ...]", TOPIC_WORDS.read(text))
        except ValueError as error:
            raise SettingsError(f"{origin}: {text!r} {error}") from None
        for word in words:
            name, equals, sources = word.partition("=")
            section = self.topic(name, origin)
            if equals:
                section["sources"] = Given(tuple(sources.split("+")), origin)


class _Words(str):
    """A text that did not come from TOML, so that ``5`` may mean a number."""

    __slots__ = ()


def defaults() -> Sheet:
    return Sheet({setting.name: Given(setting.default, DEFAULT) for setting in TABLE})


def lay_file(sheet: Sheet, path: Path) -> None:
    """Lay a TOML file over the sheet; whatever in it is not a setting is an error."""
    for section, content in _parsed(path).items():
        if section != "topics" and section not in SECTIONS:
            raise SettingsError(f"unknown section [{section}] in {path}{nearest(section, [*SECTIONS, 'topics'])}")
        if not isinstance(content, dict):
            raise SettingsError(f"{section} in {path} is a section: write [{section}]")
        for key, value in content.items():
            if section == "topics":
                _lay_topic(sheet, key, value, path)
            else:
                sheet.put(f"{section}.{key}", value, str(path))


def lay_environment(sheet: Sheet, environ: Mapping[str, str]) -> None:
    """Lay the environment over the sheet; variables that are no setting, or empty, are left alone."""
    if environ.get(TOPICS_VARIABLE):
        sheet.name_topics(environ[TOPICS_VARIABLE], f"environment {TOPICS_VARIABLE}")
    for setting in TABLE:
        text = environ.get(setting.variable)
        if text:
            sheet.put(setting.name, _Words(text), f"environment {setting.variable}")


def lay_flags(sheet: Sheet, flags: Mapping[str, str], topics: Sequence[str] = ()) -> None:
    """Lay what the command line gave, by full name, over the sheet."""
    for text in topics:
        sheet.name_topics(text, COMMAND_LINE)
    for name, text in flags.items():
        sheet.put(name, _Words(text), COMMAND_LINE)


def find(name: str, origin: str) -> tuple[Setting, str | None]:
    """The setting of a full name, and the topic it is of.

    Raises:
        SettingsError: there is none; the message names the nearest.

    """
    if name in BY_NAME:
        return BY_NAME[name], None
    section, _, key = name.rpartition(".")
    if section.startswith("topics."):
        if key in OF_A_TOPIC:
            return OF_A_TOPIC[key], section.removeprefix("topics.")
        known = [f"{section}.{each}" for each in OF_A_TOPIC]
    else:
        known = list(BY_NAME)
    raise SettingsError(f"unknown setting {name} ({origin}){nearest(name, known)}")


def _lay_topic(sheet: Sheet, name: str, content: object, path: Path) -> None:
    if not isinstance(content, dict):
        raise SettingsError(f"topics.{name} in {path} is a section: write [topics.{name}]")
    sheet.topic(name, str(path))
    for key, value in content.items():
        if isinstance(value, dict) and key not in OF_A_TOPIC:
            raise SettingsError(f'a topic name with dots is quoted: write [topics."{name}.{key}"] in {path}')
        sheet.put(f"topics.{name}.{key}", value, str(path))


def _parsed(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"no settings file {path}; correct its name") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the settings file {path} is not TOML: {error}") from None


def _checked(setting: Setting, name: str, raw: object, origin: str) -> Value:
    try:
        return setting.kind.read(str(raw)) if isinstance(raw, _Words) else setting.kind.check(raw)
    except ValueError as error:
        shown = masked(setting, str(raw)) if isinstance(raw, str) or setting.secret else raw
        raise SettingsError(f"{name} ({origin}): {shown!r} {error}") from None
