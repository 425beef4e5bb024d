"""From an address and settings to a topic and how its cluster is reached."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

import pytest

from hotshard.cli.inputs import add_input_flags, open_input
from hotshard.cli.inputs_kafka import Address, address_of, chosen
from hotshard.core.topic import KeyLayout, PartitionsFrom
from hotshard.doors.kafka.contract import Out, TopicWanted
from hotshard.doors.kafka.memory import MemoryKafka
from hotshard.doors.kafka.stretch import StretchRecords
from hotshard.errors import SettingsError, UsageError
from hotshard.settings.load import load

if TYPE_CHECKING:
    from pathlib import Path

    from hotshard.settings import Settings

_SETTINGS = """
[mirror]
bootstrap_servers = ["mirror:9092"]
security_protocol = "SASL_SSL"
sasl_username = "reader"
sasl_password = "secret"
[production]
bootstrap_servers = ["production:9092"]
[topics.orders]
sources = ["dc1.orders", "dc2.orders"]
partitions_from = "computed"
partitions = 48
layout = "entity"
[topics.clicks]
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    file = tmp_path / "settings.toml"
    file.write_text(_SETTINGS)
    return load(file)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("kafka://host:9093/orders", Address(("host:9093",), "orders")),
        ("kafka://host/orders.v1_a-b", Address(("host:9092",), "orders.v1_a-b")),
        ("kafka://a:1,b,[::1]:3/t", Address(("a:1", "b:9092", "[::1]:3"), "t")),
        ("kafka:///orders", Address((), "orders")),
    ],
)
def test_an_address_has_servers_and_a_topic(word: str, expected: Address) -> None:
    assert address_of(word) == expected


@pytest.mark.parametrize(
    "word",
    [
        "kafka://", "kafka://host", "kafka://host/", "kafka:///", "kafka://host/a/b", "kafka://host/a?x=1",
        "kafka://host/a b", "kafka://user:pass@host/t", "kafka://host:port/t", "kafka://host:/t", "kafka://a,,b/t", "kafka://host:123456/t",
        "kafka://host/" + "t" * 250,
    ],
)  # fmt: skip
def test_what_is_no_address_is_wrong_use(word: str) -> None:
    with pytest.raises(UsageError, match="write kafka://HOST:PORT/TOPIC"):
        address_of(word)


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(UsageError, match=r"'kafka://\*\*\*@host/t' is no topic's address"):
        address_of("kafka://user:secret@host/t")


def opened(*words: str, environ: dict[str, str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    add_input_flags(parser, environ or {})
    open_input(parser.parse_args(words), environ or {}).records.close()


def test_wrong_flags_are_told_before_anything_is_asked() -> None:
    with pytest.raises(UsageError, match="--format is for files"):
        opened("kafka://nowhere.invalid/t", "--format", "tsv")
    with pytest.raises(UsageError, match="such as 90s"):
        opened("kafka://nowhere.invalid/t", "--last", "10")
    with pytest.raises(UsageError, match="an address without a host takes that of the settings"):
        opened("kafka:///t")
    with pytest.raises(SettingsError, match="no settings file"):
        opened("kafka:///t", "--config", "none.toml")


def test_a_source_is_read_from_the_mirror_for_its_production_topic(settings: Settings) -> None:
    spec, connection = chosen(Address((), "dc2.orders"), settings)
    assert (spec.name, spec.partitions, spec.partitions_from) == ("orders", 48, PartitionsFrom.COMPUTED)
    assert (connection.address, connection.sasl_password) == ("mirror:9092", "secret")


def test_a_production_topic_is_read_from_production_as_it_is(settings: Settings) -> None:
    spec, connection = chosen(Address((), "orders"), settings)
    assert (spec.name, spec.sources, spec.partitions) == ("orders", ("orders",), None)
    assert (spec.partitions_from, spec.layout) == (PartitionsFrom.SOURCE, KeyLayout.ENTITY)
    assert (connection.address, connection.sasl_username) == ("production:9092", None)


def test_a_topic_of_both_is_the_mirrors_unless_the_address_is_productions(settings: Settings) -> None:
    assert chosen(Address((), "clicks"), settings)[1].address == "mirror:9092"
    assert chosen(Address(("production:9092",), "clicks"), settings)[1].sasl_username is None


def test_another_address_keeps_the_login(settings: Settings) -> None:
    connection = chosen(Address(("tunnel:1",), "clicks"), settings)[1]
    assert (connection.address, connection.security_protocol, connection.sasl_username) == (
        "tunnel:1",
        "SASL_SSL",
        "reader",
    )


async def fill(kafka: MemoryKafka) -> None:
    await kafka.admin().ensure(TopicWanted(name="t", partitions=2))
    await kafka.publisher().publish([Out("t", b"v", b"k", n % 2) for n in range(1000)])


def test_records_of_a_stretch_are_slabs_with_progress() -> None:
    kafka = MemoryKafka()

    asyncio.run(fill(kafka))
    records = StretchRecords(kafka.stretches(), "t", now_ms=1_700_000_000_000, last_ms=None)
    assert records.progress == (0, 1000, "offsets", 0)
    halfway = 0
    for slab in records:
        halfway += len(slab)
        assert records.progress == (halfway, 1000, "offsets", halfway)
    assert halfway == 1000
    assert (records.skipped, records.complaint, records.damage) == (0, None, None)
    records.close()
    records.close()
