"""Each closed window judged: why load is uneven, whether that lasts, and whether the plans that stand help."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from hotshard.core.causes.consumers import standing
from hotshard.core.causes.evidence import Cause
from hotshard.core.causes.holds import keys_are_few, load_is_uneven
from hotshard.core.causes.lag import LagState
from hotshard.core.causes.measures import with_unkeyed
from hotshard.core.causes.sentences import sentence
from hotshard.core.causes.table import judge
from hotshard.core.deciding.effect import REASONS, InWindow, effect, is_to_be_told, promise, remembered
from hotshard.core.deciding.gathering import Gatherer
from hotshard.core.deciding.recalled import RECENT, JudgingMemory, WindowMemory
from hotshard.core.planning.hindrances import Circumstances, hindered
from hotshard.core.policy.rules import limits
from hotshard.core.wire.event import Ineffective, Skewed
from hotshard.core.wire.route import HotKind, RouteState

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from hotshard.core.causes.evidence import Evidence, LagEvidence
    from hotshard.core.causes.verdict import Verdict
    from hotshard.core.deciding.book import RouteBook
    from hotshard.core.deciding.effect import Effect, EffectMemory
    from hotshard.core.panes.window import ClosedWindow
    from hotshard.core.planning.verdict import Refusal
    from hotshard.core.policy.choosing import Policies
    from hotshard.core.policy.thresholds import Policy
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.report import WindowReport
    from hotshard.core.wire.route import Route

#: From this ratio on, for so long, a topic is told to be skewed; windows further apart are not on end.
SKEW_RATIO: Final = 5.0
SKEW_S: Final = 60.0
_APART_S: Final = 60.0


class Judged(NamedTuple):
    """A window's report with its verdict, and what is to be told besides."""

    report: WindowReport
    verdict: Verdict | None = None
    skewed: Skewed | None = None
    ineffective: tuple[Ineffective, ...] = ()


