"""Whether extents fit, as a C function of a library: what the program needs of them, and that no
size is beyond 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relay2relax.backends.c.codegen.expression import operand, whole
from relay2relax.backends.c.codegen.magnitude import magnitude
from relay2relax.tir.arith.evaluate import no_extent
from relay2relax.tir.arith.overflow import MOST_EXTENT
from relay2relax.tir.arith.simplify import EXTENTS, limits, simplify
from relay2relax.tir.ir.expr import Binary, Cast, IntImm, PrimExpr, Select, Var
from relay2relax.tir.ir.visit import subexpressions

_COMPARISONS = {"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "and": "&&", "or": "||"}
# Sizes below this, in bytes, leave room for what is computed with them.
_LARGEST = "(sizeof(size_t) > 4 ? 0x1p60 : 0x1p30)"


def fits_text(name: str, extents: Mapping[Var, str], sizes: Iterable[PrimExpr], conditions: Iterable[PrimExpr]) -> str:
    """Return the static function ``NAME_fits``, which says whether ``extents`` are such that
    ``sizes`` are neither negative nor too large, and ``conditions`` hold.

    Extents beyond ``MOST_EXTENT`` are too large: proofs do not look further.
    """
    sizes, conditions = list(dict.fromkeys(map(simplify, sizes))), list(dict.fromkeys(conditions))
    lines = [f"  if ({one} < 0) return 0;" for one in extents.values()]
    limited: dict[str, None] = {}
    for expr in (*sizes, *(part for condition in conditions for part in _numbers(condition))):
        if not isinstance(expr, (IntImm, Var)):
            limited[magnitude(expr, lambda one: c_text(one, extents))] = None
    lines += [f"  if ({one} > {MOST_EXTENT}) return 0;" for one in extents.values()]
    lines += [f"  if (!({one} < {_LARGEST})) return 0;" for one in limited]
    divisors = dict.fromkeys(
        node.b
        for expr in sizes
        for node in subexpressions(expr)
        if isinstance(node, Binary) and node.op in ("//", "%") and not isinstance(node.b, IntImm)
    )
    lines += [f"  if ({c_text(one, extents)} == 0) return 0;" for one in divisors]
    lines += [f"  if ({c_text(one, extents)} < 0) return 0;" for one in sizes if _may_be_negative(one)]
    lines += [f"  if (!{c_text(one, extents)}) return 0;" for one in conditions]
    parameters = ", ".join(f"int64_t {one}" for one in extents.values()) or "void"
    unused = [f"  (void){one};" for one in extents.values()]
    return "\n".join([f"static int {name}_fits({parameters}) {{", *unused, *lines, "  return 1;", "}"])


def c_text(expr: PrimExpr, names: Mapping[Var, str]) -> str:
    """Return a condition over extents, or an extent, as C; nothing is divided by zero."""
    match expr:
        case IntImm(value):
            return operand(whole(value))
        case Var():
            return names[expr]
        case Cast(_, value):
            return c_text(value, names)
        case Select(condition, a, b):
            return f"({c_text(condition, names)} ? {c_text(a, names)} : {c_text(b, names)})"
        case Binary(op, a, b):
            left, right = c_text(a, names), c_text(b, names)
            if op in ("min", "max"):
                return f"({left} {'<' if op == 'min' else '>'} {right} ? {left} : {right})"
            if op in ("//", "%"):
                function = "r2r_floordiv_int64_t" if op == "//" else "r2r_floormod_int64_t"
                divisor = right if isinstance(b, IntImm) and b.value else f"({right} ? {right} : 1)"
                return f"{function}({left}, {divisor})"
            if op in ("+", "-", "*") or op in _COMPARISONS:
                return f"({left} {_COMPARISONS.get(op, op)} {right})"
    raise no_extent(expr)


def _may_be_negative(size: PrimExpr) -> bool:
    low = limits(size, EXTENTS)[0]
    return low is None or low < 0


def _numbers(condition: PrimExpr) -> Iterable[PrimExpr]:
    """Yield the largest parts of a condition that are numbers."""
    if isinstance(condition, Binary) and condition.op in ("and", "or"):
        yield from _numbers(condition.a)
        yield from _numbers(condition.b)
    elif isinstance(condition, Binary) and condition.op in _COMPARISONS:
        yield from (condition.a, condition.b)
