"""Support vectors: sums over kernels of a row and each of them."""

from __future__ import annotations

from itertools import accumulate, combinations

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.operators.ml.classes import (
    both,
    chosen,
    labels_of,
    of_two,
    positive,
    transformed,
)
from relay2relax.relay_ir.ir.expr import Expr


def _dense(at: Conversion, x: Expr, weights: Array) -> Expr:
    return at.call("nn.dense", x, at.const(weights, "float32"), units=None)


def _kernels(at: Conversion, x: Expr, vectors: Array) -> Expr:
    """Return the kernel of each row and each vector."""
    kind = at.attr("kernel_type", "LINEAR")
    gamma, offset, degree = at.attr("kernel_params") or (0.0, 0.0, 0.0)
    if kind == "RBF":
        apart = at.call("subtract", at.unsqueeze(x, [1]), at.const(vectors, "float32"))
        squares = at.call("sum", at.call("multiply", apart, apart), axis=[2], keepdims=False)
        return at.call("exp", at.call("multiply", squares, at.like(-gamma, squares)))
    made = _dense(at, x, vectors)
    if kind == "LINEAR":
        return made
    if kind not in ("POLY", "SIGMOID"):
        at.refuse(f"its kernel is {kind}")
    made = at.call("add", at.call("multiply", made, at.like(gamma, made)), at.like(offset, made))
    return at.call("tanh", made) if kind == "SIGMOID" else at.call("power", made, at.like(degree, made))


def _regressor(at: Conversion) -> Expr:
    if at.attr("post_transform", "NONE") != "NONE":
        at.refuse(f"its result is transformed by {at.attr('post_transform')}")
    x, count = at.cast(at.arg(), "float32"), int(at.attr("n_supports", 0))
    weights = np.array(at.wanted("coefficients"), np.float32).reshape(1, -1)
    if count:
        x = _kernels(at, x, np.array(at.wanted("support_vectors"), np.float32).reshape(count, -1))
    made = _dense(at, x, weights)
    made = at.call("add", made, at.like(at.wanted("rho")[0], made))
    if not at.attr("one_class", 0):
        return made
    return at.call("where", at.call("greater", made, at.like(0, made)), at.like(1, made), at.like(-1, made))


def _classifier(at: Conversion) -> tuple[Expr, Expr]:
    if at.attr("prob_a"):
        at.refuse("its probabilities are found by turns of which the data decide how many there are")
    x, labels = at.cast(at.arg(), "float32"), labels_of(at, "classlabels_ints")
    if labels is None:
        at.refuse("it has no labels")
    counts = [int(one) for one in at.attr("vectors_per_class") or []]
    weights = np.array(at.wanted("coefficients"), np.float32)
    if not sum(counts):
        return _linear(at, x, weights.reshape(len(labels), -1), labels)
    if len(counts) != len(labels) or len(counts) < 2 or min(counts) < 0:
        at.refuse(f"it has {len(labels)} labels, and vectors of {len(counts)} classes")
    if (weights >= 0).all():
        at.refuse("no coefficient is negative, so one class has no weight")
    kernels = _kernels(at, x, np.array(at.wanted("support_vectors"), np.float32).reshape(sum(counts), -1))
    pairs = list(combinations(range(len(counts)), 2))
    table = weights.reshape(len(counts) - 1, -1)
    begin = [0, *accumulate(counts)]
    sums = np.zeros((len(pairs), sum(counts)), np.float32)
    for row, (one, other) in enumerate(pairs):
        first, second = slice(begin[one], begin[one + 1]), slice(begin[other], begin[other + 1])
        sums[row, first], sums[row, second] = table[other - 1, first], table[one, second]
    scores = at.call("add", _dense(at, kernels, sums), at.const(at.wanted("rho"), "float32"))
    if len(pairs) == 1:
        return of_two(at, positive(at, scores), labels[::-1]), both(at, scores, complement=False)
    # Each pair votes for one of its classes.
    held = at.cast(at.call("greater", scores, at.like(0, scores)), "float32")
    votes, against = (np.zeros((len(counts), len(pairs)), np.float32) for _ in range(2))
    for row, (one, other) in enumerate(pairs):
        votes[one, row], votes[other, row], against[other, row] = 1, -1, 1
    counted = at.call("add", _dense(at, held, votes), at.const(against.sum(axis=1), "float32"))
    return chosen(at, counted, labels), transformed(at, scores)


def _linear(at: Conversion, x: Expr, weights: Array, labels: list[int]) -> tuple[Expr, Expr]:
    """A score for each class, without vectors; of two ONNX Runtime takes the second whatever the
    scores are.
    """
    if len(labels) < 3:
        at.refuse("it has two classes and no vectors")
    scores = _dense(at, x, weights)
    scores = at.call("add", scores, at.like(at.wanted("rho")[0], scores))
    return chosen(at, scores, labels), transformed(at, scores)


OPERATORS: dict[str, Convert] = {"ai.onnx.ml.SVMRegressor": _regressor, "ai.onnx.ml.SVMClassifier": _classifier}
