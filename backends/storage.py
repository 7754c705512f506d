"""Which tensors of a straight-line program share memory, decided as TVM's StaticPlanBlockMemory does.

A tensor's storage is free again after the last instruction that can see the tensor. A request takes the smallest free
storage of its dtype that is large enough, else the largest that is not, which grows; both within a factor of sixteen.
Symbolic sizes match only themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from relay2relax.tir.expr import PrimExpr

_FACTOR = 16


@dataclass(slots=True, eq=False)
class Storage:
    """A piece of memory; ``size`` in bytes may still grow while the plan is made."""

    dtype: str
    size: int | PrimExpr


@dataclass(slots=True)
class StoragePool:
    """Hands out storages and takes them back."""

    _free: list[Storage] = field(default_factory=list)

    def request(self, dtype: str, size: int | PrimExpr) -> Storage:
        """Return a storage for ``size`` bytes of ``dtype``, a free one where one fits."""
        chosen = self._choose(dtype, size)
        if chosen is None:
            return Storage(dtype, size)
        self._free.remove(chosen)
        if isinstance(size, int) and isinstance(chosen.size, int):
            chosen.size = max(chosen.size, size)
        return chosen

    def release(self, storage: Storage) -> None:
        """Make ``storage`` free again."""
        self._free.append(storage)

    def _choose(self, dtype: str, size: int | PrimExpr) -> Storage | None:
        fitting = [one for one in self._free if one.dtype == dtype]
        if not isinstance(size, int):
            return next((one for one in fitting if one.size == size), None)
        known = [(one.size, one) for one in fitting if isinstance(one.size, int)]
        large = [pair for pair in known if size <= pair[0] <= size * _FACTOR]
        small = [pair for pair in known if size <= pair[0] * _FACTOR and pair[0] < size]
        if large:
            return min(large, key=lambda pair: pair[0])[1]
        return max(small, key=lambda pair: pair[0])[1] if small else None
