"""The lists of a pane, made columns once for all views that they are put into."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hotshard.core.panes.listsum import key_rows
from hotshard.core.panes.sliding import Said

if TYPE_CHECKING:
    from hotshard.core.wire.pane import HeavyList, Pane


class Lists(NamedTuple):
    """What the lists of a pane say, as columns: may be put into several views."""

    keys: Said
    tenants: Said
    #: None: nothing is said of sub-units.
    subs: Said | None

    @classmethod
    def of(cls, pane: Pane) -> Lists:
        return cls(
            Said.of(key_rows(pane), pane.keys.error, pane.partition),
            _said(pane.tenants, pane.partition),
            _said(pane.subs, pane.partition) if pane.subs.rows or pane.subs.error else None,
        )


def _said(heavy: HeavyList, partition: int) -> Said:
    return Said.of(((row.key, row.lower, row.upper) for row in heavy.rows), heavy.error, partition)
