"""A world in small for the pane protocol: a group with generations, workers that go wrong, a decider that dies.

Every record has a number of its own and travels as a "production partition" of its pane's ``loads``, so
that the loads of all reports say how often each record was counted. Chance comes from outside
(``choose(n)`` gives one of ``0 .. n - 1``), so that a seed or Hypothesis can drive it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from hotshard.core.panes.ledger import Expected, Ledger
from hotshard.core.panes.windows import PartitionStand, Windows, WindowsMemory
from hotshard.core.wire.pane import Mark, Pane, PaneMessage, Progress, decode, encode

TOPIC, SOURCE = "orders", "mirror.orders"
WINDOW_MS, GRACE_MS = 1_000, 2_000
YEAR_MS = 365 * 86_400_000

if TYPE_CHECKING:
    from hotshard.core.panes.window import ClosedWindow

Choose = Callable[[int], int]


@dataclass
class Log:
    """One partition of the source; ``records`` by offset, holes (control batches, compaction) left out."""

    start: int = 0
    end: int = 0
    records: dict[int, int] = field(default_factory=dict)


@dataclass
class Seat:
    """What a worker believes of a partition it holds."""

    generation: int
    start: int
    position: int
    opened_ms: int
    #: End of the head that was sealed, and whether it was published.
    sealed: int | None = None
    published: bool = False
    #: Only where the order is turned round.
    committed_early: bool = False
    log: Log = field(default_factory=Log)


@dataclass
class Worker:
    name: str
    seats: dict[int, Seat] = field(default_factory=dict)
    #: Generation and partitions of the last assignment, and whether the worker acted on it.
    assigned: tuple[int, tuple[int, ...]] = (0, ())
    heard: bool = True
    paused: bool = False
    dead: bool = False


@dataclass
class Rules:
    """What may happen in a world."""

    partitions: int = 3
    commit_first: bool = False
    #: Records are deleted before they are read.
    deletes: bool = False
    #: People set the group back, delete it, or make the topic again.
    meddles: bool = False
    wild_times: bool = True


class Broker:
    """The source, the group and the panes topic."""

    def __init__(self, partitions: int) -> None:
        self.logs = {partition: Log() for partition in range(partitions)}
        self.generation = 0
        self.members: list[Worker] = []
        self.committed: dict[int, int] = {}
        self.panes: list[bytes] = []
        #: How often commits covered each record, and the time of each.
        self.covered: Counter[int] = Counter()
        self.times: dict[int, int] = {}

    def rebalance(self) -> None:
        self.generation += 1
        for number, worker in enumerate(self.members):
            share = tuple(p for p in self.logs if p % len(self.members) == number)
            worker.assigned, worker.heard = (self.generation, share), False

    def commit(self, worker: Worker, generation: int, seats: dict[int, Seat]) -> bool:
        if generation != self.generation or worker not in self.members:
            return False
        for partition, seat in seats.items():
            end = seat.sealed or seat.start
            self.covered.update(seat.log.records[at] for at in range(seat.start, end) if at in seat.log.records)
            self.committed[partition] = end
        return True

    def publish(self, message: PaneMessage) -> None:
        self.panes.append(encode(message))


class Head(msgspec.Struct, frozen=True):
    """What the decider writes in its transactions."""

    replay_from: int = 0
    done: int = 0
    expected: tuple[Expected, ...] = ()
    windows: WindowsMemory = WindowsMemory()


class Decider:
    """Composes ledger and windows as the real one does, and can be made again from what was written."""

    def __init__(self, broker: Broker, head: Head) -> None:
        self.broker = broker
        self.ledger = Ledger(head.expected)
        self.windows = Windows(window_ms=WINDOW_MS, grace_ms=GRACE_MS, memory=head.windows)
        self.stands: dict[tuple[str, int], PartitionStand] = {}
        self.next = head.replay_from
        while self.next < head.done:
            self.hear()

    def hear(self) -> None:
        at, message = self.next, decode(self.broker.panes[self.next])
        self.next += 1
        if isinstance(message, Pane):
            confirmed = self.ledger.pane(message, at)
        else:
            confirmed = self.ledger.progress(message, at)
            for mark in message.marks:
                self.stands[SOURCE, mark.partition] = PartitionStand.of(mark, message.sent_ms)
        for each in confirmed:
            self.windows.add(each)

    def close(self, now_ms: int) -> tuple[ClosedWindow, ...]:
        everywhere = {(SOURCE, partition): PartitionStand() for partition in self.broker.logs}
        return self.windows.close(now_ms, everywhere | self.stands)

    def head(self) -> Head:
        needed = self.windows.oldest_needed()
        needed = self.next if needed is None else needed
        open_at = self.ledger.oldest_open()
        expected = self.ledger.expected_at(needed)
        self.ledger.forget_before(needed)
        return Head(
            replay_from=min(needed, self.next if open_at is None else open_at),
            done=self.next,
            expected=expected,
            windows=self.windows.memory(),
        )

    def state(self) -> object:
        """What must be the same after a restart."""
        open_versions = {p: self.ledger.open_version(SOURCE, p) for p in self.broker.logs}
        return self.ledger.expected_at(self.next), open_versions, self.windows.memory(), self.windows.oldest_needed()


class World:
    """Runs one step of somebody at a time."""

    def __init__(self, choose: Choose, rules: Rules) -> None:
        self.choose = choose
        self.rules = rules
        self.broker = Broker(rules.partitions)
        self.workers: list[Worker] = []
        self.now_ms = 1_700_000_000_000
        self.head = Head()
        self.said: list[ClosedWindow] = []
        self.decider = Decider(self.broker, self.head)
        self.restarts = self.names = 0
        #: Offsets deleted unread and partitions started anew, over all lives of the decider.
        self.lost = self.restarted = 0
        self.meddled_ms = self.now_ms
        #: Where each record is, and what was set back: from this offset on a log may be read again.
        self.places: dict[int, tuple[Log, int]] = {}
        self.ends: set[tuple[int, int]] = set()
        self.set_backs: list[tuple[Log, int]] = []
        self.actions = self._actions()
        self.join()

    def _actions(self) -> list[Callable[[], None]]:
        weighed: list[tuple[int, Callable[[], None]]] = [
            (60, self.produce), (80, self.read), (15, self.early), (80, self.seal), (90, self.publish),
            (110, self.commit), (30, self.progress), (60, self.adopt), (2, self.join), (2, self.kill), (5, self.pause),
            (5, self.wake), (4, self.evict), (2, self.doubt), (60, self.decide), (3, self.lose_decider),
        ]  # fmt: skip
        if self.rules.deletes:
            weighed.append((4, self.delete))
        if self.rules.meddles:
            weighed += [(3, self.meddle)]
        return [action for weight, action in weighed for _ in range(weight)]

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.now_ms += self.choose(60)
            self.actions[self.choose(len(self.actions))]()

    # -- the source ------------------------------------------------------------------------------

    def produce(self) -> None:
        partition = self.choose(self.rules.partitions)
        for _ in range(1 + self.choose(6)):
            if self.choose(8):
                self._append(partition)
            else:
                self.broker.logs[partition].end += 1  # a hole

    def _append(self, partition: int) -> None:
        log, number = self.broker.logs[partition], len(self.broker.times)
        self.broker.times[number] = self._time()
        self.places[number] = (log, log.end)
        log.records[log.end] = number
        log.end += 1

    def _time(self) -> int:
        if self.rules.wild_times and not self.choose(40):
            return self.now_ms + (self.choose(40) - 20) * YEAR_MS
        return self.now_ms - self.choose(300)

    def delete(self) -> None:
        partition = self.choose(self.rules.partitions)
        log = self.broker.logs[partition]
        start = log.start + self.choose(log.end - log.start + 1)
        if (partition, start) not in self.ends:
            log.start = start

    def make_again(self) -> None:
        partition = self.choose(self.rules.partitions)
        self.broker.logs[partition] = Log()
        if self.choose(2):
            self.broker.committed.pop(partition, None)

    # -- people ----------------------------------------------------------------------------------

    def meddle(self) -> None:
        """Once in a while, so that the group comes to rest between."""
        self.hear_all()
        expected = {each.partition: each.offset for each in self.decider.ledger.expected_at(self.decider.next)}
        if self.now_ms - self.meddled_ms > 5_000 and expected == self.broker.committed:
            self.meddled_ms = self.now_ms
            (self.set_back, self.delete_group, self.make_again)[self.choose(3)]()
            for partition, log in self.broker.logs.items():
                self.set_backs.append((log, self.broker.committed.get(partition, 0)))

    def _stop_all(self) -> None:
        for worker in self.workers:
            worker.dead = worker.dead or not self.choose(3)
            worker.paused = True
        self.broker.members.clear()

    def set_back(self) -> None:
        self.hear_all()
        self._stop_all()
        for each in self.decider.ledger.expected_at(self.decider.next):
            committed = self.choose(min(each.offset, self.broker.committed.get(each.partition, 0)) + 1)
            if (each.partition, committed) not in self.ends:  # where a zombie's pane may end
                self.broker.committed[each.partition] = committed
        self.join()

    def delete_group(self) -> None:
        self._stop_all()
        for worker in self.workers:  # a zombie of the old group would look as good as a member of the new one
            worker.dead = True
        self.broker.generation = 0
        if self.choose(2):
            self.broker.committed.clear()
        else:
            self.broker.committed = {partition: log.end for partition, log in self.broker.logs.items()}
        self.join()

    # -- workers ---------------------------------------------------------------------------------

    def join(self) -> None:
        if len(self.broker.members) >= 4:
            return
        self.names += 1
        worker = Worker(f"w{self.names}")
        self.workers.append(worker)
        self.broker.members.append(worker)
        self.broker.rebalance()

    def kill(self) -> None:
        if worker := self._worker():
            worker.dead = True

    def pause(self) -> None:
        """One is stopped, likely in the middle of a cut."""
        if worker := self._worker(lambda seat: seat.sealed is not None) or self._worker():
            worker.paused = True

    def wake(self) -> None:
        for worker in self.workers:
            if worker.paused and self.choose(2):
                worker.paused = False
                if worker not in self.broker.members:
                    worker.heard = True  # nobody told it anything

    def evict(self) -> None:
        """Sessions run out, and members that are alive get what is left."""
        gone = [worker for worker in self.broker.members if worker.dead or worker.paused]
        if gone or not self.choose(8):
            self.broker.members = [worker for worker in self.broker.members if worker not in gone]
            if self.broker.members:
                self.broker.rebalance()
            else:
                self.join()

    def adopt(self) -> None:
        """A member acts on its assignment: all that is not committed is dropped."""
        waiting = [w for w in self.broker.members if not w.dead and not w.paused and not (w.heard and w.seats)]
        if not waiting:
            return
        worker = waiting[self.choose(len(waiting))]
        generation, partitions = worker.assigned
        if generation != self.broker.generation:
            return
        worker.heard = True
        self._sit(worker, partitions, generation)

    def _sit(self, worker: Worker, partitions: Iterable[int], generation: int) -> None:
        """Begin at the committed offsets. A start that is another one is committed before anything is told."""
        worker.seats = {}
        fresh = {}
        for partition in partitions:
            log, committed = self.broker.logs[partition], self.broker.committed.get(partition)
            there = committed is not None and log.start <= committed <= log.end
            start = committed if there and committed is not None else log.start
            worker.seats[partition] = Seat(generation, start, start, self.now_ms, log=log)
            if start != committed:
                fresh[partition] = worker.seats[partition]
        if not self.broker.commit(worker, generation, fresh):
            worker.seats.clear()

    def doubt(self) -> None:
        """A worker does not trust what it holds, and goes back to the committed offsets."""
        worker = self._worker()
        if worker is not None and worker in self.broker.members and worker.assigned[0] == self.broker.generation:
            self._sit(worker, tuple(worker.seats), self.broker.generation)

    def read(self) -> None:
        worker = self._worker(lambda _: True)
        for partition, seat in tuple(worker.seats.items()) if worker is not None else ():
            log = self.broker.logs[partition]
            if worker is not None and (seat.log is not log or not log.start <= seat.position <= log.end):
                worker.seats[partition] = Seat(seat.generation, log.start, log.start, self.now_ms, log=log)
                if not self.broker.commit(worker, seat.generation, {partition: worker.seats[partition]}):
                    worker.seats.clear()
                    return
            else:
                seat.position = min(log.end, seat.position + self.choose(8))

    def early(self) -> None:
        worker = self._worker(lambda seat: seat.sealed is None and seat.position > seat.start)
        for partition, seat in worker.seats.items() if worker is not None else ():
            if worker is not None and seat.sealed is None and seat.position > seat.start:
                self.broker.publish(self._pane(worker, partition, seat, seat.position))

    def seal(self) -> None:
        worker = self._worker(lambda seat: seat.sealed is None and seat.position > seat.start)
        for seat in worker.seats.values() if worker is not None else ():
            if seat.sealed is None and seat.position > seat.start and self.choose(4):
                seat.sealed = seat.position

    def publish(self) -> None:
        first = self.rules.commit_first
        worker = self._worker(lambda seat: seat.sealed is not None and not seat.published)
        for partition, seat in tuple(worker.seats.items()) if worker is not None else ():
            if worker is None or seat.sealed is None or seat.published or (first and not seat.committed_early):
                continue
            if not self.choose(6):
                return  # the rest of them later
            self.broker.publish(self._pane(worker, partition, seat, seat.sealed))
            seat.published = True
            if first:
                worker.seats[partition] = self._next(seat, seat.sealed)

    def commit(self) -> None:
        first = self.rules.commit_first
        worker = self._worker(lambda seat: seat.sealed is not None and (first or seat.published))
        if worker is None:
            return
        ready = {p: s for p, s in worker.seats.items() if s.sealed is not None and (first or s.published)}
        for generation in {seat.generation for seat in ready.values()}:
            due = {p: s for p, s in ready.items() if s.generation == generation}
            if not self.broker.commit(worker, generation, due):
                worker.seats.clear()
                return
            if not self.choose(12):  # the answer was lost on the way
                self._sit(worker, tuple(worker.seats), generation)
                return
            for partition, seat in due.items():
                seat.committed_early = True
                if not first:
                    worker.seats[partition] = self._next(seat, seat.sealed or seat.start)

    def _next(self, seat: Seat, end: int) -> Seat:
        return Seat(seat.generation, end, seat.position, self.now_ms, log=seat.log)

    def progress(self) -> None:
        worker = self._worker(lambda _: True)
        if worker is None:
            return
        marks = tuple(
            Mark(partition, seat.start, seat.position, max(seat.log.end, seat.position), seat.generation)
            for partition, seat in worker.seats.items()
        )
        self.broker.publish(
            Progress(topic=TOPIC, source=SOURCE, worker=worker.name, sent_ms=self.now_ms, partitions=3, marks=marks)
        )

    def _pane(self, worker: Worker, partition: int, seat: Seat, end: int) -> Pane:
        self.ends.add((partition, end))
        numbers = [seat.log.records[at] for at in range(seat.start, end) if at in seat.log.records]
        times = sorted(self.broker.times[number] for number in numbers)
        return Pane(
            topic=TOPIC,
            source=SOURCE,
            partition=partition,
            start=seat.start,
            end=end,
            generation=seat.generation,
            high_watermark=seat.log.end,
            worker=worker.name,
            records=len(numbers),
            size_bytes=3 * len(numbers),
            loads=dict.fromkeys(numbers, 1),
            time_ms=times[len(times) // 2] if times else self.now_ms,
            span_ms=0,
            opened_ms=seat.opened_ms,
            cut_ms=self.now_ms,
        )

    def _worker(self, has_seat: Callable[[Seat], bool] | None = None) -> Worker | None:
        """One that runs, and has a seat of a kind."""
        able = [worker for worker in self.workers if not worker.dead and not worker.paused]
        if has_seat is not None:
            able = [worker for worker in able if any(map(has_seat, worker.seats.values()))]
        return able[self.choose(len(able))] if able else None

    # -- the decider -----------------------------------------------------------------------------

    def hear_all(self) -> None:
        while self.decider.next < len(self.broker.panes):
            self.decider.hear()

    def decide(self) -> None:
        for _ in range(min(1 + self.choose(8), len(self.broker.panes) - self.decider.next)):
            self.decider.hear()
        if self.choose(2):
            self._say()

    def _say(self) -> None:
        said, head = self.decider.close(self.now_ms), self.decider.head()
        fate = self.choose(30)
        if fate == 0:  # killed before the transaction
            self._take_over()
            return
        self.head = msgspec.msgpack.decode(msgspec.msgpack.encode(head), type=Head)
        self.said += said
        if fate == 1:  # and after it: the next one knows what this one knew
            before = self.decider.state()
            self._take_over()
            assert self.decider.state() == before

    def lose_decider(self) -> None:
        self._take_over()

    def _take_over(self) -> None:
        self.restarts += 1
        self.lost += self.decider.ledger.lost
        self.restarted += self.decider.ledger.restarted
        self.decider = Decider(self.broker, self.head)

    # -- the end ---------------------------------------------------------------------------------

    def settle(self) -> None:
        """Everybody who is still there comes to an end, and one healthy worker reads everything."""
        for worker in self.workers:
            worker.paused = False
        for worker in self.workers:
            for seat in worker.seats.values():
                seat.sealed = seat.sealed if seat.sealed is not None or seat.position == seat.start else seat.position
        zombies = [worker for worker in self.workers if not worker.dead]
        for worker in zombies:
            self._only(worker, self.publish)
            self._only(worker, self.publish)
            self._only(worker, self.commit)
        self._stop_for_good()
        self.join()
        self._read_all(self.workers[-1])
        for partition in self.broker.logs:
            self._append(partition)
        self._read_all(self.workers[-1])
        self.hear_all()
        for _ in range(4):
            self.said += self.decider.close(self.now_ms)
            self.now_ms += 20_000
        self.lost += self.decider.ledger.lost
        self.restarted += self.decider.ledger.restarted

    def _read_all(self, worker: Worker) -> None:
        while not worker.seats or any(seat.log.end != seat.start for seat in worker.seats.values()):
            self._only(worker, self.adopt)
            for action in (self.read, self.seal, self.publish, self.commit):
                for _ in range(4):
                    self._only(worker, action)
        self._only(worker, self.progress)

    def _stop_for_good(self) -> None:
        for worker in self.workers:
            worker.dead = True
        self.broker.members.clear()

    def _only(self, worker: Worker, action: Callable[[], None]) -> None:
        everybody, self.workers = self.workers, [worker]
        action()
        self.workers = everybody

    # -- what was said ---------------------------------------------------------------------------

    def counted(self) -> Counter[int]:
        """How often each record was counted, over all reports."""
        counted: Counter[int] = Counter()
        for window in self.said:
            counted.update(window.loads)
        return counted

    def times_set_back(self, number: int) -> int:
        log, offset = self.places[number]
        return sum(log is back and offset >= start for back, start in self.set_backs)

    def is_still_there(self, number: int) -> bool:
        return any(self.places[number][0] is log for log in self.broker.logs.values())

    def ranges(self) -> dict[int, list[tuple[int, int, int]]]:
        """Start, end and what was lost before, of every range of a partition that was reported, by start."""
        ranges = defaultdict(list)
        for window in self.said:
            for each in window.ranges:
                ranges[each.partition].append((each.start, each.end, each.lost_before))
        return {partition: sorted(each) for partition, each in ranges.items()}
