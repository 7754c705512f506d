"""Operators of training in the form they have at inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from relay2relax.core.dtype import numpy_dtype
from relay2relax.relay_ir import op
from relay2relax.relay_ir.expr import Call, Constant, Expr, Function, Op, TupleGetItem, children
from relay2relax.relay_ir.module import IRModule
from relay2relax.relay_ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.infrastructure import Pass, map_functions, typed
from relay2relax.relay_ir.types import TensorType, Type


@dataclass(frozen=True, slots=True)
class SimplifyInference(Pass):
    """Expand normalisations into arithmetic, and let dropout be what it is at inference: nothing.

    The first results of ``nn.batch_norm`` and ``nn.dropout``, and calls of ``nn.layer_norm``, are expanded as TVM
    does; the other results of batch normalisation and dropout stay.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` simplified; infers types where ``mod`` has none."""
        types = typed(mod).types
        return map_functions(mod, lambda function: _simplify(function, types))


def _simplify(root: Function, types: Mapping[Expr, Type]) -> Function:
    done: dict[Expr, Expr] = {}
    for node in nodes(root):
        made = with_children(node, [done[child] for child in children(node)])
        match node, made:
            case TupleGetItem(Call(Op(name), args), 0), TupleGetItem(Call(_, given, attrs)) if name in _FIRST_RESULT:
                made = _FIRST_RESULT[name](attrs, types[args[0]], given)
            case Call(Op("nn.layer_norm"), args), Call(_, given, attrs):
                made = _layer_norm(attrs, types[args[0]], given)
        done[node] = made
    result = done[root]
    assert isinstance(result, Function)
    return result


def _batch_norm(attrs: Any, ty: Type, args: tuple[Expr, ...]) -> Expr:
    assert isinstance(ty, TensorType)
    data, gamma, beta, mean, variance = args
    scale: Expr = _scalar(1.0, ty) / op.sqrt(variance + _scalar(attrs.epsilon, ty))
    if attrs.scale:
        scale = scale * gamma
    shift: Expr = -mean * scale
    if attrs.center:
        shift = shift + beta
    return data * _along(scale, attrs.axis, ty) + _along(shift, attrs.axis, ty)


def _layer_norm(attrs: Any, ty: Type, args: tuple[Expr, ...]) -> Expr:
    assert isinstance(ty, TensorType)
    data, gamma, beta = args
    mean = op.mean(data, axis=[attrs.axis], keepdims=True)
    variance = op.variance(data, mean, axis=[attrs.axis], keepdims=True)
    result: Expr = (data - mean) / op.sqrt(variance + _scalar(attrs.epsilon, ty))
    if attrs.scale:
        result = result * _along(gamma, attrs.axis, ty)
    if attrs.center:
        result = result + _along(beta, attrs.axis, ty)
    return result


def _dropout(attrs: Any, ty: Type, args: tuple[Expr, ...]) -> Expr:
    return args[0]


_FIRST_RESULT: Mapping[str, Callable[[Any, Type, tuple[Expr, ...]], Expr]] = {
    "nn.batch_norm": _batch_norm,
    "nn.dropout": _dropout,
}


def _scalar(value: float, like: TensorType) -> Constant:
    return Constant(np.asarray(value, numpy_dtype(like.dtype)))


def _along(vector: Expr, axis: int, data: TensorType) -> Expr:
    """Return ``vector`` with new axes behind it, so that it broadcasts along ``axis`` of ``data``."""
    behind = len(data.shape) - 1 - (axis % len(data.shape))
    result: Expr = op.expand_dims(vector, axis=1, num_newaxis=behind) if behind else vector
    return result
