"""Normalisation, lookup of embeddings, and losses."""

from __future__ import annotations

import math

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.record import always, records
from relay2relax.relay_ir.ir.expr import Expr

_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def _scales(at: Conversion, data: Expr, extent: int) -> tuple[Expr, Expr]:
    """Return what is multiplied and added after a normalisation: 1 and 0 where that is left
    out.
    """
    return _scaled(at, data, extent, at.optional(2), at.optional(3))


def _scaled(at: Conversion, data: Expr, extent: int, gamma: Expr | None, beta: Expr | None) -> tuple[Expr, Expr]:
    dtype = at.dtype(data)
    return gamma or at.const([1.0] * extent, dtype), beta or at.const([0.0] * extent, dtype)


def _layer_norm(at: Conversion) -> Value:
    data, axes = at.tensor(0), at.sizes(1)
    if at.exact:
        return _layer_norm_of(at)
    if len(axes) != 1:
        at.refuse(f"it goes over the last {len(axes)} axes; Relay's goes over one")
    gamma, beta = _scales(at, data, axes[0])
    return at.call("nn.layer_norm", data, gamma, beta, axis=-1, epsilon=float(at.number(4)))


def _group_norm(at: Conversion) -> Value:
    data = at.tensor(0)
    gamma, beta = _scales(at, data, at.extent(data, 1))
    return at.call("nn.group_norm", data, gamma, beta, num_groups=at.integer(1), axis=1, epsilon=float(at.number(4)))


def _batch_norm(at: Conversion) -> Value:
    data = at.tensor(0)
    if at.value(5):
        at.refuse("it is in training; trace a module that `.eval()` gave")
    learned = (at.optional(1), at.optional(2))
    gamma, beta = _scaled(at, data, at.extent(data, 1), *learned)
    flags = {"scale": learned[0] is not None, "center": learned[1] is not None}
    mean, variance = at.tensor(3), at.tensor(4)
    whole = at.call("nn.batch_norm", data, gamma, beta, mean, variance, axis=1, epsilon=float(at.number(7)), **flags)
    return at.fields(whole)[0]


def _instance_norm(at: Conversion) -> Value:
    """``instance_norm(data, weight, bias, mean, variance, of the data, momentum, eps, …)``."""
    if not at.value(5):
        # With the mean and variance of the training it is a batch's.
        data, gamma, beta, mean, variance, _, momentum, epsilon, fast = at.args
        return _batch_norm(at.with_args([data, gamma, beta, mean, variance, False, momentum, epsilon, fast]))
    data = at.tensor(0)
    gamma, beta = _scaled(at, data, at.extent(data, 1), at.optional(1), at.optional(2))
    return at.call("nn.instance_norm", data, gamma, beta, axis=1, epsilon=float(at.number(7)))


def _embedding(at: Conversion) -> Value:
    indices = at.cast(at.tensor(1), "int64") if at.exact else at.call("cast", at.tensor(1), dtype="int32")
    return at.call("take", at.tensor(0), indices, axis=0)


def _cross_entropy(at: Conversion) -> Value:
    data, target, weights = at.tensor(0), at.tensor(1), at.optional(2)
    reduction, ignored = _REDUCTIONS[at.integer(3)], at.integer(4)
    if at.number(5, 0.0):
        at.refuse("its labels are smoothed")
    rank = at.rank(data)
    if rank < 2:
        at.refuse("its data have no batch")
    scores = at.call("nn.log_softmax", data, axis=-1 if rank == 2 else 1)
    if at.shape(data) != at.shape(target):
        classes = at.extent(data, 1)
        given = weights or at.call("full", at.const(1, "int32"), shape=[classes], dtype=at.dtype(data))
        return at.call("nn.nll_loss", scores, target, given, reduction, ignored)
    if reduction != "mean" or ignored != -100 or weights is not None or rank != 2:
        at.refuse("of probabilities, only the mean over a batch without weights is known")
    return at.call("nn.cross_entropy_with_logits", scores, target)


