"""The worker of the demo: ``hotshard worker`` as a process of its own, with a settings file made for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

from hotshard.demo.readiness import Observing, at_work
from hotshard.demo.servers.child import Child
from hotshard.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hotshard.core.topic import Mode
    from hotshard.demo.ground import Ground
    from hotshard.doors.clock import Clock
    from hotshard.doors.kafka.contract import Kafka
    from hotshard.doors.redis.contract import RegistryReader

_LOOK_S: Final = 0.1
#: SIGTERM ends a worker within this.
_END_WITHIN_S: Final = 10.0


def panes_topic(ground: Ground) -> str:
    """Return the name of the demo's panes topic."""
    return f"{ground.run}-panes"


def settings_of(ground: Ground, mode: Mode, partitions: int) -> Mapping[str, Mapping[str, object]]:
    """Return the settings by section; what is not there keeps its default.

    The key has to cool between two floods that follow each other closely: hence the short times.
    """
    own = {name: f"{ground.run}-{name}" for name in ("state", "windows", "events")}
    return {
        "worker": {
            "group": ground.run,
            "namespace": ground.run,
            "transactions": ground.transactions,
            "log_level": "warning",
            # The embedded broker holds a join for half of it; Apache Kafka takes no less than 6 s.
            "session_timeout_s": 6.0 if ground.transactions else 4.0,
        },
        "mirror": {"bootstrap_servers": [ground.bootstrap]},
        "own_topics": {"panes": panes_topic(ground), **own, "partitions": 1},
        "redis": {"url": ground.redis_url},
        f"topics.{ground.topic}": {
            "partitions": partitions,
            "mode": str(mode),
            "ordering": "none",
            "slow_view_s": 3.0,
            "hold_s": 3.0,
            "off_s": 1.0,
            "resize_s": 1.0,
        },
    }


def as_toml(settings: Mapping[str, Mapping[str, object]]) -> str:
    """Write settings down; JSON's texts, numbers, booleans and lists are also TOML's."""
    sections = (
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in section.items())
        for name, section in settings.items()
    )
    return "\n".join(sections)


class WorkerProcess:
    """One worker at a time, started in one mode and then in another; it goes on from its state."""

    def __init__(  # noqa: PLR0913 - all by name
        self,
        ground: Ground,
        *,
        partitions: int,
        most_behind: int,
        ready_within_s: float,
        kafka: Kafka,
        reader: RegistryReader,
        clock: Clock,
    ) -> None:
        self._ground = ground
        self._partitions = partitions
        self._most_behind = most_behind
        self._ready_within_s = ready_within_s
        self._kafka = kafka
        self._reader = reader
        self._clock = clock
        self._child: Child | None = None
        self._stopping = False

    @property
    def log(self) -> Path:
        return self._ground.folder / "worker.log"

    async def start(self, mode: Mode) -> None:
        """Start it and wait until it is at work; UnavailableError when it does not come up."""
        file = self._ground.folder / "settings.toml"
        file.write_text(as_toml(settings_of(self._ground, mode, self._partitions)), encoding="utf-8")
        since_ms = self._clock.now_ms()
        self._child = Child(_command(file), self.log)
        try:
            async with asyncio.timeout(self._ready_within_s):
                await self._at_work(since_ms)
        except TimeoutError:
            within = f"not at work within {self._ready_within_s:.0f} s"
            raise UnavailableError(f"the worker is {within}: {self._last_words()}") from None

    async def stop(self) -> None:
        """Ask it to end, and wait for that; killed when it takes too long."""
        child, self._stopping = self._child, True
        if child is None:
            return
        child.signal(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_WITHIN_S):
                while child.running:  # noqa: ASYNC110 - a process tells nobody
                    await asyncio.sleep(_LOOK_S)
        self.kill()

    def kill(self) -> None:
        """End it at once."""
        child, self._child, self._stopping = self._child, None, False
        if child is not None:
            child.end(kill=True)

    async def watch_over(self) -> None:
        """Return never; UnavailableError when the worker ends though nobody asked it to."""
        while True:
            if self._child is not None and not self._stopping and not self._child.running:
                raise UnavailableError(f"the worker ended by itself: {self._last_words()}")
            await asyncio.sleep(_LOOK_S)

    async def _at_work(self, since_ms: int) -> None:
        panes = self._kafka.reader()
        try:
            hears = Observing(self._partitions, since_ms, self._most_behind)
            await at_work((panes, panes_topic(self._ground), hears), (self._reader, self._ground.topic))
        finally:
            await panes.stop()

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return " | ".join(line.strip() for line in lines[-3:]) or "it said nothing"


def _command(settings: Path) -> list[str]:
    # The environment goes before the file, so the user's own settings are taken away.
    without = [part for name in sorted(os.environ) if name.startswith("HOTSHARD_") for part in ("-u", name)]
    return ["env", *without, sys.executable, "-m", "hotshard", "worker", "--settings", str(settings.resolve())]
