"""Routing, on what a follower has published last. No lock, no network, and nothing here raises."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hotshard.client.bootstrap import dump, load
from hotshard.client.following import Follower
from hotshard.client.held import TopicTable
from hotshard.client.routed import Routed, Spread
from hotshard.client.states import Counters, RegistryState
from hotshard.doors.clock import Clock, SystemClock
from hotshard.doors.redis.layout import is_topic
from hotshard.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

log = logging.getLogger("hotshard.client")

_Key = TypeVar("_Key", str, bytes)

_NOTHING: Final = TopicTable()
#: Spreads by topic and key. Text and bytes stand apart: comparing them is forbidden by `python -bb`.
_Spreads = Mapping[str, Mapping[Any, Spread[Any]]]
#: Half the cost of calling the class, and most records have no route.
_new: Final[Callable[..., Any]] = tuple.__new__
_DISABLE: Final = "HOTSHARD_DISABLE"


class Router:
    """What both registries can do. Its reading side is driven by one thread or task; routing by any."""

    def __init__(
        self,
        *,
        topics: Iterable[str] | None,
        stale_after_s: float,
        bootstrap: str | Path | None,
        on_state: Callable[[RegistryState], object] | None,
        clock: Clock | None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._follower = Follower(_checked(topics), stale_after_s)
        self._on_state = on_state
        self._told: RegistryState = RegistryState.NOT_READY
        self._off = False
        self._errors = count(1)
        self._last_error: deque[int] = deque((0,), maxlen=1)
        self._outdated = count(1)
        self._last_outdated: deque[int] = deque((0,), maxlen=1)
        if bootstrap is not None:
            load(bootstrap, self._follower)
        self._in_force: Mapping[str, TopicTable] = {}
        #: The keys that are routed in any topic. Most records' keys are not among them, and that costs a sender one
        #: look-up, without a call: the sets are swapped whole and never changed.
        self.routed_texts: frozenset[str] = frozenset()
        self.routed_bytes: frozenset[bytes] = frozenset()
        self._texts: _Spreads = {}
        self._keys: _Spreads = {}
        self._swap()

    # For producers.

    def route(self, topic: str, key: _Key, discriminator: str | bytes | None = None) -> Routed[_Key]:
        """Where to send a record of ``key``: text stays text, bytes stay bytes.

        One discriminator keeps its shard while a plan stands; without one the shards are taken in turn.
        A dictionary look-up. Any error gives the base key and is counted in ``counters.route_errors``.
        """
        try:
            spreads, kind = self._keys, type(key)
            if kind is not bytes and isinstance(key, str):  # an isinstance that says no takes longer than the rest
                spreads = self._texts
            found = spreads[topic].get(key) if topic in spreads else None
            if found is not None:
                picked: Routed[_Key] = next(found.turn) if discriminator is None else found.pick(discriminator)
                return picked
        except Exception as error:  # noqa: BLE001 - routing never makes a send fail
            self.route_failed(error)
        base: Routed[_Key] = _new(Routed, (key, None, ()))
        return base

    def find(self, topic: str, key: _Key) -> Spread[_Key] | None:
        """The spread of a key that is routed now; None for all others. For wrappers of producers."""
        spreads = self._keys
        if isinstance(key, str):
            spreads = self._texts
        return spreads[topic].get(key) if topic in spreads else None

    def route_failed(self, error: Exception) -> None:
        """Count a record that went out on its base key because of ``error``."""
        number = next(self._errors)
        self._last_error.append(number)
        if number == 1:
            log.warning("routing failed, such records go out on their base key: %r", error)

    def route_outdated(self, topic: str, partitions: int) -> None:
        """Count a record that went out on its base key: its route gives partitions, of another count than there are."""
        number = next(self._outdated)
        self._last_outdated.append(number)
        if number == 1:
            log.info("topic %s has %d partitions now: routes that give others wait for a new plan", topic, partitions)

    @property
    def disabled(self) -> bool:
        """True: every record goes out on its base key. To be set in an incident; takes effect at once.

        Also true while the environment has HOTSHARD_DISABLE=1, which is looked at when the registry is
        made and about every 2 s while it runs: a look at every record would cost more than the routing.
        """
        return self._off or os.environ.get(_DISABLE, "").strip().lower() not in ("", "0", "false", "no", "off")

    @disabled.setter
    def disabled(self, value: bool) -> None:
        self._off = value
        self._swap()

    # For readers.

    def shards_of(self, topic: str, key: _Key) -> tuple[_Key, ...]:
        """Every key under which data of the base key ``key`` may lie, now and in the still readable past.

        ``key`` itself comes first. Ask all of them and add up.
        """
        now_ms = self._clock.now_ms()
        places = self._follower.tables.get(topic, _NOTHING).places.get(_wire(key), ())
        shards: list[bytes] = [place for place, until_ms in places if until_ms is None or until_ms > now_ms]
        if isinstance(key, str):
            return (key, *(shard.decode() for shard in shards))
        return (key, *shards)

    def base_key(self, topic: str, key: _Key) -> _Key:
        """``key`` without its suffix, where the registry holds a route with that suffix, now or in its past.

        A record that outlived its route's time is still told from a key that only looks like a shard.
        Every other key comes back as it is, whatever it looks like.
        """
        base = self._follower.tables.get(topic, _NOTHING).bases.get(_wire(key))
        if base is None:
            return key
        if isinstance(key, str):
            return base.decode()
        return base

    # How it stands.

    @property
    def state(self) -> RegistryState:
        return self._follower.state(self._clock.monotonic_s())

    @property
    def error(self) -> str | None:
        """Why the registry could not be read the last time, in one line; None when it could."""
        return self._follower.error

    @property
    def counters(self) -> Counters:
        """A copy of the counts as they stand."""
        return replace(
            self._follower.counts,
            route_errors=self._last_error[0],
            other_partition_count=self._last_outdated[0],
        )

    def bootstrap_json(self) -> bytes:
        """The routes in force, as the file that ``bootstrap`` reads at the next start."""
        return dump(self._follower)

    # For what drives it.

    def _swap(self) -> None:
        """Make what was read last what is sent by."""
        tables = {} if self.disabled else self._follower.tables
        if tables is not self._in_force:
            self._in_force = tables
            self._texts = {topic: one.texts for topic, one in tables.items() if one.texts}
            self._keys = {topic: one.keys for topic, one in tables.items() if one.keys}
            self.routed_texts = frozenset().union(*self._texts.values())
            self.routed_bytes = frozenset().union(*self._keys.values())

    def _tell(self) -> None:
        """Tell the application when the state is another than it was told."""
        state = self.state
        if state is self._told:
            return
        self._told = state
        if self._on_state is None:
            return
        try:
            self._on_state(state)
        except Exception:
            self._follower.counts.callback_errors += 1
            log.exception("the application's on_state failed")


def _wire(key: str | bytes) -> bytes:
    return key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key


def _checked(topics: Iterable[str] | None) -> frozenset[str] | None:
    if topics is None:
        return None
    if isinstance(topics, str):
        raise SettingsError(f"topics must be several names; give [{topics!r}]")
    wanted = frozenset(topics)
    for topic in wanted:
        if not is_topic(topic):
            raise SettingsError(f"{topic!r} cannot be the name of a topic")
    return wanted
