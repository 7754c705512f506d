"""The order of the elements along an axis: equal ones keep theirs, NaN comes last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, of_array
from relay2relax.ops.common.narrow_floats import floating_test
from relay2relax.ops.common.stmt_builders import Cell, let, local, loop, repeat_while, rows, seq, store, when
from relay2relax.tir import te
from relay2relax.tir.extent import ceildiv, mul
from relay2relax.tir.ir.expr import Buffer, IntImm, Not, PrimExpr, Select, binary, cast, logical_and, maximum, minimum
from relay2relax.tir.ir.stmt import Stmt


def order_numpy(data: Array, axis: int, ascending: bool) -> Numbers:
    """Return the indices (int64) that sort ``data`` along ``axis``."""
    keys = data.astype(np.float32) if of_array(data) == "bfloat16" else data
    if ascending:
        return np.argsort(keys, axis=axis, kind="stable")
    # Backwards over the reversed axis equal keys keep their order.
    backwards = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
    return np.asarray(data.shape[axis] - 1 - np.flip(backwards, axis))


def before(a: PrimExpr, b: PrimExpr, ascending: bool) -> PrimExpr:
    """Return whether key ``a`` comes before key ``b``, both ways false where they are equal."""
    if not ascending:
        return before(b, a, True)
    if a.dtype == "bool":
        a, b = cast("int32", a), cast("int32", b)
    if a.dtype == "bfloat16":
        a, b = cast("float32", a), cast("float32", b)
    if not is_float(a.dtype):
        return a < b
    is_nan = floating_test("isnan")
    return binary("or", a < b, logical_and(Not(is_nan(a)), is_nan(b)))


def merge_sort(
    order: Buffer,
    scratch: Buffer,
    place: Callable[[PrimExpr], tuple[PrimExpr, ...]],
    extent: PrimExpr,
    precedes: Callable[[PrimExpr, PrimExpr], PrimExpr],
) -> Stmt:
    """Return the statements that fill ``order`` with the indices [0, extent) of a row, sorted.

    ``place(i)`` is where entry ``i`` of the row lies in both buffers; ``precedes(a, b)`` says
    whether index ``a`` has to come before index ``b``.
    """
    last = extent - 1

    def merge(width: PrimExpr, pair: PrimExpr) -> Stmt:
        low = pair * width * 2
        middle, high = minimum(low + width, extent), minimum(low + width * 2, extent)

        def step(left: Cell, right: Cell, k: PrimExpr) -> Stmt:
            # A run that is used up is not looked at again; the clipped place only keeps the load
            # inside.
            first, second = order[place(minimum(left.value, last))], order[place(minimum(right.value, last))]
            wins = logical_and(right.value < high, precedes(second, first))

            def put(take: PrimExpr) -> Stmt:
                return seq(
                    store(scratch, place(low + k), Select(take, second, first)),
                    when(take, right.add(1), left.add(1)),
                )

            return let(binary("or", left.value >= middle, wins), put, "from_right")

        return local(
            "int64",
            low,
            lambda left: local(
                "int64", middle, lambda right: loop(high - low, lambda k: step(left, right, k), "k"), "right"
            ),
            "left",
        )

    def passes(width: Cell) -> Stmt:
        return repeat_while(
            width.value < extent,
            seq(
                loop(ceildiv(extent, mul(width.value, 2)), lambda pair: merge(width.value, pair), "pair"),
                loop(extent, lambda i: store(order, place(i), scratch[place(i)])),
                width.set(width.value * 2),
            ),
        )

    return seq(loop(extent, lambda i: store(order, place(i), i)), local("int64", 1, passes, "width"))


def insertion(
    order: Buffer,
    place: Callable[[PrimExpr], tuple[PrimExpr, ...]],
    extent: PrimExpr,
    count: int,
    precedes: Callable[[PrimExpr, PrimExpr], PrimExpr],
) -> Stmt:
    """Return the statements that fill ``order`` with the first ``count`` (at least 1) of the
    indices [0, extent) of a row, sorted.

    ``place(i)`` is where entry ``i`` of the list lies; ``precedes(a, b)`` says whether index ``a``
    has to come before index ``b``.
    """

    def enters_before(i: PrimExpr, position: PrimExpr) -> PrimExpr:
        """Whether index ``i`` comes before the one that is listed at ``position``."""
        return precedes(i, order[place(position)])

    def insert(i: PrimExpr, known: Cell) -> Stmt:
        def shift(free: Cell) -> Stmt:
            # The conjunction is evaluated as a whole, so the place before the first is moved
            # inside.
            left = maximum(free.value - 1, 0)
            return seq(
                repeat_while(
                    logical_and(free.value > 0, enters_before(i, left)),
                    seq(store(order, place(free.value), order[place(left)]), free.add(-1)),
                ),
                store(order, place(free.value), i),
                known.set(minimum(known.value + 1, count)),
            )

        return local("int64", minimum(known.value, count - 1), shift, "free")

    def scan(known: Cell) -> Stmt:
        def step(i: PrimExpr) -> Stmt:
            enters = binary("or", known.value < count, enters_before(i, IntImm(count - 1, "int64")))
            return when(enters, insert(i, known))

        return loop(extent, step)

    # The list names an element everywhere, also before it is filled.
    return seq(loop(count, lambda j: store(order, place(j), 0), "j"), local("int64", 0, scan, "known"))


def sort_keys(data: te.Tensor) -> te.Tensor:
    """Return what is compared: TVM of today reads a bfloat16 inside of such loops as the integer
    that its bits are.
    """
    if data.dtype != "bfloat16":
        return data
    return te.compute(data.shape, lambda *i: cast("float32", data[i]), "keys")


def order_compute(data: te.Tensor, axis: int, ascending: bool) -> te.Tensor:
    """Return the indices (int64) that sort ``data`` along ``axis``, in its shape."""
    data = sort_keys(data)
    outer = (*data.shape[:axis], *data.shape[axis + 1 :])

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (x,), (order, scratch) = inputs, outputs

        def row(*at: PrimExpr) -> Stmt:
            def place(i: PrimExpr) -> tuple[PrimExpr, ...]:
                return (*at[:axis], i, *at[axis:])

            def precedes(a: PrimExpr, b: PrimExpr) -> PrimExpr:
                return before(x[place(a)], x[place(b)], ascending)

            return merge_sort(order, scratch, place, data.shape[axis], precedes)

        return rows(outer, inputs, outputs, row, "sort_row")

    return te.extern([data.shape, data.shape], ["int64", "int64"], [data], build, "order")[0]
