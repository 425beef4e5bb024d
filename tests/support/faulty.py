"""``hotshard`` with a fault built in: it ends, as kill -9 would end it, exactly at a chosen point.

Run as a script in the place of ``-m hotshard``; the environment says what is to go wrong:

- ``FAULTY_POINT`` and ``FAULTY_COUNT``: end at this point when it is reached for this time, with code 77;
- ``FAULTY_ORDER=commit_first``: the pane protocol turned round.

Add a point here, and name it in a test.
"""
# ruff: noqa: SLF001 - the points lie inside

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

from hotshard.cli.main import main
from hotshard.doors.kafka.real_send import Sending
from hotshard.job.observe import Observer
from hotshard.job.registry import RegistryKeeper
from hotshard.job.seat import Seat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hotshard.doors.kafka.contract import Out

#: The exit code that tells that the point was reached.
REACHED: Final = 77

#: A pane is published, and not committed.
PUBLISHED: Final = "published"
#: A pane is published and committed, and nobody knows yet.
COMMITTED: Final = "committed"
#: With the protocol turned round: a pane is committed, and not published.
COMMITTED_FIRST: Final = "committed_first"
#: A transaction is written, and not committed.
IN_TRANSACTION: Final = "in_transaction"
#: A transaction with a changed route is committed, and Redis does not know.
BEFORE_REDIS: Final = "before_redis"
#: Redis has been written, and nobody knows yet.
AFTER_REDIS: Final = "after_redis"
#: A seat's transactional id is taken, and its state not read.
TAKEN: Final = "taken"
#: Messages are heard again that were heard before a restart.
REPLAYING: Final = "replaying"


class _Point:
    """Where this process is to end."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._name = environ.get("FAULTY_POINT", "")
        self._left = int(environ.get("FAULTY_COUNT", "1"))

    def reached(self, name: str) -> None:
        if name != self._name:
            return
        self._left -= 1
        if self._left <= 0:
            os._exit(REACHED)


class _Later:
    """Keeps what is published until it is asked for."""

    def __init__(self) -> None:
        self.outs: list[Out] = []

    async def publish(self, outs: Sequence[Out]) -> None:
        self.outs += outs


def _around_commit(point: _Point, *, commit_first: bool) -> None:
    commit = Observer._commit

    async def committing(self: Observer, heads: Mapping[Any, Any]) -> None:
        if heads:
            point.reached(PUBLISHED)
        await commit(self, heads)
        if heads:
            point.reached(COMMITTED)

    async def round_turned(self: Observer, *, early: bool) -> None:
        publisher, later = self._publisher, _Later()
        self._publisher = later  # type: ignore[assignment]  # publishing is all that is done with it
        try:
            await round_(self, early=early)
        finally:
            self._publisher = publisher
        if later.outs:
            point.reached(COMMITTED_FIRST)
        await publisher.publish(later.outs)

    Observer._commit = committing  # type: ignore[method-assign]
    round_ = Observer._round
    if commit_first:
        Observer._round = round_turned  # type: ignore[method-assign]


def _around_saying(point: _Point) -> None:
    say, send, take, hear = Seat.say, Sending.send, Seat.take, Seat.hear

    async def saying(self: Seat, now_ms: int) -> Any:  # noqa: ANN401 - passed through
        said = await say(self, now_ms)
        if any(one.routes for one in said):
            point.reached(BEFORE_REDIS)
        return said

    async def sending(self: Sending, outs: Sequence[Out]) -> Any:  # noqa: ANN401
        sent = await send(self, outs)
        if self.producer._txn_manager is not None and self.producer._txn_manager.transactional_id:
            point.reached(IN_TRANSACTION)
        return sent

    async def taking(self: Seat, names: Any) -> int:  # noqa: ANN401
        await self._speaker.take()
        point.reached(TAKEN)
        return await take(self, names)

    def hearing(self: Seat, value: bytes | None, at: int, now_ms: int) -> None:
        hear(self, value, at, now_ms)
        if not all(decider.caught_up for decider in self.deciders.values()):
            point.reached(REPLAYING)

    Seat.say, Seat.take, Seat.hear = saying, taking, hearing  # type: ignore[method-assign]
    Sending.send = sending  # type: ignore[method-assign]


def _around_redis(point: _Point) -> None:
    write = RegistryKeeper._write

    async def writing(self: RegistryKeeper) -> None:
        waiting = bool(self._unwritten)
        await write(self)
        if waiting:
            point.reached(AFTER_REDIS)

    RegistryKeeper._write = writing  # type: ignore[method-assign]


def build_in(environ: Mapping[str, str]) -> None:
    """Patch the job in this process."""
    point = _Point(environ)
    _around_commit(point, commit_first=environ.get("FAULTY_ORDER") == "commit_first")
    _around_saying(point)
    _around_redis(point)


if __name__ == "__main__":
    build_in(os.environ)
    sys.exit(main())
