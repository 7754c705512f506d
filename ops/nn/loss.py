"""Losses: what training minimises, from predictions and the classes or probabilities that were
wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, is_int
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.places import FROM_THE_BORDER, clipped, inside
from relay2relax.ops.common.shapes import extent_value, tensor
from relay2relax.ops.registry.attributes import InlineString, Int, NoAttrs
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import as_prim, equal, is_any
from relay2relax.tir.ir.expr import PrimExpr, cast, const, if_then_else
from relay2relax.tir.ir.intrinsics import call


@dataclass(frozen=True, slots=True)
class NLLLossAttrs:
    """``reduction`` is mean, sum or none; targets of class ``ignore_index`` do not count."""

    reduction: InlineString = field(default="mean", kw_only=True)
    ignore_index: Int


_REDUCTIONS = ("mean", "sum", "none")


def class_axis(rank: int) -> int:
    """Return the axis of the classes: the first one where there is no batch."""
    return 0 if rank == 1 else 1


def nll_loss_type(attrs: NLLLossAttrs, predictions: Type, targets: Type, weights: Type) -> TensorType:
    """Return the targets' shape, or a scalar, with the dtype of the predictions."""
    x, wanted = tensor(predictions), tensor(targets, 1)
    found = nll_loss_relay_type(attrs, predictions, targets, weights)
    axis = class_axis(x.rank)
    places = x.shape[:axis] + x.shape[axis + 1 :]
    if any(equal(a, b) is False for a, b in zip(places, wanted.shape, strict=True)):
        raise OpError(
            mistake(operators.SHAPE, what="the tensor of targets", shape=show(wanted.shape), expected=show(places)), 1
        )
    return found


def nll_loss_relay_type(attrs: NLLLossAttrs, predictions: Type, targets: Type, weights: Type) -> TensorType:
    """Return the type; TVM's inference does not compare the predictions with the targets."""
    x, wanted, weight = tensor(predictions), tensor(targets, 1), tensor(weights, 2)
    if attrs.reduction not in _REDUCTIONS:
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="reduction",
                value=repr(attrs.reduction),
                expected=f"one of {', '.join(_REDUCTIONS)}",
            )
        )
    if x.rank != wanted.rank + 1:
        raise OpError(
            mistake(
                operators.RANK,
                what="the tensor of targets",
                rank=wanted.rank,
                expected=f"{x.rank - 1}: all but the classes",
            ),
            1,
        )
    axis = class_axis(x.rank)
    if weight.rank != 1 or equal(weight.shape[0], x.shape[axis]) is False:
        raise OpError(
            mistake(
                operators.SHAPE,
                what="the tensor of weights",
                shape=show(weight.shape),
                expected=show(x.shape[axis : axis + 1]),
            ),
            2,
        )
    if weight.dtype != x.dtype or not is_float(x.dtype):
        raise OpError(
            f"predictions and weights have one floating dtype; these have {x.dtype} and {weight.dtype}",
            2,
            kind=operators.DTYPE,
        )
    if not is_int(wanted.dtype):
        raise OpError(
            mistake(operators.DTYPE, what="the tensor of targets", dtype=wanted.dtype, expected="integers"), 1
        )
    return TensorType(wanted.shape if attrs.reduction == "none" else (), x.dtype)


def nll_loss_numpy(attrs: NLLLossAttrs, predictions: Numbers, targets: Array, weights: Array) -> Array:
    """Return ``-weights[t] * predictions[…, t, …]``; the mean is over the weights that count."""
    axis = class_axis(predictions.ndim)
    counts = targets != attrs.ignore_index
    place = np.expand_dims(clipped(targets, predictions.shape[axis]), axis)
    chosen = np.take_along_axis(predictions, place, axis=axis).squeeze(axis)
    factor = np.where(counts, weights[clipped(targets, len(weights))], predictions.dtype.type(0))
    loss = np.asarray(np.where(counts, -chosen * factor, predictions.dtype.type(0)), predictions.dtype)
    if attrs.reduction == "none":
        return loss
    total = np.sum(loss, dtype=predictions.dtype)
    if attrs.reduction == "mean":
        with np.errstate(divide="ignore", invalid="ignore"):
            total = total / np.sum(factor, dtype=predictions.dtype)
    return np.asarray(total, predictions.dtype)


