"""Defaults, then the file, then the environment, then the command line; and what each says when it is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import (
    Carry,
    Field,
    KeyLayout,
    Load,
    Mode,
    Ordering,
    PartitionsFrom,
    Pin,
    Place,
    TopicSpec,
)
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
        ("[worker]\npane_ms = " + "1" * 5000, "is not TOML: "),
        ("[worker]\npane_ms = " + "[" * 5000 + "]" * 5000, "is not TOML: "),
        (
            "[topics.orders.tenants.acme]\non_shar = 0.1",
            r"unknown setting topics\.orders\.tenants\.acme\.on_shar \(.*\); did you mean on_share\?",
        ),
        (
            "[topics.orders.tenants.acme]\nmode = 'active'",
            r"tenants\.acme\.mode .*: mode is the same for all tenants; set topics\.orders\.mode",
        ),
        (
            "[topics.orders.tenants.acme]\nslow_view_s = 5",
            r"is the same for all tenants; set topics\.orders\.slow_view_s",
        ),
        ("[topics.orders.tenant.acme]\non_share = 0.1", r"did you mean \[topics\.orders\.tenants\.NAME\]\?"),
        ("[topics.orders.tenent.acme]\non_share = 0.1", r"did you mean \[topics\.orders\.tenants\.NAME\]\?"),
        (
            "[topics.orders]\ntenants = ['acme']",
            r"a section for each tenant: write \[topics\.orders\.tenants\.TENANT\]",
        ),
        ("[topics.orders.tenants]\nacme = 0.1", r"a section for each tenant: write \[topics\.orders\.tenants\.acme\]"),
        ('[topics.orders.tenants."a\\u001fb"]', r"'a\\x1fb' is no tenant: empty, or with U\+001F"),
        ('[topics.orders.tenants.""]', r"'' is no tenant"),
        ("[topics.orders.mode]\nx = 1", r"topics\.orders\.mode in .* is no section; it takes one of observe"),
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
        ("worker.window_s", "1" * 400, r"1{80}\.\.\. is not a number from 1 to 3600"),
        ("worker.pane_ms", "1" * 400, r"1{80}\.\.\. is not a whole number"),
        ("worker.pane_ms", "0x" + "1" * 9000, "a number of thousands of digits is not a whole number"),
        ("defaults.on_load_per_s", "1" * 400, "is not a number from 0 on"),
        ("defaults.mode", "'" + "x" * 9000 + "'", r"x{79}\.\.\. is not one of observe"),
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
        ("defaults.on_load_per_s", "'auto'", r"is not a number from 0 on, or \"none\""),
        ("defaults.on_partition_share", "1.5", "out of range"),
        ("defaults.max_flaps", "1", "out of range: a whole number from 2 to 100"),
        ("defaults.tenant", "'none'", r'is not "key", "header:NAME" or "json:FIELD"'),
        ("defaults.tenant", "'header'", r'names no header: write "header:NAME"'),
        ("defaults.tenant", "'headers:x'", r'is not "key", .*; did you mean header\?'),
        ("defaults.tenant", "'json:a..b'", "names no field"),
        ("defaults.tenant", "3", r'is not "key"'),
        ("defaults.discriminator", "'key'", r'is not "none", "header:NAME" or "json:FIELD"'),
        ("defaults.carry", "'sufix'", r"one of suffix, partition; did you mean suffix\?"),
        ("defaults.also_partitioner", "'crc'", r'crc32, .*"" for none; did you mean crc32\?'),
        ("defaults.pins", "{ k = 1 }", r"has for 'k' 1, which is not a whole number of shards from 2 to 10000"),
        ("defaults.pins", "{ k = true }", "has for 'k' True, which is not"),
        ("defaults.pins", "{ k = 'nevr' }", r"has for 'k' 'nevr', which is not .*; did you mean never\?"),
        ("defaults.pins", "['k']", "is not a table of keys"),
        ("defaults.pins", "{ '' = 2 }", "is not made of keys"),
        ("defaults.deny", "'k'", "is not a list of keys"),
        ("defaults.deny", "[1]", "is not made of keys"),
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


def test_a_topic_can_be_told_everything_there_is_of_it(tmp_path: Path) -> None:
    text = r"""
        [defaults]
        ordering = "none"
        deny = ["acme\u001fa"]
        [topics.orders]
        tenant = "json:customer.id"
        discriminator = "header:to"
        carry = "partition"
        partitioner = "sarama"
        also_partitioner = "crc32"
        on_load_per_s = 500
        pins = { "acme\u001f7" = 8, "acme\u001f8" = "auto", "acme\u001f9" = "never" }
        tenant_pins = { globex = 4 }
        [topics.orders.tenants.acme]
        on_share = 0.01
        pin = "never"
        [topics.orders.tenants."initech.com"]
        pin = "auto"
    """
    orders = from_file(tmp_path, text).topics[0]
    assert (orders.tenant, orders.discriminator) == (Field(Place.JSON, "customer.id"), Field(Place.HEADER, "to"))
    assert (orders.carry, orders.partitioner, orders.also_partitioner) == (Carry.PARTITION, "sarama", "crc32")
    assert orders.pins == {"acme\x1f7": Pin(8), "acme\x1f8": Pin(0), "acme\x1f9": Pin(None), "acme\x1fa": Pin(None)}
    assert orders.tenant_pins == {"globex": Pin(4), "acme": Pin(None), "initech.com": Pin(0)}
    assert orders.policy == Policy(on_load_per_s=500)
    assert orders.tenant_policies == {"acme": Policy(on_load_per_s=500, on_share=0.01)}


def test_pins_and_tenants_come_from_outside_the_file_too(tmp_path: Path) -> None:
    environ = {"HOTSHARD_DEFAULTS_PINS": r"acme\u001f7=8, b\u001f=x=auto", "HOTSHARD_DEFAULTS_DENY": r"acme\u001f9,k"}
    flags = {
        "topics.orders.ordering": "none",
        "topics.orders.tenants.acme.com.on_share": "0.5",
        "topics.orders.tenants.acme.com.pin": "4",
        "topics.orders.tenant_pins": '{"a,b": 2, "c": "never"}',
        "topics.more.ordering": "none",
        "topics.more.deny": r'["a,\u001fb"]',
    }
    text = "[topics.orders.tenants.'acme.com']\non_share = 0.1\noff_ratio = 0"
    settings = from_file(tmp_path, text, environ=environ, flags=flags)
    orders, more = settings.topics
    assert orders.pins == {"acme\x1f7": Pin(8), "b\x1f=x": Pin(0), "acme\x1f9": Pin(None), "k": Pin(None)}
    assert orders.tenant_pins == {"a,b": Pin(2), "c": Pin(None), "acme.com": Pin(4)}
    assert orders.tenant_policies == {"acme.com": Policy(on_share=0.5, off_ratio=0)}
    assert more.pins.keys() == {"acme\x1f7", "b\x1f=x", "a,\x1fb"}
    found = origins(settings)
    assert found['topics.orders.tenants."acme.com".on_share'] == "command line"
    assert found['topics.orders.tenants."acme.com".off_ratio'] == str(tmp_path / "settings.toml")
    assert found["topics.orders.pins"] == "environment HOTSHARD_DEFAULTS_PINS"
    assert 'topics.more.tenants."acme.com".on_share' not in found


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("topics.a.tenants.t.on_shar", "1", r"unknown setting topics\.a\.tenants\.t\.on_shar .*did you mean on_share"),
        ("topics.a.tenants.t.pin", "6.5", "is not a whole number of shards from 2 to 10000"),
        ("topics.a.tenants.t.eps", "x", "is not a number"),
        ("topics.a.pins", "k", "is not NAME=PIN,NAME=PIN"),
        ("topics.a.pins", "{k", "is not JSON"),
        ("topics.a.pins", "k=neve", r"did you mean never\?"),
        ("topics.a.deny", "[k", "is not JSON"),
        ("topics.a.pins", "\udcff=never", "cannot be encoded as UTF-8"),
    ],
)
def test_a_pin_or_a_tenant_that_is_wrong_on_the_command_line_is_told(name: str, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load(flags={name: text})


@pytest.mark.parametrize("text", ["a b", "orders=", "=x", "a=b+"])
def test_topics_that_are_none_are_told(text: str) -> None:
    with pytest.raises(SettingsError, match=r"environment HOTSHARD_TOPICS: .*NAME=SOURCE"):
        load(environ={"HOTSHARD_TOPICS": text})
