"""The settings in words: what is in force, and the reference of all there are."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from hotshard.settings.kinds import Number, Value, as_toml
from hotshard.settings.policy_rows import OF_A_TENANT
from hotshard.settings.table import FILE_VARIABLE, LIKE_MIRROR, SECTIONS, TABLE, TOPICS_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hotshard.settings.model import InForce
    from hotshard.settings.setting import Setting

_WIDTH: Final = 110


def in_force_text(entries: Iterable[InForce]) -> str:
    """One line for each setting: its name, its value, and where that came from."""
    lines = [(f"{each.name} = {_written(each.setting, each.value)}", each.origin) for each in entries]
    width = min(_WIDTH // 2, max((len(left) for left, _ in lines), default=0))
    return "\n".join(f"{left:<{width}}  # {origin}" for left, origin in lines)


def in_force_json(entries: Iterable[InForce]) -> dict[str, dict[str, Value]]:
    return {each.name: {"value": each.value, "unit": each.setting.unit, "from": each.origin} for each in entries}


def reference_toml() -> str:
    """The file ``deploy/settings.toml``: every setting at its default, with what it is for."""
    head = (
        "# Every setting of hotshard, at its default. A file of yours needs only what differs:",
        f"# hotshard worker --settings FILE, or {FILE_VARIABLE}=FILE. A name that is none is an error.",
        "#",
        "# Each has an environment variable, HOTSHARD_ and its name: HOTSHARD_WORKER_WINDOW_S=5; lists are",
        "# separated by commas. The command line goes before the environment, the environment before the file.",
        '# `hotshard config` prints what is in force, and where it came from. "" stands for not set.',
    )
    return "\n".join([*head, *_sections(), *_TOPIC_EXAMPLE, ""])


def reference_markdown() -> str:
    """The table for the README."""
    rows = ["| setting | default | what it takes | what for |", "|---|---|---|---|"]
    rows += [
        f"| `{setting.name}` | `{_default(setting)}` | {_cell(_takes(setting))} | {_cell(setting.help)} |"
        for setting in TABLE
        if setting.section not in LIKE_MIRROR
    ]
    rows += [f"| `{section}.*` | | as `mirror.*` | {SECTIONS[section]} |" for section in LIKE_MIRROR]
    topics = f"The topics to watch, one section each; or `{TOPICS_VARIABLE}=orders,pay=dc1.pay`."
    rows.append(f"| `topics.<name>.*` | as `defaults.*` | as `defaults.*` | {topics} |")
    rows.append(f"| `topics.<name>.tenants.<tenant>.*` | as the topic | {_tenant_keys()} | {_TENANT_HELP} |")
    return "\n".join(rows) + "\n"


_TOPIC_EXAMPLE: Final = (
    "",
    "# One section for each production topic to watch, which takes any setting of [defaults]. Topics can also be",
    f"# named by --topic and {TOPICS_VARIABLE}: orders, or orders=dc1.orders+dc2.orders where the sources have",
    '# other names. A name with dots is quoted: [topics."shop.orders"].',
    "#",
    "# [topics.orders]",
    '# sources = ["dc1.orders", "dc2.orders"]',
    '# mode = "active"',
    '# ordering = "none"',
    "# partitions = 32",
    '# pins = { "acme\\u001forder-7" = 8, "acme\\u001forder-8" = "auto", "other\\u001f1" = "never" }',
    "#",
    "# And one for each tenant of it that is treated otherwise. It takes the settings from eps on, but for the",
    "# lengths of the views; and pin, for all its keys: a number of shards, auto or never.",
    "#",
    "# [topics.orders.tenants.acme]",
    "# on_share = 0.05",
    '# pin = "never"',
    "",
    "[topics]",
)


_TENANT_HELP: Final = "What is otherwise for one tenant; `pin` says what is done about all its keys."


def _tenant_keys() -> str:
    return "`" + "`, `".join(OF_A_TENANT) + "`"


def _sections() -> Iterator[str]:
    for section, purpose in SECTIONS.items():
        yield ""
        yield from _comment(purpose)
        yield f"[{section}]"
        for setting in TABLE:
            if setting.section == section:
                yield from _comment(f"{setting.help} ({_takes(setting)})")
                yield f"{setting.key} = {_default(setting)}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)


def _takes(setting: Setting) -> str:
    return f"{setting.kind.wants}; in {setting.unit}" if setting.unit else setting.kind.wants


def _default(setting: Setting) -> str:
    return _written(setting, setting.default)


def _written(setting: Setting, value: Value) -> str:
    """As TOML; what is not set reads as the setting says."""
    if value is None and isinstance(setting.kind, Number):
        return as_toml(setting.kind.unset)
    return as_toml(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
