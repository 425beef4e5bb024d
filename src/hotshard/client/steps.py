"""What a follower asks of whoever drives it: one step at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadSnapshot:
    """Read the whole registry, for these topics or (None) for all."""

    topics: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class ReadMeta:
    """Read how the topics stand."""

    topics: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Follow:
    """Wait for entries of the log."""

    after: bytes
    wait_s: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Drop all connections and wait before the next step."""

    wait_s: float


Step = ReadSnapshot | ReadMeta | Follow | Pause
