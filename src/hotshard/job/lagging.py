"""The lag of the groups that a topic's settings name: looked at now and then, and often while something is wrong.

A stuck partition, or a group that is slow everywhere, shows in lag alone while load is even.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.doors.kafka.lag import read_lag
from hotshard.errors import HotshardError

if TYPE_CHECKING:
    from collections.abc import Collection

    from hotshard.core.causes.evidence import LagEvidence
    from hotshard.core.deciding.decider import TopicDecider
    from hotshard.doors.clock import Clock
    from hotshard.doors.kafka.contract import Admin
    from hotshard.job.decide import Deciding
    from hotshard.job.says import Says

#: Groups are looked at this often while something is wrong, so often while nothing is, and a look is held against
#: the oldest of these last ones.
LOOK_S: Final = 15.0
CALM_S: Final = 60.0
KEPT_S: Final = 120.0
_SUBJECT: Final = "the lag of groups"


class _Look(NamedTuple):
    at_s: float
    lag: LagEvidence


class LagReader:
    """Hands the lag of a topic's groups to its decider. What cannot be read is not known; nothing waits for it."""

    def __init__(self, admin: Admin, deciding: Deciding, *, clock: Clock, says: Says) -> None:
        self._admin = admin
        self._deciding = deciding
        self._clock = clock
        self._says = says
        self._looks: dict[tuple[str, str], deque[_Look]] = {}

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            await self.read_once()
            await asyncio.sleep(LOOK_S)

    async def read_once(self) -> None:
        """Look once at every group that is due, and forget those that are not wanted any more."""
        wanted = {decider: decider.wants_lag for decider in self._deciding.speaking()}
        pairs = {(decider.topic, group) for decider, groups in wanted.items() for group in groups}
        self._looks = {pair: looks for pair, looks in self._looks.items() if pair in pairs}
        for decider, groups in wanted.items():
            if decider.is_wrong or not groups or self._is_due(decider.topic, groups):
                await self._read(decider, groups)

    def _is_due(self, topic: str, groups: Collection[str]) -> bool:
        """Whether one of them was not looked at for a while."""
        since_s = self._clock.monotonic_s() - CALM_S
        looks = [self._looks.get((topic, group)) for group in groups]
        return any(not each or each[-1].at_s <= since_s for each in looks)

    async def _read(self, decider: TopicDecider, groups: Collection[str]) -> None:
        try:
            lag = [await self._look(decider.topic, group) for group in groups]
        except HotshardError as error:
            self._says.waiting(_SUBJECT, error)
            decider.hear_lag(())
            return
        if groups:
            self._says.well(_SUBJECT)
        decider.hear_lag(lag)

    async def _look(self, topic: str, group: str) -> LagEvidence:
        now_s = self._clock.monotonic_s()
        looks = self._looks.setdefault((topic, group), deque())
        while looks and now_s - looks[0].at_s > KEPT_S:
            looks.popleft()
        before = looks[0] if looks else None
        lag = await read_lag(
            self._admin,
            group,
            topic,
            before=None if before is None else before.lag,
            since_s=None if before is None else now_s - before.at_s,
        )
        looks.append(_Look(now_s, lag))
        return lag

    async def close(self) -> None:
        await self._admin.stop()
