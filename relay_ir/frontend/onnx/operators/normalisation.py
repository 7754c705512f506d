"""Normalisation."""

from __future__ import annotations

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.ir.expr import Expr


def _batch_norm(at: Conversion) -> Expr | tuple[Expr, ...]:
    data, epsilon = at.arg(), float(at.attr("epsilon", 1e-5))
    if at.attr("training_mode", 0):
        return _trained(at, data, epsilon)
    made = at.call("nn.batch_norm", *(at.cast(one, at.dtype(data)) for one in at.tensors()[:5]), epsilon=epsilon)
    return at.fields(made)[0]


def _trained(at: Conversion, data: Expr, epsilon: float) -> tuple[Expr, ...]:
    """Normalise by the batch's own statistics, which go into the running ones."""
    momentum, rank = float(at.attr("momentum", 0.9)), at.rank(data)
    axes = [0, *range(2, rank)]
    mean = at.call("mean", data, axis=axes)
    behind = list(range(1, rank - 1))
    centred = at.call("subtract", data, at.unsqueeze(mean, behind))
    spread = at.call("mean", at.call("multiply", centred, centred), axis=axes)
    root = at.call("sqrt", at.call("add", spread, at.like(epsilon, data)))
    made = at.call("divide", centred, at.unsqueeze(root, behind))
    made = at.call("multiply", made, at.unsqueeze(at.arg(1), behind))
    made = at.call("add", made, at.unsqueeze(at.arg(2), behind))
    running = []
    for old, new in ((at.arg(3), mean), (at.arg(4), spread)):
        kept = at.call("multiply", old, at.like(momentum, old))
        running.append(at.call("add", kept, at.call("multiply", new, at.like(1 - momentum, new))))
    return made, *running


def _instance_norm(at: Conversion) -> Expr:
    return at.call("nn.instance_norm", *at.tensors(), epsilon=float(at.attr("epsilon", 1e-5)))


def statistics(at: Conversion, x: Expr, axes: list[int], epsilon: float) -> tuple[Expr, Expr, Expr]:
    """Return ``x`` normalised over axes, its mean, and one over its deviation."""
    mean = at.call("mean", x, axis=axes, keepdims=True)
    centred = at.call("subtract", x, mean)
    spread = at.call("mean", at.call("multiply", centred, centred), axis=axes, keepdims=True)
    inverse = at.call("rsqrt", at.call("add", spread, at.like(epsilon, x)))
    return at.call("multiply", centred, inverse), mean, inverse


def _layer_norm(at: Conversion) -> tuple[Expr, ...]:
    x, scale = at.arg(0), at.arg(1)
    axis, epsilon = at.axis(x, -1), float(at.attr("epsilon", 1e-5))
    wide = at.cast(x, "float32") if at.dtype(x) in ("float16", "bfloat16") else x
    made, mean, inverse = statistics(at, wide, list(range(axis, at.rank(x))), epsilon)
    made = at.call("multiply", at.cast(made, at.dtype(x)), scale)
    return at.call("add", made, at.arg(2)) if at.has(2) else made, mean, inverse


def _group_norm(at: Conversion) -> Expr:
    """Before opset 21 scale and bias are those of groups."""
    x, groups = at.arg(0), at.wanted("num_groups")
    shape = at.shape(x)
    split = at.reshape(x, [shape[0], groups, -1])
    made, _, _ = statistics(at, split, [2], float(at.attr("epsilon", 1e-5)))
    scale, bias = at.arg(1), at.arg(2)
    if at.opset < 21:
        made = at.call("multiply", made, at.reshape(scale, [groups, 1]))
        return at.reshape(at.call("add", made, at.reshape(bias, [groups, 1])), shape)
    behind = list(range(1, len(shape) - 1))
    made = at.call("multiply", at.reshape(made, shape), at.unsqueeze(scale, behind))
    return at.call("add", made, at.unsqueeze(bias, behind))


def _lrn(at: Conversion) -> Expr:
    return at.call(
        "nn.lrn", at.arg(), at.wanted("size"), 1, float(at.attr("bias", 1.0)), float(at.attr("alpha", 1e-4)),
        float(at.attr("beta", 0.75)),
    )  # fmt: skip


def _lp_normalisation(at: Conversion) -> Expr:
    x, axis = at.arg(), at.axis(at.arg(), -1)
    if at.attr("p", 2) == 1:
        norm = at.call("sum", at.call("abs", x), axis=[axis], keepdims=True)
    else:
        norm = at.call("sqrt", at.call("sum", at.call("multiply", x, x), axis=[axis], keepdims=True))
    # What is 0 all along stays 0.
    safe = at.call("where", at.call("equal", norm, at.like(0, x)), at.like(1, x), norm)
    return at.call("divide", x, safe)


OPERATORS: dict[str, Convert] = {
    "BatchNormalization": _batch_norm,
    "SpatialBN": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "LayerNormalization": _layer_norm,
    "GroupNormalization": _group_norm,
    "LRN": _lrn,
    "LpNormalization": _lp_normalisation,
}
