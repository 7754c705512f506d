"""Scaled dot-product attention, as importers write it: products of batches around a softmax."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.core.matching.language import is_constant, is_op, wildcard
from relay2relax.core.matching.patterns import DFPattern
from relay2relax.graph.patterns.pattern import Emit, FusionPattern, Match
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr
from relay2relax.relax_ir.ir.expr import ShapeExpr

_PRODUCT = is_op("nn.batch_matmul")


def attention_patterns() -> Iterator[FusionPattern]:
    """Yield attention over heads of a batch (``msc.attention``), and over batches alone
    (``msc.scaled_dot_product``).
    """
    for shaped in (True, False):
        for scale in ("divide", "multiply", ""):
            for masked in (True, False):
                for turned in (True, False):
                    yield _attention(shaped, scale, masked, turned)


def _attention(shaped: bool, scale: str, masked: bool, turned: bool) -> FusionPattern:
    """``shaped``: around the softmax heads are an axis of their own. ``turned``: values are turned
    for the product.
    """
    query, key, value, mask, factor = *(wildcard() for _ in range(4)), is_constant()
    scores = _PRODUCT(query, key)
    found: DFPattern = is_op("reshape")(scores) if shaped else scores
    found = is_op(scale)(found, factor) if scale else found
    found = is_op("add")(found, mask) if masked else found
    softmax = is_op("nn.softmax")(found)
    weights = is_op("reshape")(softmax) if shaped else softmax
    turn = is_op("transpose")(value)
    pattern = _PRODUCT(weights, turn if turned else value)

    def check(match: Match) -> bool:
        taken, given, made = match.tensor(weights), match.tensor(scores), match.tensor(softmax)
        number = match.tensor(factor) if scale else None
        if taken is None or given is None or made is None or not _is_static(made.shape) or taken.shape != given.shape:
            return False
        first, last = match.attrs(scores), match.attrs(pattern)
        plain = not first.transpose_a and not last.transpose_a and (not turned or last.transpose_b)
        turns = not turned or list(match.attrs(turn).axes or ()) == [0, 2, 1]
        rows = match.attrs(softmax).axis in (-1, len(made.shape) - 1) and len(made.shape) == (4 if shaped else 3)
        return plain and turns and rows and (number is None or number.shape in ((), (1,)))

    name = "msc.attention" if shaped else "msc.scaled_dot_product"
    needs = ("nn.batch_matmul", "nn.softmax", *((scale,) if scale else ()))
    return FusionPattern(name, pattern, {factor: "scale"} if scale else {}, check, _attention_in_relax, needs)


def _is_static(shape: tuple[object, ...]) -> bool:
    return all(isinstance(extent, int) for extent in shape)


def _attention_in_relax(emit: Emit, query: RelaxExpr, key: RelaxExpr, *rest: RelaxExpr) -> RelaxExpr:
    """Emit R.nn.attention of one head, whose batch are the heads of all batches."""
    *masks, value = rest[: len(rest) - len(emit.held)]
    first, last = emit.parts("nn.batch_matmul")
    if not first.attrs.transpose_b:
        key = emit("permute_dims", key, axes=(0, 2, 1))
    if last.attrs.transpose_b and not _turns(emit):
        value = emit("permute_dims", value, axes=(0, 2, 1))
    heads = [emit("expand_dims", one, axis=(2,)) for one in (query, key, value)]
    (softmax,) = emit.parts("nn.softmax")
    shape, (batch, rows, columns) = softmax.outputs[0].shape, first.outputs[0].shape
    bias = [
        emit("reshape", emit("broadcast_to", mask, ShapeExpr(shape)), ShapeExpr((batch, 1, rows, columns)))
        for mask in masks
    ]
    made = emit("nn.attention", *heads, *bias, scale=_scale(emit))
    return emit("squeeze", made, axis=(2,))


def _turns(emit: Emit) -> bool:
    return bool(emit.parts("transpose"))


def _scale(emit: Emit) -> float:
    if "scale" not in emit.held:
        return 1.0
    divided = bool(emit.parts("divide"))
    return 1 / emit.number("scale") if divided else emit.number("scale")
