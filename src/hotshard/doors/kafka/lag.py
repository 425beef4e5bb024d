"""Lag read on demand: two looks at a group some time apart make one piece of evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotshard.core.causes.evidence import LagEvidence, PartitionLag

if TYPE_CHECKING:
    from hotshard.doors.kafka.contract import Admin


async def read_lag(
    admin: Admin, group: str, topic: str, *, before: LagEvidence | None = None, since_s: float | None = None
) -> LagEvidence:
    """How ``group`` stands to ``topic`` now, and, where ``before`` was read ``since_s`` ago, how it went on since.

    The group is asked first and the ends last, so that nothing read meanwhile makes lag negative.

    Raises:
        UnavailableError, RefusedError, MissingTopicError: as every door to Kafka.

    """
    look = await admin.group(group, topic)
    starts = await admin.start_offsets(topic)
    stable = await admin.stable_offsets(topic)
    ends = await admin.end_offsets(topic)
    old = {each.partition: each for each in before.partitions} if before is not None and since_s else {}
    return LagEvidence(
        group=group,
        members=look.members,
        partitions=tuple(
            PartitionLag(
                partition=partition,
                committed=look.committed.get(partition),
                end=end,
                log_start=starts.get(partition),
                stable=stable.get(partition),
                committed_before=old[partition].committed if partition in old else None,
                end_before=old[partition].end if partition in old else None,
                since_s=since_s if partition in old else None,
                owner=look.owners.get(partition),
            )
            for partition, end in sorted(ends.items())
        ),
    )
