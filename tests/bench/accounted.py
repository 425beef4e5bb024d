"""A worker that keeps account of its processor time: ``python -m tests.bench.accounted FILE worker ...``.

Every call that an event loop makes is timed by its thread's own processor clock, and put down to what it was for:
``panes`` (cut, published, committed), ``decide`` (heard, decided, said), ``redis``, or ``read``: fetched, parsed,
handed on and counted, all the rest. What a loop takes for itself is put down to the call it then makes. Nothing is
sampled: stacks looked at every few milliseconds are seen where a thread lets go of the interpreter, not where it works.
The account stands in FILE, as JSON, written anew a few times a second.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from asyncio import events
from collections import Counter
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hotshard.core.panes.cutting import PartitionPanes

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS: Final = ("read", "panes", "decide", "redis")
READ, PANES, DECIDE, REDIS = KINDS
WRITTEN_EVERY_S: Final = 0.2
#: The worker's own loops, by the names of their tasks.
_BY_TASK: Final = {
    "cut": PANES,
    "progress": PANES,
    "decide": DECIDE,
    "state": DECIDE,
    "partitions": DECIDE,
    "lag": DECIDE,
    "commands": REDIS,
    "registry": REDIS,
}


@dataclass
class Book:
    """The account of one thread, in nanoseconds."""

    role: str
    spent: Counter[str] = field(default_factory=Counter)
    #: What each coroutine took, for whoever wants to see more.
    by_name: Counter[str] = field(default_factory=Counter)
    #: The thread's time as it stood after its last call.
    until: int = field(default_factory=time.thread_time_ns)
    #: Time that was put down already inside the call that runs.
    inner: int = 0

    def put(self, kind: str, name: str, nanoseconds: int) -> None:
        self.spent[kind] += nanoseconds
        self.by_name[f"{kind} {name}"] += nanoseconds


class Books:
    """The accounts of all threads of this process."""

    def __init__(self) -> None:
        self._mine = threading.local()
        self.all: list[Book] = []

    def mine(self) -> Book:
        book: Book | None = getattr(self._mine, "book", None)
        if book is None:
            book = self._mine.book = Book(_role())
            self.all.append(book)
        return book

    def as_json(self) -> str:
        books = [*self.all]
        kinds = {kind: sum(book.spent[kind] for book in books) / 1e9 for kind in KINDS}
        names: Counter[str] = Counter()
        for book in books:
            names.update({f"{book.role}: {name}": spent for name, spent in dict(book.by_name).items()})
        top = {name: round(spent / 1e9, 3) for name, spent in names.most_common(80)}
        return json.dumps({"at_s": time.monotonic(), "cpu_s": time.process_time(), **kinds, "names": top})


def _role() -> str:
    """``main``, or the app whose consumer this thread is."""
    group = _group(getattr(threading.current_thread(), "service", None))
    return next((role for role in ("observe", "decide") if group.endswith(role)), "main")


def keep(books: Books, redis_port: int) -> None:
    """Begin to put down what event loops and the sealing of panes take."""
    run = events.Handle._run  # noqa: SLF001 - the one place every call goes through

    def counted(handle: Any) -> Any:  # noqa: ANN401
        book = books.mine()
        kind, name = kind_of(handle._callback, book.role, redis_port)  # noqa: SLF001
        began, inner = book.until, book.inner
        try:
            return run(handle)
        finally:
            book.until = time.thread_time_ns()
            book.put(kind, name, book.until - began - (book.inner - inner))

    events.Handle._run = counted  # type: ignore[method-assign, assignment]  # noqa: SLF001
    # A pane may be sealed in the middle of the counting.
    PartitionPanes.seal = _inside(books, PartitionPanes.seal)  # type: ignore[method-assign]


def _inside(books: Books, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def put_down(*arguments: Any) -> Any:  # noqa: ANN401
        book = books.mine()
        began = time.thread_time_ns()
        try:
            return method(*arguments)
        finally:
            spent = time.thread_time_ns() - began
            book.put(PANES, method.__qualname__, spent)
            book.inner += spent

    return put_down


def kind_of(callback: Any, role: str, redis_port: int) -> tuple[str, str]:  # noqa: ANN401
    """What a call of an event loop is for, and a name for it."""
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return _of_task(owner, role)
    name = getattr(callback, "__qualname__", type(callback).__name__)
    if role == "main" and isinstance(owner, asyncio.Transport):
        peer = owner.get_extra_info("peername")
        return (REDIS if peer and peer[1] == redis_port else PANES), name
    return (DECIDE if role == "decide" else READ), name


def _of_task(task: Any, role: str) -> tuple[str, str]:  # noqa: ANN401
    """Looked up once for each task."""
    told: tuple[str, str] | None = getattr(task, "_for", None)
    if told is None:
        coroutine = task.get_coro()
        told = task._for = _of_coroutine(coroutine, task.get_name(), role), str(coroutine.__qualname__)  # noqa: SLF001
    return told


def _of_coroutine(coroutine: Any, task: str, role: str) -> str:  # noqa: ANN401
    if role == "decide":
        return DECIDE
    if role == "observe":
        return PANES if "SlabThread.ask" in coroutine.__qualname__ else READ
    if task in _BY_TASK:
        return _BY_TASK[task]
    owner = coroutine.cr_frame.f_locals.get("self") if coroutine.cr_frame is not None else None
    file = coroutine.cr_code.co_filename
    if f"{os.sep}aiokafka{os.sep}" in file:
        return DECIDE if _speaks(owner) else PANES
    if f"{os.sep}redis{os.sep}" in file:
        return REDIS
    return DECIDE if _group(owner).endswith("decide") else READ


def _speaks(owner: Any) -> bool:  # noqa: ANN401
    """Whether this is of a producer with transactions."""
    manager = getattr(owner, "_txn_manager", None) or getattr(getattr(owner, "_sender", None), "_txn_manager", None)
    return getattr(manager, "transactional_id", None) is not None


def _group(service: Any) -> str:  # noqa: ANN401
    """The consumer group of the Faust app that a service is part of."""
    app = getattr(service, "app", service)
    return str(getattr(getattr(app, "conf", None), "id", ""))


def _write_forever(books: Books, file: Path) -> None:
    half = file.with_suffix(".half")
    while True:
        time.sleep(WRITTEN_EVERY_S)
        half.write_text(books.as_json())
        half.replace(file)


def main() -> int:
    file, port, *words = sys.argv[1:]
    books = Books()
    keep(books, int(port))
    threading.Thread(target=_write_forever, args=(books, Path(file)), daemon=True).start()
    from hotshard.cli.main import main as hotshard  # noqa: PLC0415 - after the hooks

    sys.argv = ["hotshard", *words]
    return hotshard()


if __name__ == "__main__":
    sys.exit(main())
