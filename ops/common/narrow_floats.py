"""What today's TVM lacks for numbers of 16 bits: several functions of float16, the tests of
bfloat16.
"""

from __future__ import annotations

from collections.abc import Callable

from relay2relax.core.dtype import is_float
from relay2relax.tir.ir.expr import IntImm, PrimExpr, cast, const
from relay2relax.tir.ir.intrinsics import call


def floating_test(name: str) -> Callable[[PrimExpr], PrimExpr]:
    """Return ``isnan``, ``isinf`` or ``isfinite`` of an element.

    Integers are never infinite nor NaN.
    """

    def element(x: PrimExpr) -> PrimExpr:
        if not is_float(x.dtype):
            return IntImm(int(name == "isfinite"), "bool")
        # TVM's reader does so with float16; it takes the last two apart, into more than these
        # comparisons.
        wide = cast("float32", x) if x.dtype in ("float16", "bfloat16") else x
        if name == "isnan":
            return call(name, wide, dtype="bool")
        size, infinity = call("fabs", wide), const(float("inf"), wide.dtype)
        return size < infinity if name == "isfinite" else size.equal(infinity)

    return element


def in_single(name: str, narrow: str = "float16") -> Callable[..., PrimExpr]:
    """Return a function of elements that TVM has for the dtype ``narrow`` in single precision
    only.
    """

    def element(*elements: PrimExpr) -> PrimExpr:
        if elements[0].dtype != narrow:
            return call(name, *elements)
        return cast(narrow, call(name, *(cast("float32", one) for one in elements)))

    return element


# Functions that TVM has for float16 in single precision only.
_SINGLE = frozenset({"erf", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh"})


def elementary(name: str) -> Callable[[PrimExpr], PrimExpr]:
    """Return the function ``name`` of an element, which TVM has as an intrinsic."""
    return in_single(name) if name in _SINGLE else lambda x: call(name, x)
