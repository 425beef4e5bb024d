"""How long everything in the demo lasts, in seconds, and how fast it goes."""

from __future__ import annotations

from dataclasses import dataclass, field

from hotshard.demo.traffic import Rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Made so that the whole lasts about 45 s."""

    rates: Rates = field(default_factory=Rates)
    #: Records a second that the consumer handles of each partition: three times its fair part of the flooded load.
    handled_per_s: float = 800.0
    #: Before each flood: long enough that what a worker read late at its start has left its short view.
    calm_s: float = 2.0
    #: Each of the two floods.
    flood_s: float = 9.0
    #: The part at its end over which it is measured.
    settled_s: float = 4.5
    #: The worker must be at work within this.
    ready_within_s: float = 60.0
    #: How long is waited for the key to cool and for a backlog to drain before going on.
    cool_within_s: float = 10.0
    drain_within_s: float = 12.0
