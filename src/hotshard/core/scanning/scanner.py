"""A stretch of input, from its first record to its last, and what is to be said of it."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from hotshard.core.causes.table import judge
from hotshard.core.panes.tenancy import tenant_in_key
from hotshard.core.policy.choosing import Policies
from hotshard.core.policy.thresholds import Policy
from hotshard.core.scanning.advising import advice_of
from hotshard.core.scanning.clock import StretchClock
from hotshard.core.scanning.cutting import Rule, steps
from hotshard.core.scanning.filling import Filling
from hotshard.core.scanning.gathering import Setting
from hotshard.core.scanning.judging import Judging
from hotshard.core.scanning.lanes import Lane, Stretch
from hotshard.core.scanning.overall import Overall
from hotshard.core.scanning.overview import Overview, evidence_of
from hotshard.core.scanning.owning import Owning
from hotshard.core.scanning.placing import Places
from hotshard.core.scanning.telling import Teller
from hotshard.core.topic import KeyLayout, Load, PartitionsFrom
from hotshard.core.wire.pane import is_cut
from hotshard.errors import UsageError

if TYPE_CHECKING:
    from hotshard.core.slab import Slab
    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.scan import ScanReport

WINDOW_MS: Final = 60_000


class By(StrEnum):
    """What a record's partition is computed from, where it is computed."""

    KEY = "key"
    TENANT = "tenant"


class Scanner:
    """Reads slabs once, in bounded memory, by the worker's own code.

    ``spec`` says how a record's key is built, what load is, the partitioner and the policy; ``partitions``
    is the partition count in production. Slabs of one ``(topic, partition)`` must tile its offsets.

    Input is cut into stretches (see :class:`~hotshard.core.scanning.cutting.Rule`); each is counted by panes,
    looked at by the policy's rules and judged. A stretch decides nothing where it holds less than the naming
    floor, or where its records are of no one time, unless it is all there is.
    """

    def __init__(self, spec: TopicSpec, partitions: int, *, window_ms: int = WINDOW_MS, by: By = By.KEY) -> None:
        self._spec = spec
        self._by_tenant = by is By.TENANT
        self._window_ms = window_ms
        self._rule = Rule(window_ms, _floor(spec, window_ms))
        computed = spec.partitions_from is PartitionsFrom.COMPUTED or self._by_tenant
        self._places = Places(spec.partitioner, partitions) if computed else None
        self._owning = Owning()
        self._beside = Owning()
        policies = Policies(spec.policy, spec.tenant_policies)
        self._setting = Setting(spec, policies, partitions, self._place if computed else None, self._by_tenant)
        self._judging = Judging(self._setting, self._owning)
        self._overall = Overall(spec, partitions, read=not computed)
        self._filling = Filling(by_tenant=self._by_tenant, by_record=spec.load is Load.RECORDS)
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._skipped = 0
        self._begin()

    def add(self, slab: Slab) -> None:
        """Take in the records that come next.

        Raises:
            UsageError: partitions are to be computed from the tenant, and the records have none.

        """
        self._skipped += slab.skipped
        if self._by_tenant and slab.tenants is None:
            slab = self._with_tenants(slab)
        self._note(slab)
        lane = self._lane(slab)
        begun = 0
        for begin, stamps, now_ms in steps(slab, self._rule.step):
            if now_ms is not None and self._rule.ends(self._clock, self._records + begin - begun, now_ms):
                if begin > begun:
                    self._count(slab.part(begun, begin), lane)
                self._close()
                begun = begin
            self._clock.add(stamps)
        self._count(slab.part(begun, len(slab)), lane)

    def finish(self) -> ScanReport:
        """What is so, of all that was added. To be called once."""
        self._close(last=True)
        self._judging.judge_all(self._overall)
        view = self._view()
        evidence = evidence_of(view)
        return Teller(view, self._skipped).report(judge(evidence), advice_of(view, evidence))

    @property
    def _now_ms(self) -> int:
        """The moment of the stretch that is open: see :class:`~hotshard.core.scanning.lanes.Lane`."""
        return self._judging.findings.windows_total * self._window_ms

    def _begin(self) -> None:
        self._clock = StretchClock()
        self._records = 0
        self._largest_record = 1

    def _count(self, slab: Slab, lane: Lane) -> None:
        lane.add(slab, self._now_ms)
        self._records += len(slab)
        if self._spec.load is Load.BYTES:
            self._largest_record = max(self._largest_record, *slab.sizes, 0)

    def _note(self, slab: Slab) -> None:
        """What is told of all of the input only, slab for slab."""
        overall, places, sizes = self._overall, self._places, slab.sizes
        keys = overall.counted(slab.keys, sizes)
        tenants = None if slab.tenants is None else overall.counted(slab.tenants, sizes)
        overall.add_names(keys, tenants)
        if tenants is None or slab.tenants is None:
            self._owning.note(keys.keys())
        else:
            self._beside.note(tenants.keys())
            self._owning.note_beside(slab.keys, slab.tenants)
        if places is not None:
            places.learn((keys if tenants is None or not self._by_tenant else tenants).keys())
            if tenants is not None:
                self._filling.add(slab, places.of)

    def _with_tenants(self, slab: Slab) -> Slab:
        """The slab with the tenants that stand in its keys beside them."""
        if self._spec.layout is KeyLayout.ENTITY:
            raise UsageError("--by tenant needs records with a tenant, and this input has none")
        return replace(slab, tenants=[None if key is None else tenant_in_key(key, self._spec) for key in slab.keys])

    def _lane(self, slab: Slab) -> Lane:
        at = (slab.topic, slab.partition)
        lane = self._lanes.get(at)
        if lane is None:
            place = None if self._places is None else self._places.of
            lane = self._lanes[at] = Lane(
                self._spec, slab, window_ms=self._window_ms, place=place, by_tenant=self._by_tenant
            )
        return lane

    def _place(self, name: bytes) -> int | None:
        """The partition of a name as it travels; None for one that was cut, where it is not remembered whole."""
        if self._places is None:
            return None
        whole = self._beside.whole(self._owning.whole(name)) if is_cut(name) else name
        return None if is_cut(whole) and whole is name else self._places.of(whole)

    def _close(self, *, last: bool = False) -> None:
        stretch = Stretch(times=self._clock.times(self._window_ms), largest_record=self._largest_record)
        for lane in self._lanes.values():
            lane.seal(stretch, self._now_ms)
        only = last and not self._judging.findings.windows_total
        self._begin()
        if stretch.records or only:
            of_one_time = stretch.times is None or stretch.times.forward
            stretch.decides = only or (stretch.records >= self._rule.floor and of_one_time)
            self._overall.add_stretch(stretch)
            self._judging.judge(stretch)

    def _view(self) -> Overview:
        overall, judging = self._overall, self._judging
        return Overview(
            setting=self._setting,
            overall=overall,
            findings=judging.findings,
            owning=self._owning,
            beside=self._beside,
            filling=self._filling,
            start_ms=judging.start_ms,
            end_ms=judging.end_ms,
        )


def _floor(spec: TopicSpec, window_ms: int) -> int:
    """The naming floor of records: where load is bytes the policy's is one of bytes, and the usual one holds."""
    policy = spec.policy if spec.load is Load.RECORDS else Policy()
    return max(1, round(policy.floor_name_per_s * window_ms / 1000))
