"""Which compiler computes each operator of a partitioned module."""

from __future__ import annotations

from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, children
from relay2relax.relay_ir.ir.module import IRModule

GENERIC = "generic"


def analyze_operations_distribution(mod: IRModule) -> dict[Call, tuple[str, str]]:
    """Return the compiler and the composite function of each call of an operator.

    Both are "generic" where TVM compiles it itself. TVM names calls by suffixes that it adds to
    their spans; here the call is the key.
    """
    found: dict[Call, tuple[str, str]] = {}
    for function in mod.functions.values():
        outer = str(function.attrs.get("Compiler", GENERIC))
        _note(function, outer, GENERIC, found)
        roots: tuple[Expr, ...] = (function,)
        for node in post_order(roots, children):
            if isinstance(node, Function) and "Composite" in node.attrs:
                compiler = str(node.attrs.get("Compiler", outer))
                _note(node, compiler, str(node.attrs["Composite"]), found)
    return found


def _note(function: Function, compiler: str, composite: str, found: dict[Call, tuple[str, str]]) -> None:
    roots: tuple[Expr, ...] = (function.body,)
    for node in post_order(roots, children):
        if isinstance(node, Call) and isinstance(node.op, Op):
            found[node] = (compiler, composite)
