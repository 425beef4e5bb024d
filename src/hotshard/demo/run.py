"""``hotshard demo``: from the options to the exit code."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aiokafka.errors import KafkaError

from hotshard.demo.ground import prepared
from hotshard.demo.session import perform
from hotshard.demo.show import choose_show, print_summary
from hotshard.demo.sweep import sweep
from hotshard.errors import HotshardError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import NoReturn

    from hotshard.demo.ground import Ground
    from hotshard.demo.measures import Outcome
    from hotshard.demo.show import Show

#: Exit codes beside 0 and 1, as a shell gives them for a signal.
INTERRUPTED: Final = 130
TERMINATED: Final = 143


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What may be asked for; an address takes a running server instead of one of the demo's own."""

    json: bool = False
    #: ``host:port`` of a broker.
    kafka: str | None = None
    #: URL of a Redis.
    redis: str | None = None


class _Terminated(BaseException):
    """SIGTERM came."""


def run_demo(options: DemoOptions) -> int:
    """Run the demo; blocks for about 45 s. Returns 0 when all was seen, 1 when something was not, as was said.

    Raises:
        UnavailableError, RefusedError: a server cannot be started, or one that was given does not serve.
        SettingsError: an address cannot be right.

    """
    try:
        with _sigterm_raises():
            outcome = _run(options)
    except KeyboardInterrupt:
        return INTERRUPTED
    except _Terminated:
        return TERMINATED
    if options.json:
        sys.stdout.write(json.dumps(outcome.as_json()) + "\n")
        sys.stdout.flush()
    return 1 if outcome.missing() else 0


def _run(options: DemoOptions) -> Outcome:
    show = choose_show(json=options.json)
    # What the clients say of a broker that is being stopped would only tear the picture.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    with prepared(options.kafka, options.redis, show.say) as ground:
        try:
            with show, _hotshard_errors():
                outcome = asyncio.run(_performed(ground, show))
        finally:
            _swept(ground, show)
    print_summary(outcome, json=options.json)
    return outcome


def _swept(ground: Ground, show: Show) -> None:
    if ground.given_kafka or ground.given_redis:
        for left in asyncio.run(sweep(ground)):
            show.say(f"not removed: {left}")


async def _performed(ground: Ground, show: Show) -> Outcome:
    """Perform; SIGTERM cancels, as Ctrl-C does by itself."""
    task = asyncio.current_task()
    terminated = False

    def terminate() -> None:
        nonlocal terminated
        terminated = True
        if task is not None:
            task.cancel()

    with contextlib.suppress(NotImplementedError, RuntimeError):  # not the main thread, or no such signals
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
    try:
        return await perform(ground, show)
    except asyncio.CancelledError:
        # aiokafka leaves a connection open that was just being made.
        logging.getLogger("asyncio").addFilter(lambda said: not said.getMessage().startswith("Unclosed AIOKafka"))
        if terminated:
            raise _Terminated from None
        raise


@contextlib.contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Make SIGTERM unwind the stack, as Ctrl-C does, so that the servers are ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _hotshard_errors() -> Iterator[None]:
    """Take an error out of the groups that tasks put around it."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise _plain(group) from None


def _plain(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error that a person can read; the group itself where there is none."""
    for error in _leaves(group):
        if isinstance(error, HotshardError):
            return error
        if isinstance(error, KafkaError):
            return UnavailableError(f"Kafka failed while the demo ran: {error}")
    return group


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
