"""What the registry in memory holds, and what its scripts would do to it. Every method is atomic."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Final

from hotshard.doors.redis import entries
from hotshard.doors.redis.commands import COMMANDS_LENGTH, read_entry
from hotshard.doors.redis.contract import Desk, RawChange, RawSnapshot
from hotshard.doors.redis.desk import COMMANDS_SHOWN, topic_desk
from hotshard.doors.redis.layout import LOG_ENTRY_BYTES, LOG_LENGTH, SCHEMA
from hotshard.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from hotshard.core.wire.route import TopicState
    from hotshard.doors.clock import Clock
    from hotshard.doors.redis.contract import RawHash

Hash = dict[bytes, bytes]
_Id = tuple[int, int]
_Waiter = tuple[asyncio.AbstractEventLoop, asyncio.Event]

#: Whole numbers in the registry have at most this many digits, so that Lua's are exact.
_DIGITS: Final = 15
#: A change with more fields than this is not written out in the log.
_LOG_ENTRY_FIELDS: Final = 500


class Stream:
    """A capped stream: entries under ids that rise, also after it was emptied."""

    def __init__(self, clock: Clock, length: int) -> None:
        self._clock, self._length = clock, length
        self._last: _Id = (0, 0)
        self._entries: list[tuple[_Id, Hash]] = []

    def add(self, fields: Hash, place: str = "*") -> bytes:
        """Add an entry at a place of one's own, or at the next; the place."""
        if place == "*":
            self._last = max((self._clock.now_ms(), 0), (self._last[0], self._last[1] + 1))
        else:
            ms, _, number = place.partition("-")
            self._last = int(ms), int(number)
        self._entries.append((self._last, fields))
        del self._entries[: -self._length]
        return _text(self._last)

    def later(self, after: bytes) -> list[RawChange]:
        first, _, second = after.partition(b"-")
        place = int(first), int(second or b"0")
        return [RawChange(_text(at), fields) for at, fields in self._entries if at > place]

    @property
    def last_id(self) -> bytes:
        return _text(self._entries[-1][0]) if self._entries else b"0-0"

    def clear(self) -> None:
        self._entries.clear()


