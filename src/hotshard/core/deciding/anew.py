"""Going on where the panes topic was made again: what was counted stands, its offsets mean nothing any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hotshard.core.panes.windows import WindowsMemory

if TYPE_CHECKING:
    from hotshard.core.wire.state import TopicHead


def begun_anew(head: TopicHead) -> TopicHead:
    """The head with which a topic is heard from the beginning of a new panes topic.

    What is hot is kept, and which windows were told. Panes of windows that were still open are gone with
    the old topic; each source partition is counted on from its next pane. Epochs go on rising.
    """
    return msgspec.structs.replace(
        head,
        registry_epoch=head.registry_epoch + 1,
        replay_from=0,
        done=0,
        told_at=-1,
        expected=(),
        windows=WindowsMemory(revisions=head.windows.revisions, forgotten_ms=head.windows.forgotten_ms),
    )
