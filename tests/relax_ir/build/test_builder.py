"""The builder: names, A-normal form, scopes, shared PrimFuncs, and struct info inferred on the
way.
"""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import relax_ir as rx
from relay2relax.core.source import Span
from relay2relax.relax_ir import BlockBuilder, BuilderError, TensorStructInfo, Var, call_op
from relay2relax.tir import te
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc

F32 = TensorStructInfo((2, 3), "float32")


def double(shape: tuple[int, ...], factor: float = 2.0, name: str = "double") -> PrimFunc:
    data = te.placeholder(shape, "float32", "data")
    out = te.compute(shape, lambda *index: data[index] * factor, "out")
    return te.create_prim_func([data], [out], name=name)


def bindings_of(module: rx.IRModule, name: str = "main") -> list[rx.Binding | rx.MatchCast]:
    func = module[name]
    assert isinstance(func, rx.Function)
    return [binding for block in func.body.blocks for binding in block.bindings]


def test_names_follow_tvm() -> None:
    data = Var("lv1", F32)
    bb = BlockBuilder()
    with bb.function("main", [data]):
        with bb.dataflow():
            first = bb.emit(call_op("negative", data))
            second = bb.emit(call_op("negative", first))
            hinted = bb.emit(call_op("negative", second), "lv1")
            result = bb.emit_output(call_op("negative", hinted))
        outside = bb.emit(call_op("negative", result))
        bb.emit_func_output(outside)
    assert [b.var.name for b in bindings_of(bb.get())] == ["lv", "lv2", "lv1_1", "gv", "gv1"]
    assert [b.var.dataflow for b in bindings_of(bb.get())] == [True, True, True, False, False]


def test_nested_expressions_are_bound_once() -> None:
    data = Var("x", F32)
    shared = call_op("negative", data)
    bb = BlockBuilder()
    with bb.function("main", [data]):
        bb.emit_func_output(rx.Tuple((call_op("add", shared, shared), rx.Tuple((shared,)))))
    module = bb.get()
    assert [b.value.op.name for b in bindings_of(module) if isinstance(b.value, rx.Call)] == ["negative", "add"]
    func = module["main"]
    assert isinstance(func, rx.Function)
    assert isinstance(func.body.body, rx.Tuple)
    assert func.ret == rx.TupleStructInfo((F32, rx.TupleStructInfo((F32,))))
    rx.check_well_formed(module)


def test_equal_prim_funcs_are_shared() -> None:
    bb = BlockBuilder()
    first = bb.add_func(double((2, 3)), "double")
    assert bb.add_func(double((2, 3), name="other"), "other") is first
    assert bb.add_func(double((2, 4)), "double").name == "double1"
    assert bb.add_func(double((2, 3), 3.0), "double").name == "double2"
    module = bb.get()
    assert sorted(var.name for var in module.functions) == ["double", "double1", "double2"]
    assert all(func.name == var.name for var, func in module.functions.items() if isinstance(func, PrimFunc))


@pytest.mark.parametrize(("hint", "name"), [("exp", "tir_exp"), ("nn.dense", "nn_dense"), ("main", "tir_main")])
def test_kernels_do_not_hide_the_c_library(hint: str, name: str) -> None:
    assert BlockBuilder().add_func(double((1,)), hint).name == name


def test_spans_reach_the_variables() -> None:
    data = Var("x", F32)
    bb = BlockBuilder()
    with bb.function("main", [data]):
        bound = bb.emit(call_op("negative", data, span=Span("aten::neg_0")))
        bb.emit_func_output(bound)
    assert str(bound.span) == "aten::neg_0:0:0"


def test_result_is_told_by_the_parameters_dimensions_only() -> None:
    n, m = tir.Var("n"), tir.Var("m")
    data, unknown = Var("x", TensorStructInfo((n,), "float32")), Var("y", TensorStructInfo(None, "float32", 1))
    bb = BlockBuilder()
    with bb.function("main", [data, unknown]):
        known = bb.match_cast(unknown, TensorStructInfo((m,), "float32"))
        bb.emit_func_output(rx.Tuple((data, known)))
    func = bb.get()["main"]
    assert isinstance(func, rx.Function)
    assert func.ret == rx.TupleStructInfo((data.info, TensorStructInfo(None, "float32", 1)))


def test_recursion_needs_a_declaration() -> None:
    flag = Var("flag", TensorStructInfo((), "bool"))
    data = Var("x", F32)
    bb = BlockBuilder()
    loop = bb.declare("loop", [flag.info, F32], F32)
    with pytest.raises(BuilderError, match="declared, but never built: loop"):
        bb.get()
    with bb.function("loop", [flag, data]) as var:
        bb.begin_sequence()
        then = bb.end_sequence(rx.Call(loop, (flag, data)))
        bb.begin_sequence()
        bb.emit_func_output(bb.emit(rx.If(flag, then, bb.end_sequence(data))))
    assert var is loop
    rx.check_well_formed(bb.get())


def test_steps_out_of_order() -> None:
    data = Var("x", F32)
    bb = BlockBuilder()
    with pytest.raises(BuilderError, match="inside of a function"):
        bb.emit(data)
    with pytest.raises(BuilderError, match="has no result"), bb.function("main", [data]):
        bb.emit(data)
    bb = BlockBuilder()
    bb.begin_function("main", [data])
    with pytest.raises(BuilderError, match="outside of a dataflow block"):
        bb.emit_output(data)
    bb.begin_dataflow()
    with pytest.raises(BuilderError, match="do not nest"):
        bb.begin_dataflow()
    condition = Var("flag", TensorStructInfo((), "bool"))
    with pytest.raises(BuilderError, match="has no branches"):
        bb.emit(rx.If(condition, rx.SeqExpr((), data), rx.SeqExpr((), data)))
    with pytest.raises(BuilderError, match="use emit_output"):
        bb.emit_func_output(data)
    bb.end_dataflow()
    with pytest.raises(BuilderError, match="begins inside of main"):
        bb.begin_function("other")


def test_unknown_operators_and_attributes() -> None:
    with pytest.raises(rx.StructInfoError, match="2 arguments given"):
        BlockBuilder().struct_info(call_op("negative", Var("x", F32), Var("y", F32)))
    with pytest.raises(Exception, match=r"no operator record for R\.nothing"):
        call_op("nothing")
    with pytest.raises(Exception, match=r"R\.matmul: wrong attributes"):
        call_op("matmul", out_type="float32")


def test_many_bindings() -> None:
    count = 50_000
    value = Var("x", F32)
    bb = BlockBuilder()
    with bb.function("main", [value]):
        with bb.dataflow():
            for _ in range(count):
                value = bb.emit(call_op("add", value, value))
            value = bb.emit_output(value)
        bb.emit_func_output(value)
    names = [binding.var.name for binding in bindings_of(bb.get())]
    assert len(names) == len(set(names)) == count + 1


def test_constants_share_their_data() -> None:
    data = np.ones((2, 3), np.float32)
    bb = BlockBuilder()
    with bb.function("main"):
        bb.emit_func_output(bb.emit(rx.Constant(data)))
    (binding,) = bindings_of(bb.get())
    assert isinstance(binding.value, rx.Constant)
    assert binding.value.data is data