class Judging:
    """Judges the windows of one topic, in the order in which they close.

    Made with the memory of another it goes on as that one would have. A revision is not judged.
    """

    def __init__(
        self,
        spec: TopicSpec,
        partitions: int,
        book: RouteBook,
        policies: Policies,
        memory: JudgingMemory | None = None,
    ) -> None:
        memory = memory or JudgingMemory()
        self._spec = spec
        self._book = book
        self._policies = policies
        self._gatherer = Gatherer(spec=spec, partitions=partitions, book=book, policies=policies)
        self._windows = memory.windows
        self._skewed_ms, self._skew_told = memory.skewed_ms, memory.skew_told
        self._effects = {each.key: each for each in memory.effects}
        self._distinct_keys, self._unkeyed = memory.distinct_keys, memory.unkeyed
        self._stuck, self._elsewhere = memory.stuck, memory.elsewhere
        self._lag: tuple[LagEvidence, ...] = ()
        #: Whether the window told last said that something is wrong.
        self.is_wrong = False

    def memory(self) -> JudgingMemory:
        return JudgingMemory(
            windows=self._windows,
            skewed_ms=self._skewed_ms,
            skew_told=self._skew_told,
            effects=tuple(self._effects[key] for key in sorted(self._effects)),
            distinct_keys=self._distinct_keys,
            unkeyed=self._unkeyed,
            stuck=self._stuck,
            elsewhere=self._elsewhere,
        )

    def hindrance(self, key: bytes) -> Refusal | None:
        """What makes a split of a key useless, as the window told last has it."""
        home = self._gatherer.home(key)
        unkeyed, whole = next(((part, whole) for place, part, whole in self._unkeyed if place == home), (0, 0))
        return hindered(
            key,
            Circumstances(
                partitions=self._gatherer.partitions,
                eps=self._policies.of(key).eps,
                distinct_keys=self._distinct_keys,
                partition_load=whole,
                unkeyed_load=unkeyed,
                stuck=home in self._stuck,
                elsewhere=key in self._elsewhere,
            ),
        )

    def hear_lag(self, lag: Iterable[LagEvidence]) -> None:
        """The lag of the topic's groups, for the windows that close next; nothing: not known any more."""
        self._lag = tuple(lag)

    def window(
        self,
        closed: ClosedWindow,
        report: WindowReport,
        *,
        hot_keys: AbstractSet[bytes],
        hot_tenants: AbstractSet[bytes],
    ) -> Judged:
        """Judge a window that closed; ``report`` is what is told of it, still without a verdict."""
        if closed.revision:
            return Judged(report)
        evidence = self._evidence(closed, report, hot_keys, hot_tenants)
        verdict = judge(evidence)
        self._keep(evidence)
        self.is_wrong = verdict.cause is not Cause.NONE
        told = msgspec.structs.replace(
            report,
            cause=str(verdict.cause),
            treatment=str(verdict.treatment),
            reason=verdict.reason,
            numbers=dict(verdict.numbers),
            advice=verdict.sentence,
            also=tuple(map(str, verdict.also)),
            application=verdict.advice,
            unjudged=verdict.unjudged,
        )
        return Judged(told, verdict, self._skew(evidence, verdict), self._missed(closed, evidence))

    # -- evidence --------------------------------------------------------------------------------

    def _evidence(
        self,
        closed: ClosedWindow,
        report: WindowReport,
        hot_keys: AbstractSet[bytes],
        hot_tenants: AbstractSet[bytes],
    ) -> Evidence:
        """With this window among the recent ones."""
        alone = self._gatherer.evidence(closed, report, hot_keys=hot_keys, hot_tenants=hot_tenants, lag=self._lag)
        names = tuple(each.name for each in (*alone.hot_keys, *alone.hot_tenants))
        top = alone.top_of_hottest[0][0] if alone.top_of_hottest and load_is_uneven(alone) else None
        now = WindowMemory(closed.start_ms, closed.end_ms, hot=bool(names), names=names, top=top)
        self._windows = (*self._windows, now)[-RECENT:]
        return with_recent(alone, self._windows)

    def _keep(self, evidence: Evidence) -> None:
        """What of this window may hinder a split."""
        self._distinct_keys = evidence.distinct_keys if keys_are_few(evidence) else None
        whole = with_unkeyed(evidence).loads
        self._unkeyed = tuple(
            (partition, part, round(whole[partition]))
            for partition, part in enumerate(evidence.unkeyed_loads)
            if 2 * part > whole[partition]
        )
        self._elsewhere = tuple(key for key, _ in evidence.scattered)
        found = standing(evidence)
        self._stuck = () if found is None else tuple(each.partition for each in found[0].among(LagState.STUCK))

    # -- does it last ----------------------------------------------------------------------------

    def _skew(self, evidence: Evidence, verdict: Verdict) -> Skewed | None:
        """Told once, when the ratio has been above 5 for a minute, and again only after it was not."""
        spread = with_unkeyed(evidence)
        start_ms, end_ms = evidence.start_ms or 0, evidence.end_ms or 0
        hottest = spread.skew.hottest_partition
        if hottest is None or spread.skew.skew_ratio <= SKEW_RATIO or not spread.is_surely_uneven:
            self._skewed_ms, self._skew_told = None, False
            return None
        before_ms = self._windows[-2].end_ms if len(self._windows) > 1 else start_ms
        if self._skewed_ms is None or start_ms - before_ms > _APART_S * 1000:
            self._skewed_ms, self._skew_told = start_ms, False
        if self._skew_told or end_ms - self._skewed_ms < SKEW_S * 1000:
            return None
        self._skew_told = True
        return Skewed(
            topic=self._spec.name,
            partition=hottest,
            start_ms=start_ms,
            end_ms=end_ms,
            since_ms=self._skewed_ms,
            total=round(spread.skew.total),
            max=round(spread.skew.max),
            median=spread.skew.median,
            ratio=spread.skew.skew_ratio,
            imbalance=spread.skew.imbalance,
            idle=spread.skew.idle_partitions,
            completeness=evidence.completeness,
            cause=str(verdict.cause),
            treatment=str(verdict.treatment),
            reason=verdict.reason,
            numbers=dict(verdict.numbers),
            advice=verdict.sentence,
        )

    # -- did it help -----------------------------------------------------------------------------

    def _missed(self, closed: ClosedWindow, evidence: Evidence) -> tuple[Ineffective, ...]:
        """Plans of which it is to be told that they do not help."""
        active = [route for route in self._book.live() if route.state is RouteState.ACTIVE and route.partitions]
        told: list[Ineffective] = []
        kept: dict[bytes, EffectMemory] = {}
        for route in active:
            key = route.base_key
            seen = self._seen(closed, evidence, key)
            found = effect(route, seen, self._gatherer.home(key), self._least_share(route))
            memory = remembered(self._effects.get(key), route, found)
            if found is not None and is_to_be_told(memory):
                told.append(self._ineffective(route, seen, found, memory.windows))
                memory = msgspec.structs.replace(memory, told=True)
            kept[key] = memory
        self._effects = kept
        return tuple(told)

    def _seen(self, closed: ClosedWindow, evidence: Evidence, key: bytes) -> InWindow:
        return InWindow(
            start_ms=closed.start_ms,
            end_ms=closed.end_ms,
            loads=evidence.loads,
            records=evidence.records - evidence.unkeyed,
            wires=self._gatherer.wires_of(closed, {key}),
            completeness=evidence.completeness,
        )

    def _least_share(self, route: Route) -> float:
        return limits(self._policy(route), self._gatherer.partitions, HotKind.KEY).keep_share

    def _policy(self, route: Route) -> Policy:
        """That of the tenant whose the route's key was when it was planned."""
        return self._policies.of_tenant(None if route.tenant is None else route.tenant.encode())

    def _ineffective(self, route: Route, seen: InWindow, found: Effect, windows: int) -> Ineffective:
        reason = found.reason or ""
        what = f"the plan promised {found.promised:.2f} times the mean, and {found.measured:.2f} is measured"
        return Ineffective(
            topic=self._spec.name,
            key=route.key,
            key_b64=route.key_b64,
            tenant=route.tenant,
            treatment=route.treatment,
            epoch=route.epoch,
            since_ms=route.changed_ms,
            start_ms=seen.start_ms,
            end_ms=seen.end_ms,
            windows=windows,
            imbalance_before=promise(route)[0] or 0.0,
            imbalance_promised=found.promised,
            imbalance_measured=round(found.measured, 6),
            completeness=seen.completeness,
            reason=reason,
            numbers={name: round(value, 6) for name, value in found.numbers.items()},
            advice=sentence(what, REASONS[reason][1], None),
            retired=self._policy(route).retire_ineffective,
        )


def with_recent(evidence: Evidence, windows: tuple[WindowMemory, ...]) -> Evidence:
    """The evidence of a window with what its last windows, itself among them, say of time."""
    return replace(
        evidence,
        recent_tops=tuple(each.top for each in windows if each.top is not None),
        windows=len(windows),
        windows_hot=sum(each.hot for each in windows),
    )
