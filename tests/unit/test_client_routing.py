from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hotshard
from hotshard import ManualClock, MemoryRegistry, Registry, RegistryState
from hotshard.core.planning.shards import shard_of
from hotshard.core.topic import Carry
from hotshard.core.wire.route import EarlierRoute, Epoch, RouteState
from hotshard.errors import SettingsError
from tests.support.eventually import eventually_blocking
from tests.support.registry import KEY, TOPIC, route, state

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = KEY.encode()
SUFFIXES = ("0", "1", "7", "é")
SHARDS = [f"{KEY}\x1f{suffix}" for suffix in SUFFIXES]


@pytest.fixture
def memory() -> MemoryRegistry:
    registry = MemoryRegistry(ManualClock())
    registry.split(TOPIC, KEY, SUFFIXES)
    return registry


@pytest.fixture
def registry(memory: MemoryRegistry) -> Iterator[Registry]:
    with Registry(memory, [TOPIC]) as made:
        assert made.state is RegistryState.READY
        yield made


def test_text_stays_text_and_bytes_stay_bytes(registry: Registry) -> None:
    texts = [registry.route(TOPIC, KEY) for _ in range(8)]
    keys = [registry.route(TOPIC, BASE) for _ in range(8)]
    assert {routed.key for routed in texts} == set(SHARDS)
    assert {routed.key for routed in keys} == {shard.encode() for shard in SHARDS}
    assert all(routed.partition is None for routed in (*texts, *keys))


def test_without_a_discriminator_shards_are_taken_in_turn(registry: Registry) -> None:
    taken = Counter(registry.route(TOPIC, KEY).key for _ in range(400))
    assert taken == dict.fromkeys(SHARDS, 100)


