"""What is seen of expressions and statements before C is written for them."""

from __future__ import annotations

from collections.abc import Container

from relay2relax.core.dtype import bits, is_float
from relay2relax.tir.ir.expr import Binary, BufferLoad, Call, Cast, IntImm, PrimExpr, Select, Var, children
from relay2relax.tir.ir.stmt import For, If, Stmt
from relay2relax.tir.ir.visit import expressions, statements, subexpressions


def is_natural(expr: PrimExpr, naturals: Container[Var]) -> bool:
    """Whether ``expr`` is surely not negative, given the variables of which that is known."""
    match expr:
        case IntImm(value):
            return value >= 0
        case Var():
            return expr in naturals
        case Binary("+" | "*" | "//" | "%" | "min", a, b):
            return is_natural(a, naturals) and is_natural(b, naturals)
        case Binary("max", a, b):
            return is_natural(a, naturals) or is_natural(b, naturals)
        case Call("index_within"):
            return True
        case Cast("int64", value):
            return is_natural(value, naturals)
    return False


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
