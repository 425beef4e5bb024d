"""Whether a key may be split at all, whatever its load."""

from __future__ import annotations

from hotshard.core.keys import MAX_SUFFIXABLE_BYTES, has_form, is_binary
from hotshard.core.planning.verdict import Refusal, RefusalReason
from hotshard.core.topic import Carry, KeyLayout, Ordering, PartitionsFrom, TopicSpec
from hotshard.core.wire.pane import WHOLE_KEY_BYTES, is_cut


def forbidden(key: bytes, spec: TopicSpec) -> Refusal | None:
    """Why ``spec`` forbids to split ``key``, or None."""
    if spec.ordering is Ordering.PER_KEY:
        return _refusal(key, RefusalReason.PER_KEY_ORDER, "all records of a key of this topic must stay in order")
    if spec.compacted:
        return _refusal(
            key, RefusalReason.COMPACTED_TOPIC, "compaction keeps one record a key, and would keep one a shard"
        )
    if spec.copartitioned:
        return _refusal(key, RefusalReason.COPARTITIONED, "the topic is joined with another partition by partition")
    if spec.carry is Carry.PARTITION and spec.partitions_from is PartitionsFrom.COMPUTED:
        detail = "the source does not keep production's partitions, so one that is given would not be seen"
        return _refusal(key, RefusalReason.PARTITIONS_UNSEEN, detail)
    return unbearable(key, spec.carry, spec.layout)


def unbearable(key: bytes, carry: Carry, layout: KeyLayout | None = None) -> Refusal | None:
    """Why ``key`` can be sent to no shard in this way, or None."""
    return ungivable(key) if carry is Carry.PARTITION else unsuffixable(key, layout)


def ungivable(key: bytes) -> Refusal | None:
    """Why records of ``key``, whatever its form, cannot be given a partition, or None."""
    if not key:
        return _refusal(key, RefusalReason.EMPTY_KEY, "an empty key names nothing")
    if is_cut(key):
        detail = f"the key has more than {WHOLE_KEY_BYTES} bytes, and is known by its beginning and a digest only"
        return _refusal(key, RefusalReason.KEY_TOO_LONG, detail)
    return None


def unsuffixable(key: bytes, layout: KeyLayout | None = None) -> Refusal | None:
    """Why ``key`` can be given no suffix, or None; with a ``layout`` it must have its form."""
    if not key:
        return _refusal(key, RefusalReason.EMPTY_KEY, "an empty key names nothing")
    if is_binary(key):
        return _refusal(key, RefusalReason.BINARY_KEY, "the key is not text, and whoever reads it expects its bytes")
    if len(key) > MAX_SUFFIXABLE_BYTES:
        detail = f"the key has {len(key)} bytes, with a suffix at most {MAX_SUFFIXABLE_BYTES} are possible"
        return _refusal(key, RefusalReason.KEY_TOO_LONG, detail)
    if layout is not None and not has_form(key, layout):
        return _refusal(key, RefusalReason.KEY_FORM, f"the key has not the form of a base key of layout {layout}")
    return None


def _refusal(key: bytes, reason: RefusalReason, detail: str) -> Refusal:
    return Refusal(key=key, reason=reason, detail=detail)