def test_threads_take_turns_without_losing_any(registry: Registry) -> None:
    taken: list[str] = []
    threads = [
        threading.Thread(target=lambda: taken.extend(registry.route(TOPIC, KEY).key for _ in range(2_000)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(taken) == dict.fromkeys(SHARDS, 4_000)


def test_a_discriminator_keeps_the_shard_that_the_protocol_gives_it(registry: Registry) -> None:
    for n in range(6_000):  # more than are remembered
        discriminator = f"user-{n}"
        expected = SHARDS[shard_of(discriminator, len(SHARDS))]
        assert registry.route(TOPIC, KEY, discriminator).key == expected
        assert registry.route(TOPIC, BASE, discriminator.encode()).key == expected.encode()
    assert registry.route(TOPIC, KEY, "user-1") == registry.route(TOPIC, KEY, "user-1")
    assert registry.counters.route_errors == 0


def test_a_plan_that_grows_moves_only_to_its_new_shards(memory: MemoryRegistry, registry: Registry) -> None:
    users = [f"user-{n}" for n in range(500)]
    before = {user: registry.route(TOPIC, KEY, user).key for user in users}
    memory.split(TOPIC, KEY, (*SUFFIXES, "new"))
    eventually_blocking(lambda: len(registry.shards_of(TOPIC, KEY)) == 6)
    moved = {user: after for user in users if (after := registry.route(TOPIC, KEY, user).key) != before[user]}
    assert set(moved.values()) == {f"{KEY}\x1fnew"}
    assert 50 < len(moved) < 150


def test_headers_tell_the_base_key_and_the_epoch(registry: Registry) -> None:
    assert registry.route(TOPIC, KEY).headers == (("hotshard-base", BASE), ("hotshard-epoch", b"1.1"))


def test_a_key_without_a_route_comes_back_as_it_is(registry: Registry) -> None:
    for key in ("other", "", KEY + "\x1f0", "half \ud800 surrogate"):
        assert registry.route(TOPIC, key) == (key, None, ())
    for key_bytes in (b"other", b"", b"\xff\x00"):
        assert registry.route(TOPIC, key_bytes, "d") == (key_bytes, None, ())
    assert registry.route("unknown topic", KEY) == (KEY, None, ())
    assert registry.counters.route_errors == 0


@pytest.mark.parametrize("key", [None, 7, 1.5, bytearray(b"x"), ["x"], object()])
def test_any_other_key_comes_back_as_it_is(registry: Registry, key: Any) -> None:  # noqa: ANN401 - whatever is given
    assert registry.route(TOPIC, key).key is key


@pytest.mark.parametrize("discriminator", [7, ["x"], 1.5, "\ud800"])
def test_a_wrong_discriminator_gives_the_base_key_and_is_counted(
    registry: Registry,
    discriminator: Any,  # noqa: ANN401 - whatever is given
) -> None:
    assert registry.route(TOPIC, KEY, discriminator) == (KEY, None, ())
    assert registry.route(TOPIC, BASE, discriminator) == (BASE, None, ())
    assert registry.counters.route_errors == 2


def test_the_first_routing_error_is_logged_and_no_more(registry: Registry, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        registry.route(TOPIC, KEY, 7)  # type: ignore[arg-type]  # on purpose
    assert [record.getMessage()[:14] for record in caplog.records] == ["routing failed"]


def test_a_route_may_give_the_partition_and_leave_the_key() -> None:
    memory = MemoryRegistry()
    memory.store.publish(state(1, route(suffixes=(), partitions=(3, 9), carry=Carry.PARTITION)))
    with Registry(memory) as registry:
        assert {registry.route(TOPIC, KEY)[:2] for _ in range(4)} == {(KEY, 3), (KEY, 9)}
        assert registry.route(TOPIC, KEY).headers == (("hotshard-epoch", b"1.1"),)
        assert registry.shards_of(TOPIC, KEY) == (KEY,)


def test_readers_are_given_every_place_in_which_data_may_lie() -> None:
    clock = ManualClock()
    memory = MemoryRegistry(clock)
    past = tuple(
        EarlierRoute(epoch=Epoch(registry=1, offset=n), suffixes=suffixes, partitions=(0,), until_ms=until_ms)
        for n, suffixes, until_ms in ((1, ("gone",), clock.now_ms()), (2, ("x",), clock.now_ms() + 5_000))
    )
    memory.store.publish(state(1, route(earlier=past), route("done", state=RouteState.RETIRED)))
    memory.store.publish(state(2, route(earlier=past), route("done", ("a",), state=RouteState.RETIRED)))
    with Registry(memory, clock=clock) as registry:
        assert registry.shards_of(TOPIC, KEY) == (KEY, f"{KEY}\x1f0", f"{KEY}\x1f1", f"{KEY}\x1fx")
        assert registry.shards_of(TOPIC, BASE) == tuple(key.encode() for key in registry.shards_of(TOPIC, KEY))
        assert registry.shards_of(TOPIC, "done") == ("done", "done\x1fa"), "retired, but not forgotten"
        clock.advance(5.0)
        assert registry.shards_of(TOPIC, KEY) == (KEY, f"{KEY}\x1f0", f"{KEY}\x1f1")
        assert registry.shards_of(TOPIC, "no route") == ("no route",)
        assert registry.shards_of("other", b"\xff") == (b"\xff",)


def test_a_proposed_route_has_put_no_data_anywhere() -> None:
    memory = MemoryRegistry()
    memory.store.publish(state(1, route(state=RouteState.PROPOSED)))
    with Registry(memory) as registry:
        assert registry.shards_of(TOPIC, KEY) == (KEY,)
        assert registry.base_key(TOPIC, f"{KEY}\x1f0") == f"{KEY}\x1f0"


def test_a_suffix_is_undone_only_where_a_route_put_it(registry: Registry) -> None:
    for shard in SHARDS:
        assert registry.base_key(TOPIC, shard) == KEY
        assert registry.base_key(TOPIC, shard.encode()) == BASE
    for key in (KEY, f"{KEY}\x1f9", "acme\x1fcart-8\x1f0", "\ud800"):
        assert registry.base_key(TOPIC, key) == key
    assert registry.base_key("other", SHARDS[0]) == SHARDS[0]


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_the_environment_switches_routing_off(
    memory: MemoryRegistry, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("HOTSHARD_DISABLE", value)
    with Registry(memory) as registry:
        assert registry.disabled
        assert registry.route(TOPIC, KEY) == (KEY, None, ())
        assert registry.shards_of(TOPIC, KEY) == (KEY, *SHARDS), "what lies there still does"


@pytest.mark.parametrize("value", ["", "0", "false", "no", "OFF"])
def test_the_environment_can_also_say_no(memory: MemoryRegistry, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HOTSHARD_DISABLE", value)
    with Registry(memory) as registry:
        assert registry.route(TOPIC, KEY).key in SHARDS


def test_a_program_can_switch_routing_off_and_on_at_once(registry: Registry) -> None:
    registry.disabled = True
    assert registry.route(TOPIC, KEY).key == KEY
    registry.disabled = False
    assert registry.route(TOPIC, KEY).key in SHARDS


def test_routes_stay_in_force_after_closing(memory: MemoryRegistry) -> None:
    registry = Registry(memory)
    registry.start()
    registry.close()
    registry.close()
    assert registry.route(TOPIC, KEY).key in SHARDS


def test_a_registry_can_be_started_again(memory: MemoryRegistry) -> None:
    registry = Registry(memory)
    assert registry.start() is registry.start() is RegistryState.READY
    registry.close()
    memory.split(TOPIC, KEY, ())
    with registry:
        eventually_blocking(lambda: registry.route(TOPIC, KEY).key == KEY)


def test_every_state_is_told_and_a_failing_callback_stops_nothing(memory: MemoryRegistry) -> None:
    told: list[RegistryState] = []

    def on_state(new: RegistryState) -> None:
        told.append(new)
        raise RuntimeError("the application's")

    empty = MemoryRegistry()
    with Registry(empty, on_state=on_state) as registry:
        assert told == [RegistryState.EMPTY]
        empty.split(TOPIC, KEY, SUFFIXES)
        eventually_blocking(lambda: len(told) == 2)
        assert registry.counters.callback_errors == 2
    assert told == [RegistryState.EMPTY, RegistryState.READY]
    assert memory.store.available


def test_closing_from_within_the_callback_does_not_hang() -> None:
    made: list[Registry] = []
    made.append(Registry(MemoryRegistry(), on_state=lambda _: made[0].close()))
    made[0].start()
    eventually_blocking(lambda: not any(t.name == "hotshard-registry" for t in threading.enumerate()))


def test_a_file_holds_the_routes_until_redis_is_reached(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "routes.json"
    path.write_bytes(registry.bootstrap_json())
    unreachable = MemoryRegistry()
    unreachable.store.available = False
    with Registry(unreachable, bootstrap=path, start_timeout_s=0.01) as other:
        assert other.state is RegistryState.STALE
        assert other.route(TOPIC, KEY).key in SHARDS
        assert other.base_key(TOPIC, SHARDS[0]) == KEY
    with Registry(unreachable, ["another-topic"], bootstrap=path, start_timeout_s=0.01) as other:
        assert other.state is RegistryState.NOT_READY


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"schema":2,"topics":{}}', b'{"schema":1,"topics":3}'])
def test_a_damaged_file_is_said_and_no_obstacle(
    memory: MemoryRegistry, tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "routes.json"
    if content is not None:
        path.write_bytes(content)
    with Registry(memory, bootstrap=path) as registry:
        assert registry.state is RegistryState.READY
    assert "bootstrap file" in caplog.text


def test_one_damaged_route_in_the_file_does_not_take_the_others_with_it(registry: Registry, tmp_path: Path) -> None:
    content = json.loads(registry.bootstrap_json())
    routes = content["topics"][TOPIC]["routes"]
    content["topics"][TOPIC]["routes"] = [{"key": 3}, {**routes[0], "key": "b", "partitions": []}, *routes]
    path = tmp_path / "routes.json"
    path.write_text(json.dumps(content))
    unreachable = MemoryRegistry()
    unreachable.store.available = False
    with Registry(unreachable, bootstrap=path, start_timeout_s=0.01) as other:
        assert other.route(TOPIC, KEY).key in SHARDS
        assert other.counters.bad_entries == 2


@pytest.mark.parametrize("url", ["localhost:6379", "http://localhost", "", "redis://localhost:port"])
def test_a_wrong_address_is_told_where_it_was_given(url: str) -> None:
    for kind in (hotshard.Registry, hotshard.AsyncRegistry):
        with pytest.raises(SettingsError, match="address of Redis"):
            kind(url)


@pytest.mark.parametrize("topics", ["orders", ["a b"], [""]])
def test_wrong_topics_are_told(topics: Any) -> None:  # noqa: ANN401 - whatever is given
    with pytest.raises(SettingsError):
        Registry(MemoryRegistry(), topics)


def test_mixing_text_and_bytes_compares_none_of_them() -> None:
    program = (
        "from hotshard import MemoryRegistry, Registry\n"
        "memory = MemoryRegistry(); memory.split('t', 'a', ('0', '1'))\n"
        "with Registry(memory) as r:\n"
        "    for key in ('a', b'a'):\n"
        "        for d in ('x', b'x', 'y', b'y', None):\n"
        "            assert len(r.route('t', key, d).key) == 3\n"
        "    assert r.counters.route_errors == 0\n"
    )
    assert run("-bb", "-c", program) == ""


def test_importing_the_library_imports_no_faust_no_kafka_and_no_sketches() -> None:
    program = "import sys, hotshard; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = set(run("-c", program).split())
    assert "hotshard" in loaded
    assert not {"faust", "mode", "aiokafka", "datasketches", "numpy", "confluent_kafka"} & loaded


def test_every_public_name_is_there() -> None:
    for name in hotshard.__all__:
        assert getattr(hotshard, name) is not None


def test_what_users_were_promised_is_among_them() -> None:
    helpers = {"partition_key", "sharded_partition_key", "base_key", "describe_skew", "skew_alerts"}
    assert helpers | {"Registry", "AsyncRegistry", "RegistryState", "shard"} <= set(hotshard.__all__)


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]
    assert hotshard.__version__ == project["version"]


def run(*arguments: str) -> str:
    """Run Python; what it printed. Fails when it complains."""
    environment = {**os.environ, "PYTHONPATH": str(Path(hotshard.__file__).parents[1])}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
