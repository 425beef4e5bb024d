"""Where values come from: defaults, then the file (strict), the environment (lenient), the command line (strict)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from hotshard.core.keys import SEPARATOR
from hotshard.errors import SettingsError
from hotshard.settings.kinds import TOPIC, Value, nearest
from hotshard.settings.masking import masked
from hotshard.settings.pinning import Pins
from hotshard.settings.policy_rows import OF_A_TENANT
from hotshard.settings.table import BY_NAME, SECTIONS, TABLE, TOPIC_WORDS, TOPICS_VARIABLE
from hotshard.settings.topic_rows import OF_A_TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hotshard.settings.setting import Setting

#: So much of a wrong value is told.
_TOLD_CHARS: Final = 80
_TENANTS: Final = ".tenants."
#: Settings of a topic that are tables themselves.
_TABLES: Final = frozenset(key for key, setting in OF_A_TOPIC.items() if isinstance(setting.kind, Pins))

DEFAULT: Final = "default"
COMMAND_LINE: Final = "command line"
#: The origin of what a connection that is not given takes from the mirror.
AS_MIRROR: Final = "as mirror"


class Given(NamedTuple):
    """A value, and where it came from."""

    value: Value
    origin: str


class Place(NamedTuple):
    """A setting, and the topic and tenant it is of."""

    setting: Setting
    topic: str | None = None
    tenant: str | None = None


@dataclass(slots=True)
class Sheet:
    """What is in force so far: by full name, and what each topic's own section says by key.

    ``tenants`` is what the sections of single tenants say, by topic and tenant.
    """

    values: dict[str, Given]
    topics: dict[str, dict[str, Given]] = field(default_factory=dict)
    tenants: dict[tuple[str, str], dict[str, Given]] = field(default_factory=dict)

    def put(self, name: str, raw: object, origin: str) -> None:
        """Set one setting by its full name; text from outside TOML is read as text."""
        self.put_at(find(name, origin), name, raw, origin)

    def put_at(self, place: Place, name: str, raw: object, origin: str) -> None:
        given = Given(_checked(place.setting, name, raw, origin), origin)
        if place.topic is None:
            self.values[name] = given
        elif place.tenant is None:
            self.topic(place.topic, origin)[place.setting.key] = given
        else:
            self.topic(place.topic, origin)
            self.tenant(place.topic, place.tenant, origin)[place.setting.key] = given

    def tenant(self, topic: str, name: str, origin: str) -> dict[str, Given]:
        """The section of a tenant of a topic, made when it is not there."""
        if not name or SEPARATOR in name:
            raise SettingsError(f"topics.{topic}.tenants ({origin}): {name!r} is no tenant: empty, or with U+001F")
        return self.tenants.setdefault((topic, name), {})

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


def find(name: str, origin: str) -> Place:
    """The setting of a full name, with the topic and the tenant it is of.

    Raises:
        SettingsError: there is none; the message names the nearest.

    """
    if name in BY_NAME:
        return Place(BY_NAME[name])
    section, _, key = name.rpartition(".")
    if not section.startswith("topics."):
        raise SettingsError(f"unknown setting {name} ({origin}){nearest(name, BY_NAME)}")
    topic, of_a_tenant, tenant = section.removeprefix("topics.").partition(_TENANTS)
    if of_a_tenant:
        return find_of_tenant(topic, tenant, key, origin)
    if key in OF_A_TOPIC:
        return Place(OF_A_TOPIC[key], topic)
    known = [f"{section}.{each}" for each in OF_A_TOPIC]
    raise SettingsError(f"unknown setting {name} ({origin}){nearest(name, known)}")


def find_of_tenant(topic: str, tenant: str, key: str, origin: str) -> Place:
    """A setting of one tenant of a topic.

    Raises:
        SettingsError: there is none; the message names the nearest, or where it is set for the whole topic.

    """
    if key in OF_A_TENANT:
        return Place(OF_A_TENANT[key], topic, tenant)
    name = f"topics.{topic}{_TENANTS}{tenant}.{key}"
    if key in OF_A_TOPIC:
        raise SettingsError(f"{name} ({origin}): {key} is the same for all tenants; set topics.{topic}.{key}")
    raise SettingsError(f"unknown setting {name} ({origin}){nearest(key, OF_A_TENANT)}")


def _lay_topic(sheet: Sheet, name: str, content: object, path: Path) -> None:
    if not isinstance(content, dict):
        raise SettingsError(f"topics.{name} in {path} is a section: write [topics.{name}]")
    sheet.topic(name, str(path))
    for key, value in content.items():
        if key == "tenants":
            _lay_tenants(sheet, name, value, path)
            continue
        if isinstance(value, dict) and key not in _TABLES:
            raise SettingsError(_no_section(name, key, path))
        place = Place(OF_A_TOPIC[key], name) if key in OF_A_TOPIC else find(f"topics.{name}.{key}", str(path))
        sheet.put_at(place, f"topics.{name}.{key}", value, str(path))


def _lay_tenants(sheet: Sheet, topic: str, content: object, path: Path) -> None:
    sections = content if isinstance(content, dict) else {"TENANT": content}
    for tenant, section in sections.items():
        if not isinstance(section, dict):
            written = f"[topics.{topic}.tenants.{tenant}]"
            raise SettingsError(f"topics.{topic}.tenants in {path} holds a section for each tenant: write {written}")
        sheet.tenant(topic, tenant, str(path))
        for key, value in section.items():
            place = find_of_tenant(topic, tenant, key, str(path))
            sheet.put_at(place, f"topics.{topic}.tenants.{tenant}.{key}", value, str(path))


def _no_section(topic: str, key: str, path: Path) -> str:
    """What is meant by a section in a topic's that is none."""
    if key in OF_A_TOPIC and key != "tenant":
        return f"topics.{topic}.{key} in {path} is no section; it takes {OF_A_TOPIC[key].kind.wants}"
    if nearest(key, ["tenants"]):
        return f"unknown section [topics.{topic}.{key}] in {path}; did you mean [topics.{topic}.tenants.NAME]?"
    return f'a topic name with dots is quoted: write [topics."{topic}.{key}"] in {path}'


def _parsed(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"no settings file {path}; correct its name") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits, and lists in lists as deep
        raise SettingsError(f"the settings file {path} is not TOML: {error}") from None


def _checked(setting: Setting, name: str, raw: object, origin: str) -> Value:
    try:
        return setting.kind.read(str(raw)) if isinstance(raw, _Words) else setting.kind.check(raw)
    except ValueError as error:
        shown = masked(setting, str(raw)) if isinstance(raw, str) or setting.secret else raw
        raise SettingsError(f"{name} ({origin}): {_short(shown)} {error}") from None


def _short(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= _TOLD_CHARS else f"{text[:_TOLD_CHARS]}..."