def nll_loss_compute(
    attrs: NLLLossAttrs, out: TensorType, predictions: te.Tensor, targets: te.Tensor, weights: te.Tensor
) -> te.Tensor:
    """Return the loss of each target, then its sum, and the quotient by the sum of the weights that
    count.
    """
    axis, zero = class_axis(predictions.rank), const(0, predictions.dtype)

    def loss(*at: PrimExpr) -> PrimExpr:
        index = (*at[:axis], inside(targets[at], predictions.shape[axis]), *at[axis:])
        value = -predictions[index] * weights[inside(targets[at], weights.shape[0])]
        return if_then_else(targets[at].equal(attrs.ignore_index), zero, value)

    def factor(*at: PrimExpr) -> PrimExpr:
        weight = weights[inside(targets[at], weights.shape[0])]
        return if_then_else(targets[at].equal(attrs.ignore_index), zero, weight)

    losses = te.compute(targets.shape, loss, "nll_loss_each" if attrs.reduction != "none" else "nll_loss")
    if attrs.reduction == "none":
        return losses
    if attrs.reduction == "sum":
        return summed(losses, "nll_loss")
    total = summed(losses, "nll_loss_sum")
    factors = summed(te.compute(targets.shape, factor, "nll_loss_weights"), "nll_loss_weight")
    return te.compute((), lambda: total[()] / factors[()], "nll_loss")


def _fields(attrs: NLLLossAttrs) -> dict[str, object]:
    return {"reduction": attrs.reduction, "ignore_index": attrs.ignore_index}


def relax_nll_loss_type(attrs: NLLLossAttrs, predictions: Type, targets: Type, *weights: Type) -> TensorType:
    """Return the targets' shape, or a scalar; weights that are left out are ones."""
    x = tensor(predictions)
    if not x.rank:
        raise OpError("predictions have an axis of the classes", 0, kind=operators.AXIS)
    axis = class_axis(x.rank)
    ones = TensorType((x.shape[axis],), x.dtype)
    found = nll_loss_type(attrs, x, targets, *(weights or (ones,)))
    if not found.shape:
        return found
    places = x.shape[:axis] + x.shape[axis + 1 :]
    return TensorType(
        tuple(place if is_any(one) else one for one, place in zip(found.shape, places, strict=True)), found.dtype
    )


def relax_nll_loss_numpy(attrs: NLLLossAttrs, predictions: Numbers, targets: Array, *weights: Array) -> Array:
    """Return the loss with the weights, or with ones."""
    ones = np.ones(predictions.shape[class_axis(predictions.ndim)], predictions.dtype)
    return nll_loss_numpy(attrs, predictions, targets, *(weights or (ones,)))


def relax_nll_loss_compute(
    attrs: NLLLossAttrs, out: TensorType, predictions: te.Tensor, targets: te.Tensor, *weights: te.Tensor
) -> te.Tensor:
    """Return the loss with the weights, or with ones."""
    return nll_loss_compute(attrs, out, predictions, targets, class_weights(predictions, *weights))


def class_weights(predictions: te.Tensor, *weights: te.Tensor) -> te.Tensor:
    """Return the weights of the classes, ones where none are given."""
    extent = predictions.shape[class_axis(predictions.rank)]
    return weights[0] if weights else te.compute((extent,), lambda i: const(1, predictions.dtype), "ones")


def summed(values: te.Tensor, name: str) -> te.Tensor:
    """Return the sum of all elements."""
    if not values.rank:
        return values
    axes = [te.reduce_axis(extent, f"k{d}") for d, extent in enumerate(values.shape)]
    return te.compute((), lambda: te.sum(values[tuple(axis.var for axis in axes)], axes), name)


def cross_entropy_type(attrs: NoAttrs, x: Type, y: Type) -> TensorType:
    """Return a scalar; both inputs have the shape (batch, classes) and one dtype."""
    predicted, wanted = tensor(x), tensor(y, 1)
    if predicted.rank != 2 or wanted.rank != 2:
        raise OpError(
            f"shapes {show(predicted.shape)} and {show(wanted.shape)}: expected (batch, classes)",
            0,
            kind=operators.SHAPE,
        )
    if any(equal(a, b) is False for a, b in zip(predicted.shape, wanted.shape, strict=True)):
        raise OpError(mistake(operators.SHAPE, what="y", shape=show(wanted.shape), expected=show(predicted.shape)), 1)
    if predicted.dtype != wanted.dtype:
        raise OpError(mistake(operators.DTYPE, what="y", dtype=wanted.dtype, expected=predicted.dtype), 1)
    return TensorType((), predicted.dtype)


