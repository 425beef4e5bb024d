"""What a client can be asked: its state, and what it has counted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RegistryState(StrEnum):
    """How much the routes in force can be relied upon. Routing works in every state."""

    NOT_READY = "not_ready"  #: the registry was never reached: base keys
    READY = "ready"  #: routes are in force, and a live detector stands behind them
    STALE = "stale"  #: routes are in force, but no detector has been heard for a while: the last ones are kept
    EMPTY = "empty"  #: the registry was reached and has nothing: base keys


@dataclass(slots=True)
class Counters:
    """Counts since the registry object was made; they only rise."""

    snapshots: int = 0  #: snapshots read
    changes: int = 0  #: changes taken from the log
    gaps: int = 0  #: times the log did not continue what was held
    bad_entries: int = 0  #: entries of the registry that were damaged and ignored
    kept: int = 0  #: routes that vanished without having been retired, and were kept
    older: int = 0  #: times the registry held an older state than the one in force
    failures: int = 0  #: times Redis could not be read
    route_errors: int = 0  #: records that went out on their base key because of an error
    #: records that went out on their base key because the topic has another partition count than the route's
    other_partition_count: int = 0
    callback_errors: int = 0  #: errors of the application's ``on_state``
