"""Messages of the panes topic: what is read back, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hotshard.core.wire.pane import HeavyList, Mark, Row, decode, encode
from hotshard.errors import WireError
from tests.support.deciding import pane, progress

_MARK = Mark(0, 5, 5, 5, 1)


def test_what_is_written_is_read_back() -> None:
    for message in (pane(0, 0, {b"a": 7}), progress([_MARK])):
        assert decode(encode(message)) == message


@pytest.mark.parametrize(
    "absurd",
    [
        {"partition": 10**9},
        {"partition": -1},
        {"start": -100},
        {"end": 1 << 63},
        {"generation": 1 << 40},
        {"records": -1},
        {"size_bytes": (1 << 64) - 1},
        {"time_ms": 1 << 63},
        {"cut_ms": -(1 << 63)},
        {"loads": {10**9: 1}},
        {"loads": {0: (1 << 64) - 1}},
        {"exact": {b"a": -1}},
        {"keys": HeavyList((Row(b"a", 1, 1 << 63),), 0)},
        {"tenants": HeavyList((), -1)},
    ],
)
def test_a_pane_with_an_absurd_number_is_refused(absurd: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        decode(encode(msgspec.structs.replace(pane(0, 0, {b"a": 7}), **absurd)))


@pytest.mark.parametrize(
    "absurd", [{"partitions": 10**9}, {"partitions": -1}, {"marks": (Mark(10**9, 0, 0, 0, 0),)}, {"sent_ms": 1 << 63}]
)
def test_a_worker_that_speaks_of_a_billion_partitions_is_not_believed(absurd: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        decode(encode(msgspec.structs.replace(progress([_MARK]), **absurd)))
