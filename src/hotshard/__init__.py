"""Names the tenant and the key that choke a Kafka partition, and lets producers spread that key.

This is the producers' and readers' side; it needs neither Faust nor a Kafka client.
"""

from hotshard.client.routed import Routed
from hotshard.client.states import Counters, RegistryState
from hotshard.client.tasks import AsyncRegistry
from hotshard.client.threads import Registry
from hotshard.client.wrap import shard
from hotshard.core.keys import base_key, partition_key, sharded_partition_key
from hotshard.core.skew import Alert, AlertLevel, AlertReason, Skew, describe_skew, skew_alerts
from hotshard.doors.clock import ManualClock
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.errors import HotshardError

__version__ = "0.1.0"

__all__ = [
    "Alert",
    "AlertLevel",
    "AlertReason",
    "AsyncRegistry",
    "Counters",
    "HotshardError",
    "ManualClock",
    "MemoryRegistry",
    "Registry",
    "RegistryState",
    "Routed",
    "Skew",
    "__version__",
    "base_key",
    "describe_skew",
    "partition_key",
    "shard",
    "sharded_partition_key",
    "skew_alerts",
]
