"""Defaults, then the file, then the environment, then the command line; and what each says when it is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hotshard.core.topic import KeyLayout, Load, Mode, Ordering, PartitionsFrom, TopicSpec
from hotshard.errors import SettingsError
from hotshard.settings import Settings, load

if TYPE_CHECKING:
    from pathlib import Path


def from_file(tmp_path: Path, text: str, **more: object) -> Settings:
    path = tmp_path / "settings.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, **more)  # type: ignore[arg-type]  # handed on


def origins(settings: Settings) -> dict[str, str]:
    return {each.name: each.origin for each in settings.in_force}


def test_without_any_source_the_defaults_hold_and_there_is_no_topic() -> None:
    settings = load()
    assert settings.topic_specs() == ()
    assert settings.mirror.bootstrap_servers == ("localhost:9092",)
    assert settings.worker.window_ms == 10_000
    assert set(origins(settings).values()) == {"default", "as mirror"}


def test_each_source_goes_before_the_one_below_it_and_is_remembered(tmp_path: Path) -> None:
    text = "[worker]\nwindow_s = 1\ngrace_s = 1\npane_ms = 101\n"
    environ = {"HOTSHARD_WORKER_GRACE_S": "2", "HOTSHARD_WORKER_PANE_MS": "102"}
    settings = from_file(tmp_path, text, environ=environ, flags={"worker.pane_ms": "103"})
    assert (settings.worker.window_s, settings.worker.grace_s, settings.worker.pane_ms) == (1, 2, 103)
    found = origins(settings)
    assert found["worker.group"] == "default"
    assert found["worker.window_s"] == str(tmp_path / "settings.toml")
    assert found["worker.grace_s"] == "environment HOTSHARD_WORKER_GRACE_S"
    assert found["worker.pane_ms"] == "command line"


def test_the_environment_may_hold_what_is_no_setting_or_is_empty() -> None:
    environ = {"HOTSHARD_WORKER_WINDOWS_S": "5", "HOTSHARD_DISABLE": "1", "HOTSHARD_WORKER_WINDOW_S": "", "PATH": "/"}
    assert load(environ=environ) == load()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[worker]\nwindows_s = 5",
            r"unknown setting worker\.windows_s \(.*settings\.toml\); did you mean .*window_s\?",
        ),
        ("[workers]\nwindow_s = 5", r"unknown section \[workers\] in .*; did you mean worker\?"),
        (
            "[topics.orders]\nmod = 'active'",
            r"unknown setting topics\.orders\.mod .*; did you mean topics\.orders\.mode\?",
        ),
        ("[qqq]", r"unknown section \[qqq\] in .*settings\.toml$"),
        ("worker = 5", r"worker in .* is a section: write \[worker\]"),
        ("[topics]\norders = 5", r"topics\.orders in .* is a section: write \[topics\.orders\]"),
        ("[topics.shop.orders]\nmode = 'active'", r'write \[topics\."shop\.orders"\]'),
        ("[topics.'a b']", r"'a b' is not a topic name"),
        ("[worker\n", r"is not TOML: .*line 1"),
    ],
)
def test_the_file_is_strict_and_names_the_nearest(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        from_file(tmp_path, text)


def test_a_file_that_is_not_there_or_not_readable_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no settings file"):
        load(tmp_path / "nowhere.toml")
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("worker.window_s", "'ten'", "is not a number from 1 to 3600"),
        ("worker.window_s", "0.5", "out of range: a number from 1 to 3600"),
        ("worker.window_s", "nan", "is not a number"),
        ("worker.window_s", "inf", "is not a number"),
        ("worker.window_s", "true", "is not a number"),
        ("worker.pane_ms", "1000.5", "is not a whole number"),
        ("worker.slabs", "'yes'", "is not true or false"),
        ("worker.slabs", "1", "is not true or false"),
        ("worker.group", "''", "is not up to 64 letters"),
        ("worker.group", "3", "is not up to 64 letters"),
        ("worker.namespace", "'a b'", "is not up to 64 letters"),
        ("worker.isolation_level", "'read_comitted'", r"did you mean read_committed\?"),
        ("mirror.bootstrap_servers", "'localhost:9092'", "is not a list of addresses"),
        ("mirror.bootstrap_servers", "['a b']", "is not a list of addresses host:port: 'a b'"),
        ("redis.url", "'localhost:6379'", "is not an address such as redis://"),
        ("redis.url", "'redis://h:port/0'", "is not an address such as redis://"),
        ("own_topics.panes", "'a/b'", "is not a topic name"),
        ("defaults.mode", "'activ'", r"one of observe, shadow, approve, active; did you mean active\?"),
        ("defaults.ordering", "'per-key'", r"did you mean per_key\?"),
        ("defaults.partitioner", "'murmur'", r"did you mean murmur2\?"),
        ("defaults.partitions", "0", "out of range"),
        ("defaults.sources", "[]", "is empty"),
        ("defaults.eps", "-1", "out of range"),
    ],
)
def test_a_wrong_value_is_told_with_its_name_its_place_and_what_it_takes(
    tmp_path: Path, name: str, value: str, message: str
) -> None:
    section, _, key = name.rpartition(".")
    with pytest.raises(SettingsError, match=message) as caught:
        from_file(tmp_path, f"[{section}]\n{key} = {value}")
    assert str(caught.value).startswith(f"{name} ({tmp_path / 'settings.toml'}): ")


def test_text_from_outside_is_read_as_what_the_setting_takes() -> None:
    environ = {
        "HOTSHARD_WORKER_SLABS": "off",
        "HOTSHARD_WORKER_WINDOW_S": "5",
        "HOTSHARD_WORKER_FETCH_MIN_BYTES": " 1_000 ",
        "HOTSHARD_MIRROR_BOOTSTRAP_SERVERS": "a:1, [::1]:2,c",
        "HOTSHARD_DEFAULTS_PARTITIONS": "auto",
        "HOTSHARD_DEFAULTS_ON_SHARE": "0.125",
        "HOTSHARD_TOPICS": "x",
    }
    settings = load(environ=environ)
    assert not settings.worker.slabs
    assert (settings.worker.window_s, settings.worker.fetch_min_bytes) == (5.0, 1000)
    assert settings.mirror.bootstrap_servers == ("a:1", "[::1]:2", "c")
    assert settings.topics[0].partitions is None
    assert settings.topics[0].policy.on_share == 0.125


@pytest.mark.parametrize(
    ("name", "text"),
    [("worker.window_s", "ten"), ("worker.pane_ms", "5.5"), ("worker.slabs", "maybe"), ("worker.pane_ms", "")],
)
def test_text_that_is_none_of_it_is_told(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=rf"{name} \(command line\): '{text}' is not "):
        load(flags={name: text})


def test_the_command_line_is_strict_too() -> None:
    with pytest.raises(SettingsError, match=r"unknown setting worker\.windw_s \(command line\); did you mean"):
        load(flags={"worker.windw_s": "5"})


def test_topics_come_from_all_sources_and_take_their_defaults(tmp_path: Path) -> None:
    text = """
        [defaults]
        sources = ["dc1.{topic}", "dc2.{topic}"]
        mode = "active"
        max_shards = 16
        [topics.orders]
        partitions = 32
        ordering = "none"
        partitions_from = "computed"
        layout = "entity"
        load = "bytes"
        [topics."shop.payments"]
        sources = ["pay"]
        max_shards = 4
    """
    environ = {"HOTSHARD_TOPICS": "clicks, views=raw.views+old.views"}
    settings = from_file(tmp_path, text, environ=environ, topics=["more"], flags={"topics.orders.eps": "0.5"})
    by_name = {topic.name: topic for topic in settings.topic_specs()}
    assert list(by_name) == ["orders", "shop.payments", "clicks", "views", "more"]
    orders = by_name["orders"]
    assert orders.sources == ("dc1.orders", "dc2.orders")
    assert (orders.partitions, orders.partitions_from) == (32, PartitionsFrom.COMPUTED)
    assert (orders.mode, orders.ordering) == (Mode.ACTIVE, Ordering.NONE)
    assert (orders.layout, orders.load) == (KeyLayout.ENTITY, Load.BYTES)
    assert (orders.policy.eps, orders.policy.max_shards) == (0.5, 16)
    assert by_name["shop.payments"].policy.max_shards == 4
    assert by_name["shop.payments"].sources == ("pay",)
    assert by_name["views"].sources == ("raw.views", "old.views")
    assert all(topic.mode is Mode.ACTIVE for topic in by_name.values())
    found = origins(settings)
    assert found["topics.orders.eps"] == "command line"
    assert found["topics.views.sources"] == "environment HOTSHARD_TOPICS"
    assert found["topics.more.max_shards"] == str(tmp_path / "settings.toml")


def test_a_topic_with_nothing_said_is_the_default_spec() -> None:
    assert load(topics=["orders"]).topics == (TopicSpec(name="orders", sources=("orders",)),)


@pytest.mark.parametrize("text", ["a b", "orders=", "=x", "a=b+"])
def test_topics_that_are_none_are_told(text: str) -> None:
    with pytest.raises(SettingsError, match=r"environment HOTSHARD_TOPICS: .*NAME=SOURCE"):
        load(environ={"HOTSHARD_TOPICS": text})
