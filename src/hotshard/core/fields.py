r"""Where in a record the tenant or the discriminator stands: written as text, and read from records.

``key``: in the key, as its layout says. ``header:NAME``: the first header of that name. ``json:a.b``: the field
``b`` of the object in field ``a`` of a value that is a JSON object; a dot in a name is written ``\.``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from hotshard.core.topic import Field, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hotshard.core.topic import TopicSpec

    #: Headers of a record as aiokafka gives them.
    Headers = Sequence[tuple[str, bytes | None]]

#: What :func:`parse_field` takes, as it stands in messages.
WANTS: Final = '"none", "key", "header:NAME" or "json:FIELD", as in json:customer.id'
#: Nothing that has to be escaped within JSON, where names are compared as they stand.
_JSON_PATH: Final = re.compile(r'(?:[^"\\.\x00-\x1f]|\\\.)+(?:\.(?:[^"\\.\x00-\x1f]|\\\.)+)*')
_DOT: Final = re.compile(r"(?<!\\)\.")
#: Before a value of a JSON schema's serializer: a zero byte and the number of its schema.
_SCHEMA_ID_BYTES: Final = 5


def parse_field(text: str) -> Field:
    """The place that ``text`` names.

    Raises:
        ValueError: it names none; the message says what is wrong and is to follow the setting's name.

    """
    word, colon, name = text.strip().partition(":")
    if not colon and word in (Place.NOWHERE, Place.KEY):
        return Field(Place(word))
    if word == Place.HEADER:
        if not name:
            raise ValueError('names no header: write "header:NAME"')
        return Field(Place.HEADER, name)
    if word == Place.JSON:
        if not _JSON_PATH.fullmatch(name):
            raise ValueError(f'names no field: "json:{name}" has an empty part, a quote or a backslash ({_DOTS})')
        return Field(Place.JSON, name)
    raise ValueError(f"is not {WANTS}")


_DOTS: Final = r"parts are joined by dots, a dot within a name is written \."


def field_text(field: Field) -> str:
    """How a place is written: what :func:`parse_field` reads."""
    return f"{field.place}:{field.name}" if field.place in (Place.HEADER, Place.JSON) else field.place.value


class Extracted(NamedTuple):
    """Columns read from records, one entry per record; None: not asked for."""

    tenants: list[bytes | None] | None
    discriminators: list[bytes | None] | None
    #: Values that are no JSON, though a field of theirs was asked for.
    damaged: int


class FieldReader:
    """Reads tenants and discriminators from headers and values.

    A header is taken as the bytes it has. Of a JSON field text is taken as UTF-8, and a whole number written
    without fraction or exponent as decimal text. Anything else, the empty text and the empty header are as good
    as missing: None. Nothing here raises, whatever the records hold.
    """

    __slots__ = ("_discriminator", "_tenant", "_values", "headers", "values")

    def __init__(self, tenant: Field, discriminator: Field) -> None:
        self._tenant = tenant
        self._discriminator = discriminator
        paths = [field.name for field in (tenant, discriminator) if field.place is Place.JSON]
        #: Whether headers, and whether values, are looked at; what is not may be left empty.
        self.headers = Place.HEADER in (tenant.place, discriminator.place)
        self.values = bool(paths)
        self._values = _Values(paths)

    def read(self, headers: Sequence[Headers], values: Sequence[bytes | None]) -> Extracted:
        """The fields of a run of records."""
        columns, damaged = self._values.read(values) if self.values else ([], 0)
        left = iter(columns)
        return Extracted(
            self._column(self._tenant, headers, left), self._column(self._discriminator, headers, left), damaged
        )

    @staticmethod
    def _column(
        field: Field, headers: Sequence[Headers], columns: Iterable[list[bytes | None]]
    ) -> list[bytes | None] | None:
        if field.place is Place.HEADER:
            name = field.name
            return [_header(name, each) if each else None for each in headers]
        return next(iter(columns)) if field.place is Place.JSON else None


def reader_for(spec: TopicSpec) -> FieldReader | None:
    """What reads the fields of a topic's records; None where all stands in the key, or nowhere."""
    reader = FieldReader(spec.tenant, spec.discriminator)
    return reader if reader.headers or reader.values else None


def _header(name: str, headers: Headers) -> bytes | None:
    for each, value in headers:
        if each == name:
            return value or None
    return None


class _Values:
    """Reads some fields of JSON objects; only the first part of each path is built, all else is skipped over."""

    def __init__(self, paths: Sequence[str]) -> None:
        split = [tuple(part.replace(r"\.", ".") for part in _DOT.split(path)) for path in paths]
        self._rests = [rest for _, *rest in split]
        firsts = list(dict.fromkeys(first for first, *_ in split))
        self._slots = [f"f{firsts.index(first)}" for first, *_ in split]
        shape = msgspec.defstruct(
            "shape", [(f"f{i}", Any, msgspec.field(default=None, name=first)) for i, first in enumerate(firsts)]
        )
        self._decode = msgspec.json.Decoder(shape).decode

    def read(self, values: Sequence[bytes | None]) -> tuple[list[list[bytes | None]], int]:
        """A column per path, and how many values are no JSON."""
        damaged = 0
        objects: list[Any] = []
        decode = self._decode
        for value in values:
            try:
                objects.append(None if value is None else decode(value))
            except Exception:  # noqa: BLE001 - RecursionError too: whatever a value may do
                found, is_json = self._again(value)
                objects.append(found)
                damaged += not is_json
        return [
            [_part(each, slot, rest) for each in objects] for slot, rest in zip(self._slots, self._rests, strict=True)
        ], damaged

    def _again(self, value: bytes | None) -> tuple[object, bool]:
        """Look a second time: behind the head of a schema's serializer; and JSON that is no object is no damage."""
        if not value:
            return None, False
        body = value[_SCHEMA_ID_BYTES:] if value[0] == 0 else value
        try:
            return self._decode(body), True
        except Exception:  # noqa: BLE001 - see above
            return None, _is_json(body)


def _is_json(value: bytes) -> bool:
    try:
        msgspec.json.decode(value)
    except Exception:  # noqa: BLE001 - see above
        return False
    return True


def _part(found: object, slot: str, rest: Sequence[str]) -> bytes | None:
    """The field behind ``slot`` and then ``rest``, as bytes."""
    if found is None:
        return None
    found = getattr(found, slot)
    for name in rest:
        if type(found) is not dict:
            return None
        found = found.get(name)
    if type(found) is str:
        return found.encode() or None
    return b"%d" % found if type(found) is int else None
