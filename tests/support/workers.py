"""Workers as a user starts them: the command in a process of its own, with a settings file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any


from tests.support.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

#: SIGTERM ends a worker within this.
STOP_S = 10.0


@dataclass(frozen=True, slots=True)
class Install:
    """What a test's workers share: one Kafka, one Redis, names of their own, and the settings of the topics."""

    folder: Path
    bootstrap: str
    redis_url: str
    name: str
    topics: Mapping[str, Mapping[str, Any]]
    worker: Mapping[str, Any] = field(default_factory=dict)

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
        path = self.folder / f"{self.name}.toml"
        path.write_bytes(_toml(content))
        return path


class WorkerProcess:
    """One worker. Its log is kept in a file; ``log`` reads it."""

    def __init__(self, install: Install, number: int = 0, *, module: Sequence[str] = ("-m", "hotshard")) -> None:
        self._install = install
        self._module = module
        self._log = install.folder / f"worker-{number}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._name = f"w{number}"

    def start(self) -> None:
        environ = {**os.environ, "HOTSHARD_WORKER_NAME": self._name}
        command = [sys.executable, *self._module, "worker", "--settings", str(self._install.settings())]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environ)  # noqa: S603

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "not started"
        return self._process

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    async def assigned(self, timeout_s: float = 40.0) -> None:
        """Wait until it holds partitions since its last start."""
        seen = self.log.count("assigned ")
        await eventually(
            lambda: self.log.count("assigned ") > seen or self.process.poll() is not None, within_s=timeout_s
        )
        assert self.process.poll() is None, self.log

    def kill(self) -> None:
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
