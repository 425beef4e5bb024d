"""Following the registry, without I/O: which step comes next, and what its answer changes.

A snapshot, then the log; a snapshot again at a gap, another epoch, an older version, or after a failure.
Nothing that is read can take away what is held: damage is ignored, absence is no un-split.
"""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, Final

from hotshard.client.held import TopicHeld, TopicTable, entry, table
from hotshard.client.states import Counters, RegistryState
from hotshard.client.steps import Follow, Pause, ReadMeta, ReadSnapshot, Step
from hotshard.core.topic import Ordering
from hotshard.doors.redis.entries import MAX_ROUTES, Mark, read_change, read_mark, read_route, topics_of
from hotshard.errors import HotshardError, WireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hotshard.client.held import Entry
    from hotshard.doors.redis.contract import RawChange, RawHash, RawSnapshot
    from hotshard.doors.redis.entries import Change

log = logging.getLogger("hotshard.client")

#: The longest wait for the log, and how often the signs of life are looked at.
CHECK_S: Final = 2.0
#: The wait for entries that must be there already.
_LOOK_S: Final = 0.02
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 5.0
#: Damaged values that are remembered; beyond these they are counted without being logged.
_REMEMBERED_DAMAGE: Final = 1000


class Follower:
    """Holds the registry as last read. For one thread; what it publishes may be read from all.

    ``topics`` of None follows all. Times are seconds of one monotonic clock.
    """

    def __init__(self, topics: Iterable[str] | None, stale_after_s: float, check_s: float = CHECK_S) -> None:
        self._topics = None if topics is None else frozenset(topics)
        self._stale_after_s = stale_after_s
        self._check_s = check_s
        self._held: dict[str, TopicHeld] = {}
        self._after = b"0-0"
        self._snapshot_due = True
        self._meta_due_s = 0.0
        #: Topics of which meta names a version that the log has not brought yet.
        self._ahead: dict[str, int] = {}
        self._pause_s = 0.0
        self._failed_in_a_row = 0
        self._failure_said: str | None = None
        self._damage: set[tuple[object, ...]] = set()
        self._damage_said: set[tuple[object, ...]] = set()
        self.counts = Counters()
        #: Whether the registry was reached at all.
        self.reached = False
        #: Why it could not be read the last time; None when it could.
        self.error: str | None = None
        #: The look-ups by topic; a new mapping after every change, never changed itself.
        self.tables: Mapping[str, TopicTable] = {}

    def wants(self, topic: str) -> bool:
        return self._topics is None or topic in self._topics

    def begin_again(self) -> None:
        """Read a snapshot next, whatever was going on."""
        self._snapshot_due, self._pause_s = True, 0.0

    # What comes next.

    def next_step(self, now_s: float) -> Step:
        if self._pause_s:
            pause, self._pause_s = self._pause_s, 0.0
            return Pause(pause)
        if self._snapshot_due:
            return ReadSnapshot(self._topics)
        if now_s >= self._meta_due_s:
            return ReadMeta(self._topics)
        return Follow(self._after, _LOOK_S if self._ahead else self._meta_due_s - now_s)

    def state(self, now_s: float) -> RegistryState:
        """How much can be relied upon the routes in force."""
        held = dict(self._held)
        if not held:
            return RegistryState.EMPTY if self.reached else RegistryState.NOT_READY
        asked_for = [one for topic, one in held.items() if self._topics is not None or one.obeyed]
        fresh = [now_s - one.moved_s <= self._stale_after_s for one in asked_for or held.values()]
        # Topics that nobody asked for and that have no routes may have lost their detector for good.
        well = all(fresh) if asked_for else any(fresh)
        return RegistryState.READY if well else RegistryState.STALE

    # What the answers change.

    def failed(self, error: Exception) -> None:
        """A step could not be carried out: wait, longer each time, and read a snapshot then."""
        self.counts.failures += 1
        text = str(error) if isinstance(error, HotshardError) else f"reading the registry failed: {error!r}"
        if text != self._failure_said:
            log.warning("%s; the last routes stay in force, trying again", text)
        self.error = self._failure_said = text
        self._snapshot_due = True
        longest = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(self._failed_in_a_row, 10))
        self._pause_s = longest * random.uniform(0.5, 1.0)  # noqa: S311 - not a secret
        self._failed_in_a_row += 1

    def snapshot_read(self, snapshot: RawSnapshot, now_s: float) -> None:
        self.counts.snapshots += 1
        self.reached, self.error = True, None
        self._snapshot_due = False
        self._ahead.clear()
        self._after = snapshot.last_id
        self._meta_due_s = now_s + self._check_s
        if snapshot.meta is None:
            self._bad("meta", None, WireError("meta is no hash"))
            return
        touched = [topic for topic in snapshot.routes if self._take_topic(topic, snapshot.meta, snapshot, now_s)]
        self._publish(touched)

    def meta_read(self, meta: RawHash, now_s: float) -> None:
        self._well()
        self._meta_due_s = now_s + self._check_s
        if meta is None:
            self._bad("meta", None, WireError("meta is no hash"))
            return
        for topic in self._topics if self._topics is not None else topics_of(meta):
            mark = self._mark(meta, topic)
            if mark is None:
                continue  # emptied: what is held stays, until the detector has written it again
            self._compare(topic, mark, now_s)

    def changes_read(self, changes: Iterable[RawChange], now_s: float) -> None:
        self._well()
        touched = []
        for raw in changes:
            self._after = raw.id
            try:
                change = read_change(raw.fields)
            except WireError as error:
                self._bad("log", None, error)
                self._snapshot_due = True
                continue
            if self._take_change(change, now_s):
                touched.append(change.topic)
        self._publish(touched)
        # What meta said was in the log before it was read: whoever is still behind has missed something.
        self._snapshot_due |= any(self._held[topic].version < version for topic, version in self._ahead.items())
        self._ahead.clear()

    def bootstrap(self, topic: str, epoch: int, version: int, routes: Mapping[bytes, bytes]) -> None:
        """Hold a state from elsewhere until the registry is reached. Stale until then."""
        held = self._held.setdefault(topic, TopicHeld())
        held.epoch, held.version = epoch, version
        held.entries = dict(self._readable(topic, held, routes))
        self._publish([topic])

    def snapshot(self) -> dict[str, tuple[int, int, dict[bytes, bytes]]]:
        """Epoch, version and routes by topic, as :meth:`bootstrap` takes them."""
        return {
            topic: (held.epoch, held.version, {field: one.raw for field, one in held.entries.items()})
            for topic, held in dict(self._held).items()
        }

    # One topic.

    def _compare(self, topic: str, mark: Mark, now_s: float) -> None:
        held = self._held.get(topic)
        if held is None or mark.epoch != held.epoch or mark.version < held.version:
            self._snapshot_due = True
        elif mark.version > held.version:
            self._ahead[topic] = mark.version
        else:
            _saw(held, mark.at_ms, now_s)

    def _take_topic(self, topic: str, meta: Mapping[bytes, bytes], snapshot: RawSnapshot, now_s: float) -> bool:
        mark, routes = self._mark(meta, topic), snapshot.routes[topic]
        if mark is None:
            return False
        if routes is None or len(routes) > MAX_ROUTES:
            self._bad(topic, None, WireError("routes are no hash" if routes is None else f"{len(routes)} routes"))
            return False
        held = self._held.get(topic, TopicHeld())
        replaced = self._is_other_epoch(held, mark)
        if replaced is None:
            return False
        self._replace(topic, held, dict(self._readable(topic, held, routes)), other_epoch=replaced)
        held.epoch, held.version, held.older = mark.epoch, mark.version, None
        # The registry's clock against itself: a detector that died long ago is known for it at once.
        _saw(held, mark.at_ms, now_s - max(0, snapshot.now_ms - mark.at_ms) / 1000)
        self._held = {**self._held, topic: held}
        return True

    def _is_other_epoch(self, held: TopicHeld, mark: Mark) -> bool | None:
        """Whether ``mark`` starts anew. None: it is older than what is held, and no detector stands behind it."""
        if (mark.epoch, mark.version) >= (held.epoch, held.version):
            return mark.epoch != held.epoch
        before, held.older = held.older, mark
        if before is None:
            self.counts.older += 1
        # A detector says that it lives only where the registry holds its own state. Heard twice, this one is it.
        return True if before is not None and before[:2] == mark[:2] and before[2] != mark.at_ms else None

    def _take_change(self, change: Change, now_s: float) -> bool:
        if not self.wants(change.topic):
            return False
        held = self._held.get(change.topic)
        if held is not None and (change.epoch, change.version) <= (held.epoch, held.version):
            return False
        if held is None or change.reread or (change.epoch, change.previous) != (held.epoch, held.version):
            if held is not None and not change.reread:
                self.counts.gaps += 1
            self._snapshot_due = True
            return False
        self.counts.changes += 1
        present = {field: one for field, one in held.entries.items() if field not in change.routes}
        changed = {field: value for field, value in change.routes.items() if value is not None}
        present.update(self._readable(change.topic, held, changed))
        self._replace(change.topic, held, present, other_epoch=False)
        held.version = change.version
        _saw(held, change.at_ms, now_s)
        return bool(change.routes)

    def _readable(self, topic: str, held: TopicHeld, routes: Mapping[bytes, bytes]) -> Iterable[tuple[bytes, Entry]]:
        for field, raw in routes.items():
            before = held.entries.get(field)
            if before is not None and before.raw == raw:
                yield field, before
                continue
            try:
                yield field, entry(raw, read_route(topic, field, raw), before)
            except WireError as error:
                self._bad(topic, (field, raw), error)
                if before is not None:
                    yield field, before

    def _replace(self, topic: str, held: TopicHeld, present: dict[bytes, Entry], *, other_epoch: bool) -> None:
        for field, one in held.entries.items():
            if field in present or not _must_stay(one, other_epoch=other_epoch):
                continue
            self.counts.kept += 1
            log.info("topic %s: a route vanished without being retired, and is kept", topic)
            present[field] = one
        held.entries = present

    # Helpers.

    def _mark(self, meta: Mapping[bytes, bytes], topic: str) -> Mark | None:
        try:
            return read_mark(meta, topic)
        except WireError as error:
            self._bad(topic, None, error)
            return None

    def _publish(self, topics: Iterable[str]) -> None:
        made = {topic: table(self._held[topic].entries.items()) for topic in topics}
        if made:
            self.tables = {**self.tables, **made}

    def _well(self) -> None:
        self._failed_in_a_row, self._failure_said, self.error = 0, None, None

    def _bad(self, where: str, what: tuple[bytes, bytes] | None, error: WireError) -> None:
        """Count each damaged value once, and log each place once."""
        place = (where, what[0] if what is not None else None)
        value = (*place, hash(what[1]) if what is not None else str(error))
        if value in self._damage:
            return
        self.counts.bad_entries += 1
        if len(self._damage) >= _REMEMBERED_DAMAGE:
            return
        self._damage.add(value)
        if place not in self._damage_said:
            self._damage_said.add(place)
            log.warning("registry, %s: ignored what stands there: %s", where, error)


def _saw(held: TopicHeld, at_ms: int, moved_s: float) -> None:
    """Take in a sign of life that was given at ``moved_s`` of our clock, or not later."""
    if held.at_ms != at_ms:
        held.at_ms, held.moved_s = at_ms, max(held.moved_s, moved_s)


def _must_stay(one: Entry, *, other_epoch: bool) -> bool:
    """Whether a route that the registry no longer has stays in force: absence is never an un-split.

    A new epoch is a registry made anew on purpose: there a route stays only where order hangs on it.
    """
    return one.keys is not None and not (other_epoch and one.route.ordering is Ordering.NONE)
