"""Numbers among ``dims`` become extents of parameters, and types follow."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import graph, relax_ir, relay_ir, translator
from relay2relax.core import Relay2RelaxError
from relay2relax.relay_ir.inference.fixed_extents import fix_extents

MODULE = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32], %y: (Tensor[(?, 4), float32], int32)) -> Tensor[(?, 4), float32] {
  add(%x, %y.0)
}
"""


def parsed() -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(MODULE), declare_results=True)


def test_types_follow_a_number() -> None:
    mod = fix_extents(parsed(), {"x": (5, None), "y.0": (1, None)})
    main = mod["main"]
    x, y = (relay_ir.TensorType((rows, 4), "float32") for rows in (5, 1))
    scalar = relay_ir.TensorType((), "int32")
    assert [param.type_annotation for param in main.params] == [x, relay_ir.TupleType((y, scalar))]
    assert main.ret_type == x


def test_names_change_nothing_but_are_checked() -> None:
    mod = parsed()
    assert fix_extents(mod, {"x": ("n", None)}) is mod
    with pytest.raises(Relay2RelaxError, match=r"no such parameter; it has: x, y\.0"):
        fix_extents(mod, {"z": (1,)})


@pytest.mark.parametrize("via", ["tir", "graph"])
def test_translators_take_numbers(via: translator.Via) -> None:
    made = translator.translate(parsed(), via, dims={"x": (2, None), "y.0": (2, 4)})
    assert relax_ir.print_struct_info(made["main"].ret) == 'R.Tensor((2, 4), dtype="float32")'  # type: ignore[union-attr]


def test_the_graph_takes_numbers_and_names() -> None:
    found, _ = graph.from_relay(parsed(), dims={"x": (2, None), "y.0": ("rows", None)})
    shapes = [tensor.get_shape(with_prims=True) for tensor in found.get_inputs()]
    assert shapes[:2] == [(2, 4), ("rows", 4)]


def test_compare_draws_inputs_of_that_extent() -> None:
    report = translator.compare(parsed(), backends=("numpy",), dims={"x": (7, None), "y.0": (7, None)}, inputs={})
    assert report.agrees
    assert "x (7, 4)" in report.notes[0]


def test_an_extent_that_the_program_does_not_allow() -> None:
    with pytest.raises(relay_ir.TypeInferenceError, match="do not broadcast"):
        fix_extents(parsed(), {"x": (5, None), "y.0": (2, None)})


def test_weights_stay_the_same_arrays() -> None:
    weight = np.ones((3, 4), np.float32)
    x = relay_ir.var("x", relay_ir.TensorType((relay_ir.Any(), 4), "float32"))
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x,), relay_ir.op.nn.dense(x, relay_ir.const(weight))))
    fixed = fix_extents(mod, {"x": (2, None)})
    call = fixed["main"].body
    assert isinstance(call, relay_ir.Call)
    constant = call.args[1]
    assert isinstance(constant, relay_ir.Constant)
    assert np.shares_memory(constant.data, weight)
