"""What travels on the panes topic: panes of counted records, and how far each worker is.

Messages are msgpack. The key of each message is the name of the production topic.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from hotshard.errors import WireError

VERSION: Final = 1

#: A key of at most this many bytes travels whole.
WHOLE_KEY_BYTES: Final = 256
_DIGEST_BYTES: Final = 16


def travelling_key(key: bytes) -> bytes:
    """The form in which a key travels: whole, or 256 bytes of it and a 128-bit BLAKE2b digest.

    A result of 272 bytes is always the second form, as whole keys end at 256.
    """
    if len(key) <= WHOLE_KEY_BYTES:
        return key
    return key[:WHOLE_KEY_BYTES] + hashlib.blake2b(key, digest_size=_DIGEST_BYTES).digest()


def is_cut(key: bytes) -> bool:
    """Whether a travelling key is a prefix and a digest."""
    return len(key) > WHOLE_KEY_BYTES


# Not tracked by the garbage collector, as it can be in no cycle: there are 200,000 a second in a large topic.
class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A key or tenant of one pane; its true load lies in ``[lower, upper]``."""

    key: bytes
    lower: int
    upper: int
    #: Count-min estimates of the load in the last windows before this pane's, the newest last; only
    #: for candidates. They hold with a stated probability, unlike the bounds.
    recent: tuple[int, ...] = ()


class HeavyList(msgspec.Struct, frozen=True, array_like=True):
    """The heaviest of one pane: at most 256 rows, by falling ``upper``.

    ``error`` is the largest upper bound of anything that is not in the list.
    """

    rows: tuple[Row, ...] = ()
    error: int = 0


class Pane(msgspec.Struct, frozen=True, kw_only=True, tag="pane", tag_field="kind"):
    """One version of a pane: what was counted in ``[start, end)`` of a source partition."""

    version: int = VERSION
    topic: str
    source: str
    partition: int
    start: int
    end: int
    #: Group generation in which the pane was opened.
    generation: int
    high_watermark: int
    worker: str
    records: int
    size_bytes: int
    #: Records without a key: in ``records`` and ``size_bytes``, in no list and in no load.
    unkeyed: int = 0
    #: Malformed records, left out of ``records``.
    skipped: int = 0
    #: Records on which our own code failed: in ``records``, but in no load and no list; they void the guarantee.
    failed: int = 0
    #: Exact load (records or bytes, as the topic says) of keyed records by production partition.
    loads: dict[int, int] = {}
    keys: HeavyList = HeavyList()
    tenants: HeavyList = HeavyList()
    #: Exact load of every routed key, base keys and shards each by themselves, as it was on the record.
    exact: dict[bytes, int] = {}
    #: Event time: the median of the records' timestamps, and the span of their bulk.
    time_ms: int
    span_ms: int
    #: The worker's clock when the pane was opened and when this version was made.
    opened_ms: int
    cut_ms: int
    #: False for a pane read more than 10 s behind the end of the log: such a pane goes to windows only.
    live: bool = True


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far one source partition is. ``committed`` is the start of the pane now open."""

    partition: int
    committed: int
    position: int
    high_watermark: int
    generation: int


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag="progress", tag_field="kind"):
    """A worker's word, once a second, on the partitions of one source it holds."""

    version: int = VERSION
    topic: str
    source: str
    worker: str
    sent_ms: int
    #: Partition count of the source.
    partitions: int
    marks: tuple[Mark, ...]


PaneMessage = Pane | Progress

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[PaneMessage] = msgspec.msgpack.Decoder(Pane | Progress)


def encode(message: PaneMessage) -> bytes:
    return _encoder.encode(message)


def decode(data: bytes) -> PaneMessage:
    """Read a message of the panes topic.

    Raises:
        WireError: the bytes are not a pane or progress message of a version known here.

    """
    try:
        message = _decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise WireError(f"not a message of the panes topic: {error}") from None
    if message.version > VERSION:
        raise WireError(f"pane message of version {message.version}, known here is {VERSION}: update this worker")
    return message
