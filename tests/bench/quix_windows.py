"""quixstreams counting per key in tumbling windows of 10 s, as its own documentation writes it.

Its defaults, with the state in a folder beside the result, but for windows that close by the time of their partition
and not of each key, which its documentation offers too: that took less processor time a record. Tried beside it, 5 s
each, and no faster: commits every 30 s, no changelog topics, a longer queue of the consumer, larger fetches, RocksDB
without fsync and with pipelined writes, a producer that waits longer, and most of these together. Records are counted
before the window takes them.
"""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import Any

from quixstreams import Application

from tests.bench.peer import Job, asked


def read(job: Job) -> None:
    app = Application(
        broker_address=job.bootstrap,
        consumer_group=job.group,
        auto_offset_reset="earliest",
        state_dir=job.result.with_suffix(".quix"),
        loglevel=logging.ERROR,
    )
    topic = app.topic(job.topic, key_deserializer="bytes", value_deserializer="bytes")
    seen = _Seen(job, app.stop)
    app.dataframe(topic).update(seen.one).tumbling_window(timedelta(seconds=10)).count().final(
        closing_strategy="partition"
    )
    app.run()


class _Seen:
    """Counts for so long, beginning with the first record, as the library does not tell of its assignment."""

    def __init__(self, job: Job, stop: Any) -> None:  # noqa: ANN401 - the library ships no types
        self._job = job
        self._stop = stop
        self._until_s: float | None = None
        self._records = 0
        self._done = False

    def one(self, _: object) -> None:
        if self._done:
            return
        self._records += 1
        if self._until_s is None:
            self._until_s = time.monotonic() + self._job.for_s
        if time.monotonic() >= self._until_s or self._records >= self._job.records:
            self._job.tell(self._records)
            self._done = True
            self._stop()


if __name__ == "__main__":
    read(asked())
