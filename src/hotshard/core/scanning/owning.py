"""Whose every key is, and how many keys there are, over all of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hotshard.core.sketching.binding import HyperLogLog
from hotshard.core.wire.pane import WHOLE_KEY_BYTES, travelling_key

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Keys told apart exactly (but for two with one hash of 64 bits); beyond them they are estimated.
EXACT_KEYS: Final = 1 << 19
#: Bytes of different tenants that are remembered.
_TENANT_BYTES: Final = 8_000_000
#: Keys too long to travel whole that are remembered as they are, and the longest of them.
_LONG_KEYS: Final = 256
_LONGEST: Final = 8192


class Owning:
    """The one tenant of each key, as long as keys are few enough to be told apart; what is answered is always true."""

    __slots__ = ("_bytes", "_count", "_long", "_names", "_owners")

    def __init__(self) -> None:
        #: By a key's hash its tenant; None where it has several, or none.
        self._owners: dict[int, bytes | None] = {}
        self._names: dict[bytes, bytes] = {}
        self._bytes = 0
        #: Set once keys are too many.
        self._count: HyperLogLog | None = None
        self._long: dict[bytes, bytes] = {}

    @property
    def distinct_keys(self) -> int:
        return len(self._owners) if self._count is None else self._count.count

    def of(self, key: bytes) -> bytes | None:
        """The tenant that all records of a key as it travels have; None also where that is not known."""
        return self._owners.get(hash(key))

    def whole(self, name: bytes) -> bytes:
        """A key as it stood on the records, where that is remembered."""
        return self._long.get(name, name)

    def note_keys(self, keys: Iterable[bytes | None]) -> None:
        """Take in keys that have no tenant beside them."""
        distinct = set(keys)
        distinct.discard(None)
        self.note(dict.fromkeys(distinct).items())

    def note(self, pairs: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        """Take in keys, each with the tenant of a record."""
        owners = self._owners
        if self._count is not None:
            self._note_known(pairs)
            return
        named = self._named
        for key, tenant in pairs:
            if key is None:
                continue
            hashed = hash(key) if len(key) <= WHOLE_KEY_BYTES else self._long_hash(key)
            if hashed not in owners:
                owners[hashed] = named(tenant)
            elif owners[hashed] != tenant:
                owners[hashed] = None
        if len(owners) > EXACT_KEYS:
            self._spill()

    def _note_known(self, pairs: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        """Keys that come now for the first time are counted, and their tenants are not known."""
        owners, fresh = self._owners, []
        for key, tenant in pairs:
            if key is None:
                continue
            hashed = hash(key) if len(key) <= WHOLE_KEY_BYTES else self._long_hash(key)
            if hashed not in owners:
                fresh.append(hashed)
            elif owners[hashed] != tenant:
                owners[hashed] = None
        if self._count is not None:
            self._count.add(fresh)

    def _spill(self) -> None:
        self._count = HyperLogLog()
        self._count.add(self._owners)

    def _named(self, tenant: bytes | None) -> bytes | None:
        if tenant is None:
            return None
        name = self._names.get(tenant)
        if name is None and self._bytes < _TENANT_BYTES:
            name = self._names[tenant] = tenant
            self._bytes += len(tenant)
        return name

    def _long_hash(self, key: bytes) -> int:
        name = travelling_key(key)
        if len(self._long) < _LONG_KEYS and len(key) <= _LONGEST:
            self._long[name] = key
        return hash(name)
