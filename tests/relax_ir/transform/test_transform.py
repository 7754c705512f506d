"""Passes over Relax modules."""

from __future__ import annotations

import numpy as np
import pytest
from sweep import CHAIN
from typed import of_type

from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir import BlockBuilder, TensorStructInfo, Var, call_op
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.transform import BindParams, DeadCodeElimination, LegalizeOps
from relay2relax.tir import te
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc

F32 = TensorStructInfo((2, 3), "float32")


def operator_calls(module: rx.IRModule) -> int:
    roots = [func.body for func in module.functions.values() if isinstance(func, rx.Function)]
    values = [binding.value for seq in all_sequences(roots) for binding in bindings(seq)]
    return sum(isinstance(value, rx.Call) and isinstance(value.op, OpDef) for value in values)


def test_legalize_leaves_no_operator(mlp: rx.IRModule, everything: rx.IRModule) -> None:
    for module in (mlp, everything):
        before = module.script()
        lowered = LegalizeOps()(module)
        rx.check_well_formed(lowered)
        assert operator_calls(module) > 0
        assert operator_calls(lowered) == 0
        assert module.script() == before
        main, old = lowered["main"], module["main"]
        assert isinstance(main, rx.Function)
        assert isinstance(old, rx.Function)
        assert (main.params, main.ret, main.attrs) == (old.params, old.ret, old.attrs)
        assert rx.structural_equal(LegalizeOps()(lowered), lowered)


