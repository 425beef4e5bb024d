"""Where everything stands in Redis: all keys of a namespace under one hash tag, so one slot holds them."""

from __future__ import annotations

import re
from typing import Final

from hotshard.errors import SettingsError

DEFAULT_NAMESPACE: Final = "default"
#: Schema of the registry's form, in ``meta``. A client that finds a higher one obeys nothing of it.
SCHEMA: Final = 1
#: Entries the log is cut back to, about; a client further behind reads a snapshot.
LOG_LENGTH: Final = 4096
#: A change larger than this many bytes is not written out in the log: clients read a snapshot instead.
LOG_ENTRY_BYTES: Final = 32 * 1024

_NAMESPACE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")


def is_topic(name: str) -> bool:
    """Whether Kafka would take ``name`` for a topic."""
    return _TOPIC.fullmatch(name) is not None


class Layout:
    """The names of the keys of one namespace.

    Raises:
        SettingsError: the namespace holds anything but letters, digits, ``.``, ``_`` and ``-``, or over 64 of them.

    """

    def __init__(self, namespace: str = DEFAULT_NAMESPACE) -> None:
        if not _NAMESPACE.fullmatch(namespace):
            raise SettingsError(f"namespace {namespace!r} is wrong: letters, digits, '.', '_' and '-', at most 64")
        self.namespace = namespace
        self._tag = f"hotshard:{{{namespace}}}:"
        self.meta = f"{self._tag}meta"
        self.log = f"{self._tag}log"
        self.leases = f"{self._tag}leases"
        self.commands = f"{self._tag}commands"

    def routes(self, topic: str) -> str:
        return f"{self._tag}routes:{topic}"

    def hot(self, topic: str) -> str:
        return f"{self._tag}hot:{topic}"

    def orders(self, topic: str) -> str:
        return f"{self._tag}orders:{topic}"


def meta_fields(topic: str) -> tuple[str, str, str]:
    """The fields of ``meta`` that tell a topic's epoch, its version, and when its detector was last heard (ms)."""
    return f"epoch:{topic}", f"version:{topic}", f"time:{topic}"
