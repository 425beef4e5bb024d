"""A topic whose heat is made up, and whose routes a router keeps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from hotshard.core.deciding.book import RouteBook
from hotshard.core.deciding.moment import Measured, Moment
from hotshard.core.deciding.obeying import Obeying
from hotshard.core.deciding.routing import Router, Turn
from hotshard.core.deciding.wishes import Wishes
from hotshard.core.keys import with_suffix
from hotshard.core.partitioners import partition_of
from hotshard.core.topic import Carry
from hotshard.core.wire.command import Command, CommandKind, StreamId, hear, write_command
from hotshard.core.wire.event import EventType
from hotshard.core.wire.route import Route, RouteState
from tests.support.deciding import TOPIC, key

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hotshard.core.topic import TopicSpec
    from hotshard.core.wire.orders import Done

HOT: Final = key(1)
PROPOSED, ACTIVATED, RETIRED = EventType.PLAN_PROPOSED, EventType.PLAN_ACTIVATED, EventType.PLAN_RETIRED
#: A plan that has stood so long may be changed.
LATER_MS: Final = 10_000


@dataclass
class Topic:
    """A topic whose partitions all carry the same but for hot keys, which lie where their routes send them."""

    spec: TopicSpec
    partitions: int = 6
    calm: float = 100.0
    wishes: Wishes = field(init=False)

    def __post_init__(self) -> None:
        self.book = RouteBook()
        self.wishes = Wishes(self.spec)
        self.now_ms = 1_000_000
        self.at = 50

    def now(self) -> Moment:
        return Moment(registry_epoch=7, at=self.at, now_ms=self.now_ms)

    def step(
        self,
        loads: Mapping[bytes, float],
        *,
        wait_ms: int = LATER_MS,
        pinned: Collection[bytes] | None = None,
        **judged: Any,  # noqa: ANN401 - as of what is measured
    ) -> tuple[Turn, ...]:
        """The next step, a message and ``wait_ms`` later, with these keys hot.

        ``pinned``: the pinned keys that are measured; all of them where it is not given.
        """
        self.at, self.now_ms = self.at + 1, self.now_ms + wait_ms
        hot = {name: self.measured(name, load, **judged) for name, load in loads.items()}
        total = [self.calm] * self.partitions
        for one in hot.values():
            for partition, part in one.current.items():
                total[partition] += part
        wanted = self.wishes.to_split(hot) if pinned is None else pinned
        seen = {name: hot.get(name) or self.measured(name, 0.0, worth_acting=False) for name in wanted}
        return Router(self.spec, self.book, self.wishes).step(hot, total, self.now(), seen)

    def obey(self) -> tuple[Turn, ...]:
        """What is done for people without a message."""
        return Router(self.spec, self.book, self.wishes).obey(self.now())

    def command(self, kind: CommandKind, name: bytes | None = None, **more: Any) -> Done:  # noqa: ANN401 - of a command
        """A person commands something of the topic."""
        text = None if name is None else name.decode()
        command = Command(kind=kind, topic=TOPIC, key=text, **({"by": "ann"} | more))
        heard = hear(StreamId(self.now_ms, 0), write_command(command))
        return Obeying(self.spec, self.wishes, self.book).obey(heard, self.now_ms)

    def measured(self, name: bytes, load: float, **judged: Any) -> Measured:  # noqa: ANN401 - as of what is measured
        """A key that lies where its route sends it; what is done about it is worth it, unless ``judged`` says no."""
        current: dict[int, float] = {}
        places = self.places(name) if load else []
        for place in places:
            current[place] = current.get(place, 0.0) + load / len(places)
        return Measured(load, current, 0.4, round(load), round(load), worth_acting=True)._replace(**judged)

    def places(self, name: bytes) -> list[int]:
        """The partition of every shard of a key."""
        route = self.book.get(name)
        place = partition_of(self.spec.partitioner, self.partitions)
        if route is None or route.state is not RouteState.ACTIVE:
            return [place(name)]
        if route.carry is Carry.PARTITION:
            return list(route.partitions)
        return [place(with_suffix(name, suffix)) for suffix in route.suffixes]

    def restarted_with(self, **changes: Any) -> Topic:  # noqa: ANN401 - any field of a spec
        """The same topic after a restart with other settings."""
        after = replace(self, spec=replace(self.spec, **changes))
        after.book = RouteBook(self.book.all())
        after.wishes = Wishes(after.spec, self.wishes.orders())
        after.now_ms, after.at = self.now_ms, self.at
        return after

    def route(self, name: bytes = HOT) -> Route:
        found = self.book.get(name)
        assert found is not None
        return found


def told(turns: tuple[Turn, ...]) -> list[EventType]:
    return [kind for turn in turns for kind in turn.told]
