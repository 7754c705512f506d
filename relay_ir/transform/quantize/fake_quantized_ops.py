"""What operators between ``qnn.dequantize`` and ``qnn.quantize`` are on integers.

A rule takes the call with its operands already integers, and what they stand for. It returns the
integer expression and what that stands for, and raises FakeQuantizationError where there is none.
``RULES`` and ``OPTIONAL_RULES`` are TVM's; users add theirs by the ``register`` functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast, overload

import numpy as np

from relay2relax.ops.common.layout import parse_layout
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op, RelayExpr, Tuple, const
from relay2relax.relay_ir.transform.fold_constant import fold_expression
from relay2relax.relay_ir.transform.layout.op_attrs import register_op_attr, registered
from relay2relax.relay_ir.transform.quantize.affine import (
    AffineType,
    AffineTypes,
    FakeQuantizationError,
    Rule,
    TensorAffineType,
    TupleAffineType,
    array,
    close,
)
from relay2relax.tir.extent import static

_Made = tuple[Expr, AffineType]
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def _qnn(call: Call, name: str, *args: Expr, **attrs: Any) -> Call:
    """Return the quantised operator with the attributes of the float one."""
    return Call(Op(name), args, replace(call.attrs, **attrs))


def _requantized(expr: Expr, of: TensorAffineType, to: TensorAffineType, dtype: str | None = None) -> Expr:
    made: Expr = op.qnn.requantize(
        expr, of.scale, of.zero_point, to.scale, to.zero_point, out_dtype=dtype or to.dtype, axis=of.axis
    )
    return made


def _dequantize(call: Call, types: AffineTypes) -> _Made:
    return call.args[0], types[call]


def _quantize(call: Call, types: AffineTypes) -> _Made:
    data, scale, zero_point = call.args
    given = types.tensor(data)
    wanted = TensorAffineType(scale, zero_point, call.attrs.out_dtype, call.attrs.axis)
    if not given.close_to(wanted):
        folded = replace(given, scale=fold_expression(given.scale), zero_point=fold_expression(given.zero_point))
        data = _requantized(data, folded, wanted)
    return data, wanted


def _identity(call: Call, types: AffineTypes) -> _Made:
    """Integers are moved or chosen as reals are."""
    return call, types[call.args[0]]


def _topk(call: Call, types: AffineTypes) -> _Made:
    if call.attrs.ret_type != "values":
        raise FakeQuantizationError('only ret_type="values" of topk has an integer form')
    return call, types[call.args[0]]


def _split(call: Call, types: AffineTypes) -> _Made:
    parts = call.attrs.indices_or_sections
    count = parts if isinstance(parts, int) else len(parts) + 1
    return call, TupleAffineType((types.tensor(call.args[0]),) * count)


def _avg_pool2d(call: Call, types: AffineTypes) -> _Made:
    (data,) = call.args
    given, wanted = types.tensor(data), types.tensor(call)
    if _is_deeper(call, types.quantize):
        wanted = given
    made = _qnn(
        call, "qnn.avg_pool2d", data, given.scale, given.zero_point, wanted.scale, wanted.zero_point, out_layout=""
    )
    return made, wanted


def _is_deeper(call: Call, end: Call | None) -> bool:
    """Whether another call stands between ``call`` and the end of its region, on the way of first
    operands.

    The pool then keeps the parameters of its input, as in TVM.
    """
    at: Expr | None = end
    steps = 0
    while isinstance(at, Call) and at.args and at.op != Op("qnn.dequantize"):
        at = at.args[0]
        steps += 1
        if isinstance(at, Call) and at.op == call.op and at.attrs is call.attrs:
            return steps > 1
    return False


def _averaged(call: Call, types: AffineTypes) -> _Made:
    """The mean is taken of int32."""
    (data,) = call.args
    given, wanted = types.tensor(data), types.tensor(call)
    if given.close_to(wanted):
        data = op.cast(data, "int32")
    else:
        data = _requantized(data, given, wanted, "int32")
    return replace(call, args=(data,)), replace(wanted, dtype="int32")


def _mean(call: Call, types: AffineTypes) -> _Made:
    given = types.tensor(call.args[0])
    mean = replace(call, args=(op.cast(call.args[0], "int32"),))
    return op.cast(mean, given.dtype), given


def _quantized_floats(value: Expr, to: TensorAffineType, axis: int = -1) -> Expr:
    """Return a constant of floats as a call that quantises it."""
    if not isinstance(value, Constant) or value.tensor_type.dtype not in _FLOATS:
        raise FakeQuantizationError("an operand is neither quantised nor a constant of floats")
    made: Expr = op.qnn.quantize(value, to.scale, to.zero_point, axis=axis, out_dtype=to.dtype)
    return made


def _bias_add(call: Call, types: AffineTypes) -> _Made:
    data, bias = call.args
    given = types.tensor(data)
    if bias not in types:
        bias = _quantized_floats(bias, given, axis=0)
    elif not given.close_to(types.tensor(bias)):
        wanted = replace(given, scale=fold_expression(given.scale), zero_point=fold_expression(given.zero_point))
        bias = _requantized(bias, replace(types.tensor(bias), axis=0), wanted)
    return replace(call, args=(data, bias)), given


def _product(call: Call, types: AffineTypes) -> tuple[Call, Expr, TensorAffineType]:
    """Return a product's integers, its scale, and what its first operand stands for."""
    assert isinstance(call.op, Op)
    left, right = call.args
    a, b = types.tensor(left), types.tensor(right)
    name = call.op.name.replace("nn.", "qnn.")
    made = _qnn(call, name, left, right, a.zero_point, b.zero_point, a.scale, b.scale, out_dtype="int32")
    return made, fold_expression(op.multiply(a.scale, b.scale)), a


