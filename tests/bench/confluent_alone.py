"""confluent-kafka, and nothing done with what it gives but counting it.

``consume`` in batches is its fast way; librdkafka fetches in threads of its own. Its defaults but for what was
found to help here: a queue that never runs dry.
"""

from __future__ import annotations

import time

from confluent_kafka import Consumer

from tests.bench.peer import Job, asked


def read(job: Job) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": job.bootstrap,
            "group.id": job.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "queued.min.messages": 1_000_000,
            "queued.max.messages.kbytes": 262_144,
        }
    )
    until_s: list[float] = []
    consumer.subscribe([job.topic], on_assign=lambda *_: until_s.append(time.monotonic() + job.for_s))
    records = 0
    while records < job.records:
        records += sum(message.error() is None for message in consumer.consume(10_000, 0.1))
        if job.for_s and until_s and time.monotonic() >= until_s[0]:
            break
    job.tell(records)
    consumer.close()


if __name__ == "__main__":
    read(asked())
