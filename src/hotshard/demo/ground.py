"""Where the demo plays: a Kafka and a Redis of its own, or running ones that were given."""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hotshard.demo.servers import choose_kafka, choose_redis
from hotshard.demo.servers.artifacts import KAFKA_VERSION, cache_folder, jars_missing, java_missing
from hotshard.demo.servers.child import new_folder, remove_folder
from hotshard.doors.redis.link import Link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Addresses, and names that are the demo's alone."""

    bootstrap: str
    redis_url: str
    #: Begins the name of every topic and group, and is the namespace in Redis.
    run: str
    #: Whether the broker has transactions; a given one is taken to have them.
    transactions: bool = True
    #: Whether what was made there must be removed in the end.
    given_kafka: bool = False
    given_redis: bool = False
    #: For the settings file and the worker's log.
    folder: Path

    @property
    def topic(self) -> str:
        return f"{self.run}-orders"


@contextlib.contextmanager
def prepared(kafka: str | None, redis: str | None, say: Callable[[str], object]) -> Iterator[Ground]:
    """Start what is not given, and end it after. Blocks.

    Raises:
        UnavailableError: there is nothing to start, or it does not start.
        SettingsError: the address of a given Redis cannot be right.

    """
    if redis is not None:
        Link(redis)
    with contextlib.ExitStack() as stack:
        bootstrap, transactions = (kafka, True) if kafka else _own_kafka(stack, say)
        url = redis or _own_redis(stack, say)
        folder = new_folder("demo")
        stack.callback(remove_folder, folder)
        yield Ground(
            bootstrap=bootstrap,
            redis_url=url,
            run=f"hotshard-demo-{secrets.token_hex(3)}",
            transactions=transactions,
            given_kafka=kafka is not None,
            given_redis=redis is not None,
            folder=folder,
        )


def _own_kafka(stack: contextlib.ExitStack, say: Callable[[str], object]) -> tuple[str, bool]:
    if not (java_missing() or jars_missing() or (cache_folder() / KAFKA_VERSION).is_dir()):
        say("kafka: Maven fetches Apache Kafka, 43 MB, once")
    chosen = choose_kafka()
    say(f"kafka: {chosen.why}")
    server = chosen.server
    stack.enter_context(server)
    return server.bootstrap, server.transactions


def _own_redis(stack: contextlib.ExitStack, say: Callable[[str], object]) -> str:
    chosen = choose_redis()
    say(f"redis: {chosen.why}")
    return stack.enter_context(chosen.server).url
