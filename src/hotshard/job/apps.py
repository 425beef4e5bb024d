"""The two Faust apps. Their agents take what comes and hand it on; nothing is decided here."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from hotshard.core.fields import reader_for
from hotshard.job.transport import AsIs, SlabConsumer, quiet_app, slab_transport

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import faust
    from faust.types import TP, StreamT

    from hotshard.core.fields import FieldReader
    from hotshard.job.decide import Deciding
    from hotshard.job.observe import Observer
    from hotshard.job.says import Says
    from hotshard.settings.model import Settings

log = logging.getLogger("hotshard.worker")

_PARTITION_FETCH_BYTES = 1 << 20


def observe_group(settings: Settings) -> str:
    """The consumer group on the mirror."""
    return f"{settings.worker.group}-observe"


def decide_group(settings: Settings) -> str:
    """The consumer group on hotshard's own topics."""
    return f"{settings.worker.group}-decide"


def observe_app(settings: Settings, sources: tuple[str, ...], observer: Observer, says: Says) -> faust.App:
    """The app that reads the sources as slabs and gives them to ``observer``."""
    worker = settings.worker
    app = quiet_app(
        observe_group(settings),
        settings.mirror,
        # A fetch that waits for more than it may take of one partition would wait every time.
        consumer_max_fetch_size=max(_PARTITION_FETCH_BYTES, worker.fetch_min_bytes),
        instance_id=worker.instance_id,
        session_timeout_s=worker.session_timeout_s,
    )
    app.transport = slab_transport(
        app,
        topics=frozenset(sources),
        fields=_fields(settings),
        connection=settings.mirror,
        fetch_min_bytes=worker.fetch_min_bytes,
        fetch_max_wait_ms=worker.fetch_max_wait_ms,
        isolation_level=cast("Literal['read_committed', 'read_uncommitted']", worker.isolation_level),
        slabs=worker.slabs,
        says=says,
    )
    consumer = cast("SlabConsumer", app.consumer)

    async def observe(stream: StreamT[Any]) -> None:
        async for event in stream.events():
            await observer.take_safely(cast("Any", event.value), partial(consumer.is_current, event.message))

    async def assigned(tps: Collection[TP]) -> Mapping[TP, int]:
        generation = consumer.generation
        starts = await observer.assigned(tps, generation)
        log.info("assigned %d partitions of the sources in generation %d", len(tps), generation)
        return starts

    async def revoked(*_: Any, **__: Any) -> None:  # noqa: ANN401 - Faust's signature
        observer.revoked()

    app.agent(app.topic(*sources, schema=AsIs(), acks=False), name="observe")(observe)
    app.on_partitions_revoked.connect(revoked, weak=False)
    consumer.start_positions = assigned
    observer.consumer = consumer
    return app


def _fields(settings: Settings) -> Mapping[str, FieldReader]:
    """What is read of headers and values, by source."""
    readers = ((source, reader_for(spec)) for spec in settings.topics for source in spec.sources)
    return {source: reader for source, reader in readers if reader is not None}


def decide_app(settings: Settings, deciding: Deciding, says: Says) -> faust.App:
    """The app that reads the panes topic and gives its messages to ``deciding``."""
    worker, panes = settings.worker, settings.own_topics.panes
    app = quiet_app(
        decide_group(settings),
        settings.output,
        instance_id=worker.instance_id,
        session_timeout_s=worker.session_timeout_s,
    )
    app.transport = slab_transport(
        app,
        topics=frozenset(),
        connection=settings.output,
        fetch_min_bytes=1,
        fetch_max_wait_ms=worker.fetch_max_wait_ms,
        says=says,
    )
    consumer = cast("SlabConsumer", app.consumer)

    async def decide(stream: StreamT[Any]) -> None:
        async for event in stream.events():
            message = event.message
            if consumer.is_current(message):
                deciding.hear(message.partition, message.offset, cast("bytes | None", event.value))

    async def assigned(tps: Collection[TP]) -> Mapping[TP, int]:
        return await deciding.assigned(tps)

    async def revoked(*_: Any, **__: Any) -> None:  # noqa: ANN401 - Faust's signature
        try:
            await deciding.revoked()
        except Exception:  # what is raised here would end the app
            log.exception("seats could not be left; Kafka fences them when they are taken again")

    app.agent(app.topic(panes, schema=AsIs(), acks=False), name="decide")(decide)
    app.on_partitions_revoked.connect(revoked, weak=False)
    consumer.start_positions = assigned
    deciding.consumer = consumer
    return app
