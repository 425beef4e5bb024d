"""From what the sources say of a topic, and of single tenants in it, to its specification."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from hotshard.core.fields import parse_field
from hotshard.core.policy.thresholds import Policy
from hotshard.core.topic import Carry, KeyLayout, Load, Mode, Ordering, PartitionsFrom, Pin, TopicSpec
from hotshard.errors import SettingsError
from hotshard.settings.pinning import pin_of, pins_of
from hotshard.settings.policy_rows import POLICY_KEYS
from hotshard.settings.topic_rows import OF_A_TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hotshard.settings.sources import Given, Sheet

_ENUMS: Final = {
    "layout": KeyLayout,
    "partitions_from": PartitionsFrom,
    "mode": Mode,
    "ordering": Ordering,
    "load": Load,
    "carry": Carry,
    "tenant": parse_field,
    "discriminator": parse_field,
}


def of_topic(sheet: Sheet, topic: str) -> dict[str, Given]:
    """Everything a topic is set to, from its own section or the defaults, by key."""
    own = sheet.topics[topic]
    return {key: own.get(key, sheet.values[setting.name]) for key, setting in OF_A_TOPIC.items()}


def tenants_of(sheet: Sheet, topic: str) -> dict[str, dict[str, Given]]:
    """What the sections of the tenants of a topic say, by tenant and key."""
    return {tenant: section for (of, tenant), section in sheet.tenants.items() if of == topic}


def topic_spec(sheet: Sheet, name: str) -> TopicSpec:
    """The specification of a topic.

    Raises:
        SettingsError: two settings ask for different pins.

    """
    values: dict[str, Any] = {key: each.value for key, each in of_topic(sheet, name).items()}
    policy = {key: values.pop(key) for key in POLICY_KEYS}
    tenants = tenants_of(sheet, name)
    sources = tuple(source.replace("{topic}", name) for source in values.pop("sources"))
    values |= {key: become(values[key]) for key, become in _ENUMS.items()}
    try:
        values["pins"] = MappingProxyType(pins_of(values["pins"], values.pop("deny")))
    except ValueError as error:
        raise SettingsError(f"topic {name}: {error}") from None
    values["tenant_pins"] = MappingProxyType(_tenant_pins(name, values["tenant_pins"], tenants))
    policies = {tenant: _policy_of(policy, section) for tenant, section in tenants.items() if section.keys() - {"pin"}}
    return TopicSpec(
        name=name, sources=sources, policy=Policy(**policy), tenant_policies=MappingProxyType(policies), **values
    )


def _policy_of(topic: Mapping[str, Any], section: Mapping[str, Given]) -> Policy:
    """The topic's policy, with what its section says of one tenant."""
    return Policy(**{**topic, **{key: each.value for key, each in section.items() if key in POLICY_KEYS}})


def _tenant_pins(
    topic: str, pins: Mapping[str, int | str], tenants: Mapping[str, Mapping[str, Given]]
) -> dict[str, Pin]:
    words = dict(pins)
    for tenant, section in tenants.items():
        word: Any = section["pin"].value if "pin" in section else None
        if word is not None and words.setdefault(tenant, word) != word:
            raise SettingsError(
                f"topic {topic}: tenant {tenant} has pin = {word} in its section and {words[tenant]} in tenant_pins;"
                " keep one of them"
            )
    return {tenant: pin_of(word) for tenant, word in words.items()}
