"""How large tensors are, and how large they may become where symbolic dimensions have bounds.

The attributes of a function say what its dimensions, by name, may be: ``tir_var_upper_bound`` and
``tir_var_lower_bound`` are integers, ``tir_non_negative_var`` lists names. They count for the
dimensions of parameters and results. Each extent has a bound of its own, as in TVM, so the bound of
a size is that of a product of extents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from relay2relax.core.dtype import bits
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Function
from relay2relax.tir.arith.simplify import limits, prove
from relay2relax.tir.extent import Extent, as_prim
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.expr import Binary, BinaryOp, IntImm, PrimExpr, binary

# The smallest and the largest value of a dimension, None for the largest where there is no limit.
Ranges = dict[tir.Var, tuple[int, "int | None"]]


def ranges_of(name: str, func: Function) -> Ranges:
    """Return what the attributes of the function ``name`` say of its dimensions.

    Raises Relay2RelaxError for attributes that are no such thing.
    """
    upper = _integers(name, func, "tir_var_upper_bound")
    lower = _integers(name, func, "tir_var_lower_bound")
    positive = func.attrs.get("tir_non_negative_var", ())
    if not isinstance(positive, (list, tuple)) or not all(isinstance(one, str) for one in positive):
        raise Relay2RelaxError(f"{name}: `tir_non_negative_var` is {positive!r}, expected names of dimensions")
    found: Ranges = {}
    for var in symbols.defined((*(param.info for param in func.params), func.ret)):
        if var.name in upper:
            found[var] = lower.get(var.name, 0), upper[var.name]
        elif lower.get(var.name, -1) >= 0 or var.name in positive:
            found[var] = 0, None
    return found


def _integers(name: str, func: Function, attribute: str) -> Mapping[str, int]:
    said: Any = func.attrs.get(attribute, {})
    if not isinstance(said, Mapping) or not all(isinstance(value, int) for value in said.values()):
        raise Relay2RelaxError(f"{name}: `{attribute}` is {said!r}, expected integers by the names of dimensions")
    return said


def shared_size(shape: tuple[Extent, ...], dtype: str) -> int | PrimExpr:
    """Return the bytes of a tensor: what is known of its extents, times the others in their
    order.
    """
    extents = [as_prim(extent) for extent in shape]
    known = prod(extent.value for extent in extents if isinstance(extent, IntImm)) * _element(dtype)
    return _product((IntImm(known), as_prim(_product(one for one in extents if not isinstance(one, IntImm)))))


def own_size(shape: tuple[Extent, ...], dtype: str) -> int | PrimExpr:
    """Return the bytes of a tensor as the product of its extents in their order, times those of an
    element.
    """
    return _product((*map(as_prim, shape), IntImm(_element(dtype))))


def _element(dtype: str) -> int:
    return (bits(dtype) + 7) // 8


def _product(factors: Iterable[PrimExpr]) -> int | PrimExpr:
    size: PrimExpr = IntImm(1)
    for factor in factors:
        size = binary("*", size, factor)
    return size.value if isinstance(size, IntImm) else size


def largest(shape: tuple[Extent, ...], ranges: Ranges) -> tuple[Extent, ...]:
    """Return ``shape`` with every extent as large as it may become.

    What has no bound stays as it is.
    """
    return tuple(_largest(as_prim(extent), ranges) for extent in shape) if ranges else shape


def _largest(extent: PrimExpr, ranges: Ranges) -> PrimExpr:
    if isinstance(extent, IntImm):
        return extent
    most = limits(extent, ranges)[1]
    if most is not None:
        return IntImm(most, extent.dtype)
    ends = _ends(extent, ranges)
    return extent if ends is None else ends[1]


def _ends(expr: PrimExpr, ranges: Ranges) -> tuple[PrimExpr, PrimExpr] | None:
    """Return expressions without bounded dimensions that ``expr`` lies between, None where there
    are none.
    """
    match expr:
        case IntImm():
            return expr, expr
        case tir.Var():
            least, most = ranges.get(expr, (0, None))
            return (expr, expr) if most is None else (IntImm(least, expr.dtype), IntImm(most, expr.dtype))
        case Binary(op, a, b):
            first, second = _ends(a, ranges), _ends(b, ranges)
            if first is not None and second is not None:
                return _joined(op, first, second, ranges)
    return None


def _joined(
    op: BinaryOp, a: tuple[PrimExpr, PrimExpr], b: tuple[PrimExpr, PrimExpr], ranges: Ranges
) -> tuple[PrimExpr, PrimExpr] | None:
    (least, most), (low, high) = a, b
    match op:
        case "+" | "min" | "max":
            return binary(op, least, low), binary(op, most, high)
        case "-":
            return binary("-", least, high), binary("-", most, low)
        case "*" if _positive(least, ranges) and _positive(low, ranges):
            # What has a bound comes first, as in TVM.
            first, second = (b, a) if least is most and low is not high else (a, b)
            return binary("*", first[0], second[0]), binary("*", first[1], second[1])
        case "//" if low is high and isinstance(low, IntImm) and low.value > 0:
            return binary("//", least, low), binary("//", most, high)
    return (binary(op, least, low),) * 2 if least is most and low is high else None


def _positive(expr: PrimExpr, ranges: Ranges) -> bool:
    return prove(binary(">=", expr, IntImm(0, expr.dtype)), ranges) is True
