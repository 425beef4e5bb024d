"""The transport, for ``app.transport``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faust.transport.drivers import aiokafka as driver

from hotshard.doors.clock import SystemClock
from hotshard.doors.kafka.connection import KafkaConnection
from hotshard.job.says import Says
from hotshard.job.transport.consumer import SlabConsumer
from hotshard.job.transport.options import IsolationLevel, Options, warn_of_stock
from hotshard.job.transport.producer import NoProducer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import faust

    from hotshard.core.fields import FieldReader


class SlabTransport(driver.Transport):
    """Faust's aiokafka transport with the consumer of this package, and with no producer."""

    Consumer = SlabConsumer
    Producer = NoProducer

    def __init__(self, app: faust.App, options: Options) -> None:
        super().__init__(app.conf.broker_consumer, app)
        self.options = options


def slab_transport(  # noqa: PLR0913 - all by name
    app: faust.App,
    *,
    topics: frozenset[str],
    fields: Mapping[str, FieldReader] | None = None,
    connection: KafkaConnection | None = None,
    fetch_min_bytes: int = 1_048_576,
    fetch_max_wait_ms: int = 100,
    isolation_level: IsolationLevel = "read_uncommitted",
    slabs: bool = True,
    request_timeout_s: float = 10.0,
    on_stock: Callable[[str], None] = warn_of_stock,
    says: Says | None = None,
) -> SlabTransport:
    """Make the transport to be assigned to ``app.transport`` right after the app is made.

    ``topics`` are read as slabs, all others as records; of those in ``fields`` headers or values are looked into,
    which is slower. ``on_stock`` is told, once, why they are read the stock way;
    ``slabs`` False is a reason, too. ``request_timeout_s`` bounds each thing the consumer is asked, commits among
    them. Without a ``connection`` that of the app's broker URL is used, without security.
    """
    url = app.conf.broker_consumer
    at = connection or KafkaConnection(bootstrap_servers=tuple(driver.server_list(url, driver.Transport.default_port)))
    options = Options(
        topics=topics,
        fields=fields or {},
        fetch_min_bytes=fetch_min_bytes,
        fetch_max_wait_ms=fetch_max_wait_ms,
        isolation_level=isolation_level,
        slabs=slabs,
        request_timeout_s=request_timeout_s,
        connection=at,
        on_stock=on_stock,
        says=says or Says(SystemClock()),
    )
    return SlabTransport(app, options)