def _batch_norm_of(at: Conversion) -> Value:
    """``(data, gamma, beta, mean, variance, momentum, epsilon)``; statistics are not made anew."""
    data, gamma, beta, mean, variance = (at.value(place) for place in range(5))
    given: list[Value] = [data, gamma, beta, mean, variance, False, at.number(5, 0.1), at.number(6), False]
    return _batch_norm(at.with_args(given)), None, None


def _batch_norm_of_batch(at: Conversion) -> Value:
    """``(data, gamma, beta, training, momentum, epsilon)`` without running statistics."""
    data, gamma, beta = (at.value(place) for place in range(3))
    return _trained(at.with_args([data, gamma, beta, None, None, True, at.value(4), at.value(5)]))[:3]


def _trained(at: Conversion) -> tuple[Value, ...]:
    """``(data, gamma, beta, mean, variance, training, momentum, epsilon)``: the normalised, the
    mean and the inverse deviation of the batch, and the running statistics that come of them.
    """
    if not at.value(5):
        data, gamma, beta, mean, variance, _, momentum, epsilon = at.args
        return (
            _batch_norm(at.with_args([data, gamma, beta, mean, variance, False, momentum, epsilon])),
            None,
            None,
            mean,
            variance,
        )
    data, epsilon = at.tensor(0), float(at.number(7))
    dtype, axes = at.dtype(data), [axis for axis in range(at.rank(data)) if axis != 1]
    mean = at.call("mean", data, axis=axes)
    spread = at.call("variance", data, at.call("mean", data, axis=axes, keepdims=True), axis=axes)
    normal = at.with_args([data, at.value(1), at.value(2), mean, spread, False, 0.0, epsilon])
    inverse = at.call("rsqrt", at.call("add", spread, at.const(epsilon, dtype)))
    if at.value(3) is None:
        return _batch_norm(normal), mean, inverse, None, None
    count = math.prod(at.extent(data, axis) for axis in axes)
    unbiased = at.call("multiply", spread, at.const(count / max(count - 1, 1), dtype))
    momentum = float(at.number(6))

    def running(old: Expr, new: Expr) -> Expr:
        kept = at.call("multiply", old, at.const(1 - momentum, dtype))
        return at.call("add", kept, at.call("multiply", new, at.const(momentum, dtype)))

    return _batch_norm(normal), mean, inverse, running(at.tensor(3), mean), running(at.tensor(4), unbiased)


def _layer_norm_of(at: Conversion) -> Value:
    """Over several axes at once; mean and deviation are not asked for."""
    data, axes = at.tensor(0), at.sizes(1)
    shape = at.extents(data)
    if not shape:
        at.refuse("its data have no axes")
    split = len(shape) - len(axes)
    count = math.prod(axes)
    rows = data if len(axes) == 1 else at.reshaped(data, [*shape[:split], count])
    learned = [None if one is None else at.call("reshape", one, [count]) for one in (at.optional(2), at.optional(3))]
    gamma, beta = _scaled(at, data, count, *learned)
    made = at.call("nn.layer_norm", rows, gamma, beta, axis=-1, epsilon=float(at.number(4)))
    return made if len(axes) == 1 else at.reshaped(made, shape)


def _native_layer_norm(at: Conversion) -> Value:
    return _layer_norm_of(at), None, None


def _native_group_norm(at: Conversion) -> Value:
    """``(data, gamma, beta, N, C, HxW, groups, epsilon)``."""
    data, gamma, beta = (at.value(place) for place in range(3))
    given: list[Value] = [data, at.integer(6), gamma, beta, at.number(7)]
    return _group_norm(at.with_args(given)), None, None


RECORDS = [
    *records({
        "_native_batch_norm_legit_no_training": _batch_norm_of, "_native_batch_norm_legit": _batch_norm_of_batch,
        "_native_batch_norm_legit_functional": _trained, "native_layer_norm": _native_layer_norm,
        "native_group_norm": _native_group_norm, "embedding": _embedding, "group_norm": _group_norm,
        "layer_norm": _layer_norm,
    }),
    *records({"instance_norm": _instance_norm, "cross_entropy_loss": _cross_entropy}, apart=always),
    *records({"batch_norm": _batch_norm}, apart=lambda args: bool(args[5])),
]  # fmt: skip
