"""Several hot keys planned at once: the largest first, each among what the others come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.planning.placement import plan_split
from hotshard.core.planning.score import imbalance, spread, with_load, without_load
from hotshard.core.planning.situation import places
from hotshard.core.planning.verdict import Plan, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hotshard.core.planning.situation import HotLoad, Terms

#: Turns that a key has at most: in the first others are still in its way, and hardly any needs the third.
_TURNS: Final = 3


class Together(NamedTuple):
    """A verdict on each key, the largest first, and the loads by partition without and with all plans."""

    verdicts: tuple[Plan | Refusal, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def plans(self) -> tuple[Plan, ...]:
        return tuple(each for each in self.verdicts if isinstance(each, Plan))

    @property
    def imbalance_before(self) -> float:
        return imbalance(self.before)

    @property
    def imbalance_after(self) -> float:
        return imbalance(self.after)


def plan_all(
    hots: Iterable[HotLoad], background: Sequence[float], terms: Terms, own: Mapping[bytes, Terms] | None = None
) -> Together:
    """Plan every key, the largest first; keys of one load in the order of their bytes.

    ``background`` is the load of every partition without any of ``hots``; ``own`` are the terms of keys that
    have others than ``terms``, the partitioner being the same. Each key is planned among
    what the others bring: where their plans put it, or for those whose turn is still to come, where it lies.
    When all have had their turn, keys that are left on a partition above ``1 + eps`` times the mean have
    another, for what was in their way may have gone. No turn raises the imbalance.

    Where that leaves a partition above the limit, all is tried once more with the keys whose turn is still to
    come strewn evenly over all partitions, so that the largest do not shun places that the next ones will
    leave; the better of both is taken.
    """
    hots = list(hots)
    own = own or {}
    found = _in_turns(_Table(hots, background, terms, own))
    if found.imbalance_after > 1 + terms.eps:
        found = min(
            found, _in_turns(_Table(hots, background, terms, own, strewn=True)), key=lambda each: max(each.after)
        )
    return found


def _in_turns(table: _Table) -> Together:
    before = tuple(table.before)
    for _ in range(_TURNS):
        if not table.turn():
            break
    return Together(table.verdicts(), before, tuple(table.loads))


class _Table:
    """Keys in their order, what was answered about them, and where their loads are for now."""

    def __init__(
        self,
        hots: Iterable[HotLoad],
        background: Sequence[float],
        terms: Terms,
        own: Mapping[bytes, Terms],
        *,
        strewn: bool = False,
    ) -> None:
        self._terms = terms
        self._own = own
        self._hots = sorted(hots, key=lambda hot: (-hot.load, hot.key))
        self._lies = {hot.key: places(hot, terms.partitioner, len(background)) for hot in self._hots}
        self._verdicts: dict[bytes, Plan | Refusal] = {}
        self.before = _sum(background, self._lies.values())
        #: Where a key is taken to lie until its first turn.
        everywhere = range(len(background))
        self._until = {hot.key: spread(hot.load, everywhere) for hot in self._hots if strewn and self._lies[hot.key]}
        self.loads = _sum(background, (self._until.get(key, current) for key, current in self._lies.items()))

    def verdicts(self) -> tuple[Plan | Refusal, ...]:
        return tuple(self._verdicts[hot.key] for hot in self._hots)

    def turn(self) -> bool:
        """Give every key its turn; whether any was placed anew."""
        return sum(self._place(hot) for hot in self._hots) > 0

    def _place(self, hot: HotLoad) -> bool:
        current = self._lies[hot.key]
        rest = without_load(self.loads, self._until.pop(hot.key, current))
        self.loads = with_load(rest, current)
        verdict = plan_split(hot._replace(current=current), rest, self._own.get(hot.key, self._terms))
        if isinstance(verdict, Refusal):
            if not isinstance(self._verdicts.get(hot.key), Plan):
                self._verdicts[hot.key] = verdict
            return False
        self._verdicts[hot.key] = verdict
        self._lies[hot.key] = spread(hot.load, verdict.partitions)
        self.loads = with_load(rest, self._lies[hot.key])
        return True


def _sum(background: Sequence[float], loads: Iterable[Mapping[int, float]]) -> list[float]:
    summed = [float(each) for each in background]
    for load in loads:
        summed = with_load(summed, load)
    return summed
