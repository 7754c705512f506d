"""What TVM had before 0.7: passes as functions in ``tvm.relay.ir_pass``, and ``nnvm.compiler``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from relay2relax.compat.relay.comparing import structural_equal
from relay2relax.compat.relay.passes import of_expression
from relay2relax.relay_ir import analysis, transform
from relay2relax.relay_ir.ir.expr import Expr, Function
from relay2relax.relay_ir.ir.module import IRModule

_EQUAL = ("alpha_equal", "graph_equal")


def ir_pass(name: str) -> Callable[..., object]:
    """Return an analysis, or a pass as a function of an expression.

    Raises AttributeError where there is none of the name.
    """
    if name in _EQUAL:
        return structural_equal
    if hasattr(analysis, name):
        return cast("Callable[..., object]", getattr(analysis, name))
    wanted = name.replace("_", "")
    found = next((one for one in dir(transform) if one.lower() == wanted and "_" not in one), None)
    if found is None:
        raise AttributeError(f"tvm.relay.ir_pass has no {name!r} here")

    def run(expr: Expr, *options: object) -> Expr:
        mod = options[-1] if options and isinstance(options[-1], IRModule) else None
        given = [one for one in options if one is not None and one is not mod]
        return of_expression(getattr(transform, found)(*given), expr, mod)

    return run


def build(
    graph: IRModule | Function, target: object = None, shape: object = None, dtype: object = "float32",
    params: Mapping[str, object] | None = None, target_host: object = None, layout: object = None,
) -> tuple[object, ...]:  # fmt: skip
    """Return graph, library and parameters of a program; its shapes are its own."""
    from relay2relax.compat.running.factory import build as build_library

    return tuple(build_library(graph, target, params=params))
