"""Integers in the place of simulated quantisation.

Source of the semantics: TVM 0.18 src/relay/quantize/realize.cc and src/relay/qnn/utils.cc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Tuple
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.quantize.annotate import SIMULATED
from relay2relax.relay_ir.quantize.config import QAnnotateKind, current_qconfig
from relay2relax.relay_ir.quantize.fixed_point import multiplied, scaled_up
from relay2relax.relay_ir.quantize.forward_rewrite import Rule, Temporary, Value, forward_op, forward_rewrite
from relay2relax.relay_ir.transform.fold_constant import fold_expression
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.layout.op_attrs import registered
from relay2relax.relay_ir.transform.parts import scalar, scalar_value

KEY = "FQRealizeRewrite"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QRealizeIntExpr(Temporary):
    """Integers ``data`` that stand for ``data * dom_scale``.

    ``dtype`` is that of ``data``: float32 where integers are held by floats.
    """

    data: Expr
    dom_scale: Expr
    dtype: str

    def realize(self) -> Expr:
        """Return the numbers that the integers stand for, in float32."""
        numbers: Expr = op.multiply(op.cast(self.data, dtype="float32"), self.dom_scale)
        return numbers


@dataclass(frozen=True, slots=True)
class QuantizeRealize(Pass[IRModule]):
    """Compute with integers what ``simulated_quantize`` says."""

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with integers; infers types where ``mod`` has none.

        Raises UnsupportedError for scales that are not constant, and for operands of which one is
        quantised and the other not.
        """
        types = TypeTable.inferred(mod)
        return map_functions(mod, lambda one: one if left_alone(one) else forward_rewrite(one, _rule, types))


def _rule(name: str) -> Rule | None:
    own = registered(name, KEY)
    return _RULES.get(name) if own is None else own.replacement


def _number(expr: Value) -> np.float32:
    value = None if isinstance(expr, Temporary) else scalar_value(expr)
    if value is None:
        raise UnsupportedError("the scales of quantised values have to be constants: calibrate before")
    return np.float32(value)  # type: ignore[no-any-return]


def _cast(expr: Expr, dtype: str) -> Expr:
    result: Expr = op.cast(expr, dtype=dtype)
    return result


def _as(value: QRealizeIntExpr, dtype: str) -> Expr:
    return value.data if value.dtype == dtype else _cast(value.data, dtype)


def _refuse_partly(call: Call, args: Sequence[Value]) -> None:
    if any(isinstance(one, Temporary) for one in args):
        raise UnsupportedError(f"{call.op} is given values of which one is quantised and another is not")


def _simulated_quantize(call: Call, args: Sequence[Value], types: TypeTable) -> Value:
    given, scale, low, high = args
    bounds = {"a_min": float(_number(low)), "a_max": float(_number(high))}
    wanted = _number(scale)
    assert not isinstance(scale, Temporary)
    if not isinstance(given, QRealizeIntExpr):
        steps = op.round(op.multiply(given, scalar(np.float32(1) / wanted, "float32")))
        return QRealizeIntExpr(op.clip(steps, **bounds), scale, "float32")
    present = _number(given.dom_scale)
    if present == wanted:
        return QRealizeIntExpr(op.clip(given.data, **bounds), scale, given.dtype)
    shift = np.log2(wanted / present)
    if int(shift) == shift:
        return QRealizeIntExpr(op.clip(_shifted(given.data, int(shift)), **bounds), scale, given.dtype)
    moved = multiplied(_cast(given.data, "int64"), present / wanted, call, types)
    return QRealizeIntExpr(_cast(op.clip(moved, **bounds), given.dtype), scale, given.dtype)


def _shifted(data: Expr, places: int) -> Expr:
    """Return integers divided by ``2**places``."""
    config = current_qconfig()
    number = partial(scalar, dtype=config.dtype_activation)
    if places < 0:
        raised: Expr = op.left_shift(data, number(-places))
        return raised
    if config.round_for_shift:
        data = op.add(data, number(2 ** (places - 1)))
    shifted: Expr = op.right_shift(data, number(places))
    return shifted


def _scales(one: QRealizeIntExpr, other: QRealizeIntExpr) -> Expr:
    return fold_expression(op.multiply(one.dom_scale, other.dom_scale))


def _product(call: Call, args: Sequence[Value], known: object) -> Value | None:
    """Convolutions, dense layers and the like: sums of products in the dtype of activations."""
    left, right = args
    if not isinstance(left, QRealizeIntExpr) or not isinstance(right, QRealizeIntExpr):
        # TVM leaves dense layers of which one operand is not quantised as they are.
        return None
    config = current_qconfig()
    operands = _as(left, config.dtype_input), _cast(right.data, config.dtype_weight)
    return _summed_up(call, operands, _scales(left, right))


def _batch_matmul(call: Call, args: Sequence[Value], known: object) -> Value | None:
    left, right = args
    if not isinstance(left, QRealizeIntExpr) or not isinstance(right, QRealizeIntExpr):
        return None
    config = current_qconfig()
    operands = _as(left, config.dtype_input), _as(right, config.dtype_weight)
    return _summed_up(call, operands, _scales(left, right))


def _summed_up(call: Call, operands: tuple[Expr, Expr], scale: Expr) -> Value:
    """Return products that are summed up in the dtype of activations."""
    dtype = current_qconfig().dtype_activation
    made = forward_op(call, operands)
    return QRealizeIntExpr(replace(made, attrs=replace(made.attrs, out_dtype=dtype)), scale, dtype)


