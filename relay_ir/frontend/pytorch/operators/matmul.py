"""Matrix products.

A product of more than two dimensions is one of batches, as TVM's importer makes it: both operands
are spread to common extents, and the dimensions in front become one.
"""

from __future__ import annotations

from itertools import zip_longest

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.record import records
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.tir.extent import product


def _product(at: Conversion, a: Expr, b: Expr) -> Expr:
    """Return ``torch.matmul(a, b)``."""
    if not at.rank(a) or not at.rank(b):
        at.refuse("both operands of a product have at least one dimension")
    added = []
    if at.rank(a) == 1:
        a = at.call("expand_dims", a, axis=0)
        added.append(-2)
    if at.rank(b) == 1:
        b = at.call("expand_dims", b, axis=1)
        added.append(-1)
    if at.rank(a) == at.rank(b) == 2:
        made = at.call("nn.dense", a, at.call("transpose", b))
    else:
        made = _batches(at, a, b)
    return at.call("squeeze", made, axis=added)


def batches(at: Conversion, a: Expr, b: Expr, turned: bool = False) -> Expr:
    """Return the product of batches, whose extents may be open; of ``b`` ``turned`` with its last
    two axes exchanged.
    """
    left, right = at.extents(a), at.extents(b)
    outer = -2 if turned else -1
    given = {"transpose_b": turned}
    if len(right) == 2:
        rows = at.reshaped(a, [-1, left[-1]])
        made = at.call("nn.dense", rows, b if turned else at.call("transpose", b, axes=[1, 0]))
        return at.reshaped(made, [*left[:-1], right[outer]])
    if len(left) == len(right) == 3 and left[0] == right[0]:
        return at.call("nn.batch_matmul", a, b, **given)
    pairs = list(zip_longest(reversed(left[:-2]), reversed(right[:-2]), fillvalue=1))
    batch = [other if one == 1 else one for one, other in reversed(pairs)]
    every = product(batch)
    parts = [
        at.reshaped(at.spread_to(one, [*batch, *had[-2:]]), [every, *had[-2:]]) for one, had in ((a, left), (b, right))
    ]
    return at.reshaped(at.call("nn.batch_matmul", *parts, **given), [*batch, left[-2], right[outer]])


def _batches(at: Conversion, a: Expr, b: Expr) -> Expr:
    if at.exact:
        return batches(at, a, b)
    left, right = at.shape(a), at.shape(b)
    pairs = list(zip_longest(reversed(left[:-2]), reversed(right[:-2]), fillvalue=1))
    if any(one != other and 1 not in (one, other) for one, other in pairs):
        at.refuse(f"extents {left} and {right} do not go together")
    batch = [other if one == 1 else one for one, other in reversed(pairs)]
    wide_a = at.call("broadcast_to", a, [*batch, *left[-2:]])
    wide_b = at.call("broadcast_to", b, [*batch, *right[-2:]])
    flat_a = at.call("reshape", wide_a, [-1, *left[-2:]])
    flat_b = at.call("reshape", wide_b, [-1, *right[-2:]])
    made = at.call("nn.batch_matmul", flat_a, flat_b, transpose_b=False)
    return at.call("reshape", made, [*batch, left[-2], right[-1]])


def linear(at: Conversion, data: Expr, weight: Expr, bias: Expr | None) -> Expr:
    """Return ``data`` times the turned ``weight``, and the bias added."""
    if at.rank(data) == at.rank(weight) == 2:
        made = at.call("nn.dense", data, weight)
    elif at.exact and at.rank(weight) == 2 and at.rank(data) > 1:
        rows = at.call("nn.dense", at.reshaped(data, [-1, at.extent(weight, 1)]), weight)
        made = at.reshaped(rows, [*at.extents(data)[:-1], at.extent(weight, 0)])
    elif at.rank(weight) == 1:
        made = _product(at, data, weight)
    else:
        # TVM's importer makes this transpose before it looks at the operands.
        made = _product(at, data, at.call("transpose", weight, axes=[1, 0]))
    if bias is None:
        return made
    if at.rank(bias) == 1:
        return at.call("nn.bias_add", made, bias, axis=-1)
    return at.call("add", *at.promoted(made, bias))


def _linear(at: Conversion) -> Value:
    return linear(at, at.tensor(0), at.tensor(1), at.optional(2))


def _addmm(at: Conversion) -> Value:
    added, a, b = at.tensor(0), at.tensor(1), at.tensor(2)
    beta, alpha = at.number(3, 1), at.number(4, 1)
    turned = at.call("transpose", b, axes=[1, 0])
    made = at.call("nn.dense", a, turned, units=at.shape(turned)[0])
    if alpha != 1:
        made = at.call("multiply", made, at.const(alpha, at.dtype(made)))
    if beta != 1:
        added = at.call("multiply", added, at.const(beta, at.dtype(added)))
    return at.call("add", made, added)


def _baddbmm(at: Conversion) -> Value:
    added, a, b = at.tensor(0), at.tensor(1), at.tensor(2)
    product = at.call("nn.batch_matmul", a, b, transpose_b=False)
    dtype = at.dtype(product)
    one = at.call("multiply", at.const(at.number(3, 1), dtype), added)
    other = at.call("multiply", at.const(at.number(4, 1), dtype), product)
    return at.call("add", one, other)


def _matmul(at: Conversion) -> Value:
    return _product(at, at.tensor(0), at.tensor(1))


def _addmv(at: Conversion) -> Value:
    """``beta * added + alpha * (a @ b)``."""
    made = _product(at, at.tensor(1), at.tensor(2))
    added = at.tensor(0)
    alpha, beta = at.number(4, 1), at.number(3, 1)
    made = made if alpha == 1 else at.call("multiply", made, at.const(alpha, at.dtype(made)))
    added = added if beta == 1 else at.call("multiply", added, at.const(beta, at.dtype(added)))
    return at.call("add", made, added)


def _addbmm(at: Conversion) -> Value:
    """``beta * added + alpha * sum(a @ b)``."""
    made = at.call("nn.batch_matmul", at.tensor(1), at.tensor(2), transpose_b=False)
    total = at.call("sum", made, axis=[0], keepdims=False)
    dtype = at.dtype(total)
    parts = [at.call("multiply", one, at.const(at.number(place, 1), dtype))
             for one, place in ((at.tensor(0), 3), (total, 4))]  # fmt: skip
    return at.call("add", *parts)


def _dot(at: Conversion) -> Value:
    return at.call("sum", at.call("multiply", at.tensor(0), at.tensor(1)), axis=None, keepdims=False)


RECORDS = records({
    "addmv": _addmv, "addbmm": _addbmm, "mv": _matmul, "dot": _dot, "vdot": _dot,
    "addmm": _addmm, "baddbmm": _baddbmm, "bmm": _matmul, "linear": _linear, "matmul": _matmul, "mm": _matmul,
})  # fmt: skip
