"""The commands a client reads the registry with, and what their answers say; shared by both kinds of client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redis.exceptions import ResponseError

from hotshard.doors.redis.contract import RawChange, RawHash, RawSnapshot
from hotshard.doors.redis.layout import Layout, meta_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

Command = tuple[str | bytes | int, ...]

#: Entries of the log taken at a time.
CHANGES_AT_ONCE = 256


def snapshot_commands(layout: Layout, topics: Sequence[str]) -> list[Command]:
    """What a snapshot asks, in one transaction."""
    return [
        ("TIME",),
        ("HGETALL", layout.meta),
        ("XREVRANGE", layout.log, "+", "-", "COUNT", 1),
        *(("HGETALL", layout.routes(topic)) for topic in topics),
    ]


def snapshot_of(topics: Sequence[str], answers: Sequence[Any]) -> RawSnapshot:
    """What the answers to :func:`snapshot_commands` say. Raises what Redis answered, other than a wrong type."""
    (seconds, micros), meta, last, *routes = answers
    entries = unless_wrong_type(last) or []
    return RawSnapshot(
        meta=unless_wrong_type(meta),
        routes={topic: unless_wrong_type(answer) for topic, answer in zip(topics, routes, strict=True)},
        last_id=entries[0][0] if entries else b"0-0",
        now_ms=seconds * 1000 + micros // 1000,
    )


def meta_command(layout: Layout, topics: Collection[str] | None) -> Command:
    if topics is None:
        return ("HGETALL", layout.meta)
    return ("HMGET", layout.meta, *_fields(topics))


def meta_of(topics: Collection[str] | None, answers: Sequence[Any]) -> RawHash:
    """What the one answer to :func:`meta_command` says; None where ``meta`` is no hash."""
    answer = unless_wrong_type(answers[0])
    if topics is None or answer is None:
        return cast("RawHash", answer)
    values = zip(_fields(topics), answer, strict=True)
    return {field.encode(): value for field, value in values if value is not None}


def changes_of(answer: Any) -> list[RawChange]:  # noqa: ANN401 - as redis-py gives it
    """What XREAD answered for one stream; an entry deleted meanwhile has no fields."""
    streams = list(answer.items()) if isinstance(answer, dict) else list(answer or ())
    return [RawChange(entry_id, fields or {}) for _, entries in streams for entry_id, fields in entries]


def _fields(topics: Collection[str]) -> list[str]:
    return ["schema", *(field for topic in sorted(topics) for field in meta_fields(topic))]


def unless_wrong_type(answer: Any) -> Any:  # noqa: ANN401 - as redis-py gives it
    """The answer; None where the key holds another type. Raises any other error that Redis answered."""
    if not isinstance(answer, Exception):
        return answer
    if isinstance(answer, ResponseError) and str(answer).startswith("WRONGTYPE"):
        return None
    raise answer
