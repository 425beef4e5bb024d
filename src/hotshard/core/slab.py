"""A slab: a run of records of one partition, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Slab:
    """Records ``[start, end)`` of one source partition.

    ``keys``, ``sizes`` and ``timestamps`` have one entry per record, in the order of offsets;
    they may be empty (a stretch of control records, or records left out by compaction).
    ``start`` is the position before the slab, so ``start`` of a slab is ``end`` of the one before.
    """

    topic: str
    partition: int
    start: int
    end: int
    #: Generation of the consumer group in which the records were fetched.
    generation: int
    #: The end of what can be read: the high watermark, or the last stable offset under read_committed.
    high_watermark: int
    keys: list[bytes | None] = field(default_factory=list)
    #: Bytes of key and value of each record, headers not counted.
    sizes: list[int] = field(default_factory=list)
    #: Milliseconds since the Unix epoch, as the record says; negative when it has none. In a batch of more than 64
    #: records that says it spans no more than 100 ms, up to 32 in a row may have the timestamp of the last of them.
    timestamps: list[int] = field(default_factory=list)
    #: Tenants and discriminators, where they do not stand in the key: one entry per record, None where it has none.
    tenants: list[bytes | None] | None = None
    discriminators: list[bytes | None] | None = None
    #: Records in the range that could not be read and were left out of the columns.
    skipped: int = 0
    #: Records whose tenant or discriminator was looked for in a value that is no JSON; they are in the columns.
    damaged: int = 0

    def __len__(self) -> int:
        return len(self.keys)
