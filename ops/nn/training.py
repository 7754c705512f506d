"""Gradients of losses and of lookups, as Relax's automatic differentiation calls them.

Gradients of pooling lie in ``gradient.py``, where Relay has them too; markers in ``annotation.py``.
Source of the semantics: TVM 0.27 ``src/relax/op/tensor/grad.cc`` and
``python/tvm/relax/transform/legalize_ops/grad.py``; PyTorch's, where TVM reads beside its tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.places import FROM_THE_BORDER, clipped, inside
from relay2relax.ops.common.reshape_rules import reshaped_index
from relay2relax.ops.common.shapes import normal_axis, tensor
from relay2relax.ops.common.stmt_builders import nested, seq, store
from relay2relax.ops.nn.loss import (
    NLLLossAttrs,
    class_axis,
    class_weights,
    relax_nll_loss_type,
    summed,
)
from relay2relax.ops.registry.attributes import OptionalInteger
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.ops.tensor.gather import integer_places
from relay2relax.ops.tensor.indexing import RelaxTakeAttrs, take_type
from relay2relax.tir import te
from relay2relax.tir.extent import Shape, equal, product, static
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Var, const, if_then_else, logical_and
from relay2relax.tir.ir.stmt import Stmt

SOURCE = "TVM 0.27 src/relax/op/tensor/grad.cc"


# nll_loss_backward


def nll_loss_backward_type(
    attrs: NLLLossAttrs, output_grad: Type, predictions: Type, targets: Type, *weights: Type
) -> TensorType:
    """Return the type of the predictions.

    The gradient has the type of the loss, or is given for each target.
    """
    given, loss = tensor(output_grad), relax_nll_loss_type(attrs, predictions, targets, *_enough(predictions, weights))
    shapes = (loss.shape, tensor(targets, 2).shape)
    if not any(_may_be(given.shape, shape) for shape in shapes):
        raise OpError(
            mistake(operators.SHAPE, what="output_grad", shape=show(given.shape), expected=show(loss.shape)), 0
        )
    if given.dtype != loss.dtype:
        raise OpError(
            mistake(operators.DTYPE, what="output_grad", dtype=given.dtype, expected=f"{loss.dtype}, as the loss has"),
            0,
        )
    return tensor(predictions, 1)


def _may_be(given: Shape, expected: Shape) -> bool:
    return len(given) == len(expected) and all(equal(a, b) is not False for a, b in zip(given, expected, strict=True))


def _enough(predictions: Type, weights: tuple[Type, ...]) -> tuple[Type, ...]:
    """Return ``weights`` but for those of more classes than there are: TVM counts them in the loss
    only.
    """
    found = tensor(predictions, 1)
    classes = static(found.shape[class_axis(found.rank)]) if found.rank else None
    extents = [static(one.shape[0]) for one in map(tensor, weights) if one.rank == 1]
    more = classes is not None and bool(extents) and extents[0] is not None and extents[0] > classes
    return () if more else weights


def nll_loss_backward_numpy(
    attrs: NLLLossAttrs, output_grad: Numbers, predictions: Numbers, targets: Array, *weights: Array
) -> Array:
    """Return ``-weights[t] * output_grad`` at the wanted classes, 0 elsewhere.

    A mean divides by the weights' sum.
    """
    axis, dtype = class_axis(predictions.ndim), predictions.dtype
    factors = weights[0] if weights else np.ones(predictions.shape[axis], dtype)
    counts = targets != attrs.ignore_index
    factor = np.where(counts, factors[clipped(targets, len(factors))], dtype.type(0))
    share = -factor * output_grad
    if attrs.reduction == "mean":
        with np.errstate(divide="ignore", invalid="ignore"):
            share = share / np.sum(factor, dtype=dtype)
    share = np.where(counts, share, dtype.type(0))
    result = np.zeros(predictions.shape, dtype)
    place = np.expand_dims(clipped(targets, predictions.shape[axis]), axis)
    np.put_along_axis(result, place, np.expand_dims(share.astype(dtype), axis), axis)
    return result


def nll_loss_backward_compute(
    attrs: NLLLossAttrs,
    out: TensorType,
    output_grad: te.Tensor,
    predictions: te.Tensor,
    targets: te.Tensor,
    *weights: te.Tensor,
) -> te.Tensor:
    """Return the gradient, element by element.

    The sum of the weights that count is computed before.
    """
    axis, zero = class_axis(predictions.rank), const(0, predictions.dtype)
    classes = class_weights(predictions, *weights)

    def factor(*at: PrimExpr) -> PrimExpr:
        weight = classes[inside(targets[at], classes.shape[0])]
        return if_then_else(targets[at].equal(attrs.ignore_index), zero, weight)

    factors = summed(te.compute(targets.shape, factor, "nll_loss_weights"), "nll_loss_weight")

    def element(*i: PrimExpr) -> PrimExpr:
        at = (*i[:axis], *i[axis + 1 :])
        given = output_grad[at if output_grad.rank else ()]
        share = zero - factor(*at) * given
        if attrs.reduction == "mean":
            share = share / factors[()]
        wanted = inside(targets[at], predictions.shape[axis]).equal(i[axis])
        return if_then_else(logical_and(targets[at].not_equal(attrs.ignore_index), wanted), share, zero)

    return te.compute(predictions.shape, element, "nll_loss_backward")


# take_backward


@dataclass(frozen=True, slots=True)
class TakeBackwardAttrs:
    """The axis that was indexed (None: the flattened tensor)."""

    axis: OptionalInteger = None


def take_backward_type(attrs: TakeBackwardAttrs, output_grad: Type, x: Type, indices: Type) -> TensorType:
    """Return the type of ``x``; the gradient has the type of what was taken."""
    grad, data, places = tensor(output_grad), tensor(x, 1), integer_places(indices, 2)
    expected = tensor(take_type(RelaxTakeAttrs(attrs.axis), data, places)).shape
    if len(expected) != grad.rank or any(equal(a, b) is False for a, b in zip(grad.shape, expected, strict=True)):
        raise OpError(mistake(operators.SHAPE, what="output_grad", shape=show(grad.shape), expected=show(expected)), 0)
    if grad.dtype != data.dtype:
        raise OpError(
            mistake(operators.DTYPE, what="output_grad", dtype=grad.dtype, expected=f"{data.dtype}, as the data has"), 0
        )
    return data


def take_backward_numpy(attrs: TakeBackwardAttrs, output_grad: Array, x: Array, indices: Numbers) -> Array:
    """Return zeros to which the gradient of each taken slice is added.

    Places outside are moved to the border.
    """
    result: Numbers = np.zeros(x.shape, x.dtype)
    lines = result.reshape(-1) if attrs.axis is None else np.moveaxis(result, normal_axis(attrs.axis, x.ndim), 0)
    grad = output_grad
    if attrs.axis is not None:
        axis = normal_axis(attrs.axis, x.ndim)
        grad = np.moveaxis(grad, range(axis, axis + indices.ndim), range(indices.ndim))
    np.add.at(lines, clipped(indices, len(lines)), grad)
    return np.asarray(result)


def take_backward_compute(
    attrs: TakeBackwardAttrs, out: TensorType, output_grad: te.Tensor, x: te.Tensor, indices: te.Tensor
) -> te.Tensor:
    """Return zeros, then the additions, slice by slice."""
    size = product(x.shape)
    extent = size if attrs.axis is None else x.shape[normal_axis(attrs.axis, x.rank)]
    first = 0 if attrs.axis is None else normal_axis(attrs.axis, x.rank)
    last = first + indices.rank

    def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
        grad, _, places = sources
        target = targets[0]
        zeros = [Var(f"c{d}") for d in range(len(target.shape))]
        i = [Var(f"i{d}") for d in range(len(grad.shape))]
        place = inside(places[tuple(i[first:last])], extent)
        if attrs.axis is None:
            at = reshaped_index(target.shape, (size,), (place,))
        else:
            at = (*i[:first], place, *i[last:])
        return seq(
            nested(zeros, target.shape, store(target, zeros, const(0, target.dtype))),
            nested(i, grad.shape, store(target, at, target[at] + grad[tuple(i)])),
        )

    return te.extern([out.shape], [out.dtype], [output_grad, x, indices], build, name="take_backward")[0]


OPS: tuple[OpDef, ...] = (
    OpDef(
        script=Script(
            "grad.nll_loss_backward",
            "output_grad, predictions, targets, weights=None, reduction='mean', ignore_index=-100",
        ),
        doc="The gradient of nll_loss with respect to the predictions.",
        source=SOURCE,
        inputs=("output_grad", "predictions", "targets", "*weights"),
        attrs=NLLLossAttrs,
        infer=nll_loss_backward_type,
        on_bad_values=FROM_THE_BORDER,
        numpy=nll_loss_backward_numpy,
        compute=nll_loss_backward_compute,
    ),
    OpDef(
        script=Script("grad.take_backward", "output_grad, x, indices, axis=None, mode=''"),
        doc="The gradient of take with respect to the data: what was taken from one place is added up there.",
        source=SOURCE,
        inputs=("output_grad", "x", "indices"),
        attrs=TakeBackwardAttrs,
        infer=take_backward_type,
        on_bad_values=FROM_THE_BORDER,
        numpy=take_backward_numpy,
        compute=take_backward_compute,
    ),
)