def _zeros(scale: Expr) -> Expr:
    if isinstance(scale, Constant):
        return const(np.zeros(scale.data.shape, np.int32))
    zeros: Expr = op.cast(op.zeros_like(scale), "int32")
    return zeros


def _convolution(call: Call, types: AffineTypes) -> _Made:
    made, scale, _ = _product(call, types)
    layout = parse_layout(call.attrs.out_layout or call.attrs.data_layout, "NCHW")
    return made, TensorAffineType(scale, _zeros(scale), "int32", layout.position("C"))


def _dense(call: Call, types: AffineTypes) -> _Made:
    made, scale, _ = _product(call, types)
    return made, TensorAffineType(scale, _zeros(scale), "int32", 1)


def _batch_matmul(call: Call, types: AffineTypes) -> _Made:
    made, scale, left = _product(call, types)
    return made, TensorAffineType(scale, const(0, "int32"), "int32", left.axis)


def _concatenate(call: Call, types: AffineTypes) -> _Made:
    wanted, given = types.tensor(call), types[call.args[0]]
    if not isinstance(given, TupleAffineType):
        raise FakeQuantizationError("a tuple is expected, this is a tensor")
    scales = Tuple(tuple(one.scale for one in given.types))
    zero_points = Tuple(tuple(one.zero_point for one in given.types))
    return _qnn(call, "qnn.concatenate", call.args[0], scales, zero_points, wanted.scale, wanted.zero_point), wanted


def _clip(call: Call, types: AffineTypes) -> _Made:
    (data,) = call.args
    given = types.tensor(data)
    scale, zero_point = array(given.scale), array(given.zero_point)
    low, high = call.attrs.a_min, call.attrs.a_max
    if scale is not None and scale.size == 1 and zero_point is not None and zero_point.size == 1:
        least, most = (int(bound / scale.item() + zero_point.item()) for bound in (low, high))
        return op.clip(data, least, most), given
    ends = [_clip_end(const(bound), data, given, types) for bound in (low, high)]
    return op.minimum(op.maximum(data, ends[0]), ends[1]), given


def _clip_end(bound: Expr, data: Expr, given: TensorAffineType, types: AffineTypes) -> Expr:
    bound = _along_axis(bound, data, given, types)
    made = op.qnn.quantize(
        bound, fold_expression(given.scale), fold_expression(given.zero_point), given.axis, given.dtype
    )
    return fold_expression(made)


