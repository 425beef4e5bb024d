"""``hotshard registry`` on a registry in memory, with a detector that answers, or does not."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hotshard.cli import registry as module
from hotshard.cli.key_words import key_of, pasteable
from hotshard.cli.main import main
from hotshard.core.wire.command import START, Command, CommandKind
from hotshard.core.wire.orders import Approval, Done, Given, Orders, Outcome, Pause, PinOrder
from hotshard.core.wire.route import RouteState
from hotshard.doors.clock import ManualClock
from hotshard.doors.redis.memory import MemoryRegistry
from hotshard.errors import UsageError
from hotshard.report.registry import waiting
from tests.support.registry import KEY, TOPIC, hot_entry, route, state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hotshard.core.wire.command import StreamId
    from hotshard.core.wire.route import Route

Capture = pytest.CaptureFixture[str]


class Answering(MemoryRegistry):
    """A registry whose detector obeys every command as soon as it is given, with this outcome."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        super().__init__(self.clock)
        self.given: list[Command] = []
        self.outcome: str | None = Outcome.FROZEN
        self.applied = True
        self.version = 1
        self.routes: tuple[Route, ...] = ()

    async def command(self, command: Command) -> StreamId:
        place = await super().command(command)
        self.given.append(command)
        if self.outcome is not None:
            done = Done(id=str(place), kind=command.kind, applied=self.applied, outcome=self.outcome, given=Given())
            for topic in (await self.desk()).topics:
                await self.show(topic, Orders(done=(done,)))
        return place

    async def show(self, topic: str = TOPIC, orders: Orders | None = None, **more: Any) -> None:  # noqa: ANN401
        self.version += 1
        await self.publish(
            state(self.version, *self.routes, topic=topic, orders=orders, **({"mode": "approve"} | more))
        )


@dataclass
class Line:
    """The command line on such a registry."""

    registry: Answering
    capture: Capture
    out: str = ""
    err: str = ""
    args: Sequence[str] = field(default_factory=tuple)

    def __call__(self, *words: str) -> int:
        code = main(["registry", *words])
        self.out, self.err = self.capture.readouterr()
        return code

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.out)

    @property
    def command(self) -> Command:
        return self.registry.given[-1]

    def show(self, topic: str = TOPIC, orders: Orders | None = None, **more: Any) -> None:  # noqa: ANN401
        asyncio.run(self.registry.show(topic, orders, **more))


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Line:
    made = Line(Answering(), capsys)
    monkeypatch.setattr(module, "_door", lambda _: made.registry)
    made.show()
    return made


