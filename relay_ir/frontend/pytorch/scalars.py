"""What TorchScript does with numbers, lists and texts that are known while it is read.

A function is given the arguments of a node, and returns its value; where they are not known, it
returns ``UNKNOWN``, and the operator is converted as one over tensors.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from relay2relax.relay_ir.frontend.pytorch.context import Value
from relay2relax.relay_ir.ir.expr import Constant, RelayExpr

Scalar: TypeAlias = Callable[..., Any]
UNKNOWN = object()
# Integers of TorchScript have so many bits; lists and texts of models are far shorter than this.
_BITS = 64
_LONGEST = 2**16


def _divide(one: Any, other: Any, rounding: str | None = None) -> Any:
    if rounding == "floor":
        return one // other
    if rounding == "trunc":
        whole = abs(one) // abs(other)
        return whole if (one < 0) == (other < 0) else -whole
    return one / other


def _power(one: Any, other: Any) -> Any:
    whole = isinstance(one, int) and isinstance(other, int)
    # No more digits than tell that it is too large.
    return one ** (min(other, _BITS) if whole and abs(one) > 1 else other)


def _repeated(whole: Any, count: Any) -> Any:
    if len(whole) * count > _LONGEST:
        raise ValueError(f"a list of more than {_LONGEST} elements")
    return whole * count


def _slice(whole: Any, start: int | None = None, stop: int | None = None, step: int = 1) -> Any:
    return whole[slice(start, stop, step)]


def _append(whole: list[Value], value: Value) -> list[Value]:
    whole.append(value)
    return whole


def _insert(whole: list[Value], place: int, value: Value) -> list[Value]:
    whole.insert(place, value)
    return whole


def _extend(whole: list[Value], others: list[Value]) -> None:
    whole.extend(others)


def _set(whole: list[Value], place: int, value: Value) -> list[Value]:
    whole[place] = value
    return whole


def _reverse(whole: list[Value]) -> None:
    whole.reverse()


_NUMBERS: Mapping[str, Scalar] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _divide, "floordiv": operator.floordiv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": _power, "neg": operator.neg,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
    "__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor, "__not__": operator.not_,
    "Int": int, "Float": float, "Bool": bool, "ScalarImplicit": lambda x: x, "IntImplicit": int,
    "FloatImplicit": float, "floor": math.floor, "ceil": math.ceil, "sqrt": math.sqrt, "abs": abs, "round": round,
    "prim::min": min, "prim::max": max, "log": math.log, "exp": math.exp, "mod": math.fmod,
}  # fmt: skip
# Those of the second kind change the list that comes first.
_LISTS: Mapping[str, Scalar] = {
    "len": len, "__getitem__": lambda whole, place: whole[place], "slice": _slice, "list": list, "copy": list,
    "add": operator.add, "mul": _repeated, "eq": operator.eq, "ne": operator.ne,
    "__contains__": lambda whole, one: one in whole, "prim::TupleIndex": lambda whole, place: whole[place],
    "prim::min": min, "prim::max": max, "sum": sum,
}  # fmt: skip
_CHANGES: Mapping[str, Scalar] = {
    "append": _append, "insert": _insert, "extend": _extend, "_set_item": _set, "add_": lambda a, b: a.__iadd__(b),
    "pop": lambda whole, place=-1: whole.pop(place), "clear": list.clear, "reverse": _reverse,
}  # fmt: skip
_ANY: Mapping[str, Scalar] = {
    "__is__": lambda one, other: one is other, "__isnot__": lambda one, other: one is not other,
    "prim::unchecked_cast": lambda one: one, "prim::device": lambda one: None, "prim::Uninitialized": lambda: None,
    "prim::layout": lambda one: None, "prim::is_cuda": lambda one: False, "prim::requires_grad": lambda one: False,
    "format": lambda *args: "", "str": str, "prim::ListConstruct": lambda *args: list(args),
}  # fmt: skip
# Changes of lists, which a branch or loop that is not written out may not make.
CHANGES = frozenset(f"aten::{name}" for name in _CHANGES if name != "add_")
SCALARS = frozenset(
    name if "::" in name else f"aten::{name}" for table in (_NUMBERS, _LISTS, _CHANGES, _ANY) for name in table
)


def known(kind: str, args: tuple[Value, ...]) -> Any:
    """Return what a node over known values gives, UNKNOWN where they are not known.

    Raises what Python raises: LookupError, ValueError, ArithmeticError, TypeError, and such for
    integers beyond 64 bits and for lists that are too long.
    """
    found = _found(kind, args)
    for one in (found, *args[:1]):
        if isinstance(one, int) and not -(2 ** (_BITS - 1)) <= one < 2 ** (_BITS - 1):
            raise OverflowError("an integer beyond 64 bits")
        if isinstance(one, (list, tuple, str)) and len(one) > _LONGEST:
            raise ValueError(f"a list or text of more than {_LONGEST} elements")
    return found


def _found(kind: str, args: tuple[Value, ...]) -> Any:
    name = kind.removeprefix("aten::")
    if name in _ANY:
        return UNKNOWN if name in ("__is__", "__isnot__") and not _told(args) else _ANY[name](*args)
    if args and isinstance(args[0], (list, tuple)):
        if name in _CHANGES and isinstance(args[0], list):
            return _CHANGES[name](*args)
        rest = tuple(_plain(one) for one in args[1:])
        fits = name in _LISTS and not any(isinstance(one, RelayExpr) for one in rest)
        return _LISTS[name](args[0], *rest) if fits else UNKNOWN
    numbers = all(one is None or isinstance(one, (bool, int, float, str)) for one in args)
    if args and numbers and name in _NUMBERS:
        given = args[:2] if name in ("add", "sub") and len(args) == 3 and args[2] == 1 else args
        return _NUMBERS[name](*given)
    return UNKNOWN


def _told(args: tuple[Value, ...]) -> bool:
    """Whether two values are the same is told where one of them is None."""
    return any(one is None for one in args) or all(isinstance(one, (bool, int, float, str)) for one in args)


def _plain(value: Value) -> Value:
    return value.data.item() if isinstance(value, Constant) and not value.data.shape else value
