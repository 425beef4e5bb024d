"""Routes as they are written down: of a plan, of a refusal, and of a plan that was given up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from hotshard.core.deciding.book import earlier_of
from hotshard.core.panes.tenancy import tenant_in_key
from hotshard.core.partitioners import partitioner
from hotshard.core.planning.verdict import Plan, Refusal, RefusalReason
from hotshard.core.topic import Mode, Ordering, TopicSpec
from hotshard.core.wire.names import key_text
from hotshard.core.wire.route import Route, RouteState, Treatment

if TYPE_CHECKING:
    from hotshard.core.deciding.moment import Measured, Moment

#: What may help where a split is refused for this reason; for all others it is isolation.
_ADVICE: Final = {
    RefusalReason.PER_KEY_ORDER: Treatment.REKEY,
    RefusalReason.MIXED_PARTITIONERS: Treatment.NONE,
    RefusalReason.PLACEHOLDER_KEY: Treatment.REKEY,
    RefusalReason.FEW_KEYS: Treatment.REKEY,
    RefusalReason.UNKEYED: Treatment.REKEY,
    RefusalReason.STUCK_PARTITION: Treatment.DEAD_LETTER,
}


def advised(refusal: Refusal) -> Treatment:
    """What may help a key that cannot be split."""
    return _ADVICE.get(refusal.reason, Treatment.ISOLATE)


def given(spec: TopicSpec, *, consent: bool) -> bool:
    """Whether a plan of this topic is given to producers, a person having consented to it or not."""
    return spec.ordering is Ordering.NONE and (spec.mode is Mode.ACTIVE or (spec.mode is Mode.APPROVE and consent))


def why_not_given(spec: TopicSpec) -> str:
    """The reason code of a plan that is only proposed: the mode, or in a mode that gives plans what else is missing."""
    gives = spec.mode in {Mode.APPROVE, Mode.ACTIVE}
    return f"ordering_{spec.ordering}" if gives and spec.ordering is not Ordering.NONE else f"mode_{spec.mode}"


class Drafts:
    """Writes the routes of one topic."""

    def __init__(self, spec: TopicSpec) -> None:
        self._spec = spec
        self._readable_ms = round(spec.readable_s * 1000)
        self._partitioner = partitioner(spec.partitioner).name

    def planned(self, plan: Plan, hot: Measured, before: Route | None, moment: Moment, *, active: bool) -> Route:
        """The route of a plan, which is given to producers or only proposed."""
        return msgspec.structs.replace(
            self._of(plan.key, hot, before, moment),
            treatment=Treatment.SPLIT,
            state=RouteState.ACTIVE if active else RouteState.PROPOSED,
            suffixes=plan.suffixes,
            partitions=plan.partitions,
            partition_count=plan.partition_count,
            also_partitioner=plan.also_partitioner,
            carry=plan.carry,
            reason=str(plan.reason) if active else why_not_given(self._spec),
            imbalance_before=plan.imbalance_before,
            imbalance_after=plan.imbalance_after,
            own_before=plan.own_before,
            own_after=plan.own_after,
        )

    def refused(self, refusal: Refusal, hot: Measured, before: Route | None, moment: Moment) -> Route:
        """The route of a key that cannot be split: advice, with the reason."""
        return msgspec.structs.replace(
            self._of(refusal.key, hot, before, moment), treatment=advised(refusal), reason=str(refusal.reason)
        )

    def retired(self, route: Route, reason: str, moment: Moment) -> Route:
        """The end of a route; where its records may lie stays readable."""
        return msgspec.structs.replace(
            route,
            state=RouteState.RETIRED,
            epoch=moment.epoch,
            suffixes=(),
            partitions=(),
            changed_ms=moment.now_ms,
            reason=reason,
            earlier=earlier_of(route, moment.now_ms, self._readable_ms),
        )

    def _of(self, key: bytes, hot: Measured, before: Route | None, moment: Moment) -> Route:
        """What all routes of a key have."""
        text, b64 = key_text(key)
        tenant = tenant_in_key(key, self._spec) or hot.tenant
        goes_on = before is not None and before.state is not RouteState.RETIRED
        known = before.tenant if before is not None and goes_on else None
        return Route(
            topic=self._spec.name,
            key=text,
            key_b64=b64,
            tenant=known if tenant is None else tenant.decode(errors="replace"),
            state=RouteState.PROPOSED,
            epoch=moment.epoch,
            partition_count=0,
            partitioner=self._partitioner,
            ordering=self._spec.ordering,
            since_ms=before.since_ms if before is not None and goes_on else moment.now_ms,
            changed_ms=moment.now_ms,
            share=hot.share,
            lower=hot.lower,
            upper=hot.upper,
            earlier=() if before is None else earlier_of(before, moment.now_ms, self._readable_ms),
        )
