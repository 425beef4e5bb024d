"""Which keys had one tenant in all their records, in bounded memory and never wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from collections.abc import Set as AbstractSet

    #: A key with the tenant of one of its records, or None.
    Pair = tuple[bytes, bytes | None]

_CELLS: Final = 1 << 13


class Owners:
    """The tenant of every key whose records all had the same one.

    Keys may be let go; a cell chosen by the key's hash remembers that. One that comes back, or meets the cell of
    another, is not answered for any more: so what is answered is always true, and what is not may be either.
    """

    __slots__ = ("_cells", "_owners", "_size")

    def __init__(self, cells: int = _CELLS) -> None:
        #: None: of several tenants, or of records without one, or let go before.
        self._owners: dict[bytes, bytes | None] = {}
        self._cells: bytearray | None = None
        self._size = cells

    def __len__(self) -> int:
        return len(self._owners)

    def note(self, pairs: Collection[Pair], keep: AbstractSet[bytes] | None = None) -> None:
        """Take in different pairs, and let go of all keys that are not in ``keep`` (None: of none)."""
        noted: dict[bytes, bytes | None] = dict(pairs)
        if len(noted) < len(pairs):
            for key, tenant in pairs:
                if noted[key] != tenant:
                    noted[key] = None
        if keep is None:
            self._add(noted)
            return
        light = (noted.keys() | self._owners.keys()) - keep
        self._add({key: noted[key] for key in keep & noted.keys()})
        self._let_go(light)

    def of(self, names: Iterable[bytes]) -> dict[bytes, bytes]:
        """The tenants of those of ``names`` that surely had just one."""
        owners = self._owners
        return {name: owner for name in names if (owner := owners.get(name))}

    def _add(self, noted: dict[bytes, bytes | None]) -> None:
        owners, cells, size = self._owners, self._cells, self._size
        for key in owners.keys() & noted.keys():
            if owners[key] != noted.pop(key):
                owners[key] = None
        if cells is not None:
            for key in noted:
                if cells[hash(key) % size]:
                    noted[key] = None
        owners.update(noted)

    def _let_go(self, keys: AbstractSet[bytes]) -> None:
        owners, size = self._owners, self._size
        cells = self._cells = self._cells or bytearray(size)
        for key in keys:
            cells[hash(key) % size] = 1
        self._owners = {key: owners[key] for key in owners.keys() - keys}
