"""Heat of a topic whose tenants stand beside the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotshard.core.deciding.finding import with_cause
from hotshard.core.deciding.heat import Found, TopicHeat
from hotshard.core.deciding.moment import Moment
from hotshard.core.topic import Field, KeyLayout, Place
from hotshard.core.wire.event import EventType
from hotshard.core.wire.pane import HeavyList, Row
from hotshard.core.wire.route import HotKind, Treatment
from tests.support.deciding import NOW_MS, PARTITIONS, pane, spec

if TYPE_CHECKING:
    from collections.abc import Mapping

BESIDE = spec(tenant=Field(Place.HEADER, "t"), layout=KeyLayout.ENTITY)
CALM = {b"k%d" % n: 5 for n in range(40)}


def rows(loads: Mapping[bytes, int]) -> HeavyList:
    return HeavyList(tuple(Row(name, load, load) for name, load in sorted(loads.items())))


class Watched:
    """Some seconds of a topic; what turned in them."""

    def __init__(self) -> None:
        self.heat = TopicHeat(BESIDE, PARTITIONS, None, NOW_MS)
        self.found: list[Found] = []
        self._seconds = 0

    def seconds(self, count: int, keys: Mapping[bytes, int], tenants: Mapping[bytes, int], **more: Any) -> None:  # noqa: ANN401
        for _ in range(count):
            self._seconds += 1
            now_ms = NOW_MS + 1000 * self._seconds
            for partition in range(PARTITIONS):
                start = 100_000 * self._seconds
                given: dict[str, Any] = {"tenants": rows(tenants), "tenant_of": {}} | more
                self.heat.put(pane(partition, start, keys, now_ms=now_ms, **given))
            self.heat.settle(now_ms, {}, 1.0)
            self.found += self.heat.step(Moment(1, self._seconds, now_ms))

    def turned(self, kind: EventType) -> Found:
        (found,) = [found for found in self.found if found.kind is kind]
        return found


def test_a_hot_key_is_told_with_the_tenant_beside_it() -> None:
    watched = Watched()
    watched.seconds(6, {**CALM, b"hot": 400}, {b"acme": 100}, tenant_of={b"hot": b"acme"})
    found = watched.turned(EventType.HOTKEY_DETECTED)
    assert (found.finding.key, found.finding.tenant) == ("hot", "acme")
    assert [entry.tenant for entry in watched.heat.hot_entries() if entry.kind is HotKind.KEY] == ["acme"]


def test_the_first_part_of_a_key_is_not_taken_for_its_tenant() -> None:
    watched = Watched()
    watched.seconds(6, {**CALM, b"acme\x1fhot": 400}, {})
    assert watched.turned(EventType.HOTKEY_DETECTED).finding.tenant is None


def test_a_tenant_of_records_without_a_key_is_measured_by_all_there_is() -> None:
    calm, busy = Watched(), Watched()
    # 200 records with a key, and 800 without; the tenant has 150 or 600 of them all.
    calm.seconds(6, CALM, {b"acme": 150}, unkeyed=800, unkeyed_load=800)
    busy.seconds(6, CALM, {b"acme": 600}, unkeyed=800, unkeyed_load=800)
    assert calm.found == []
    found = busy.turned(EventType.HOTTENANT_DETECTED)
    assert found.finding.share == 0.6
    (entry,) = busy.heat.hot_entries()
    assert (entry.key, entry.share) == ("acme", 0.6)


def test_a_tenant_of_lukewarm_keys_is_told_with_what_it_is_made_of_and_a_rate() -> None:
    watched = Watched()
    crowd = {b"k%d" % n: 1 for n in range(150)}
    watched.seconds(6, crowd, {b"acme": 75}, tenant_of={b"k%d" % n: b"acme" for n in range(75)})
    found = watched.turned(EventType.HOTTENANT_DETECTED)
    told = with_cause(found, watched.heat, BESIDE)
    assert (told.cause, told.treatment) == ("hot_tenant", Treatment.ISOLATE)
    # Others have 450 a second; with 50 more of 500 it would have a tenth, which lets it cool.
    assert "limit its rate to 50 a second" in told.advice
    assert told.advice.count("suffixes would not help") == 1
    parts = watched.heat.tenant_parts(b"acme")
    assert parts is not None
    assert parts.largest_key < 0.02
