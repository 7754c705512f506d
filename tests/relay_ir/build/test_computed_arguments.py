"""Shapes, places and counts that are expressions: which operator TVM 0.18's functions call then."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay2relax import backends, relay_ir
from relay2relax.relay_ir import op

X = relay_ir.var("x", shape=(2, 3))
SHAPE = relay_ir.var("s", shape=(2,), dtype="int32")


@pytest.mark.parametrize(
    ("made", "called"),
    [
        (lambda: op.reshape(X, SHAPE), "dyn.reshape"),
        (lambda: op.reshape(X, relay_ir.const([3, 2])), "reshape"),
        (lambda: op.broadcast_to(X, SHAPE), "dyn.broadcast_to"),
        (lambda: op.zeros(SHAPE, "float32"), "dyn.zeros"),
        (lambda: op.tile(X, SHAPE), "dyn.tile"),
        (lambda: op.topk(X, relay_ir.var("k", shape=(), dtype="int32")), "dyn.topk"),
        (lambda: op.topk(X, relay_ir.const(1)), "topk"),
        (lambda: op.strided_slice(X, SHAPE, [2, 3]), "dyn.strided_slice"),
        (lambda: op.expand_dims(X, relay_ir.const(0)), "dyn.expand_dims"),
        (lambda: op.squeeze(X, relay_ir.const([0])), "squeeze"),
    ],
)
def test_the_dynamic_operator_is_called_for_computed_shapes(made: Callable[[], relay_ir.Call], called: str) -> None:
    callee = made().op
    assert isinstance(callee, relay_ir.Op)
    assert callee.name == called


def test_a_slice_begins_where_a_negative_place_says() -> None:
    begin = relay_ir.var("begin", shape=(2,), dtype="int32")
    function = relay_ir.Function((X, begin), op.strided_slice(X, begin, [2, 3], [1, 1]))
    run = backends.create_executor("debug", relay_ir.IRModule.from_expr(function)).evaluate()
    data = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(run(data, np.array([-1, 1], "int32")), data[-1:, 1:])


def test_parameters_have_the_names_of_tvms_functions() -> None:
    data, kernel = relay_ir.var("d", shape=(1, 4), dtype="uint8"), relay_ir.var("k", shape=(2, 4), dtype="int8")
    zero, scale = relay_ir.const(0), relay_ir.const(1.0)
    made = op.qnn.dense(
        data, kernel, input_zero_point=zero, kernel_zero_point=zero, input_scale=scale, kernel_scale=scale, units=2
    )
    assert made.args == (data, kernel, zero, zero, scale, scale)
