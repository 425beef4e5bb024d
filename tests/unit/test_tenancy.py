"""Whose keys are in a window and in a view, and of what a hot tenant is made."""

from __future__ import annotations

from typing import Any

import pytest

from hotshard.core.panes.ledger import Confirmed
from hotshard.core.panes.listsum import KEPT_ROWS
from hotshard.core.panes.tenancy import (
    SubParts,
    Tenancy,
    TenantParts,
    has_tenants,
    stands_beside,
    tenant_in_key,
    view_tenant,
    window_subs,
    window_tenant,
)
from hotshard.core.panes.view import View
from hotshard.core.panes.window import ClosedWindow, OpenWindow
from hotshard.core.topic import Field, KeyLayout, Place, TopicSpec
from hotshard.core.wire.pane import HeavyList, Pane, Row, sub_name
from tests.support.counting import NOW_MS, topic
from tests.support.reports import report_of

HEADER = Field(Place.HEADER, "t")
BESIDE = topic(tenant=HEADER)


def heavy(error: int = 0, /, **loads: int) -> HeavyList:
    return HeavyList(tuple(Row(name.encode(), load, load) for name, load in loads.items()), error)


def pane(start: int = 0, partition: int = 1, **more: Any) -> Pane:  # noqa: ANN401
    given: dict[str, Any] = {
        "topic": "orders", "source": "m", "partition": partition, "generation": 1, "high_watermark": 0, "worker": "w",
        "records": 100, "size_bytes": 2000, "loads": {partition: 100}, "time_ms": NOW_MS, "span_ms": 1000,
        "opened_ms": NOW_MS - 1000, "cut_ms": NOW_MS,
    }  # fmt: skip
    return Pane(start=start, end=start + 100, **given | more)


def window(*panes: Pane) -> ClosedWindow:
    open_window = OpenWindow(NOW_MS, 0, 0)
    for each in panes:
        open_window.add(Confirmed(each, first_at=0, at=0, lost_before=0))
    return open_window.closed(10_000, 1.0)


def view(*panes: Pane) -> View:
    made = View(10_000)
    for each in panes:
        made.put(each)
    made.expire(NOW_MS)
    return made


# -- where tenants stand -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "beside", "any_at_all"),
    [
        (topic(), False, True),
        (topic(layout=KeyLayout.ENTITY), False, False),
        (topic(tenant=Field()), False, False),
        (topic(tenant=HEADER, layout=KeyLayout.ENTITY), True, True),
        (topic(tenant=Field(Place.JSON, "a")), True, True),
    ],
)
def test_a_topic_has_tenants_in_its_keys_beside_them_or_none(
    spec: TopicSpec, *, beside: bool, any_at_all: bool
) -> None:
    assert (stands_beside(spec), has_tenants(spec)) == (beside, any_at_all)


def test_the_first_part_of_a_key_is_no_tenant_where_tenants_stand_elsewhere() -> None:
    assert tenant_in_key(b"acme\x1f7", topic()) == b"acme"
    assert tenant_in_key(b"acme\x1f7", BESIDE) is None
    assert Tenancy(BESIDE, [{b"acme\x1f7": b"globex"}]).of(b"acme\x1f7") == b"globex"
    assert Tenancy(topic(), [{b"acme\x1f7": b"globex"}]).of(b"acme\x1f7") == b"acme"


# -- whose keys are ----------------------------------------------------------------------------------


def test_a_key_of_a_window_has_the_tenant_that_all_panes_give_it_which_list_it() -> None:
    closed = window(
        pane(0, keys=heavy(a=5, b=4, c=3, d=2), tenant_of={b"a": b"x", b"b": b"x", b"d": b"z"}),
        pane(100, keys=heavy(a=5, b=4), tenant_of={b"a": b"x", b"b": b"y"}),
        pane(200, keys=heavy(d=2), tenant_of={}),
        pane(0, 2, keys=heavy(e=1), tenant_of={b"e": b"y"}),
    )
    tenancy = Tenancy.of_window(closed, BESIDE)
    assert [tenancy.of(name) for name in (b"a", b"b", b"c", b"d", b"e", b"f")] == [b"x", None, None, None, b"y", None]


def test_a_key_with_different_tenants_in_two_partitions_has_none() -> None:
    closed = window(
        pane(0, 1, keys=heavy(a=5), tenant_of={b"a": b"x"}), pane(0, 2, keys=heavy(a=5), tenant_of={b"a": b"y"})
    )
    assert Tenancy.of_window(closed, BESIDE).of(b"a") is None


def test_a_key_that_may_have_been_let_go_before_has_no_tenant() -> None:
    crowd = [{f"n{number}_{n}": 100 for n in range(250)} for number in range(12)]
    panes = [pane(0, keys=heavy(old=1), tenant_of={b"old": b"x"})]
    for number, names in enumerate(crowd, 1):
        owners = {name.encode(): b"z" for name in names}
        panes.append(pane(100 * number, keys=heavy(**names), tenant_of=owners))
    panes.append(pane(5_000, keys=heavy(old=5_000, n0_0=9), tenant_of={b"old": b"y", b"n0_0": b"z"}))
    closed = window(*panes)
    (part,) = closed.lists
    assert len(part.owners) < 4 * KEPT_ROWS
    assert part.owners[b"old"] is None