def _along_axis(value: Expr, data: Expr, given: TensorAffineType, types: AffineTypes) -> Expr:
    """Return ``value`` for each channel of ``data``, itself where the scale is a scalar."""
    shape = types.shape(given.scale)
    if not shape or static(shape[0]) == 1:
        return value
    if len(shape) > 1:
        raise FakeQuantizationError("a scale is neither a scalar nor a vector")
    newshape = [1] * len(types.shape(data))
    newshape[given.axis] = -1
    made: Expr = op.reshape(op.broadcast_to(value, shape), newshape)
    return made


def _relu(call: Call, types: AffineTypes) -> _Made:
    (data,) = call.args
    given = types.tensor(data)
    zero = _along_axis(given.zero_point, data, given, types)
    return op.maximum(data, fold_expression(op.cast(zero, given.dtype))), given


def _leaky_relu(call: Call, types: AffineTypes) -> _Made:
    (data,) = call.args
    given, wanted = types.tensor(data), types.tensor(call)
    # TVM keeps the float operator below, which changes no unsigned number; of signed ones it would.
    below = call if given.dtype.startswith("uint") else data
    parameters = (given.scale, given.zero_point, wanted.scale, wanted.zero_point)
    return _qnn(call, "qnn.leaky_relu", below, *parameters), wanted


def _pad(call: Call, types: AffineTypes) -> _Made:
    data, value = call.args
    given = types.tensor(data)
    if value not in types:
        value = _quantized_floats(value, given)
    elif not given.same_as(types.tensor(value)):
        value = _requantized(value, types.tensor(value), given)
    return replace(call, args=(data, value)), given


def _operands(call: Call, types: AffineTypes) -> tuple[list[Expr], list[TensorAffineType], TensorAffineType]:
    """Return both operands of a binary operator, one of which may be a constant, and what they and
    the result stand for.
    """
    wanted = types.tensor(call)
    known = [types.tensor(one) if one in types else None for one in call.args]
    either = known[0] or known[1]
    if either is None:
        raise FakeQuantizationError("neither operand is quantised")
    args = []
    for one, given in zip(call.args, known, strict=True):
        if given is None and not isinstance(one, Constant):
            raise FakeQuantizationError("an operand is neither quantised nor constant")
        quantized = op.qnn.quantize(one, either.scale, either.zero_point, out_dtype=either.dtype) if not given else one
        args.append(quantized)
    given_types = [one or either for one in known]
    return args, given_types, wanted if given_types[0].dtype == wanted.dtype else given_types[0]


def _binary(name: str) -> Rule:
    """Return the rule of an operator that has a quantised one of two operands."""

    def rule(call: Call, types: AffineTypes) -> _Made:
        (left, right), (a, b), wanted = _operands(call, types)
        if name == "add" and _is_sum_of_int32(a, b, wanted):
            return left + right, a
        for one in (wanted.scale, wanted.zero_point):
            if not isinstance(one, Constant) or one.data.ndim:
                raise FakeQuantizationError("the result of a quantised operator has one scale and one zero point")
        made = getattr(op.qnn, name)(
            left, right, a.scale, a.zero_point, b.scale, b.zero_point, wanted.scale, wanted.zero_point, a.axis, b.axis
        )
        return made, wanted

    return rule


def _is_sum_of_int32(a: TensorAffineType, b: TensorAffineType, wanted: TensorAffineType) -> bool:
    """Whether integers may be added as they are: the sum of a product and its bias."""
    same = a.close_to(b) and a.dtype == "int32" and close(a.scale, wanted.scale)
    if not same or not close(a.zero_point, wanted.zero_point):
        return False
    if not isinstance(wanted.zero_point, Constant):
        raise FakeQuantizationError("a zero point is not constant")
    return not np.any(wanted.zero_point.data)


def _chosen(call: Call, types: AffineTypes) -> _Made:
    args, given, wanted = _operands(call, types)
    pairs = zip(args, given, strict=True)
    same = [one if ty.same_as(wanted) else _requantized(one, ty, wanted) for one, ty in pairs]
    return replace(call, args=tuple(same)), wanted


def _unary(name: str) -> Rule:
    def rule(call: Call, types: AffineTypes) -> _Made:
        given, wanted = types.tensor(call.args[0]), types.tensor(call)
        parameters = (given.scale, given.zero_point, wanted.scale, wanted.zero_point)
        return Call(Op(f"qnn.{name}"), (call.args[0], *parameters)), wanted

    return rule


