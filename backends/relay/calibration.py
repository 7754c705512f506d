"""What the functions of external compilers are given, and give, when a module runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay2relax.backends.relay.executor import create_executor
from relay2relax.core.dtype import Array
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Expr, GlobalVar, children
from relay2relax.relay_ir.ir.module import IRModule

CalibrationData = dict[GlobalVar, dict[str, list[Array]]]


def get_calibration_data(mod: IRModule, data: Mapping[str, Any]) -> CalibrationData:
    """Return the inputs and outputs of each function of ``mod`` that has a ``Compiler``.

    ``data`` are the arguments of ``@main`` by name. Tuples are taken apart to their fields. A
    function that is called several times has the arrays of its last call, as in TVM. Raises what
    ``create_executor`` and the run raise.
    """
    typed = typed_module(mod)
    roots: tuple[Expr, ...] = (typed["main"],)
    calls = [
        (node, node.op)
        for node in post_order(roots, children)
        if isinstance(node, Call) and isinstance(node.op, GlobalVar) and "Compiler" in typed[node.op].attrs
    ]
    wanted = {one for call, _ in calls for one in (call, *call.args)}
    seen: dict[Expr, Any] = {}

    def observe(expr: Expr, value: Any) -> None:
        if expr in wanted:
            seen[expr] = value

    main = typed["main"]
    arguments = {param.name: data[param.name] for param in main.params if param.name in data}
    create_executor("debug", typed).evaluate(observe=observe)(**arguments)
    seen.update((param, data[param.name]) for param in main.params if param.name in data)
    return {
        callee: {"inputs": [part for arg in call.args for part in _parts(seen[arg])], "outputs": _parts(seen[call])}
        for call, callee in calls
    }


def _parts(value: Any) -> list[Array]:
    """Return the tensors of a value, from left to right."""
    found: list[Array] = []
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, (tuple, list)):
            stack += list(one)[::-1]
        else:
            found.append(one)
    return found