def relax_cross_entropy_type(attrs: NoAttrs, x: Type, y: Type) -> TensorType:
    """Return a scalar; Relax takes a vector for a batch of one."""
    predicted, wanted = tensor(x), tensor(y, 1)
    if predicted.rank == wanted.rank == 1:
        predicted, wanted = (TensorType((1, *one.shape), one.dtype) for one in (predicted, wanted))
    return cross_entropy_type(attrs, predicted, wanted)


def cross_entropy_operands(attrs: NoAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Each input has the type of the other."""
    x, y = types
    return (x if x is not None else y), (y if y is not None else x)


def cross_entropy(name: str, logarithm: bool, doc: str, in_relax: bool, precision: Precision) -> OpDef:
    """Return the record of ``-sum(f(x) * y) / batch``, where ``f`` is the logarithm or nothing."""

    def numpy(attrs: NoAttrs, x: Numbers, y: Numbers) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(x) if logarithm else x
            batch = x.shape[0] if x.ndim > 1 else 1
            return np.asarray(-np.sum(logs * y, dtype=x.dtype) / x.dtype.type(batch), x.dtype)

    def compute(attrs: NoAttrs, out: TensorType, x: te.Tensor, y: te.Tensor) -> te.Tensor:
        def product(*at: PrimExpr) -> PrimExpr:
            return (call("log", x[at]) if logarithm else x[at]) * y[at]

        total = summed(te.compute(x.shape, product, "cross_entropy_product"), "cross_entropy_sum")
        batch = x.shape[0] if x.rank > 1 else 1
        return te.compute((), lambda: -total[()] / cast(x.dtype, as_prim(batch)), "cross_entropy")

    def relax(e: Emit[V], attrs: NoAttrs, x: V, y: V) -> V:
        found = tensor(e.type_of(x))
        product = e.call("multiply", e.call("log", x), y)
        total = e.call("negative", e.call("sum", product, axis=(0, 1), keepdims=False))
        return e.call("divide", total, extent_value(e, found.shape[0], found.dtype))

    return OpDef(
        relay=f"nn.{name}",
        doc=doc,
        source="Relay's CrossEntropy relation and the computes of TVM 0.18",
        inputs=("x", "y"),
        infer=relax_cross_entropy_type if in_relax else cross_entropy_type,
        relay_type=cross_entropy_type,
        operands=cross_entropy_operands,
        numpy=numpy,
        compute=compute,
        relax=SameOp() if in_relax else Expanded(relax),
        script=Script(f"nn.{name}", "predictions, labels") if in_relax else None,
        precision=precision,
    )


OPS: tuple[OpDef, ...] = (
    OpDef(
        relay="nn.nll_loss",
        doc="The negative log-likelihood of the wanted classes, weighted by class.",
        source="Relay's NLLLoss relation and TOPI's nll_loss of TVM 0.18",
        inputs=("predictions", "targets", "weights"),
        attrs=NLLLossAttrs,
        infer=nll_loss_type,
        on_bad_values=FROM_THE_BORDER,
        relay_type=nll_loss_relay_type,
        numpy=nll_loss_numpy,
        compute=nll_loss_compute,
        relax=Expanded(lambda e, attrs, *inputs: e.call("nn.nll_loss", *inputs, **_fields(attrs))),
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
    OpDef(
        script=Script("nn.nll_loss", "predictions, targets, weights=None, reduction='mean', ignore_index=-100"),
        doc="The negative log-likelihood of the wanted classes, weighted by class where weights are given.",
        source="R.nn.nll_loss of TVM 0.25-0.27 and its lowering",
        inputs=("predictions", "targets", "*weights"),
        attrs=NLLLossAttrs,
        infer=relax_nll_loss_type,
        on_bad_values=FROM_THE_BORDER,
        numpy=relax_nll_loss_numpy,
        compute=relax_nll_loss_compute,
    ),
    cross_entropy(
        "cross_entropy",
        True,
        "`-sum(log(x) * y) / batch`, with probabilities on both sides.",
        False,
        precision=Precision.NEVER,
    ),
    cross_entropy(
        "cross_entropy_with_logits",
        False,
        "`-sum(x * y) / batch`: x are logarithms already.",
        True,
        precision=Precision.NEVER,
    ),
)
