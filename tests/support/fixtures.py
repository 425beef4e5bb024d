"""Fixtures for servers: real ones, started once a run, and ones that a test may stop and kill."""

from __future__ import annotations

import functools
import itertools
import os
from typing import TYPE_CHECKING

import pytest

from hotshard.demo.servers import ApacheKafka, EmbeddedKafka, Login, RedisServer, apache_missing
from hotshard.demo.servers.embedded import embedded_missing
from hotshard.demo.servers.redis import installed_redis
from tests.support.require import require

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUMBERS = itertools.count()


_kafka_missing = functools.cache(apache_missing)  # a fetch that failed is not tried again for every test


def _redis_missing() -> str | None:
    return None if installed_redis() else "redis-server is not installed"


@pytest.fixture(scope="session")
def needs_kafka() -> None:
    """Skip, or in CI fail, where no Apache Kafka can run."""
    require(_kafka_missing())


@pytest.fixture(scope="session")
def needs_redis() -> None:
    """Skip, or in CI fail, where no redis-server is installed."""
    require(_redis_missing())


@pytest.fixture(scope="session")
def kafka() -> Iterator[ApacheKafka]:
    """A real Apache Kafka for the whole run; tests keep apart by topic and group names, and never stop it."""
    require(_kafka_missing())
    with ApacheKafka() as server:
        yield server


@pytest.fixture(scope="session")
def embedded_kafka() -> Iterator[EmbeddedKafka]:
    """The embedded broker for the whole run."""
    require(embedded_missing())
    with EmbeddedKafka() as server:
        yield server


@pytest.fixture(params=["apache", pytest.param("embedded", marks=pytest.mark.embedded)])
def any_kafka(request: pytest.FixtureRequest) -> ApacheKafka | EmbeddedKafka:
    """Run the test twice: on Apache Kafka and on the embedded broker."""
    server = request.getfixturevalue("kafka" if request.param == "apache" else "embedded_kafka")
    assert isinstance(server, ApacheKafka | EmbeddedKafka)
    return server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A real redis-server for the whole run; tests keep apart by namespace, and never stop it."""
    require(_redis_missing())
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def locked_kafka() -> Iterator[ApacheKafka]:
    """One that also listens for SASL/PLAIN, for the user ``ann`` with the password ``right``; never stopped either."""
    require(_kafka_missing())
    with ApacheKafka(login=Login("ann", "right")) as server:
        yield server


@pytest.fixture
def own_kafka() -> Iterator[ApacheKafka]:
    """A running Apache Kafka of the test's own, on which nothing has been done yet; about 4 s."""
    require(_kafka_missing())
    with ApacheKafka() as server:
        yield server


@pytest.fixture(scope="session")
def _unsteady_kafka() -> Iterator[ApacheKafka]:
    require(_kafka_missing())
    with ApacheKafka() as server:
        yield server


@pytest.fixture
def shaky_kafka(_unsteady_kafka: ApacheKafka) -> Iterator[ApacheKafka]:
    """A running Kafka to stop, kill and pause; it runs again for the next test, with all that was done on it."""
    _unsteady_kafka.start()
    yield _unsteady_kafka
    _unsteady_kafka.resume()


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A running redis-server of the test's own, to stop, kill and pause."""
    require(_redis_missing())
    with RedisServer() as server:
        yield server


@pytest.fixture
def fresh_topic_name() -> str:
    """A topic (or group, or namespace) name that no other test of this run uses."""
    return f"t{os.getpid()}-{next(_NUMBERS)}"


@pytest.fixture
def fresh_namespace() -> str:
    """A Redis namespace that no other test of this run uses."""
    return f"n{os.getpid()}-{next(_NUMBERS)}"
