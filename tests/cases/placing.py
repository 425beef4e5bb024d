"""Incidents of partitioners that differ, are wrong or unstable, and of one key in several forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotshard.core.partitioners import partition_of
from hotshard.core.planning.whose import RULES, agreeing, explain, java_string_hash
from tests.cases.incident import Holds, Incident, Says
from tests.cases.keys import last_of
from tests.support.incidents import dealt, live, together

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS = 10


def seen_at(places: Mapping[bytes, Mapping[int, int]], partitions: int) -> Mapping[str, Any]:
    """Keys seen on these partitions so often, among many that lie where the topic's partitioner puts them."""
    place = partition_of("murmur2", partitions)
    crowd = {f"k{number}".encode(): 4 for number in range(100 * partitions)}
    streams = [
        dealt({key: count for key, count in crowd.items() if place(key) == partition}, partition, SECONDS)
        for partition in range(partitions)
    ]
    for key, there in places.items():
        streams += [dealt({key: count}, partition, SECONDS) for partition, count in there.items()]
    return last_of(live(together(*streams), partitions))


UUIDS = (b"354afe16-939a-4ea8-8e17-8bb0840b6886", b"f562ac3b-2224-4e25-a0ab-56094e10c239")
STRUCT = b'Struct{documentKey={"_id": "638d1b94ce8def06be68b439"}}'


def by_another_client() -> Mapping[str, Any]:
    seen = seen_at({UUIDS[0]: {9: 400}, UUIDS[1]: {6: 400}}, 10)
    by_java = tuple(partition_of("murmur2", 10)(key) for key in UUIDS)
    return {**seen, "by_java": by_java, "agreeing": agreeing({UUIDS[0]: 9, UUIDS[1]: 6}, 10)}


def both_in_the_fleet() -> Mapping[str, Any]:
    seen = seen_at({b"TT0124": {10: 900, 9: 100}}, 15)
    found = explain(b"TT0124", (10, 9), 15)
    return {**seen, "in_10": found[10], "in_9": found[9]}


def without_the_mask() -> Mapping[str, Any]:
    java, unsigned = RULES["murmur2"], RULES["murmur2_unsigned"]
    keys = [f"key-{number}".encode() for number in range(1000)]
    return {f"differ_at_{n}": sum(java(key, n) != unsigned(key, n) for key in keys) for n in (12, 32)}


def least_hash() -> Mapping[str, Any]:
    text = "polygenelubricants"
    places = {n: RULES["java_hash_code"](text.encode(), n) for n in (2, 3, 4, 8)}
    return {"hash": java_string_hash(text), "places": places}


def framed(schema: int) -> bytes:
    """As an Avro serializer writes a string: zero, the schema's number, the length doubled, the text."""
    return b"\x00" + schema.to_bytes(4, "big") + b"\x16customer-42"


def two_schemas(records: int) -> Mapping[str, Any]:
    place = partition_of("murmur2", 12)
    raw, one, seven = (place(key) for key in (b"customer-42", framed(1), framed(7)))
    seen = seen_at({framed(1): {one: records}, framed(7): {seven: records}}, 12)
    return {**seen, "raw": raw, "schema_1": one, "schema_7": seven}


PLACING: tuple[Incident, ...] = (
    Incident(
        id="I044", kind="wrong_hash",
        symptom="two clients put the same key on different partitions",
        seen=by_another_client,
        answer={
            "by_java": (4, 5), "agreeing": Holds("crc32"), "cause": "mixed_partitioners", "reason": "other_partitioner",
            "advice": Says("crc32"),
        },
    ),
    Incident(
        id="I046", kind="wrong_hash",
        symptom="one key lies on two partitions, and its order is lost",
        seen=both_in_the_fleet,
        answer={
            "in_10": Holds("murmur2"), "in_9": Holds("crc32"), "cause": "mixed_partitioners",
            "reason": "mixed_partitioners", "treatment": "none", "advice": Says("murmur2 and crc32"),
        },
    ),
    Incident(
        id="I048", kind="wrong_hash",
        symptom="a connector and a Python program disagree",
        seen=lambda: seen_at({STRUCT: {40: 500, 36: 500}}, 50),
        answer={"cause": "mixed_partitioners", "treatment": "none"},
    ),
    Incident(
        id="I050", kind="wrong_hash",
        symptom="a port of Java's partitioner forgot the mask, and its tests did not see it",
        seen=without_the_mask,
        answer={"differ_at_12": 459, "differ_at_32": 0},
    ),
    Incident(
        id="I052", kind="wrong_hash",
        symptom="a hash is the least number there is, and its absolute value is negative",
        seen=least_hash,
        answer={"hash": -(2**31), "places": {2: 0, 3: 1, 4: 0, 8: 0}},
    ),
    Incident(
        id="I054", kind="wrong_hash",
        symptom="a program's own hash differs from process to process",
        seen=lambda: seen_at({b"K": {0: 100, 2: 100, 3: 100, 7: 100, 9: 100}}, 12),
        answer={"cause": "mixed_partitioners", "reason": "unstable_hash", "advice": Says("'K'")},
    ),
    Incident(
        id="I056", kind="wrong_hash",
        symptom="after a change of its schema a key lies elsewhere",
        seen=lambda: two_schemas(60),
        answer={
            "raw": 9, "schema_1": 5, "schema_7": 3, "cause": "mixed_partitioners", "reason": "key_encodings",
            "advice": Says("2 keys are one value under different schemas"),
        },
    ),
    Incident(
        id="I056", kind="wrong_hash",
        symptom="and where it is hot besides, both are told",
        seen=lambda: two_schemas(300),
        answer={"cause": "hot_key", "also": Holds("mixed_partitioners"), "treatment": "isolate"},
    ),
)  # fmt: skip
