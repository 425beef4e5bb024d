"""How much of a topic a tenant may have before it is too much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.policy.fairness import bearable_load


@pytest.mark.parametrize(
    ("own", "total", "tenants", "bearable"),
    [
        (600, 1000, None, 100.0),  # others have 400; with 100 of then 500 it would have a fifth
        (600, 1000, 50, 100.0),  # a fiftieth is less than that
        (600, 1000, 4, 250.0),  # a quarter each is more
        (100, 1000, None, None),  # it has less than it may
        (500, 1000, 2, None),  # one of two that have half each
        (1000, 1000, None, None),  # alone: nobody is in its way
        (900, 1000, None, 25.0),
    ],
)
def test_a_tenant_may_have_its_fair_part_or_what_does_not_make_it_hot(
    own: int, total: int, tenants: int | None, bearable: float | None
) -> None:
    assert bearable_load(own, total, share=0.2, tenants=tenants) == bearable


@given(st.integers(1, 10**9), st.integers(0, 10**9), st.floats(0.01, 0.99), st.none() | st.integers(1, 1000))
def test_with_that_load_it_has_the_share_or_its_fair_part(
    own: int, others: int, share: float, tenants: int | None
) -> None:
    found = bearable_load(own, own + others, share=share, tenants=tenants)
    if found is not None:
        assert found < own
        fair = (own + others) / tenants if tenants else 0.0
        assert found == pytest.approx(fair) or found / (found + others) == pytest.approx(share)
