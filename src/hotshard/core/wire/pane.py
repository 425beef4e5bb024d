"""What travels on the panes topic: panes of counted records, and how far each worker is.

Messages are msgpack. The key of each message is the name of the production topic.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

import msgspec

from hotshard.errors import WireError

VERSION: Final = 1

#: A key of at most this many bytes travels whole.
WHOLE_KEY_BYTES: Final = 256
_DIGEST_BYTES: Final = 16

# What a message may say: a thousand panes of the most still add up within 64 bits, and nothing that is made as
# large as a number says can take all memory. Anything beyond is damage.
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 50)]
Offset = Annotated[int, msgspec.Meta(ge=-1, le=1 << 60)]
Generation = Annotated[int, msgspec.Meta(ge=-1, le=(1 << 31) - 1)]
Partition = Annotated[int, msgspec.Meta(ge=0, le=100_000)]
Time = Annotated[int, msgspec.Meta(ge=-(1 << 50), le=1 << 50)]


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


def sub_name(key: bytes, discriminator: bytes) -> bytes:
    """The name of a sub-unit of a base key in a list: the key's length in two bytes, the key, the discriminator."""
    return len(key).to_bytes(2, "big") + key + discriminator


def sub_parts(name: bytes) -> tuple[bytes, bytes]:
    """Base key and discriminator of a name made by :func:`sub_name`."""
    end = 2 + int.from_bytes(name[:2], "big")
    return name[2:end], name[end:]


# Not tracked by the garbage collector, as it can be in no cycle: there are 200,000 a second in a large topic.
class Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A key or tenant of one pane; its true load lies in ``[lower, upper]``."""

    key: bytes
    lower: Count
    upper: Count
    #: Count-min estimates of the load in the last windows before this pane's, the newest last; only
    #: for candidates. They hold with a stated probability, unlike the bounds.
    recent: tuple[Count, ...] = ()


class HeavyList(msgspec.Struct, frozen=True, array_like=True):
    """The heaviest of one pane: at most 256 rows, by falling ``upper``.

    ``error`` is the largest upper bound of anything that is not in the list.
    """

    rows: tuple[Row, ...] = ()
    error: Count = 0


class Pane(msgspec.Struct, frozen=True, kw_only=True, tag="pane", tag_field="kind"):
    """One version of a pane: what was counted in ``[start, end)`` of a source partition."""

    version: int = VERSION
    topic: str
    source: str
    partition: Partition
    start: Offset
    end: Offset
    #: Group generation in which the pane was opened.
    generation: Generation
    high_watermark: Offset
    worker: str
    records: Count
    size_bytes: Count
    #: Records without a key: in ``records`` and ``size_bytes``, in no list and in no load.
    unkeyed: Count = 0
    #: Malformed records, left out of ``records``.
    skipped: Count = 0
    #: Records on which our own code failed: in ``records``, but in no load and no list; they void the guarantee.
    failed: Count = 0
    #: Exact load (records or bytes, as the topic says) of keyed records by production partition.
    loads: dict[Partition, Count] = {}
    keys: HeavyList = HeavyList()
    tenants: HeavyList = HeavyList()
    #: Exact load of every routed key, base keys and shards each by themselves, as it was on the record.
    exact: dict[bytes, Count] = {}
    #: Distinct keys, and distinct tenants, of this source partition since its window began or since its worker took
    #: it over: exact while few, else estimated. Keys of no other partition are in it, so partitions add up.
    distinct_keys: Count = 0
    distinct_tenants: Count = 0
    #: Sub-units of keys that are counted exactly, where the topic has a discriminator: see :func:`sub_name`.
    subs: HeavyList = HeavyList()
    #: The one tenant of all records of a listed key, where tenants stand beside the keys (None: they do not); a key
    #: of several tenants, or of which that is not known for sure, is left out.
    tenant_of: dict[bytes, bytes] | None = None
    #: Where tenants stand beside the keys: load of the records without a key that have a tenant. It is in ``tenants``.
    unkeyed_load: Count = 0
    #: Records in which a tenant was looked for beside the key and not found, and values in which tenant or
    #: discriminator were looked for and that are no JSON.
    untenanted: Count = 0
    damaged: Count = 0
    #: Event time: the median of the records' timestamps, and the span of their bulk.
    time_ms: Time
    span_ms: Time
    #: The worker's clock when the pane was opened and when this version was made.
    opened_ms: Time
    cut_ms: Time
    #: False for a pane read more than 10 s behind the end of the log: such a pane goes to windows only.
    live: bool = True


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How far one source partition is. ``committed`` is the start of the pane now open."""

    partition: Partition
    committed: Offset
    position: Offset
    high_watermark: Offset
    generation: Generation


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag="progress", tag_field="kind"):
    """A worker's word, once a second, on the partitions of one source it holds."""

    version: int = VERSION
    topic: str
    source: str
    worker: str
    sent_ms: Time
    #: Partition count of the source.
    partitions: Partition
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
