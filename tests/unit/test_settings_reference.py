"""The reference says all of the table, and nothing else."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hotshard.core.policy.thresholds import OF_THE_VIEWS, Policy
from hotshard.core.topic import TopicSpec
from hotshard.settings import load, show
from hotshard.settings.kinds import as_toml
from hotshard.settings.policy_rows import OF_A_TENANT
from hotshard.settings.table import BY_NAME, LIKE_MIRROR, SECTIONS, TABLE
from hotshard.settings.topic_rows import OF_A_TOPIC

if TYPE_CHECKING:
    from hotshard.settings.setting import Setting

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "deploy" / "settings.toml"
README = ROOT / "README.md"

every_setting = pytest.mark.parametrize("setting", TABLE, ids=lambda setting: setting.name)


def test_the_reference_file_is_what_the_table_gives() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == show.reference_toml(), (
        "run: hotshard config --reference toml > deploy/settings.toml"
    )


def test_the_reference_file_loads_and_is_the_defaults() -> None:
    settings, plain = load(REFERENCE), load()
    assert settings.topics == plain.topics == ()
    assert settings.worker == plain.worker
    assert (settings.mirror, settings.production, settings.output) == (plain.mirror, plain.production, plain.output)
    assert (settings.own_topics, settings.redis) == (plain.own_topics, plain.redis)
    assert load(REFERENCE, topics=["a"]).topics == load(topics=["a"]).topics


def test_the_reference_file_has_every_setting_and_no_other() -> None:
    content = tomllib.loads(REFERENCE.read_text(encoding="utf-8"))
    assert content.pop("topics") == {}
    assert {f"{section}.{key}" for section, keys in content.items() for key in keys} == set(BY_NAME)


@every_setting
def test_every_setting_takes_its_own_default_also_as_text(setting: Setting) -> None:
    written = tomllib.loads(f"x = {as_toml(setting.default)}")["x"]
    if setting.default is not None:
        assert setting.kind.check(written) == setting.default
        text = ",".join(written) if isinstance(written, list) else str(written)
        assert not text or setting.kind.read(text) == setting.default


@every_setting
def test_every_setting_says_what_it_is_for_and_its_unit(setting: Setting) -> None:
    assert len(setting.help) > 10
    assert setting.help[-1] in ".,"
    for suffix, unit in (("_ms", "ms"), ("_per_s", "load/s"), ("_s", "s"), ("_bytes", "bytes")):
        if setting.key.endswith(suffix):
            assert setting.unit == unit
            break


def test_the_readme_has_the_table_of_settings() -> None:
    text = README.read_text(encoding="utf-8")
    if len(text.splitlines()) < 20:
        pytest.skip("the README is not written yet")
    assert show.reference_markdown() in text, "put what `hotshard config --reference markdown` prints into README.md"


def test_every_setting_has_a_section_and_a_variable_of_its_own() -> None:
    assert {setting.section for setting in TABLE} == set(SECTIONS)
    assert len({setting.variable for setting in TABLE}) == len({setting.name for setting in TABLE}) == len(TABLE)


def test_every_threshold_and_every_field_of_a_topic_can_be_set() -> None:
    policy = {field.name for field in fields(Policy)}
    topic = {field.name for field in fields(TopicSpec)} - {"name", "policy"}
    # Policies of tenants have sections of their own; what is denied is pinned.
    assert set(OF_A_TOPIC) == policy | topic - {"tenant_policies"} | {"deny"}
    assert set(OF_A_TENANT) == policy - OF_THE_VIEWS | {"pin"}


def test_what_is_in_force_is_itself_a_settings_file(tmp_path: Path) -> None:
    first = tmp_path / "first.toml"
    first.write_text(
        """
        [topics."shop.orders"]
        ordering = "none"
        tenant = 'json:a\\.b.c'
        discriminator = "header:to"
        also_partitioner = "crc32"
        pins = { "acme\\u001forder-7" = 8, "a\\u001f\\"q\\u007f\\u00e9,=" = "auto", "k" = "never" }
        tenant_pins = { globex = "never" }
        deny = ["x\\u001fy", "with,comma"]
        partition_capacity_per_s = 1e6
        [topics."shop.orders".tenants."acme.com"]
        on_share = 0.125
        on_load_per_s = 1000
        pin = 4
        """,
        encoding="utf-8",
    )
    settings = load(
        first,
        topics=["orders=a+b"],
        flags={"output.bootstrap_servers": "o:1", "production.bootstrap_servers": "p:1"},
    )
    path = tmp_path / "again.toml"
    path.write_text(show.in_force_text(settings.in_force), encoding="utf-8")
    again = load(path)
    assert (again.worker, again.topics, again.output) == (settings.worker, settings.topics, settings.output)
    assert 'topics."shop.orders".tenants."acme.com".pin' in show.in_force_json(settings.in_force)
    json.dumps(show.in_force_json(settings.in_force), allow_nan=False)


def test_the_markdown_table_has_every_setting() -> None:
    table = show.reference_markdown()
    assert [setting.name for setting in TABLE if f"| `{setting.name}` |" not in table] == [
        setting.name for setting in TABLE if setting.section in LIKE_MIRROR
    ]
    assert all(f"| `{section}.*` |" in table for section in LIKE_MIRROR)
