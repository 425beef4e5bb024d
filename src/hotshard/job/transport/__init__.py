"""How Faust is fed: slabs for the topics that are counted, own commits, and no outage that ends the worker."""

from hotshard.job.transport.app import QuietApp, quiet_app
from hotshard.job.transport.consumer import SlabConsumer
from hotshard.job.transport.schema import AsIs
from hotshard.job.transport.transport import SlabTransport, slab_transport

__all__ = ["AsIs", "QuietApp", "SlabConsumer", "SlabTransport", "quiet_app", "slab_transport"]
