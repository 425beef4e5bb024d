"""What is concluded from evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.core.causes.evidence import Cause
    from hotshard.core.wire.route import Treatment


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A cause, and what would help; also where nothing is wrong, or nothing is to be done."""

    cause: Cause
    treatment: Treatment
    #: A code of its own, finer than the cause: why this treatment.
    reason: str
    #: The numbers it rests on, finite all of them.
    numbers: Mapping[str, float] = field(default_factory=dict)
    #: Share of the partitions that were in the evidence.
    completeness: float = 1.0
    #: What could not be judged for want of evidence, as codes (such as ``lag``).
    unjudged: tuple[str, ...] = ()
    #: One sentence for a person: what is so, and what to do.
    sentence: str = ""
    #: The key or tenant it is about; None where it is about the topic.
    name: bytes | None = None
    #: Causes that hold, too, but come later in the table.
    also: tuple[Cause, ...] = ()
    #: What the application must do itself, as codes: see ``core/causes/advice.py``.
    advice: tuple[str, ...] = ()