def _multiply(call: Call, args: Sequence[Value], known: object) -> Value | None:
    left, right = args
    if not isinstance(left, QRealizeIntExpr) or not isinstance(right, QRealizeIntExpr):
        return None
    dtype = current_qconfig().dtype_activation
    made = forward_op(call, (_as(left, dtype), _as(right, dtype)))
    return QRealizeIntExpr(made, _scales(left, right), dtype)


def _add(call: Call, args: Sequence[Value], types: TypeTable) -> Value | None:
    given = [one for one in args if isinstance(one, QRealizeIntExpr)]
    if len(given) < len(args):
        _refuse_partly(call, args)
        return None
    dtype = current_qconfig().dtype_activation
    parts, scale = _unified(call.args, given, dtype, types)
    parts = [
        op.annotation.stop_fusion(part) if one.dtype == "float32" else part
        for part, one in zip(parts, given, strict=True)
    ]
    return QRealizeIntExpr(forward_op(call, parts), scale, dtype)


def _concatenate(call: Call, args: Sequence[Value], types: TypeTable) -> Value | None:
    whole, before = args[0], call.args[0]
    if not isinstance(whole, Tuple) or not isinstance(before, Tuple):
        return None
    fields: Sequence[Value] = whole.fields
    given = [one for one in fields if isinstance(one, QRealizeIntExpr)]
    if not given or given[0] is not fields[0]:
        return None
    if len(given) < len(fields):
        _refuse_partly(call, given)
    config = current_qconfig()
    as_input = len(given) == 2 and given[1].dtype == config.dtype_input
    dtype = config.dtype_input if as_input else config.dtype_activation
    parts, scale = _unified(before.fields, given, dtype, types)
    return QRealizeIntExpr(forward_op(call, (Tuple(tuple(parts)),)), scale, dtype)


def _unified(
    before: Sequence[Expr], given: Sequence[QRealizeIntExpr], dtype: str, types: TypeTable
) -> tuple[list[Expr], Constant]:
    """Return values as integers of one dtype and one scale, and the scale."""
    config = current_qconfig()
    parts = []
    for old, one in zip(before, given, strict=True):
        simulated = isinstance(old, Call) and old.op == SIMULATED
        if one.dtype == dtype and simulated and old.attrs.kind == QAnnotateKind.INPUT:  # type: ignore[union-attr]
            # The value is one of the program's, which other operators take, too.
            parts.append(_cast(op.annotation.stop_fusion(_cast(one.data, config.dtype_input)), dtype))
        else:
            parts.append(_as(one, dtype))
    scales = [_number(one.dom_scale) for one in given]
    # Of two the finer one; of more TVM takes that of sums.
    finest = min(scales) if len(scales) == 2 else config.global_scale / 2.0 ** (config.nbit_activation - 1)
    scale = np.float32(finest)
    found = [
        scaled_up(part, one, scale, dtype, old, types) for part, one, old in zip(parts, scales, before, strict=True)
    ]
    return found, scalar(float(scale), "float32")


def _clip(call: Call, args: Sequence[Value], known: object) -> Value | None:
    (given,) = args
    if not isinstance(given, QRealizeIntExpr):
        return None
    scale = float(_number(given.dom_scale))
    attrs = replace(call.attrs, a_min=call.attrs.a_min / scale, a_max=call.attrs.a_max / scale)
    return QRealizeIntExpr(replace(forward_op(call, (given.data,)), attrs=attrs), given.dom_scale, given.dtype)


def _same(call: Call, args: Sequence[Value], known: object, dtype: str = "") -> Value | None:
    """What moves values, or chooses some; ``dtype`` names an option that says in which dtype."""
    (given,) = args
    if not isinstance(given, QRealizeIntExpr):
        return None
    wanted = getattr(current_qconfig(), dtype) if dtype else given.dtype
    # TVM casts the input of a max pool whatever its dtype is.
    data = _cast(given.data, wanted) if dtype == "dtype_input" else _as(given, wanted)
    return QRealizeIntExpr(forward_op(call, (data,)), given.dom_scale, wanted)


def _cast_hint(call: Call, args: Sequence[Value], known: object) -> Value | None:
    (given,) = args
    if not isinstance(given, QRealizeIntExpr):
        return None
    return QRealizeIntExpr(_cast(given.data, call.attrs.dtype), given.dom_scale, call.attrs.dtype)


_as_inputs = partial(_same, dtype="dtype_input")
_as_sums = partial(_same, dtype="dtype_activation")

_RULES: Mapping[str, Rule] = {
    "add": _add,
    "annotation.cast_hint": _cast_hint,
    "annotation.stop_fusion": _same,
    "clip": _clip,
    "concatenate": _concatenate,
    "multiply": _multiply,
    "nn.avg_pool2d": _as_sums,
    "nn.batch_flatten": _same,
    "nn.batch_matmul": _batch_matmul,
    "nn.conv1d": _product,
    "nn.conv2d": _product,
    "nn.dense": _product,
    "nn.global_avg_pool2d": _as_sums,
    "nn.max_pool1d": _as_inputs,
    "nn.max_pool2d": _as_inputs,
    "nn.relu": _same,
    "relay.op.annotation.simulated_quantize": _simulated_quantize,
    "reshape": _same,
    "strided_slice": _same,
    "transpose": _same,
}
