"""Numbers and extents: TVM's are objects, here most are Python's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce

import numpy as np

from relay2relax.compat.vocabulary.teaching import Lesson, face, renamed
from relay2relax.core.dtype import integer_range, is_int, numpy_dtype
from relay2relax.tir.ir import expr as tir


def _plain(cls: type, kinds: tuple[type, ...]) -> Iterator[Lesson]:
    """Yield what lets a constant be used, and compared, as the number that it is."""
    same: Callable[[object, object], object] = vars(cls)["__eq__"]

    def equal(self: tir.IntImm | tir.FloatImm, other: object) -> object:
        return self.value == other if isinstance(other, kinds) else same(self, other)

    def as_int(self: tir.IntImm | tir.FloatImm) -> int:
        return int(self.value)

    def as_float(self: tir.IntImm | tir.FloatImm) -> float:
        return float(self.value)

    def truth(self: tir.IntImm | tir.FloatImm) -> bool:
        return bool(self.value)

    hashed = cls.__hash__
    yield Lesson(cls, "__eq__", equal)
    yield Lesson(cls, "__hash__", hashed)
    yield Lesson(cls, "__int__", as_int)
    yield Lesson(cls, "__float__", as_float)
    yield Lesson(cls, "__bool__", truth)


def lessons() -> Iterator[Lesson]:
    """Yield what numbers are taught."""
    yield from _plain(tir.IntImm, (int, float))
    yield Lesson(tir.IntImm, "__index__", lambda self: self.value)
    yield from _plain(tir.FloatImm, (int, float))
    yield from renamed(tir.Var, name_hint="name")
    yield Lesson(tir.PrimExpr, "same_as", lambda self, other: self is other)


def _int_imm(dtype: str, value: int, span: object = None) -> tir.IntImm:
    return tir.IntImm(int(value), dtype)


def _float_imm(dtype: str, value: float, span: object = None) -> tir.FloatImm:
    return tir.FloatImm(float(value), dtype)


def var(name: str = "tindex", dtype: str = "int32", span: object = None) -> tir.Var:
    """Return a variable; its dtype is TVM's default, int32."""
    return tir.Var(name, dtype)


def size_var(name: str = "size", dtype: str = "int32", span: object = None) -> tir.SizeVar:
    """Return a variable that is an extent."""
    return tir.SizeVar(name, dtype)


def const(value: int | float | bool, dtype: str | None = None, span: object = None) -> tir.PrimExpr:
    """Return a constant; without ``dtype`` of the one that TVM gives a Python number."""
    if dtype is None:
        dtype = "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
    return tir.const(value, dtype)


Any = face("Any", tir.AnyExtent)
IntImm = face("IntImm", (tir.IntImm, int), _int_imm)
FloatImm = face("FloatImm", (tir.FloatImm, float), _float_imm)
Var = face("Var", tir.Var, var)
SizeVar = face("SizeVar", tir.SizeVar, size_var)


def _greatest_float(dtype: str) -> float:
    return float(np.finfo(str(numpy_dtype(dtype))).max)


def min_value(dtype: str, span: object = None) -> tir.PrimExpr:
    """Return the least value of a dtype."""
    low = integer_range(dtype)[0] if is_int(dtype) else -_greatest_float(dtype)
    return tir.const(low, dtype)


def max_value(dtype: str, span: object = None) -> tir.PrimExpr:
    """Return the greatest value of a dtype."""
    high = integer_range(dtype)[1] if is_int(dtype) else _greatest_float(dtype)
    return tir.const(high, dtype)


def floordiv(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    """Return ``a // b``."""
    return a // b


def floormod(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    """Return ``a % b``."""
    return a % b


def any(*conditions: tir.PrimExpr) -> tir.PrimExpr:
    """Return whether one of the conditions holds."""
    return reduce(lambda a, b: tir.binary("or", a, b), conditions)


def get_const_int(value: object) -> int:
    """Return a number; raises ValueError where it is not known."""
    return int(value)  # type: ignore[call-overload,no-any-return]


def get_const_tuple(values: Iterable[object]) -> tuple[object, ...]:
    """Return extents as numbers, those that are not known as they are."""
    return tuple(one.value if isinstance(one, tir.IntImm) else one for one in values)
