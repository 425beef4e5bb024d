"""What a coordinator answers about a group's offsets, and what is made of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from aiokafka.errors import GroupAuthorizationFailedError, KafkaError
from aiokafka.structs import TopicPartition

from hotshard.doors.kafka.real_offsets import committed_offsets

if TYPE_CHECKING:
    from collections.abc import Callable

PLACES = [TopicPartition("t", 0), TopicPartition("t", 1)]
OFFSETS = SimpleNamespace(error_code=0, topics=[("t", [(0, 7, "", 0), (1, -1, "", 0)])])


class Coordinator:
    """Gives one answer after the other."""

    group_id = "g"

    def __init__(self, *answers: SimpleNamespace) -> None:
        self._answers = list(answers)
        self.coordinator_id: int | None = None
        self.looked_up = 0

    async def ensure_coordinator_known(self) -> None:
        self.looked_up += self.coordinator_id is None
        self.coordinator_id = 1

    def coordinator_dead(self) -> None:
        self.coordinator_id = None

    async def _send_req(self, _: object) -> SimpleNamespace:
        return self._answers.pop(0)


def whole(code: int) -> SimpleNamespace:
    """An error that stands for the whole answer."""
    return SimpleNamespace(error_code=code, topics=[])


def each(code: int) -> SimpleNamespace:
    return SimpleNamespace(error_code=0, topics=[("t", [(0, 7, "", 0), (1, -1, "", code)])])


async def test_a_partition_without_an_offset_is_left_out() -> None:
    assert await committed_offsets(Coordinator(OFFSETS), PLACES) == {PLACES[0]: 7}


@pytest.mark.parametrize(("code", "looked_up"), [(14, 1), (15, 2), (16, 2)])
@pytest.mark.parametrize("answer", [whole, each])
async def test_a_coordinator_that_is_not_ready_is_asked_again(
    answer: Callable[[int], SimpleNamespace], code: int, looked_up: int
) -> None:
    coordinator = Coordinator(answer(code), OFFSETS)
    assert await committed_offsets(coordinator, PLACES) == {PLACES[0]: 7}
    assert coordinator.looked_up == looked_up


@pytest.mark.parametrize("answer", [whole(30), each(30)])
async def test_a_right_that_is_missing_is_told(answer: SimpleNamespace) -> None:
    with pytest.raises(GroupAuthorizationFailedError):
        await committed_offsets(Coordinator(answer), PLACES)


async def test_an_answer_that_leaves_a_partition_out_is_no_answer() -> None:
    with pytest.raises(KafkaError, match="leaves out"):
        await committed_offsets(Coordinator(SimpleNamespace(topics=[("t", [(0, 7, "", 0)])])), PLACES)