# -- commands ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        (["freeze"], {"kind": "freeze", "topic": None}),
        (["freeze", TOPIC], {"kind": "freeze", "topic": TOPIC}),
        (["thaw", TOPIC, "--reason", "over"], {"kind": "thaw", "topic": TOPIC, "reason": "over"}),
        (["pin", TOPIC, "acme", "cart-7", "--shards", "8"], {"kind": "pin", "key": KEY, "shards": 8}),
        (["pin", TOPIC, r"acme\x1fcart-7", "--auto"], {"kind": "pin", "key": KEY, "shards": 0}),
        (["pin", TOPIC, "acme", "/", "cart-7", "--never"], {"kind": "pin", "key": KEY, "shards": None}),
        (["unpin", TOPIC, "/w==", "--base64", "--by", "ben"], {"key": None, "key_b64": "/w==", "by": "ben"}),
        (["retire", TOPIC, "acme", "cart-7", "--pause", "60"], {"kind": "retire", "key": KEY, "pause_s": 60}),
        (["retire", TOPIC, "--all"], {"kind": "retire", "topic": TOPIC, "key": None, "pause_s": None}),
        (["retire", "--all", "--pause", "0"], {"kind": "retire", "topic": None, "pause_s": 0}),
    ],
    ids=" ".join,
)
def test_words_and_flags_become_the_command(line: Line, argv: list[str], wanted: dict[str, Any]) -> None:
    assert line(*argv) == 0, line.err
    built = msgspec.to_builtins(line.command)
    assert {name: built[name] for name in wanted} == wanted
    assert line.command.at_ms > 0
    assert line.command.by


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["dance"],
        ["approve", TOPIC],
        ["pin", TOPIC, "a"],
        ["pin", TOPIC, "a", "--shards", "3", "--never"],
        ["pin", TOPIC, "a", "--shards", "1"],
        ["pin", TOPIC, "a", "--shards", "many"],
        ["pin", TOPIC, "a", "--shards", "5000"],
        ["pin", TOPIC, "a", "b", "c", "--auto"],
        ["pin", TOPIC, "", "--auto"],
        ["pin", TOPIC, "a\\q", "--auto"],
        ["pin", TOPIC, "?", "--base64", "--auto"],
        ["retire"],
        ["retire", TOPIC],
        ["retire", TOPIC, "a", "--all"],
        ["retire", "--all", "--pause", "soon"],
        ["retire", "--all", "--pause", "-1"],
        ["freeze", "--wait", "nan"],
        ["freeze", TOPIC, "a"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_told_in_one_line_and_commands_nothing(line: Line, argv: list[str]) -> None:
    assert line(*argv) == 2
    assert line.out == ""
    assert line.err
    assert "Traceback" not in line.err
    assert line.registry.given == []


@pytest.mark.parametrize("argv", [["show", "ordres"], ["freeze", "ordres"], ["pin", "ordres", "a", "--auto"]])
def test_a_topic_that_is_not_there_is_told_with_the_nearest(line: Line, argv: list[str]) -> None:
    assert line(*argv) == 1
    assert "did you mean orders?" in line.err
    assert line.registry.given == []


def test_what_the_detector_refuses_is_told_and_fails(line: Line) -> None:
    line.registry.outcome, line.registry.applied = "per_key_order", False
    assert line("pin", TOPIC, "acme", "cart-7", "--auto") == 1
    assert "refused: all records of a key of this topic must stay in order" in line.out
    line.registry.outcome = "some_code_of_tomorrow"
    assert line("pin", TOPIC, "acme", "cart-7", "--auto", "--json") == 1
    topic = line.json["topics"][TOPIC]
    assert (topic["applied"], topic["outcome"]) == (False, "some_code_of_tomorrow")


def test_every_topic_is_waited_for(line: Line) -> None:
    line.show("other")
    assert line("freeze") == 0
    assert [each.partition(":")[0] for each in line.out.splitlines()] == [TOPIC, "other"]


def test_a_detector_that_is_silent_is_told_with_its_age(line: Line) -> None:
    line.registry.outcome = None
    line.registry.clock.advance(42)
    assert line("freeze", "--wait", "0.2") == 1
    assert "no detector answers, the last word of one is 42 s old" in line.out
    assert line("freeze", "--wait", "0.2", "--json") == 1
    assert line.json["topics"][TOPIC]["applied"] is None
    assert line.json["topics"][TOPIC]["heartbeat_age_s"] == 42


def test_a_detector_that_is_there_and_does_not_obey_is_told_apart(line: Line) -> None:
    line.registry.outcome = None
    assert line("freeze", "--wait", "0.2") == 1
    assert "though the detector was heard just now" in line.out


def test_a_command_may_be_left_without_waiting(line: Line) -> None:
    line.registry.outcome = None
    assert line("freeze", "--wait", "0") == 0
    assert "left as" in line.out


def test_an_approval_names_the_plan_that_is_proposed(line: Line) -> None:
    line.registry.routes = (route(suffixes=("3", "9"), partitions=(1, 0), state=RouteState.PROPOSED),)
    line.registry.outcome = Outcome.APPROVED
    line.show()
    assert line("approve", TOPIC, "acme", "cart-7", "--wait", "0.3") == 0
    assert (line.command.suffixes, line.command.partitions) == (("3", "9"), (1, 0))
    assert "approved, not given to producers yet" in line.out
    line.registry.routes = (route(suffixes=("3", "9"), partitions=(1, 0)),)
    line.show()
    assert line("approve", TOPIC, "acme", "cart-7") == 0
    assert "approved, 2 shards are in force" in line.out


@pytest.mark.parametrize(
    "routes", [(), (route(suffixes=(), state=RouteState.PROPOSED),), (route(suffixes=(), state=RouteState.RETIRED),)]
)
def test_nothing_is_approved_where_nothing_is_proposed(line: Line, routes: tuple[Route, ...]) -> None:
    line.registry.routes = routes
    line.show()
    assert line("approve", TOPIC, "acme", "cart-7") == 1
    assert "no plan is proposed for this key of orders" in line.err
    assert line.registry.given == []


def test_a_registry_without_a_topic_takes_no_command(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    empty = MemoryRegistry()
    monkeypatch.setattr(module, "_door", lambda _: empty)
    assert main(["registry", "freeze"]) == 1
    assert "holds no topic yet" in capsys.readouterr().err
    assert main(["registry", "show"]) == 0
    assert "holds no topic yet" in capsys.readouterr().out
    assert main(["registry", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["topics"] == {}
    assert asyncio.run(empty.commands(START)).entries == ()


# -- show --------------------------------------------------------------------------------------------


def orders(now_ms: int) -> Orders:
    given = Given(by="ann", at_ms=now_ms - 5_000, reason="incident")
    return Orders(
        frozen=given,
        pins=(
            PinOrder(key="acme\x1fsku-1", shards=None, given=given),
            PinOrder(key_b64="/w==", shards=8, given=given),
        ),
        approvals=(Approval(key=KEY, suffixes=("0", "1"), partitions=(0, 1), given=given),),
        pauses=(Pause(until_ms=now_ms + 60_000, given=given), Pause(key="past", until_ms=now_ms - 1, given=given)),
        done=(
            Done(id="1-0", kind=CommandKind.FREEZE, applied=True, outcome="frozen", given=given),
            Done(id="2-0", kind=CommandKind.PIN, key=KEY, applied=False, outcome="per_key_order", given=given),
        ),
    )


def test_everything_that_is_known_of_a_topic_is_shown(line: Line) -> None:
    now_ms = line.registry.clock.now_ms()
    waits = msgspec.structs.replace(route("acme\x1fit's", state=RouteState.PROPOSED), reason="mode_approve")
    scored = msgspec.structs.replace(route(), imbalance_before=4.2, imbalance_after=1.1)
    line.registry.routes = (scored, waits, route("acme\x1fold", (), state=RouteState.RETIRED))
    line.show(orders=orders(now_ms), hot=(msgspec.structs.replace(hot_entry(), since_ms=now_ms - 30_000),))
    line.registry.outcome = None
    line("thaw", "--wait", "0", "--by", "ben")
    assert line("show", TOPIC) == 0
    for wanted in (
        "orders: mode approve, its detector was heard 0 s ago",
        "FROZEN 5 s ago, by ann: incident",
        "NO PLANS at all for 60 s more: retired by ann",
        "acme / cart-7: 30 % of the load, 3/s, for 30 s",
        "acme / cart-7: active, split on partitions 0 1 (test)",
        "imbalance 4.20 before, 1.10 after",
        "approved by ann: incident",
        """to approve: hotshard registry approve orders acme 'it'"'"'s'""",
        "acme / old: retired",
        "acme / sku-1: never touched, by ann: incident",
        "base64 /w==: always split over 8 shards",
        "thaw by ben",
        "pin acme / cart-7 by ann: incident (REFUSED, per_key_order)",
    ):
        assert wanted in line.out, wanted
    assert "past" not in line.out


def test_the_same_as_one_json_object(line: Line) -> None:
    now_ms = line.registry.clock.now_ms()
    line.registry.routes = (route(),)
    line.show(orders=orders(now_ms), hot=(hot_entry(),))
    line.registry.clock.advance(1.5)
    assert line("show", "--json") == 0
    shown = line.json["topics"][TOPIC]
    assert (shown["mode"], shown["heartbeat_age_s"], shown["damaged"]) == ("approve", 1.5, 0)
    assert shown["frozen"]["by"] == "ann"
    assert [pin["shards"] for pin in shown["pins"]] == [None, 8]
    assert shown["routes"][0]["key"] == KEY
    assert shown["hot"][0]["share"] == 0.3
    assert shown["waiting"] == []


def test_what_people_write_of_themselves_acts_on_no_terminal(line: Line) -> None:
    line.show(orders=Orders(frozen=Given(by="\x1b[2Jann", at_ms=0, reason="a\nb\u202e")))
    assert line("show") == 0
    assert "\x1b" not in line.out
    assert "\u202e" not in line.out
    assert "by \\x1b[2Jann: a\\nb" in line.out


def test_a_silent_detector_and_damage_are_shown(line: Line) -> None:
    line.registry.store.put_orders(TOPIC, b"?")
    line.registry.clock.advance(3600)
    assert line("show") == 0
    assert "NO DETECTOR ANSWERS, the last word is 60 min old" in line.out
    assert "1 damaged entry is left out; a detector that runs mends it" in line.out


def test_of_a_topic_whose_mark_is_damaged_it_is_not_known_when_its_detector_was_heard(line: Line) -> None:
    line.registry.store.put_meta(f"time:{TOPIC}".encode(), b"?")
    assert line("show") == 0
    assert "when its detector was heard is not known" in line.out


async def test_what_waits_is_what_no_detector_has_dealt_with() -> None:
    registry = Answering()
    await registry.show()
    registry.outcome = None
    first = await registry.command(Command(kind=CommandKind.FREEZE))
    await registry.command(Command(kind=CommandKind.FREEZE, topic="other"))
    second = await registry.command(Command(kind=CommandKind.THAW))
    assert [place for place, _ in waiting(await registry.desk(), TOPIC)] == [first, second]
    done = Done(id=str(first), kind=CommandKind.FREEZE, applied=True, outcome="frozen", given=Given())
    await registry.show(orders=Orders(done=(done,)))
    assert [place for place, _ in waiting(await registry.desk(), TOPIC)] == [second]
    trimmed = Done(id=f"{second.ms + 1}-0", kind=CommandKind.FREEZE, applied=True, outcome="frozen", given=Given())
    await registry.show(orders=Orders(done=(trimmed,)))
    assert waiting(await registry.desk(), TOPIC) == []


# -- keys --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (["acme", "cart-7"], b"acme\x1fcart-7"),
        (["acme", "/", "cart 7"], b"acme\x1fcart 7"),
        (["opaque / text"], b"opaque / text"),
        ([r"a\x1fb\\c\t\n\r"], b"a\x1fb\\c\t\n\r"),
        ([r"\u00fc\U0001f600"], "\u00fc\U0001f600".encode()),
        (["-"], b"-"),
    ],
)
def test_a_key_is_given_as_words(given: list[str], key: bytes) -> None:
    assert key_of(given, in_base64=False) == key


@pytest.mark.parametrize(
    ("given", "in_base64"),
    [
        (["a", "b", "c"], False),
        (["a", "/", "b", "c"], False),
        ([""], False),
        (["a", ""], False),
        (["a\\"], False),
        ([r"\xZZ"], False),
        ([r"\U00110000"], False),
        ([r"\ud800"], False),
        (["?"], True),
        ([""], True),
        (["YQ==", "YQ=="], True),
    ],
)
def test_words_that_are_no_key_are_refused(given: list[str], *, in_base64: bool) -> None:
    with pytest.raises(UsageError):
        key_of(given, in_base64=in_base64)


def test_commands_need_neither_faust_nor_aiokafka() -> None:
    code = (
        "import sys\n"
        "for name in ('faust', 'aiokafka', 'datasketches', 'rich', 'mode'): sys.modules[name] = None\n"
        "from hotshard.cli import registry\n"
        "print('fine')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr


def test_what_is_shown_can_be_pasted() -> None:
    assert pasteable(b"acme\x1fit's") == """acme 'it'"'"'s'"""
    assert pasteable(b"\xff") == "--base64 /w=="
    assert pasteable(b"-x") == "-- -x"
    assert pasteable(b"-x\x1f-y") == "-- -x -y"


def test_a_key_that_looks_like_a_flag_is_given_after_two_dashes(line: Line) -> None:
    assert line("pin", TOPIC, "--auto", "--", "-x", "-y") == 0
    assert line.command.key == "-x\x1f-y"
