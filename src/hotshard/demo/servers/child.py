"""Child processes that die with us, and folders that go with them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING

from hotshard.demo.servers import guard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class _Guard:
    """The one guard process of this process; a fork starts its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0

    def begin(self) -> None:
        """Have it run."""
        with self._lock:
            self._pipe()

    def note(self, **note: object) -> None:
        with self._lock:
            pipe = self._pipe()
            pipe.write(json.dumps(note) + "\n")
            pipe.flush()

    def _pipe(self) -> IO[str]:
        process = self._process
        if process is None or self._owner != os.getpid() or process.poll() is not None:
            process = self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", guard.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,  # a Ctrl-C in the terminal is not for it
            )
            self._owner = os.getpid()
        if process.stdin is None:  # pragma: no cover - PIPE was asked for
            raise AssertionError
        return process.stdin

    def __del__(self) -> None:
        """End quietly: the pipe closes with us, which is what the guard waits for."""
        if self._process is not None:
            self._process.returncode = 0


_GUARD = _Guard()


def new_folder(kind: str) -> Path:
    """Make a temporary folder that is removed when we go, at the latest."""
    _GUARD.begin()  # before the folder is there: a signal may come while the guard starts
    folder = tempfile.mkdtemp(prefix=f"hotshard-{kind}-")
    try:
        _GUARD.note(folder=folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Path(folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder that ``new_folder`` made."""
    shutil.rmtree(folder, ignore_errors=True)
    _GUARD.note(folder=str(folder), done=True)


class Child:
    """A running process, leader of a group of its own, whose output goes to a file."""

    def __init__(self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        self.pid = self._process.pid
        _GUARD.note(pid=self.pid)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole group; nothing when it has ended."""
        if self.running:
            os.killpg(self.pid, number)

    def pause(self) -> None:
        """Stop it where it is; returns when every thread of it stands still."""
        self.signal(signal.SIGSTOP)
        if self.running:
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def end(self, *, kill: bool = False, wait_s: float = 10.0) -> None:
        """Ask to end, or kill at once; kill when ``wait_s`` have passed. Blocks until it is gone."""
        self.signal(signal.SIGKILL if kill else signal.SIGTERM)
        if not kill:
            self.signal(signal.SIGCONT)  # a paused process would not hear the first
        try:
            self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self._process.wait()
        _GUARD.note(pid=self.pid, done=True)
