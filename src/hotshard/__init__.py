"""Names the tenant and the key that choke a Kafka partition, and lets producers spread that key.

This is the producers' and readers' side; it needs neither Faust nor a Kafka client. Names are imported when they
are first used: a command that needs no registry starts without the package of one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "hotshard.client.routed": ("Routed",),
    "hotshard.client.states": ("Counters", "RegistryState"),
    "hotshard.client.tasks": ("AsyncRegistry",),
    "hotshard.client.threads": ("Registry",),
    "hotshard.client.wrap": ("shard",),
    "hotshard.core.keys": ("base_key", "partition_key", "sharded_partition_key"),
    "hotshard.core.skew": ("Alert", "AlertLevel", "AlertReason", "Skew", "describe_skew", "skew_alerts"),
    "hotshard.doors.clock": ("ManualClock",),
    "hotshard.doors.redis.memory": ("MemoryRegistry",),
    "hotshard.errors": ("HotshardError",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:  # noqa: ANN401 -- whatever has that name; checkers read the imports above
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
