"""Workers as a user starts them: the command in a process of its own, with a settings file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: SIGTERM ends a worker within this, or Kubernetes would kill it.
STOP_S: Final = 30.0
#: The command with a fault built in: see there for what the environment says to it.
FAULTY: Final = ("-P", str(Path(__file__).with_name("faulty.py")))
_ASSIGNED = re.compile(r"assigned (\d+) partitions of the sources")


@dataclass(frozen=True, slots=True)
class Install:
    """What a test's workers share: one Kafka, one Redis, names of their own, and the settings of the topics."""

    folder: Path
    bootstrap: str
    redis_url: str
    name: str
    topics: Mapping[str, Mapping[str, Any]]
    worker: Mapping[str, Any] = field(default_factory=dict)
    #: Further settings by section, before those that follow from the rest.
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def transactions(self) -> bool:
        return bool(self.worker.get("transactions", True))

    @property
    def panes(self) -> str:
        return f"{self.name}-panes"

    @property
    def state(self) -> str:
        return f"{self.name}-state"

    @property
    def windows(self) -> str:
        return f"{self.name}-windows"

    @property
    def events(self) -> str:
        return f"{self.name}-events"

    def settings(self) -> Path:
        """Write the settings file."""
        own = {kind: f"{self.name}-{kind}" for kind in ("panes", "state", "windows", "events")}
        content = {
            "worker": {"group": self.name, "namespace": self.name, **self.worker},
            "mirror": {"bootstrap_servers": [self.bootstrap]},
            "own_topics": {**own, "partitions": 2, "replication": 1},
            "redis": {"url": self.redis_url},
            "topics": self.topics,
        }
        for section, rows in self.more.items():
            content[section] = {**content[section], **rows}
        path = self.folder / f"{self.name}.toml"
        path.write_bytes(_toml(content))
        return path


class WorkerProcess:
    """One worker. Its log is kept in a file; ``log`` reads it."""

    def __init__(
        self,
        install: Install,
        number: int = 0,
        *,
        module: Sequence[str] = ("-m", "hotshard"),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._install = install
        self._module = module
        self._env = dict(env or {})
        self._log = install.folder / f"worker-{number}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._before = 0
        self._name = f"w{number}"

    def start(self, **env: str) -> None:
        """Start it; ``env`` is added to its environment this time."""
        environ = {**os.environ, "HOTSHARD_WORKER_NAME": self._name, **self._env, **env}
        self._before = len(self.log) if self._log.exists() else 0
        command = [sys.executable, *self._module, "worker", "--settings", str(self._install.settings())]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environ)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "not started"
        return self._process

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def recent(self) -> str:
        """The log since its last start."""
        return self.log[self._before :]

    @property
    def held(self) -> list[int]:
        """How many partitions of the sources it was given, each time since its last start."""
        return [int(count) for count in _ASSIGNED.findall(self.recent)]

    @property
    def holds(self) -> int:
        """How many partitions of the sources it was given last."""
        return self.held[-1] if self.held else 0

    async def assigned(self) -> None:
        """Wait until it holds partitions since its last start."""
        await eventually(lambda: any(self.held) or self._has_ended(), what=f"{self._name} assigned")
        assert not self._has_ended(), self.log

    async def says(self, text: str) -> str:
        """Wait until its log since its last start holds ``text``; the first line that does."""
        await eventually(lambda: text in self.recent or self._has_ended(), what=f"{self._name} says {text!r}")
        assert text in self.recent, self.log
        return next(line for line in self.recent.splitlines() if text in line)

    def _has_ended(self) -> bool:
        return self.process.poll() is not None

    async def ended(self) -> int:
        """Wait until it has ended by itself; its exit code."""
        await eventually(self._has_ended, what=f"{self._name} ends")
        return self.process.wait()

    def kill(self) -> None:
        """End it as kill -9 does."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """SIGTERM; its exit code. It must end in time."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(STOP_S)

    def end(self) -> None:
        """Whatever its state, it is gone after this."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _toml(content: Mapping[str, Any], prefix: str = "") -> bytes:
    lines: list[str] = []
    for name, value in content.items():
        if not isinstance(value, dict):
            lines.append(f"{name} = {_value(value)}")
    for name, value in content.items():
        if isinstance(value, dict):
            section = f'{prefix}."{name}"' if prefix else name
            lines += [f"[{section}]", _toml(value, section).decode()]
    return "\n".join(lines).encode()


def _value(value: Any) -> str:  # noqa: ANN401 - any TOML value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(each) for each in value) + "]"
    return str(value)
