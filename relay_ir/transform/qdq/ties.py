"""Relay programs that quantise as R.quantize does: a witness for translations that use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.ops.quantized.arithmetic import limits, spread
from relay2relax.ops.quantized.qnn import QuantizeAttrs
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Op, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.relay_ir.transform.infrastructure import map_functions


def halves_to_even(mod: IRModule) -> IRModule:
    """Return ``mod`` with each ``qnn.quantize`` of constant parameters written out in operators of
    floats, and halves rounded to the even neighbour.

    An int32 result stays as it is: R.quantize gives none.
    """
    mod = typed_module(mod)
    return map_functions(mod, lambda function: _function(function, mod.types))


def _function(root: Function, types: Mapping[Expr, Type]) -> Function:
    done: dict[Expr, Expr] = {}
    for node in nodes(root):
        made = with_children(node, [done[child] for child in children(node)])
        type_ = types.get(node)
        match made:
            case Call(Op("qnn.quantize"), (data, Constant(scale), Constant(zero)), QuantizeAttrs("int32", _)):
                pass
            case Call(Op("qnn.quantize"), (data, Constant(scale), Constant(zero)), QuantizeAttrs(dtype, axis)):
                assert isinstance(type_, TensorType)
                made = _even(data, spread(scale, type_.rank, axis), spread(zero, type_.rank, axis), dtype)
        done[node] = made
    result = done[root]
    assert isinstance(result, Function)
    return result


def _even(data: Any, scale: Array, zero: Array, dtype: str) -> Expr:
    """Return ``data`` as quanta of ``dtype``, halves rounded to even."""
    steps = data / Constant(scale)
    half = _number(0.5)
    # Twice what is nearest to half of it is even, and half of it is never itself halfway.
    even = op.round(steps * half) * _number(2)
    tie = op.equal(op.abs(steps - op.trunc(steps)), half)
    whole = op.where(tie, even, op.round(steps)) + Constant(np.asarray(zero, np.float32))
    low, high = limits(dtype)
    made: Expr = op.cast(op.clip(whole, a_min=float(low), a_max=float(high)), dtype=dtype)
    return made


def _number(value: float) -> Constant:
    return Constant(np.asarray(value, np.float32))
