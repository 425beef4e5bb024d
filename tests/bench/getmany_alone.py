"""aiokafka's ``getmany``, and nothing done with what it gives but counting it.

Set up as in aiokafka's own benchmark of consuming: everything as it comes, ``timeout_ms=1000``. Of what was
tried beside it (fetches of 64 KB to 4 MB, shorter waits, no checksums), only few records a call made it
faster, as records are then let go before the next ones are made.
"""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer

from tests.bench.peer import Job, asked


async def read(job: Job) -> None:
    consumer = AIOKafkaConsumer(
        job.topic,
        bootstrap_servers=job.bootstrap,
        group_id=job.group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=job.at_once or None,
    )
    await consumer.start()
    try:
        records = 0
        while records < job.records:
            found = await consumer.getmany(timeout_ms=1000)
            records += sum(map(len, found.values()))
        job.tell(records)
    finally:
        await consumer.stop()


if __name__ == "__main__":
    asyncio.run(read(asked()))
