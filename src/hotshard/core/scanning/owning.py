"""Whose every key is, and how many keys there are, over all of the input."""

from __future__ import annotations

from itertools import compress, islice
from operator import ne
from typing import TYPE_CHECKING, Final, cast

from hotshard.core.sketching.binding import HyperLogLog
from hotshard.core.wire.pane import WHOLE_KEY_BYTES, travelling_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Keys told apart exactly (but for two with one hash of 64 bits); beyond them they are estimated.
EXACT_KEYS: Final = 1 << 19
#: Memory of the different tenants that are remembered, in bytes, and what each takes beside its own ones.
_TENANT_BYTES: Final = 32_000_000
_EACH_BYTES: Final = 150
#: Keys too long to travel whole that are remembered as they are, and the longest of them.
_LONG_KEYS: Final = 256
_LONGEST: Final = 8192


class Owning:
    """The one tenant of each key, as long as keys are few enough to be told apart; what is answered is always true."""

    __slots__ = ("_bytes", "_count", "_long", "_owners", "_tenants")

    def __init__(self) -> None:
        #: By a key's hash its tenant; None where it has several, or none, or where that is not known.
        self._owners: dict[int, bytes | None] = {}
        self._tenants: dict[bytes | None, bytes | None] = {None: None}
        self._bytes = 0
        #: Set once keys are too many.
        self._count: HyperLogLog | None = None
        self._long: dict[bytes, bytes] = {}

    @property
    def distinct_keys(self) -> int:
        return len(self._owners) if self._count is None else self._count.count

    def of(self, key: bytes) -> bytes | None:
        """The tenant that all records of a key have, both as they travel; None also where that is not known."""
        tenant = self._owners.get(hash(key))
        return None if tenant is None else travelling_key(tenant)

    def whole(self, name: bytes) -> bytes:
        """A key as it stood on the records, where that is remembered."""
        return self._long.get(name, name)

    def note(self, keys: Iterable[bytes]) -> None:
        """Take in keys that have no tenant beside them."""
        self._take(dict.fromkeys(self._hashes([*keys])))

    def note_beside(self, keys: Sequence[bytes | None], tenants: Sequence[bytes | None]) -> None:
        """Take in the keys of some records, and the tenant of each record."""
        last = dict(zip(keys, tenants, strict=True))
        several = set(compress(keys, map(ne, map(last.get, keys), tenants)))
        last.pop(None, None)
        several.discard(None)
        owned = cast("dict[bytes, bytes | None]", last)
        fresh = dict(zip(self._hashes([*owned]), self._known([*owned.values()]), strict=True))
        fresh |= dict.fromkeys(self._hashes(cast("list[bytes]", [*several])))
        self._take(fresh)

    def _take(self, fresh: dict[int, bytes | None]) -> None:
        """Keys by their hashes, each with the one tenant it had here."""
        owners = self._owners
        known = fresh.keys() & owners.keys()
        # A tenant is one object wherever it comes from.
        others = dict.fromkeys(hashed for hashed in known if owners[hashed] is not fresh[hashed])
        if self._count is not None:
            self._count.add(fresh.keys() - known)
        else:
            owners.update(fresh)
            if len(owners) > EXACT_KEYS:
                self._count = HyperLogLog()
                self._count.add(owners)
        owners.update(others)

    def _known(self, tenants: Sequence[bytes | None]) -> Iterable[bytes | None]:
        """The same tenants, one object each; None for those that are too many to be remembered."""
        known = self._tenants
        if self._bytes <= _TENANT_BYTES:
            before = len(known)
            same = [*map(known.setdefault, tenants, tenants)]
            self._bytes += sum(_EACH_BYTES + len(each or b"") for each in islice(known, before, None))
            return same
        return map(known.get, tenants)

    def _hashes(self, keys: list[bytes]) -> list[int]:
        """The hash of every key as it travels; long ones are remembered."""
        if max(map(len, keys), default=0) <= WHOLE_KEY_BYTES:
            return [*map(hash, keys)]
        for key in keys:
            if WHOLE_KEY_BYTES < len(key) <= _LONGEST and len(self._long) < _LONG_KEYS:
                self._long[travelling_key(key)] = key
        return [hash(travelling_key(key)) for key in keys]
