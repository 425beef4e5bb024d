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

    def part(self, begin: int, end: int) -> Slab:
        """The records ``[begin, end)``, by place. Parts that tile a slab tile its offsets.

        Of a slab that ``has_holes`` a part need not hold the records that stand at its offsets. What was skipped or
        damaged is told with the last part.
        """
        last = end == len(self.keys)
        if last and not begin:
            return self
        tenants, discriminators = self.tenants, self.discriminators
        return Slab(
            topic=self.topic,
            partition=self.partition,
            start=self.start + begin,
            end=self.end if last else self.start + end,
            generation=self.generation,
            high_watermark=self.high_watermark,
            keys=self.keys[begin:end],
            sizes=self.sizes[begin:end],
            timestamps=self.timestamps[begin:end],
            tenants=None if tenants is None else tenants[begin:end],
            discriminators=None if discriminators is None else discriminators[begin:end],
            skipped=self.skipped if last else 0,
            damaged=self.damaged if last else 0,
        )

    @property
    def has_holes(self) -> bool:
        """Whether some of its offsets stand for no record in the columns, so that no record's own offset is known."""
        return self.end - self.start != len(self.keys)