def test_the_report_tells_whose_keys_are_and_how_many_there_are() -> None:
    closed = window(
        pane(
            keys=heavy(a=60, b=40), tenants=heavy(x=70, y=40), tenant_of={b"a": b"x"}, distinct_keys=2,
            distinct_tenants=2, unkeyed=10, unkeyed_load=10, untenanted=3, damaged=2,
        ),
        pane(100, loads={}, distinct_keys=7, distinct_tenants=1),
        pane(0, 2, loads={}, distinct_keys=30, distinct_tenants=1, tenants=heavy(y=0, z=0)),
    )  # fmt: skip
    report = report_of(closed, spec=BESIDE)
    assert [(row.key, row.tenant) for row in report.keys] == [("a", "x"), ("b", None)]
    assert (report.distinct_keys, report.distinct_tenants, report.all_tenants) == (37, 3, True)
    assert (report.untenanted, report.damaged) == (3, 2)
    # What has no key is part of what tenants have.
    assert [(row.key, row.share) for row in report.tenants[:2]] == [("x", 0.636364), ("y", 0.363636)]


def test_tenants_that_no_list_has_are_told_as_at_least_so_many() -> None:
    closed = window(pane(tenants=heavy(1, x=9), distinct_tenants=40), pane(0, 2, tenants=heavy(y=9)))
    assert (closed.totals.distinct_tenants, closed.totals.all_tenants) == (40, False)


def test_a_view_knows_whose_a_key_is_as_long_as_its_panes_agree() -> None:
    made = view(
        pane(0, keys=heavy(a=5, b=4, c=1), tenant_of={b"a": b"x", b"b": b"x"}),
        pane(100, keys=heavy(a=5, b=4), tenant_of={b"a": b"x", b"b": b"y"}),
        pane(200, keys=heavy(d=5), tenant_of={}),
        pane(0, 2, keys=heavy(e=5)),
    )
    assert [made.owner(name) for name in (b"a", b"b", b"c", b"d", b"e", b"f")] == [b"x", None, None, None, None, None]
    made.expire(NOW_MS + 20_000)
    assert made.owner(b"a") is None


def test_a_view_holds_what_has_no_key_and_sub_units_until_they_leave() -> None:
    sub = HeavyList((Row(sub_name(b"a", b"s"), 3, 3),))
    made = view(pane(unkeyed_load=7, subs=sub), pane(100, unkeyed_load=5))
    assert (made.unkeyed_load, made.subs.bounds(sub_name(b"a", b"s"))) == (12, (3, 3))
    made.expire(NOW_MS + 20_000)
    assert (made.unkeyed_load, len(made.subs)) == (0, 0)


# -- of what a tenant is made ------------------------------------------------------------------------


def test_a_tenant_hot_by_one_key_is_told_from_one_of_many_keys() -> None:
    owners = {b"a": b"x", b"b": b"x", b"c": b"y"}
    closed = window(
        pane(0, 1, keys=heavy(2, a=30, c=20), tenants=heavy(x=80, y=20), tenant_of=owners),
        pane(0, 2, keys=heavy(2, b=15), tenants=heavy(x=20), tenant_of=owners),
    )
    tenancy = Tenancy.of_window(closed, BESIDE)
    # 50 and 5 that no list has, in keys of 2 at the most.
    assert window_tenant(b"x", closed, tenancy, {}) == TenantParts(0.3, 2 + 25 + 3)
    assert window_tenant(b"y", closed, tenancy, {}) == TenantParts(1.0, 1)
    assert window_tenant(b"nobody", closed, tenancy, {}) is None


def test_shards_are_one_key_of_their_tenant() -> None:
    closed = window(
        pane(0, 1, keys=heavy(**{"t\x1fa": 30}), tenants=heavy(t=30)),
        pane(0, 2, keys=heavy(**{"t\x1fa\x1f1": 30}), tenants=heavy(t=30)),
    )
    aliases = {b"t\x1fa": b"t\x1fa", b"t\x1fa\x1f1": b"t\x1fa"}
    assert window_tenant(b"t", closed, Tenancy(topic()), aliases) == TenantParts(1.0, 1)


def test_a_tenant_of_lukewarm_keys_has_no_large_one_in_a_view() -> None:
    made = view(pane(keys=heavy(1), tenants=heavy(x=1000)), pane(0, 2, keys=heavy(big=400), tenants=heavy(y=500)))
    tenancy = Tenancy(BESIDE, [{b"big": b"y"}])
    assert view_tenant(b"x", made, tenancy) == TenantParts(0.0, -(-1000 // 11))
    assert view_tenant(b"y", made, tenancy) == TenantParts(0.8, 1 + -(-100 // 6))
    assert view_tenant(b"nobody", made, tenancy) is None


def test_the_largest_sub_unit_of_a_key_is_told() -> None:
    subs = HeavyList(
        (Row(sub_name(b"a", b"s"), 20, 22), Row(sub_name(b"a", b"r"), 5, 5), Row(sub_name(b"b", b"s"), 9, 9))
    )
    more = HeavyList((Row(sub_name(b"a", b"s"), 10, 10),))
    closed = window(pane(0, 1, subs=subs), pane(0, 2, subs=more))
    assert window_subs(b"a", 60, closed) == SubParts(0.5, 2)
    assert window_subs(b"c", 60, closed) is None
