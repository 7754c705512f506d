"""What is seen of expressions and statements before C is written for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay2relax.core.dtype import bits, is_float
from relay2relax.tir.arith.overflow import range_of
from relay2relax.tir.ir.expr import Binary, BufferLoad, Call, Cast, IntImm, PrimExpr, Select, Var, children
from relay2relax.tir.ir.stmt import For, If, Stmt
from relay2relax.tir.ir.visit import expressions, statements, subexpressions

# What no result exceeds, given what no operand does.
_ENDS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a,
    "%": min,
    "min": min,
}


def largest(expr: PrimExpr, naturals: Mapping[Var, int]) -> int | None:
    """Return a number that ``expr``, which is never negative, does not exceed; None where it may be
    negative, or wrap around.

    ``naturals`` has this number of variables.
    """
    most = range_of(expr.dtype)[1]
    if most is None:
        return None
    found: int | None = None
    match expr:
        case IntImm(value):
            found = value if value >= 0 else None
        case Var():
            found = naturals.get(expr)
        case Binary("max", a, b):
            ends = largest(a, naturals), largest(b, naturals)
            known = [end for end in ends if end is not None]
            found = max(known) if len(known) == 2 else most if known else None
        case Binary("+" | "*" | "//" | "%" | "min" as op, a, b):
            first, second = largest(a, naturals), largest(b, naturals)
            if first is not None and second is not None:
                found = _ENDS[op](first, second)
        case Call("index_within", (_, extent, *_)):
            within = largest(extent, naturals)
            found = most if within is None else within
        case Cast("int64", value):
            found = largest(value, naturals)
    return found if found is not None and found <= most else None


def largest_of_loop(loop: For, naturals: Mapping[Var, int]) -> int:
    """Return a number that the variable of a loop does not exceed."""
    extent = largest(loop.extent, naturals)
    most = range_of(loop.var.dtype)[1]
    assert most is not None
    return most if extent is None else max(min(extent, most) - 1, 0)


def is_divisor(expr: PrimExpr) -> bool:
    """Whether a division by ``expr`` is defined in C, whatever is divided."""
    return isinstance(expr, IntImm) and expr.value not in (0, -1)


def is_distance(expr: PrimExpr) -> bool:
    """Whether a shift by ``expr`` places is defined in C."""
    return isinstance(expr, IntImm) and 0 <= expr.value < bits(expr.dtype)


def is_remainder(expr: Binary) -> bool:
    """Whether ``expr`` is ``a - floor(a / b) * b``, of which the product is rounded before it is
    taken away.
    """
    match expr:
        case Binary("-", a, Binary("*", Call("floor" | "trunc", (Binary("/", c, b),)), d)):
            return a == c and b == d and is_float(a.dtype)
    return False


def is_fraction(expr: Binary) -> bool:
    """Whether ``expr`` is what a product is beyond an integer near to it: the product is rounded
    before that is taken away, or else halves are none.
    """
    match expr:
        case Binary("-", Binary("*") as a, Call("floor" | "trunc" | "ceil" | "nearbyint" | "round", (b,))):
            return a == b and is_float(a.dtype)
    return False


def chooses_around_loops(body: Stmt) -> bool:
    """Whether a loop's body has loops of its own, and conditions: such a loop must run one step
    after the other.
    """
    nodes = list(statements(body))
    if not any(isinstance(node, For) for node in nodes):
        return False
    if any(isinstance(node, If) for node in nodes):
        return True
    for node in nodes:
        for expr in expressions(node):
            for part in subexpressions(expr):
                if isinstance(part, Select) or (isinstance(part, Call) and part.name == "if_then_else"):
                    return True
    return False


def loaded_by_choice(value: PrimExpr) -> list[BufferLoad]:
    """Return the loads that only a branch of a ``Select`` makes.

    Both branches may be evaluated. A C compiler, which does not know that, makes vectors of a
    choice between numbers that are loaded in any case.
    """
    surely: set[BufferLoad] = set()
    perhaps: dict[BufferLoad, None] = {}
    stack = [(value, False)]
    while stack:
        node, chosen = stack.pop()
        match node:
            case BufferLoad() if chosen:
                perhaps[node] = None
            case BufferLoad():
                surely.add(node)
            case Select(condition, then, otherwise):
                stack += [(condition, chosen), (then, True), (otherwise, True)]
            case Call("if_then_else", (condition, _, _)):
                stack.append((condition, chosen))
            case _:
                stack += [(child, chosen) for child in children(node)]
    return [load for load in perhaps if load not in surely]
