"""What a person is told of a command: a sentence for every code, and none that is not known ends in a traceback."""

from __future__ import annotations

import inspect
import re
from itertools import product

import pytest

from hotshard.cli.commanding import Answer, Sent
from hotshard.cli.sent import sent_text
from hotshard.core.deciding.drafting import why_not_given
from hotshard.core.planning import allowed
from hotshard.core.planning.verdict import RefusalReason
from hotshard.core.topic import Mode, Ordering
from hotshard.core.wire.command import Command, CommandKind, StreamId
from hotshard.core.wire.orders import Done, Given, Outcome
from tests.support.deciding import spec

#: Why a topic gives no plan for an approval; where it would, nothing is refused.
NOT_GIVEN = {
    why_not_given(spec(mode=mode, ordering=ordering))
    for mode, ordering in product(Mode, Ordering)
    if (mode, ordering) != (Mode.APPROVE, Ordering.NONE)
}
#: Every reason for which a pin may be refused.
FORBIDDEN = {str(RefusalReason[name]) for name in re.findall(r"RefusalReason\.(\w+)", inspect.getsource(allowed))}


def said(outcome: str, *, applied: bool = False, shards: int | None = 4) -> str:
    command = Command(kind=CommandKind.PIN, topic="orders", key="acme\x1fcart-7", shards=shards)
    done = Done(id="1-0", kind=command.kind, applied=applied, outcome=outcome, given=Given())
    answers = {"orders": Answer(done=done, route=None, silent_ms=0)}
    (line,) = sent_text(Sent(id=StreamId(1, 0), command=command, waited_s=5, answers=answers))
    return line


@pytest.mark.parametrize("outcome", sorted({*map(str, Outcome), *NOT_GIVEN, *FORBIDDEN}))
def test_every_code_that_a_detector_may_answer_is_a_sentence(outcome: str) -> None:
    assert len(FORBIDDEN) > 5
    assert "_" not in said(outcome).replace("per_discriminator", "").replace("partitions_from", "")
    assert " " in said(outcome).removeprefix("orders acme / cart-7: refused: ") or outcome in {"approved", "thawed"}


def test_a_pin_says_what_it_wants() -> None:
    assert said(Outcome.PINNED, applied=True).endswith("pinned: always split over 4 shards")
    assert said(Outcome.PINNED, applied=True, shards=None).endswith("pinned: never touched")


@pytest.mark.parametrize("outcome", ["some_code_of_tomorrow", "{", "{0.__class__}", "{other}"])
def test_a_code_that_is_not_known_is_told_as_it_is(outcome: str) -> None:
    assert said(outcome).endswith(f"refused: {outcome}")
