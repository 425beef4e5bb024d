"""What an application must do itself, as no producer library can do it for it: codes, when each fits, and a phrase.

One is added by a line in the table, with its cases in ``tests/unit/test_causes_advice.py``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from hotshard.core.causes.evidence import Cause
from hotshard.core.causes.holds import keys_are_of_the_clock, tops_rise
from hotshard.core.looks import is_placeholder, is_total, text_of
from hotshard.core.wire.route import Treatment

if TYPE_CHECKING:
    from collections.abc import Callable

    from hotshard.core.causes.evidence import Evidence

_BALANCES: Final = re.compile(r"balance|account|wallet|quota|stock_?level", re.IGNORECASE)


class Case(NamedTuple):
    """What advice is asked about: the evidence, what was concluded, and the key or tenant it is about."""

    evidence: Evidence
    cause: Cause
    treatment: Treatment
    name: bytes | None


class Advice(NamedTuple):
    code: str
    fits: Callable[[Case], bool]
    phrase: str


def value_is_missing(case: Case) -> bool:
    """The key stands for a missing value."""
    return case.name is not None and is_placeholder(case.name)


def key_is_too_coarse(case: Case) -> bool:
    """There are too few keys, or one must stay whole for its order's sake, or a few collide; and none is a total."""
    if value_is_missing(case) or keeps_a_total(case):
        return False
    return case.cause is Cause.FEW_KEYS or (case.cause in _COARSE and case.treatment is Treatment.REKEY)


def keys_follow_time(case: Case) -> bool:
    """Keys are made of the clock or of a rising number."""
    if case.cause is not Cause.SEQUENTIAL_KEY:
        return False
    return keys_are_of_the_clock(case.evidence) or tops_rise(case.evidence) or case.treatment is Treatment.REKEY


def keeps_a_total(case: Case) -> bool:
    """The key names a counter or another total."""
    return case.name is not None and case.cause in _ONE_KEY and is_total(case.name)


def keeps_a_balance(case: Case) -> bool:
    """The key names a balance, an account or a quota, which every record changes."""
    text = None if case.name is None else text_of(case.name)
    return text is not None and case.cause in _ONE_KEY and _BALANCES.search(text.split("\x1f")[-1]) is not None


def may_be_asked_for(case: Case) -> bool:
    """One key is hot for a moment, or is hot and cannot be split."""
    if value_is_missing(case) or not case.evidence.hot_keys:
        return False
    lasting = case.cause in {Cause.HOT_KEY, Cause.HOT_DISCRIMINATOR} and case.treatment is not Treatment.SPLIT
    return case.cause is Cause.BURST or lasting


_COARSE: Final = frozenset({Cause.HOT_KEY, Cause.COLLISION})
_ONE_KEY: Final = frozenset({Cause.HOT_KEY, Cause.HOT_DISCRIMINATOR, Cause.FEW_KEYS, Cause.BURST})

#: The first that fits is put into the verdict's sentence.
ADVICE: Final = (
    Advice("real_key", value_is_missing, "give the records the value that is missing"),
    Advice("counter_in_parts", keeps_a_total, "keep the counter in parts and add them up when it is read"),
    Advice("ledger", keeps_a_balance, "write entries to a ledger in place of changing one balance"),
    Advice(
        "relative_update",
        lambda case: keeps_a_total(case) or keeps_a_balance(case),
        "send relative updates, added up before they are sent",
    ),
    Advice("hashed_key", keys_follow_time, "put a hash of another field in front of the time or number"),
    Advice("composite_key", key_is_too_coarse, "compose the key with a smaller unit of order"),
    Advice("cache_in_front", may_be_asked_for, "put a cache in front where its records ask for something"),
)


def advice(case: Case) -> tuple[str, ...]:
    """The codes of all that fits."""
    return tuple(each.code for each in ADVICE if each.fits(case))


def phrase(code: str) -> str:
    """What to do, to be put behind "the application should"."""
    return next(each.phrase for each in ADVICE if each.code == code)
