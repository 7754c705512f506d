"""Modules that several tests of Relax look at."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import relax_ir as rx
from relay2relax.relax_ir import BlockBuilder, TensorStructInfo, Var, call_op
from relay2relax.tir import te
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc


def make_relu(shape: tuple[tir.PrimExpr | int, ...]) -> PrimFunc:
    data = te.placeholder(shape, "float32", "data")
    out = te.compute(shape, lambda *index: tir.maximum(data[index], 0.0), "relu")
    return te.create_prim_func([data], [out], name="relu")


def make_mlp() -> rx.IRModule:
    """A dense layer by operators and ``call_tir``, dynamic in its batch."""
    n = tir.Var("n")
    data = Var("data", TensorStructInfo((n, 4), "float32"))
    weight = Var("fc1.weight", TensorStructInfo((3, 4), "float32"))
    bias = Var("onnx::Add_92", TensorStructInfo((3,), "float32"))
    bb = BlockBuilder()
    with bb.function("main", [data, weight, bias], {"num_input": 1}):
        with bb.dataflow():
            turned = bb.emit(call_op("permute_dims", weight, axes=(1, 0)))
            product = bb.emit(call_op("matmul", data, turned))
            shifted = bb.emit(call_op("add", product, bias))
            relu = bb.add_func(make_relu((n, 3)), "relu")
            result = bb.emit_output(rx.CallTIR(relu, (shifted,), (TensorStructInfo((n, 3), "float32"),)))
        bb.emit_func_output(result)
    return bb.get()


def make_everything() -> rx.IRModule:
    """One of each: branch, local function, call, match_cast, shapes, scalars, packed functions,
    constants, tuples.
    """
    n, m, length = tir.Var("n"), tir.Var("m"), tir.Var("n")
    tensor = TensorStructInfo((n, 3), "float32")
    flag = Var("flag", TensorStructInfo((), "bool"))
    data = Var("x", tensor)
    ragged = Var("class", TensorStructInfo(None, "int64", 1))
    pair = Var("pair", rx.TupleStructInfo((tensor, rx.PrimStructInfo("int64"))))
    inner = Var("x", TensorStructInfo((m, 3), "float32"))
    local = Var("x", tensor)
    bb = BlockBuilder()
    with bb.function("twice", [inner], private=True) as twice:
        bb.emit_func_output(call_op("add", inner, inner))
    with bb.function("main", [flag, data, ragged, pair], {"num_input": 2, "notes": ["a", {"b": 0.5}]}, pure=False):
        known = bb.match_cast(ragged, TensorStructInfo((length,), "int64"))
        with bb.dataflow():
            special = np.array([np.inf, -np.inf, 0.1], "float32")
            scaled = bb.emit(call_op("multiply", data, rx.Constant(special)))
            added = bb.emit_output(call_op("add", scaled, rx.Constant(np.array(2.0, "float32"))), "added")
            bb.emit_output(rx.CallDPSPacked("library.scale", (data,), (tensor,)), "outside")
        bb.begin_sequence()
        then = bb.end_sequence(rx.Call(twice, (added,)))
        bb.begin_sequence()
        otherwise = bb.end_sequence(rx.TupleGetItem(pair, 0))
        chosen = bb.emit(rx.If(flag, then, otherwise), "added")
        bb.begin_sequence()
        body = bb.end_sequence(call_op("add", local, data))
        closure = bb.emit(rx.Function((local,), body, local.info), "closure")
        applied = bb.emit(rx.Call(closure, (chosen,)))
        packed = bb.emit(rx.Call(rx.ExternFunc("library.check"), (known, rx.StringImm('say "so"'))), info=tensor)
        shape = bb.emit(rx.ShapeExpr((n * 2, (n + length) // 2, tir.maximum(n, length) - (n - 1), 3)))
        double = bb.emit(rx.PrimValue(n * 2))
        bb.emit_func_output(rx.Tuple((applied, rx.Tuple((packed,)), rx.Tuple(()), shape, double)))
    return bb.get()


@pytest.fixture
def mlp() -> rx.IRModule:
    """See :func:`make_mlp`."""
    return make_mlp()


@pytest.fixture
def everything() -> rx.IRModule:
    """See :func:`make_everything`."""
    return make_everything()