class Store:
    """Hashes and streams behind one lock. Raises UnavailableError while ``available`` is False."""

    def __init__(self, clock: Clock) -> None:
        self.available = True
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: set[_Waiter] = set()
        self._meta: Hash = {}
        self._routes: dict[str, RawHash] = {}
        self._hot: dict[str, RawHash] = {}
        self._orders: dict[str, RawHash] = {}
        self._log = Stream(clock, LOG_LENGTH)
        self._commands = Stream(clock, COMMANDS_LENGTH)

    def publish(self, state: TopicState) -> bool:
        with self._changed:
            self._check()
            epoch, version = self._held(state.topic)
            if (epoch, version) >= (state.epoch, state.version):
                return False
            self._write(state, version if epoch == state.epoch else -1)
            self._wake()
        return True

    def beat(self, topic: str, epoch: int, version: int) -> bool:
        with self._changed:
            self._check()
            if self._held(topic) != (epoch, version):
                return False
            if not self._whole(topic):
                del self._meta[f"epoch:{topic}".encode()], self._meta[f"version:{topic}".encode()]
                return False
            self._meta |= {b"schema": str(SCHEMA).encode(), f"time:{topic}".encode(): self._now()}
        return True

    def snapshot(self, topics: Collection[str] | None) -> RawSnapshot:
        with self._changed:
            self._check()
            known = sorted(topics if topics is not None else entries.topics_of(self._meta))
            hashes = {topic: self._routes.get(topic, {}) for topic in known}
            routes = {topic: None if held is None else dict(held) for topic, held in hashes.items()}
            return RawSnapshot(dict(self._meta), routes, self._log.last_id, self._clock.now_ms())

    def meta(self) -> Hash:
        with self._changed:
            self._check()
            return dict(self._meta)

    def hot(self, topic: str) -> Hash:
        with self._changed:
            self._check()
            return dict(self._hot.get(topic) or {})

    def commands_after(self, after: bytes, limit: int) -> tuple[bytes, list[RawChange]]:
        """The last id of the commands, and those after ``after``."""
        with self._changed:
            self._check()
            return self._commands.last_id, self._commands.later(after)[:limit]

    def add_command(self, fields: Hash, place: str = "*") -> bytes:
        with self._changed:
            self._check()
            return self._commands.add(fields, place)

    def desk(self, wanted: Collection[str] | None) -> Desk:
        with self._changed:
            self._check()
            topics = sorted(entries.topics_of(self._meta) if wanted is None else wanted)
            parts = (self._routes, self._hot, self._orders)
            desks = {
                topic: desk
                for topic in topics
                if (desk := topic_desk(topic, self._meta, *(part.get(topic, {}) for part in parts))) is not None
            }
            newest = self._commands.later(b"0-0")[-COMMANDS_SHOWN:]
            heard = tuple(read_entry(*change) for change in newest)
            return Desk(now_ms=self._clock.now_ms(), topics=desks, commands=heard)

    def later(self, after: bytes) -> list[RawChange]:
        with self._changed:
            self._check()
            return self._log.later(after)

    def wait_later(self, after: bytes, wait_s: float, ended: Callable[[], bool]) -> list[RawChange]:
        """As :meth:`later`, but wait up to ``wait_s`` for something, or until woken with ``ended`` true."""
        with self._changed:
            self._check()
            self._changed.wait_for(lambda: ended() or self._log.later(after), wait_s)
            return self._log.later(after)

    def wake(self) -> None:
        with self._changed:
            self._wake()

    @contextlib.contextmanager
    def watching(self) -> Iterator[asyncio.Event]:
        """Within it, the event given is set by every change."""
        event = asyncio.Event()
        waiter = (asyncio.get_running_loop(), event)
        with self._changed:
            self._waiting.add(waiter)
        try:
            yield event
        finally:
            with self._changed:
                self._waiting.discard(waiter)

    def wipe(self) -> None:
        with self._changed:
            for part in (self._meta, self._routes, self._hot, self._orders, self._log):
                part.clear()
            self._commands = Stream(self._clock, COMMANDS_LENGTH)

    def put_route(self, topic: str, field: bytes, value: bytes) -> None:
        with self._changed:
            self._routes[topic] = {**(self._routes.get(topic) or {}), field: value}

    def put_orders(self, topic: str, value: bytes) -> None:
        with self._changed:
            self._orders[topic] = {**(self._orders.get(topic) or {}), b"orders": value}

    def put_meta(self, field: bytes, value: bytes) -> None:
        with self._changed:
            self._meta[field] = value

    def put_log(self, fields: Hash) -> None:
        with self._changed:
            self._log.add(fields)
            self._wake()

    def lose_log(self) -> None:
        with self._changed:
            self._log.clear()

    def lose_routes(self, topic: str) -> None:
        with self._changed:
            self._routes.pop(topic, None)

    def spoil_routes(self, topic: str) -> None:
        with self._changed:
            self._routes[topic] = None

    def _check(self) -> None:
        if not self.available:
            raise UnavailableError("the registry in memory was made unavailable")

    def _held(self, topic: str) -> _Id:
        """Epoch and version of what is held; -1 stands for one that is absent or damaged."""
        epoch, version = (self._meta.get(f"{name}:{topic}".encode(), b"") for name in ("epoch", "version"))
        return _whole_number(epoch), _whole_number(version)

    def _whole(self, topic: str) -> bool:
        return all(
            held is not None and str(len(held)).encode() == self._meta.get(f"{kind}:{topic}".encode())
            for kind, held in (("routes", self._routes.get(topic, {})), ("hot", self._hot.get(topic, {})))
        )

    def _write(self, state: TopicState, previous: int) -> None:
        routes = {entries.route_field(route): entries.write(route) for route in state.routes}
        hot = {entries.hot_field(entry): entries.write(entry) for entry in state.hot}
        changed = _difference(self._routes.get(state.topic) or {}, routes)
        heat = _difference(self._hot.get(state.topic) or {}, hot)
        self._routes[state.topic], self._hot[state.topic] = routes, hot
        self._orders[state.topic] = {b"orders": entries.write_orders(state.orders), b"mode": state.mode.encode()}
        marks = {"epoch": state.epoch, "version": state.version, "routes": len(routes), "hot": len(hot)}
        self._meta |= {f"{name}:{state.topic}".encode(): str(value).encode() for name, value in marks.items()}
        self._meta |= {b"schema": str(SCHEMA).encode(), f"time:{state.topic}".encode(): self._now()}
        large = sum(map(len, (*changed, *changed.values()))) > LOG_ENTRY_BYTES or len(changed) > _LOG_ENTRY_FIELDS
        self._log.add(
            {
                b"topic": state.topic.encode(),
                b"epoch": str(state.epoch).encode(),
                b"version": str(state.version).encode(),
                b"previous": str(previous).encode(),
                b"at": self._now(),
                **({b"hot": b"1"} if heat else {}),
                **({b"reread": b"1"} if large else changed),
            }
        )

    def _now(self) -> bytes:
        return str(self._clock.now_ms()).encode()

    def _wake(self) -> None:
        self._changed.notify_all()
        for loop, event in self._waiting:
            with contextlib.suppress(RuntimeError):  # that loop has ended
                loop.call_soon_threadsafe(event.set)


def _difference(old: Hash, new: Hash) -> Hash:
    changed = {b"set:" + field: value for field, value in new.items() if old.get(field) != value}
    return changed | {b"del:" + field: b"" for field in old if field not in new}


def _whole_number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) <= _DIGITS else -1


def _text(place: _Id) -> bytes:
    return b"%d-%d" % place
