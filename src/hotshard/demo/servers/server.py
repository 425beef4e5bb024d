"""What all the servers have in common: start, stop, kill, pause, resume, and start again on the same data."""

from __future__ import annotations

import signal
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from hotshard.demo.servers.child import Child, new_folder, remove_folder
from hotshard.demo.servers.ports import free_port, port_free
from hotshard.errors import PortTakenError, UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

_LOOK_EVERY_S = 0.02


class Server(ABC):
    """A server process of our own on the loopback address. All calls block; they are meant for one thread.

    Used with ``with``, it runs inside and everything of it is gone after.
    """

    kind = "server"
    start_within_s = 60.0

    def __init__(self, port: int | None = None) -> None:
        self._port_asked = port
        self.port = port or free_port()
        self._folder: Path | None = None
        self._child: Child | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command that runs the server."""

    @abstractmethod
    def ready(self) -> bool:
        """Whether it answers as it should; asked again and again during start."""

    @abstractmethod
    def prepare(self) -> None:
        """Fill the new folder, before the first start."""

    def ports(self) -> list[int]:
        """Every port it will listen on."""
        return [self.port]

    @property
    def folder(self) -> Path:
        """Where it keeps its data and its log; made when first asked for."""
        if self._folder is None:
            self._folder = new_folder(self.kind)
            self.prepare()
        return self._folder

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.running

    def start(self) -> None:
        """Start it, again on the same port and data if it ran before, and wait until it is ready.

        Raises PortTakenError and UnavailableError; nothing is left running then.
        """
        if self.running:
            return
        for port in self.ports():
            if not port_free(port):
                raise PortTakenError(f"port {port} is in use; choose another or stop what holds it")
        self._child = Child(self.command(), self.log)
        try:
            self._await_ready(self._child)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Ask it to end and wait for it; data stay."""
        self._end(kill=False)

    def kill(self) -> None:
        """End it at once, as a crash would; data stay."""
        self._end(kill=True)

    def pause(self) -> None:
        """Freeze it: connections stay, nothing answers."""
        if self._child is not None:
            self._child.pause()

    def resume(self) -> None:
        """Let it go on after a pause."""
        if self._child is not None:
            self._child.signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its folder. May be called twice."""
        self.kill()
        if self._folder is not None:
            remove_folder(self._folder)
            self._folder = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end(self, *, kill: bool) -> None:
        if self._child is not None:
            self._child.end(kill=kill)
            self._child = None

    def _await_ready(self, child: Child) -> None:
        until = time.monotonic() + self.start_within_s
        while not self.ready():
            if not child.running:
                raise UnavailableError(f"{self.kind} ended while starting: {self._last_words()}")
            if time.monotonic() > until:
                raise UnavailableError(f"{self.kind} not ready in {self.start_within_s:.0f} s: {self._last_words()}")
            time.sleep(_LOOK_EVERY_S)

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return " | ".join(lines[-3:]) or "it said nothing"
