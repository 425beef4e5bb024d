"""Plans as steps, one after the other: what each of them brings when those before it are obeyed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hotshard.core.planning.score import imbalance, spread, with_load, without_load
from hotshard.core.planning.verdict import Plan, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hotshard.core.causes.evidence import HotName

#: Two imbalances are the same when they differ by less: sums of the same loads in another order do.
_SAME = 1e-9


class Gain(NamedTuple):
    """The imbalance when a verdict's turn comes and when it is obeyed; and the same of the partitions it is about.

    A refusal changes nothing, and has the first alone.
    """

    before: float
    after: float | None = None
    own_before: float | None = None
    own_after: float | None = None


class Step(NamedTuple):
    """A verdict on a key, and what it brings."""

    hot: HotName
    verdict: Plan | Refusal
    gain: Gain


class Steps:
    """Obeys plans on the loads of all of the input."""

    def __init__(self, loads: Sequence[float], eps: float) -> None:
        self._loads = [float(load) for load in loads]
        self._limit = 1 + eps
        self._now = imbalance(self._loads)

    def of_all(
        self,
        hots: Sequence[HotName],
        verdicts: Mapping[bytes, Plan | Refusal],
        lies: Mapping[bytes, Mapping[int, float]],
    ) -> Iterator[Step]:
        """Each key's step, in the order of ``hots``.

        Plans are made together, and one may go where another key has yet to leave: it waits until the others
        had their turn, so that a person who obeys the list and stops anywhere has raised nothing.
        """
        waiting = []
        for hot in hots:
            verdict = verdicts[hot.name]
            if isinstance(verdict, Plan) and self._raises(verdict, lies[hot.name]):
                waiting.append(hot)
            else:
                yield self._step(hot, verdict, lies.get(hot.name, {}))
        for hot in waiting:
            yield self._step(hot, verdicts[hot.name], lies[hot.name])

    def bears(self, plan: Plan, lies: Mapping[int, float]) -> bool:
        """Obey ``plan`` if that leaves what is tolerated, or no more than there is; whether it was obeyed."""
        loads = moved(self._loads, lies, plan.partitions)
        after = imbalance(loads)
        if after > max(self._limit, self._now + _SAME):
            return False
        self._loads, self._now = loads, after
        return True

    def _raises(self, plan: Plan, lies: Mapping[int, float]) -> bool:
        return imbalance(moved(self._loads, lies, plan.partitions)) > self._now + _SAME

    def _step(self, hot: HotName, verdict: Plan | Refusal, lies: Mapping[int, float]) -> Step:
        if isinstance(verdict, Refusal):
            return Step(hot, verdict, Gain(self._now))
        loads = self._loads
        self._loads = moved(loads, lies, verdict.partitions)
        self._now = imbalance(self._loads)
        return Step(hot, verdict, gain(loads, self._loads, lies, verdict.partitions))


def gain(before: Sequence[float], after: Sequence[float], lies: Mapping[int, float], partitions: Sequence[int]) -> Gain:
    """What it brings that a key which ``lies`` there now is spread over ``partitions``."""
    mean = sum(before) / len(before) or 1.0
    old = [partition for partition, load in lies.items() if load > 0]
    return Gain(
        imbalance(before),
        imbalance(after),
        max((before[each] for each in old), default=0.0) / mean,
        max((after[each] for each in (*old, *partitions)), default=0.0) / mean,
    )


def moved(loads: Sequence[float], lies: Mapping[int, float], partitions: Sequence[int]) -> list[float]:
    """Loads when what lies here lies in equal parts there."""
    return with_load(without_load(loads, lies), spread(sum(lies.values()), partitions))
