"""Classes: scores of each for a row, and the label of the greatest.

Where the standard leaves open what a single score means, ONNX Runtime decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.ir.expr import Expr

# Scores this near to zero are none to SOFTMAX_ZERO.
_NOTHING = 1e-7


def labels_of(at: Conversion, name: str) -> list[int] | None:
    """Return the labels of classes, which have to be integers; None where there are none."""
    if at.attr("classlabels_strings"):
        at.refuse("its labels are strings")
    found = at.attr(name)
    return None if not found else [int(one) for one in found]


def chosen(at: Conversion, scores: Expr, labels: Sequence[int] | None) -> Expr:
    """Return the label of the greatest score of each row."""
    places = at.call("argmax", scores, axis=[1])
    return at.cast(places, "int64") if labels is None else at.call("take", at.const(labels, "int64"), places, axis=0)


def of_two(at: Conversion, second: Expr, labels: Sequence[int] | None) -> Expr:
    """Return the second label where ``second`` holds for a row, else the first."""
    first, other = labels or (0, 1)
    return at.call("where", second, at.const(other, "int64"), at.const(first, "int64"))


def transformed(at: Conversion, scores: Expr) -> Expr:
    """Return scores of several classes as the node's transform gives them."""
    kind = at.attr("post_transform", "NONE")
    if kind == "LOGISTIC":
        return at.call("sigmoid", scores)
    if kind == "SOFTMAX":
        return at.call("nn.softmax", scores, axis=1)
    if kind == "SOFTMAX_ZERO":
        moved = at.call("subtract", scores, at.call("max", scores, axis=[1], keepdims=True))
        size = at.call("greater", at.call("abs", scores), at.like(_NOTHING, scores))
        raised = at.call("where", size, at.call("exp", moved), at.like(0, scores))
        return at.call("divide", raised, at.call("sum", raised, axis=[1], keepdims=True))
    if kind != "NONE":
        at.refuse(f"its scores are transformed by {kind}")
    return scores


def both(at: Conversion, score: Expr, complement: bool) -> Expr:
    """Return the scores of two classes of which one is given: the other is what it lacks to 1, or
    its negative.
    """
    kind = at.attr("post_transform", "NONE")
    if kind not in ("NONE", "LOGISTIC"):
        at.refuse(f"it has one score for two classes, transformed by {kind}")
    if kind == "LOGISTIC":
        score = at.call("concatenate", at.tuple([at.call("negative", score), score]), axis=1)
        return at.call("sigmoid", score)
    other = at.call("subtract", at.like(1, score), score) if complement else at.call("negative", score)
    return at.call("concatenate", at.tuple([other, score]), axis=1)


def positive(at: Conversion, score: Expr, limit: float = 0.0) -> Expr:
    """Return whether the one score of each row is above a limit."""
    return at.squeeze(at.call("greater", score, at.like(limit, score)), [1])


def _linear(at: Conversion) -> tuple[Expr, Expr]:
    x, labels = at.cast(at.arg(), "float32"), labels_of(at, "classlabels_ints")
    biases = np.array(at.wanted("intercepts"), np.float32)
    weights = np.array(at.wanted("coefficients"), np.float32).reshape(len(biases), -1)
    scores = at.call("nn.dense", x, at.const(weights, "float32"), units=None)
    scores = at.call("add", scores, at.const(biases, "float32"))
    if len(biases) > 1:
        if labels is not None and len(labels) != len(biases):
            at.refuse(f"it has {len(labels)} labels and {len(biases)} scores")
        return chosen(at, scores, labels), transformed(at, scores)
    if labels is not None and len(labels) != 2:
        at.refuse(f"it has one score and {len(labels)} labels")
    label = of_two(at, positive(at, scores), labels)
    return label, scores if labels is None else both(at, scores, complement=True)


OPERATORS: dict[str, Convert] = {"ai.onnx.ml.LinearClassifier": _linear}