def _softmax(call: Call, types: AffineTypes) -> _Made:
    given, wanted = types.tensor(call.args[0]), types.tensor(call)
    parameters = (given.scale, given.zero_point, wanted.scale, wanted.zero_point)
    return _qnn(call, "qnn.softmax", call.args[0], *parameters), wanted


_MOVED = (
    "broadcast_to expand_dims image.resize2d max min nn.batch_flatten nn.depth_to_space nn.max_pool2d reshape squeeze "
    "strided_slice transpose"
)
_FUNCTIONS = "abs erf exp hardswish log rsqrt sigmoid sqrt tanh"

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_MOVED.split(), _identity),
    **{name: _unary(name) for name in _FUNCTIONS.split()},
    "add": _binary("add"),
    "clip": _clip,
    "concatenate": _concatenate,
    "maximum": _chosen,
    "mean": _mean,
    "minimum": _chosen,
    "multiply": _binary("mul"),
    "nn.adaptive_avg_pool1d": _averaged,
    "nn.avg_pool2d": _avg_pool2d,
    "nn.batch_matmul": _batch_matmul,
    "nn.bias_add": _bias_add,
    "nn.conv2d": _convolution,
    "nn.conv2d_transpose": _convolution,
    "nn.dense": _dense,
    "nn.global_avg_pool2d": _averaged,
    "nn.leaky_relu": _leaky_relu,
    "nn.pad": _pad,
    "nn.relu": _relu,
    "qnn.dequantize": _dequantize,
    "qnn.quantize": _quantize,
    "split": _split,
    "subtract": _binary("subtract"),
    "take": _identity,
    "topk": _topk,
}
OPTIONAL_RULES: Mapping[str, Rule] = {"nn.softmax": _softmax}
# Under these keys users register rules, which come before TVM's.
KEY, OPTIONAL_KEY = "FTVMFakeQuantizationToInteger", "FTVMOptionalFakeQuantizationToInteger"


@overload
def register_fake_quantization_to_integer(op_name: str) -> Callable[[Rule], Rule]: ...
@overload
def register_fake_quantization_to_integer(op_name: str, func: Rule) -> Rule: ...
def register_fake_quantization_to_integer(op_name: str, func: Rule | None = None) -> Rule | Callable[[Rule], Rule]:
    """Say what calls of the operator ``op_name`` are on integers, as a decorator too.

    ``func(call, types)`` returns the integer expression and what it stands for.
    """
    return register_op_attr(op_name, KEY, func)  # type: ignore[no-any-return]


@overload
def register_optional_fake_quantization_to_integer(op_name: str) -> Callable[[Rule], Rule]: ...
@overload
def register_optional_fake_quantization_to_integer(op_name: str, func: Rule) -> Rule: ...
def register_optional_fake_quantization_to_integer(
    op_name: str, func: Rule | None = None
) -> Rule | Callable[[Rule], Rule]:
    """Say the same for an operator that is only rewritten where ``optional_qnn_ops`` names it."""
    return register_op_attr(op_name, OPTIONAL_KEY, func)  # type: ignore[no-any-return]


def rule_of(name: str, optional: frozenset[str]) -> Rule | None:
    """Return the rule of an operator; ``optional`` are the names that are asked for."""
    found = _own_rule(name, KEY) or RULES.get(name)
    if found is None and name in optional:
        found = _own_rule(name, OPTIONAL_KEY) or OPTIONAL_RULES.get(name)
    return found


def _own_rule(name: str, key: str) -> Rule | None:
    own = registered(name, key)

    def rule(call: Call, types: AffineTypes) -> tuple[Expr, AffineType]:
        assert own is not None
        found = own(call, types)
        if not isinstance(found, (list, tuple)) or len(found) != 2 or not isinstance(found[0], RelayExpr):
            raise own.unexpected("an expression and what it stands for", found, node=call)
        if not isinstance(found[1], (TensorAffineType, TupleAffineType)):
            raise own.unexpected("an expression and an AffineType", found[1], node=call)
        return cast(Expr, found[0]), found[1]

    return None if own is None else rule