def test_equal_calls_share_a_prim_func() -> None:
    x = Var("x", F32)
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            value: rx.Expr = x
            for _ in range(4):
                value = bb.emit(call_op("add", value, call_op("tanh", value)))
            result = bb.emit_output(value)
        bb.emit_func_output(result)
    lowered = LegalizeOps()(bb.get())
    assert sorted(f.name for f in lowered.functions.values() if isinstance(f, PrimFunc)) == ["add", "tir_tanh"]


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_legalized_modules_compute_the_same(mlp: rx.IRModule) -> None:
    from relay2relax.backends.tvm import build

    rng = np.random.default_rng(0)
    data, weight, bias = (rng.standard_normal(s, dtype=np.float32) for s in ((5, 4), (3, 4), (3,)))
    expected = np.maximum(data @ weight.T + bias, 0)
    bound = BindParams("main", {"fc1.weight": weight})(mlp)
    np.testing.assert_allclose(build(mlp)["main"](data, weight, bias), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(build(LegalizeOps()(mlp))["main"](data, weight, bias), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(build(LegalizeOps()(bound))["main"](data, bias), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.tvm
def test_dimensions_that_no_buffer_determines_become_scalars() -> None:
    from relay2relax.backends.tvm import build

    n, m = tir.Var("n"), tir.Var("m")
    x, shape = Var("x", TensorStructInfo((1, n), "float32")), Var("s", rx.ShapeStructInfo((m,)))
    bb = BlockBuilder()
    with bb.function("main", [x, shape]):
        bb.emit_func_output(bb.emit(call_op("broadcast_to", x, rx.ShapeExpr((m + 1, n)))))
    lowered = LegalizeOps()(bb.get())
    rx.check_well_formed(lowered)
    data = np.arange(3, dtype=np.float32).reshape(1, 3)
    np.testing.assert_array_equal(build(lowered)["main"](data, (4,)), np.broadcast_to(data, (5, 3)))


def test_bind_params_shares_arrays_and_counts_inputs(mlp: rx.IRModule) -> None:
    weight = np.ones((3, 4), np.float32)
    bound = BindParams("main", {"fc1.weight": weight})(mlp)
    rx.check_well_formed(bound)
    main = bound["main"]
    assert isinstance(main, rx.Function)
    assert [param.name for param in main.params] == ["data", "onnx::Add_92"]
    assert main.attrs == {"num_input": 1}
    (constant,) = {
        arg
        for block in main.body.blocks
        for binding in block.bindings
        if isinstance(binding.value, rx.Call)
        for arg in binding.value.args
        if isinstance(arg, rx.Constant)
    }
    assert constant.data is weight


def test_binding_an_input_fixes_its_dimensions(mlp: rx.IRModule) -> None:
    bound = BindParams("main", {"data": np.zeros((7, 4), np.float32)})(mlp)
    rx.check_well_formed(bound)
    main = bound["main"]
    assert isinstance(main, rx.Function)
    assert main.ret == TensorStructInfo((7, 3), "float32")
    assert main.attrs == {"num_input": 0}


def test_bound_dimensions_are_fixed_everywhere(everything: rx.IRModule) -> None:
    bound = BindParams("main", {"x": np.zeros((4, 3), np.float32)})(everything)
    rx.check_well_formed(bound)
    main = bound["main"]
    assert isinstance(main, rx.Function)
    fixed = TensorStructInfo((4, 3), "float32")
    assert main.params[2].info == rx.TupleStructInfo((fixed, rx.PrimStructInfo("int64")))
    assert "R.prim_value(8)" in bound.script()
    assert "(n, 3)" not in rx.print_function(main)


def test_local_functions_that_call_themselves() -> None:
    flag, x, inner = Var("flag", TensorStructInfo((), "bool")), Var("x", F32), Var("y", F32)
    bb = BlockBuilder()
    with bb.function("main", [flag, x]):
        loop = bb.new_var("loop", rx.FuncStructInfo((F32,), F32))
        bb.begin_sequence()
        bb.begin_sequence()
        then = bb.end_sequence(rx.Call(loop, (call_op("negative", inner),)))
        bb.begin_sequence()
        body = bb.end_sequence(bb.emit(rx.If(flag, then, bb.end_sequence(inner))))
        bb.bind(loop, rx.Function((inner,), body, F32))
        bb.emit_func_output(rx.Call(loop, (x,)))
    module = bb.get()
    rx.check_well_formed(module)
    lowered = LegalizeOps()(module)
    rx.check_well_formed(lowered)
    assert operator_calls(lowered) == 0
    assert rx.structural_equal(LegalizeOps()(lowered), lowered)


def test_values_that_do_not_fit(mlp: rx.IRModule) -> None:
    cases: list[tuple[dict[str, np.ndarray], str]] = [
        ({"weight": np.zeros(3, "float32")}, "main has no parameter 'weight'"),
        ({"fc1.weight": np.zeros((3, 5), "float32")}, "'fc1.weight' has dimension 1 is 5, expected 4"),
        ({"fc1.weight": np.zeros((3, 4), "float64")}, "'fc1.weight' has dtype float64, expected float32"),
    ]
    for params, problem in cases:
        with pytest.raises(Relay2RelaxError, match=problem):
            BindParams("main", params)(mlp)
    with pytest.raises(Relay2RelaxError, match="no function 'other'"):
        BindParams("other", {})(mlp)
    with pytest.raises(Relay2RelaxError, match="parameters of relu cannot be bound"):
        BindParams("relu", {})(mlp)


def test_dead_code_goes() -> None:
    x, flag = Var("x", F32), Var("flag", TensorStructInfo((), "bool"))
    data = te.placeholder((2, 3), "float32", "data")
    copy = te.create_prim_func([data], [te.compute((2, 3), lambda i, j: data[i, j], "out")], name="copy")
    bb = BlockBuilder()
    unused_kernel = bb.add_func(copy, "copy")
    y = Var("y", F32)
    with bb.function("unused", [y], private=True) as unused:
        bb.emit_func_output(bb.emit(rx.CallTIR(unused_kernel, (y,), (F32,))))
    with bb.function("main", [x, flag], pure=False):
        with bb.dataflow():
            first = bb.emit(call_op("negative", x))
            bb.emit(call_op("add", first, first))
            kept = bb.emit_output(call_op("tanh", x), "kept")
            bb.emit_output(first, "forgotten")
        bb.emit(rx.Call(rx.ExternFunc("effect"), (x,)), "effect", F32)
        bb.begin_sequence()
        then = bb.end_sequence(rx.Call(unused, (first_output(bb, kept),)))
        bb.begin_sequence()
        bb.emit(rx.If(flag, then, bb.end_sequence(x)), "branch")
        bb.emit_func_output(kept)
    module = bb.get()
    cleaned = DeadCodeElimination()(module)
    rx.check_well_formed(cleaned)
    assert [var.name for var in cleaned.functions] == ["main"]
    main = cleaned["main"]
    assert isinstance(main, rx.Function)
    assert [binding.var.name for binding in bindings(main.body)] == ["kept", "effect"]


def first_output(bb: BlockBuilder, value: Var) -> rx.Expr:
    return bb.emit(call_op("negative", value))


def test_live_code_stays(everything: rx.IRModule, mlp: rx.IRModule) -> None:
    assert rx.structural_equal(DeadCodeElimination()(mlp), mlp)
    cleaned = DeadCodeElimination()(everything)
    rx.check_well_formed(cleaned)
    before, after = (of_type(module["main"], rx.Function) for module in (everything, cleaned))
    names = [b.var.name for seq in all_sequences([before.body]) for b in bindings(seq)]
    kept = [b.var.name for seq in all_sequences([after.body]) for b in bindings(seq)]
    assert [name for name in names if name not in kept] == ["outside"]


def test_long_functions_need_no_stack() -> None:
    x = Var("x", F32)
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            value: rx.Expr = x
            for _ in range(CHAIN):
                value = bb.emit(call_op("negative", value))
            result = bb.emit_output(call_op("negative", x))
        bb.emit_func_output(result)
    module = bb.get()
    cleaned = DeadCodeElimination()(module)
    main = cleaned["main"]
    assert isinstance(main, rx.Function)
    assert len(list(bindings(main.body))) == 1
    assert len(LegalizeOps()(module).functions) == 2


@pytest.mark.parametrize("name", ["LegalizeOps", "FuseOps", "FoldConstant", "ToNonDataflow", "CanonicalizeBindings"])
def test_casts_that_a_dataflow_block_outputs(name: str) -> None:
    text = """
@R.function
def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
    m = T.int64()
    with R.dataflow():
        y = R.match_cast(x, R.Tensor((m,), "float32"))
        R.output(y)
    z = R.nn.relu(y)
    return z
"""
    changed = getattr(rx.transform, name)()(rx.parse(text))
    rx.check_well_formed(changed)
    assert rx.first_difference(rx.parse(changed.script()), changed) is None
