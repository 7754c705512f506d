"""Tensor operators against what TVM 0.18 recorded of them, every facet of a record held against the
others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from known_differences import VALUES
from recorded_cases import called, value

from relay2relax import relay_ir
from relay2relax.core.dtype import of_array
from relay2relax.ops import TensorType, TupleType, Type, relay_op
from relay2relax.relay_ir import Call, Constant, Function, IRModule, Op, Tuple, Var
from relay2relax.tir.extent import is_any

FAMILIES = (
    "math.elementwise", "math.broadcast", "math.reduce", "tensor.transform", "tensor.indexing", "tensor.create",
    "math.scan", "tensor.gather", "tensor.scatter", "tensor.masking", "tensor.rearranging",
    "tensor.coordinates", "tensor.unbroadcast", "math.einsum", "math.spectral", "tensor.dynamic",
)  # fmt: skip
OURS = {op.relay for family in FAMILIES for op in import_module(f"relay2relax.ops.{family}").OPS}
# The kernel multiplies unsigned numbers by a -1 that it cannot represent, and gives 0.
ODD = {"negative": ("uint8", "uint16", "uint32", "uint64")}


def type_of(argument: Any) -> Type:
    """Return the type of an array or of a tuple of arrays."""
    if isinstance(argument, tuple):
        return TupleType(tuple(map(type_of, argument)))
    return TensorType(argument.shape, of_array(argument))


def tensor_types(type_: Type) -> list[TensorType]:
    """Return the tensor types of a type."""
    if isinstance(type_, TupleType):
        return [one for field in type_.fields for one in tensor_types(field)]
    assert isinstance(type_, TensorType)
    return [type_]


def single_call(mod: IRModule) -> Call | None:
    """Return the one call that ``main`` consists of, where it is of an operator of ours."""
    function = next((function for var, function in mod.functions.items() if var.name == "main"), None)
    if not isinstance(function, Function) or not isinstance(function.body, Call):
        return None
    call = function.body
    leaves = [one for arg in call.args for one in (arg.fields if isinstance(arg, Tuple) else (arg,))]
    plain = all(isinstance(one, (Var, Constant)) for one in leaves)
    return call if isinstance(call.op, Op) and call.op.name in OURS and plain else None


def cases(recorded: Any, name: str) -> Iterator[tuple[dict[str, Any], IRModule, Call]]:
    """Yield the recorded modules of one operator call."""
    for case in recorded(name):
        if not called(case["text"]) or not called(case["text"]) <= OURS:
            continue
        mod = relay_ir.parse(case["text"])
        call = single_call(mod)
        if call is not None:
            yield case, mod, call


@pytest.mark.golden
@pytest.mark.parametrize("name", ["operators", "dynamic", "frontend_onnx", "frontend_torch"])
@pytest.mark.sweep(every=2)
def test_recorded_values(recorded: Any, name: str, run_op: Any, agrees: Any) -> None:
    seen = 0
    for case, mod, call in cases(recorded, name):
        if case["id"] in VALUES:
            continue
        function = mod["main"]
        assert isinstance(function, Function)
        assert isinstance(call.op, Op)
        try:
            given = [value(one) for one in case["args"]]
            expected = value(case["out"])
        except KeyError:
            continue
        values = dict(zip(function.params, given, strict=False))
        values |= {p: value(case["kwargs"][p.name]) for p in function.params if p.name in case.get("kwargs", {})}

        def argument(expr: Any, values: dict[Var, Any] = values) -> Any:
            if isinstance(expr, Tuple):
                return tuple(argument(one) for one in expr.fields)
            return expr.data if isinstance(expr, Constant) else values[expr]

        args = [argument(one) for one in call.args]
        first = args[0] if args and isinstance(args[0], np.ndarray) else None
        if first is not None and first.dtype.name in ODD.get(call.op.name, ()):
            continue
        record = relay_op(call.op.name)
        assert record is not None
        attrs = {one.name: getattr(call.attrs, one.name) for one in fields(record.attrs)}
        if any(any(map(is_any, one.shape)) for one in tensor_types(record.infer(call.attrs, *map(type_of, args)))):
            # A length that only the values know: there is no PrimFunc.
            agrees(record.numpy(call.attrs, *args), expected)
            continue
        size = max((one.size for one in args if isinstance(one, np.ndarray)), default=1)
        agrees(run_op(record, attrs, *args, reduction=size), expected, size)
        seen += 1
    assert seen > 10
