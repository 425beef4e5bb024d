"""The machine: which cores there are, who gets which, and how much of them a process used."""

from __future__ import annotations

import os
import platform
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Cores(NamedTuple):
    """The cores of either side; empty where nothing is pinned."""

    servers: frozenset[int] = frozenset()
    clients: frozenset[int] = frozenset()

    def __str__(self) -> str:
        if not self.servers:
            return "nothing pinned to a core"
        one, other = (",".join(map(str, sorted(side))) for side in self)
        return f"Kafka, Redis and the watch on core {one}, each contestant on core {other}"


def share_out(*, pin: bool) -> Cores:
    """One core for whoever is measured, the others for the servers; nothing where a process cannot be pinned."""
    if not pin or not hasattr(os, "sched_setaffinity"):
        return Cores()
    cores = sorted(os.sched_getaffinity(0))
    return Cores(frozenset(cores[:-1]), frozenset(cores[-1:])) if len(cores) > 1 else Cores()


@contextmanager
def on(cores: frozenset[int]) -> Iterator[None]:
    """Processes started inside stay on these cores."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_s(pid: int) -> float | None:
    """Seconds of processor time a running process has used, of all its threads; None where that is not told."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float | None:
    """Millions of bytes of a running process that are in memory now; None where that is not told."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def description() -> str:
    return f"{os.cpu_count()} cores ({_model()}), {platform.system()}, Python {platform.python_version()}"


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
