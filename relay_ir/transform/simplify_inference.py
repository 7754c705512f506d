"""Operators of training in the form they have at inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Optional, Protocol, TypeAlias

import numpy as np

from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.passes import Pass
from relay2relax.ops.nn.feature_normalisation import GroupNormAttrs, L2NormalizeAttrs
from relay2relax.ops.nn.normalisation import relay_epsilon
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Op, TupleGetItem, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.relay_ir.transform.infrastructure import declared, map_functions
from relay2relax.tir.extent import static

# How calls are expanded; None where the shape is not known well enough. Of operators with several
# results the first.
_Expansion: TypeAlias = Callable[[Any, TensorType, tuple[Expr, ...]], Optional[Expr]]


class _Normalisation(Protocol):
    """The attributes that normalisations have in common."""

    @property
    def axis(self) -> int: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def center(self) -> bool: ...

    @property
    def scale(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class SimplifyInference(Pass[IRModule]):
    """Expand normalisations into arithmetic, and let dropout be what it is at inference: nothing.

    The first results of ``nn.batch_norm`` and ``nn.dropout``, and calls of ``nn.layer_norm``,
    ``nn.instance_norm``, ``nn.group_norm`` (of static shape) and ``nn.l2_normalize``, are expanded
    as TVM does; the other results of batch normalisation and dropout stay.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` simplified; infers types where ``mod`` has none."""
        mod = declared(mod)
        types = typed_module(mod).types
        return map_functions(mod, lambda function: _simplify(function, types))


def _simplify(root: Function, types: Mapping[Expr, Type]) -> Function:
    done: dict[Expr, Expr] = {}
    for node in nodes(root):
        made = with_children(node, [done[child] for child in children(node)])
        match node, made:
            case TupleGetItem(Call(Op(name), args), 0), TupleGetItem(Call(_, given, attrs)) if name in _FIRST_RESULT:
                made = _expanded(_FIRST_RESULT[name], attrs, types[args[0]], given) or made
            case Call(Op(name), args), Call(_, given, attrs) if name in _RESULT:
                made = _expanded(_RESULT[name], attrs, types[args[0]], given) or made
        done[node] = made
    result = done[root]
    assert isinstance(result, Function)
    return result


def _expanded(expand: _Expansion, attrs: object, ty: Type, args: tuple[Expr, ...]) -> Expr | None:
    assert isinstance(ty, TensorType)
    return expand(attrs, ty, args)


def _batch_norm(attrs: _Normalisation, ty: TensorType, args: tuple[Expr, ...]) -> Expr:
    data, gamma, beta, mean, variance = args
    scale: Expr = _scalar(1.0, ty) / op.sqrt(variance + _epsilon(attrs.epsilon, ty))
    if attrs.scale:
        scale = scale * gamma
    shift: Expr = -mean * scale
    if attrs.center:
        shift = shift + beta
    return data * _along(scale, attrs.axis, ty) + _along(shift, attrs.axis, ty)


def _layer_norm(attrs: _Normalisation, ty: TensorType, args: tuple[Expr, ...]) -> Expr:
    return _scaled(_centred(args[0], [attrs.axis], attrs, ty), attrs, ty, args)


def _instance_norm(attrs: _Normalisation, ty: TensorType, args: tuple[Expr, ...]) -> Expr:
    rank = len(ty.shape)
    axes = [axis for axis in range(1, rank) if axis != attrs.axis % rank]
    return _scaled(_centred(args[0], axes, attrs, ty), attrs, ty, args)


def _group_norm(attrs: GroupNormAttrs, ty: TensorType, args: tuple[Expr, ...]) -> Expr | None:
    shape = [static(extent) for extent in ty.shape]
    axis = attrs.axis % len(shape)
    known = [extent for extent in shape if extent is not None]
    if len(known) < len(shape):
        return None
    grouped = [*known[:axis], attrs.num_groups, known[axis] // attrs.num_groups, *known[axis + 1 :]]
    data = op.reshape(args[0], newshape=grouped)
    normal = _centred(data, list(range(axis + 1, len(grouped))), attrs, ty)
    return _scaled(op.reshape(normal, newshape=known), attrs, ty, args)


def _l2_normalize(attrs: L2NormalizeAttrs, ty: TensorType, args: tuple[Expr, ...]) -> Expr:
    (data,) = args
    total = op.sum(data * data, axis=attrs.axis, keepdims=True)
    result: Expr = data / op.sqrt(op.maximum(total, _epsilon(attrs.eps, ty)))
    return result


def _centred(data: Expr, axes: list[int], attrs: _Normalisation, ty: TensorType) -> Expr:
    """Return ``data`` with mean 0 and variance 1 over ``axes``."""
    mean = op.mean(data, axis=axes, keepdims=True)
    variance = op.variance(data, mean, axis=axes, keepdims=True)
    result: Expr = (data - mean) / op.sqrt(variance + _epsilon(attrs.epsilon, ty))
    return result


def _scaled(normal: Expr, attrs: _Normalisation, ty: TensorType, args: tuple[Expr, ...]) -> Expr:
    """Return ``normal`` multiplied by gamma and with beta added, as far as the attributes want
    it.
    """
    _, gamma, beta = args
    if attrs.scale:
        normal = normal * _along(gamma, attrs.axis, ty)
    return normal + _along(beta, attrs.axis, ty) if attrs.center else normal


def _dropout(attrs: object, ty: TensorType, args: tuple[Expr, ...]) -> Expr:
    return args[0]


_FIRST_RESULT: Mapping[str, _Expansion] = {"nn.batch_norm": _batch_norm, "nn.dropout": _dropout}
_RESULT: Mapping[str, _Expansion] = {
    "nn.group_norm": _group_norm,
    "nn.instance_norm": _instance_norm,
    "nn.l2_normalize": _l2_normalize,
    "nn.layer_norm": _layer_norm,
}


def _epsilon(epsilon: float, ty: TensorType) -> Expr:
    return _scalar(relay_epsilon(epsilon, ty.dtype), ty)


def _scalar(value: float, like: TensorType) -> Constant:
    return Constant(np.asarray(value, numpy_dtype(like.dtype)))


def _along(vector: Expr, axis: int, data: TensorType) -> Expr:
    """Return ``vector`` with new axes behind it, so that it broadcasts along ``axis`` of
    ``data``.
    """
    behind = len(data.shape) - 1 - (axis % len(data.shape))
    result: Expr = op.expand_dims(vector, axis=1, num_newaxis=behind) if behind else vector
    return result
