"""Connections, own topics, and what must hold between settings."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotshard.core.topic import Pin
from hotshard.doors.kafka.connection import EXTRA_NAMES, KafkaConnection
from hotshard.errors import SettingsError
from hotshard.settings import load
from hotshard.settings.masking import masked_url
from hotshard.settings.table import TABLE

if TYPE_CHECKING:
    from pathlib import Path

SASL = {"security_protocol": "SASL_SSL", "sasl_username": "ann", "sasl_password": "pw"}


SPLIT = {"topics.a.ordering": "none", "topics.a.pins": r"k\u001fe=4"}


def connection(section: str, **values: str) -> dict[str, str]:
    return {f"{section}.{key}": value for key, value in values.items()}


def test_the_second_and_third_connection_are_the_first_where_they_are_not_given() -> None:
    settings = load(flags=connection("mirror", bootstrap_servers="a:1", **SASL))
    assert settings.production == settings.output == settings.mirror
    assert settings.mirror.sasl_password == "pw"


def test_a_connection_that_is_given_takes_nothing_of_the_first() -> None:
    flags = connection("mirror", **SASL) | connection("output", bootstrap_servers="o:1")
    settings = load(flags=flags)
    assert settings.output == KafkaConnection(bootstrap_servers=("o:1",))
    assert settings.production == settings.mirror


def test_what_is_in_force_for_a_connection_that_is_not_given_is_the_mirrors() -> None:
    settings = load(flags=connection("mirror", bootstrap_servers="a:1"))
    found = {each.name: (each.value, each.origin) for each in settings.in_force}
    assert found["output.bootstrap_servers"] == (("a:1",), "as mirror")


def test_the_rest_of_a_connection_goes_to_aiokafka_under_its_own_names() -> None:
    more = {"request_timeout_ms": "5000", "kerberos_service_name": "k", "retry_backoff_ms": "50"}
    extra = load(flags=connection("mirror", **more)).mirror.extra
    assert extra == {"request_timeout_ms": 5000, "sasl_kerberos_service_name": "k", "retry_backoff_ms": 50}
    assert set(extra) < EXTRA_NAMES
    assert load().mirror.extra == {}


def test_aiokafka_gets_login_and_addresses() -> None:
    kwargs = load(flags=connection("mirror", **(SASL | {"security_protocol": "SASL_PLAINTEXT"}))).mirror.client_kwargs()
    assert kwargs == {
        "bootstrap_servers": ["localhost:9092"],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "ann",
        "sasl_plain_password": "pw",
    }


def test_tls_files_that_are_not_there_are_told() -> None:
    mirror = load(flags=connection("mirror", security_protocol="SSL", ca_file="/nowhere/ca.pem")).mirror
    with pytest.raises(SettingsError, match=r"no such file: /nowhere/ca\.pem"):
        mirror.client_kwargs()
    with pytest.raises(SettingsError, match="cannot be used"):
        KafkaConnection(security_protocol="SSL", ca_file=__file__).client_kwargs()


def test_tls_without_files_trusts_the_systems_authorities() -> None:
    context = KafkaConnection(security_protocol="SSL").client_kwargs()["ssl_context"]
    assert context.check_hostname


def test_kerberos_without_its_package_is_told() -> None:
    if importlib.util.find_spec("gssapi") is not None:
        pytest.skip("gssapi is installed here")
    mirror = load(flags=connection("mirror", security_protocol="SASL_SSL", sasl_mechanism="GSSAPI")).mirror
    with pytest.raises(SettingsError, match="pip install gssapi"):
        mirror.client_kwargs()


def test_an_extra_that_aiokafka_does_not_share_is_refused() -> None:
    with pytest.raises(SettingsError, match="not an option of a Kafka connection: linger_ms"):
        KafkaConnection(extra={"linger_ms": 5}).client_kwargs()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (connection("mirror", security_protocol="SASL_SSL"), "mirror.sasl_username is needed"),
        (connection("mirror", **(SASL | {"sasl_password": ""})), "mirror.sasl_password is needed"),
        (connection("mirror", sasl_username="ann"), "set it to SASL_SSL or SASL_PLAINTEXT"),
        (connection("output", sasl_username="ann"), "has no use without output.bootstrap_servers"),
        ({"worker.pane_ms": "2000", "worker.window_s": "1"}, "pane_ms is longer than worker.window_s"),
        ({"redis.ca_file": "ca.pem"}, "begin redis.url with rediss://"),
        ({"own_topics.events": "hotshard-windows"}, "four different names"),
        ({"topics.a.sources": "x", "topics.b.sources": "x"}, r"source x is named twice \(topics a and b\)"),
        ({"topics.a.sources": "x,x"}, "source x is named twice"),
        ({"topics.a.sources": "hotshard-panes"}, "is a topic of hotshard's own"),
        ({"topics.a.fast_view_s": "10"}, "topic a: fast_view_s must be less than slow_view_s"),
        ({"topics.a.floor_name_per_s": "1000"}, "topic a: floor_name_per_s must not be more than floor_act_per_s"),
        ({"topics.a.off_ratio": "0.6"}, "topic a: off_ratio must not be more than keep_ratio; 0.5 or less"),
        ({"topics.a.min_shards": "65"}, "topic a: min_shards must not be more than max_shards; 64 or less"),
        (
            {"topics.a.tenants.t.off_ratio": "0.6"},
            "topic a, tenant t: off_ratio must not be more than keep_ratio; 0.5 or less",
        ),
        ({"topics.a.deny": "k", "topics.a.pins": "k=auto"}, "topic a: 'k' is in deny, and pins say auto; keep one"),
        (
            {"topics.a.tenants.t.pin": "4", "topics.a.tenant_pins": "t=5"},
            "topic a: tenant t has pin = 4 in its section and 5 in tenant_pins; keep one of them",
        ),
        ({"topics.a.pins": r"k\u001fe=4"}, 'asks for a split, which ordering = "per_key" forbids; change one of them'),
        ({"topics.a.tenant_pins": "t=auto"}, 'the pin of tenant t asks for a split, which ordering = "per_key"'),
        (SPLIT | {"topics.a.pins": "k=auto"}, "cannot be: the key has not the form of a base key of layout tenant_ent"),
        (
            SPLIT | {"topics.a.compacted": "true"},
            'cannot be: compaction keeps one record.*take it away, or say "never"',
        ),
        (SPLIT | {"topics.a.partitions": "3"}, "asks for 4 shards, and the topic has 3 partitions"),
    ],
)
def test_settings_that_do_not_fit_each_other_are_told(flags: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load(flags=flags)


def test_pins_that_fit_are_taken() -> None:
    assert load(flags=SPLIT | {"topics.a.partitions": "4"}).topics[0].pins == {"k\x1fe": Pin(4)}
    never = {"topics.a.pins": "k=never", "topics.a.deny": "k", "topics.a.tenant_pins": "t=never"}
    assert load(flags=never).topics[0].pins == {"k": Pin(None)}
    assert load(flags={"topics.a.tenants.t.pin": "never", "topics.a.tenant_pins": "t=never"}).topics


def test_a_source_may_be_named_like_an_own_topic_on_another_cluster() -> None:
    flags = {"topics.a.sources": "hotshard-panes", "output.bootstrap_servers": "o:1"}
    assert load(flags=flags).topics[0].sources == ("hotshard-panes",)


def test_redis_gets_login_and_tls() -> None:
    flags = {"redis.url": "rediss://h:1/0", "redis.username": "u", "redis.password": "p", "redis.ca_file": "ca.pem"}
    redis = load(flags=flags).redis
    assert redis.options() == {"username": "u", "password": "p", "ssl_ca_certs": "ca.pem"}
    assert load().redis.options() == {}


def test_own_topics_are_made_with_one_count_and_the_state_compacted() -> None:
    own = load(flags={"own_topics.partitions": "3", "own_topics.panes_retention_s": "60"}).own_topics
    wanted = {each.name: each for each in own.wanted()}
    assert {each.partitions for each in wanted.values()} == {3}
    assert {each.replication for each in wanted.values()} == {-1}
    assert wanted["hotshard-panes"].config == {"cleanup.policy": "delete", "retention.ms": "60000"}
    assert wanted["hotshard-state"].config["cleanup.policy"] == "compact"
    assert set(wanted) == set(own.names)


def test_a_worker_has_a_name_of_its_own_unless_it_is_given_one() -> None:
    assert str(os.getpid()) in load().worker.worker_name
    assert load(flags={"worker.instance_id": "w-1"}).worker.worker_name == "w-1"
    assert load(flags={"worker.instance_id": "w-1", "worker.name": "n"}).worker.worker_name == "n"


SECRETS = {
    **{f"{section}.sasl_password": f"hush-{section}" for section in ("mirror", "production", "output")},
    **{f"{section}.key_password": f"hush-key-{section}" for section in ("mirror", "production", "output")},
    "redis.password": "hush-redis",
    "redis.url": "redis://ann:hush-url@h/0?password=hush-query&db=1",
}


def test_every_secret_of_the_table_is_tried() -> None:
    assert {setting.name for setting in TABLE if setting.secret} == set(SECRETS) - {"redis.url"}


def test_no_secret_is_in_what_is_shown_nor_in_the_repr() -> None:
    flags = dict(SECRETS)
    for section in ("mirror", "production", "output"):
        flags |= connection(section, bootstrap_servers="a:1", security_protocol="SASL_SSL", sasl_username="ann")
    settings = load(flags=flags)
    assert settings.mirror.sasl_password == "hush-mirror"
    assert "hush" not in repr(settings)
    assert "hush" not in settings.redis.address
    assert settings.redis.address == "redis://ann:********@h/0?password=********&db=1"
    shown = {each.name: each.value for each in settings.in_force}
    assert "hush" not in repr(shown)
    assert {shown[name] for name in SECRETS if name != "redis.url"} == {"********"}


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_secret_that_is_wrong_is_not_repeated(name: str) -> None:
    wrong = "hush hush" if name != "redis.url" else "http://ann:hush@h"
    try:
        load(flags={name: wrong})
    except SettingsError as error:
        assert "hush" not in str(error)  # noqa: PT017 -- most take any text and raise for another reason


def test_a_secret_that_is_no_text_is_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text("[redis]\npassword = 424242\n")
    with pytest.raises(SettingsError) as caught:
        load(path)
    assert "424242" not in str(caught.value)


@given(
    st.text(min_size=9), st.sampled_from(["redis://ann:{}@h:1/0", "redis://:{}@h", "ann:{}@h", "http://a:{}@h?x=y@z"])
)
def test_no_password_in_an_address_is_shown_however_it_is_written(password: str, form: str) -> None:
    assert password not in masked_url(form.format(password))
