"""Struct info of expressions, where the operators' own rules do not say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relax_ir import FuncStructInfo, Inference, StructInfoError, TensorStructInfo, Var, call_op
from relay2relax.relax_ir.ir import symbols
from relay2relax.tir.ir import expr as tir

N, M = tir.Var("n"), tir.Var("m")


def tensor(*shape: tir.PrimExpr | int, dtype: str = "float32") -> TensorStructInfo:
    return TensorStructInfo(shape, dtype)


def test_operators_take_shapes_and_tuples() -> None:
    infer = Inference()
    data = Var("x", tensor(N, 4))
    assert infer.of(call_op("reshape", data, rx.ShapeExpr((N * 4,)))) == tensor(N * 4)
    shape = Var("shape", rx.ShapeStructInfo((2, N * 2)))
    assert infer.of(call_op("reshape", data, shape)) == tensor(2, N * 2)
    joined = infer.of(call_op("concat", rx.Tuple((data, data)), axis=1))
    assert joined == tensor(N, 8)


def test_unknown_shapes_stay_unknown() -> None:
    infer = Inference()
    data = Var("x", TensorStructInfo(None, "float32", 2))
    assert infer.of(call_op("negative", data)) == TensorStructInfo(None, "float32", 2)
    vague = Var("y", TensorStructInfo())
    assert infer.of(call_op("negative", vague)) == TensorStructInfo()
    # What holds for every rank and dtype is known.
    row, other = Var("r", TensorStructInfo((3,), "float32")), Var("o", TensorStructInfo(dtype="float32"))
    assert infer.of(call_op("add", row, other)) == TensorStructInfo(None, "float32", -1)
    assert infer.of(call_op("reshape", vague, rx.ShapeExpr((N, 2)))) == TensorStructInfo((N, 2))
    assert of_type(infer.of(call_op("argmax", other, axis=0, keepdims=False)), TensorStructInfo).dtype == "int64"
    with pytest.raises(StructInfoError, match="axis"):
        infer.of(call_op("nn.softmax", other, axis=9))
    with pytest.raises(StructInfoError, match="is an object"):
        infer.of(call_op("negative", Var("y", rx.ObjectStructInfo())))


def test_deep_nesting_needs_no_stack() -> None:
    value: rx.Expr = Var("x", tensor(2))
    for _ in range(5000):
        value = call_op("negative", value)
    assert Inference().of(value) == tensor(2)


def test_calls_bind_dimensions() -> None:
    infer = Inference()
    callee = rx.GlobalVar("f")
    signature = FuncStructInfo((tensor(N, M), tensor(M)), rx.TupleStructInfo((tensor(N + M), tensor(M * 2, 3))))
    infer.declare(callee, signature)
    k = tir.Var("k")
    result = infer.of(rx.Call(callee, (Var("a", tensor(k, 4)), Var("b", tensor(4)))))
    assert result == rx.TupleStructInfo((tensor(k + 4), tensor(8, 3)))
    unknown = infer.of(rx.Call(callee, (Var("a", TensorStructInfo(None, "float32", 2)), Var("b", tensor(5)))))
    assert unknown == rx.TupleStructInfo((TensorStructInfo(None, "float32", 1), tensor(10, 3)))
    for args, problem in [
        ((tensor(k, 4), tensor(5)), "argument 1: dimension 0 is 5, expected 4"),
        ((tensor(k, 4), tensor(4, dtype="int64")), "argument 1: dtype int64, expected float32"),
        ((tensor(k), tensor(4)), "argument 0: rank 1, expected 2"),
        ((tensor(k, 4),), "1 arguments given, it takes 2"),
    ]:
        with pytest.raises(StructInfoError, match=problem):
            infer.of(rx.Call(callee, tuple(Var("v", info) for info in args)))


def test_projections() -> None:
    infer = Inference()
    pair = Var("pair", rx.TupleStructInfo((tensor(2), tensor(3))))
    assert infer.of(rx.TupleGetItem(pair, 1)) == tensor(3)
    assert infer.of(rx.TupleGetItem(Var("any", rx.ObjectStructInfo()), 7)) == rx.ObjectStructInfo()
    with pytest.raises(StructInfoError, match="field 2 is taken of a tuple with 2 fields"):
        infer.of(rx.TupleGetItem(pair, 2))
    with pytest.raises(StructInfoError, match="field 0 is taken of a tensor"):
        infer.of(rx.TupleGetItem(Var("t", tensor(2)), 0))


def test_leaves() -> None:
    infer = Inference()
    assert infer.of(rx.Constant(np.zeros((2, 0), "int8"))) == tensor(2, 0, dtype="int8")
    assert infer.of(rx.ShapeExpr((N, 2))) == rx.ShapeStructInfo((N, 2))
    assert infer.of(rx.PrimValue(N + 1)) == rx.PrimStructInfo("int64", N + 1)
    with pytest.raises(StructInfoError, match="no function of the module is called 'f'"):
        infer.of(rx.GlobalVar("f"))


@pytest.mark.parametrize(
    ("a", "b", "both"),
    [
        (tensor(N, 2), tensor(N, 2), tensor(N, 2)),
        (tensor(N + N), tensor(N * 2), tensor(N + N)),
        (tensor(N, 2), tensor(M, 2), TensorStructInfo(None, "float32", 2)),
        (tensor(2), tensor(2, 2), TensorStructInfo(None, "float32")),
        (tensor(2), tensor(2, dtype="int8"), tensor(2, dtype="")),
        (rx.ShapeStructInfo((2,)), rx.ShapeStructInfo((3,)), rx.ShapeStructInfo(None, 1)),
        (rx.PrimStructInfo("int64", N), rx.PrimStructInfo("int64", M), rx.PrimStructInfo("int64")),
        (tensor(2), rx.ShapeStructInfo((2,)), rx.ObjectStructInfo()),
    ],
)
def test_join(a: rx.StructInfo, b: rx.StructInfo, both: rx.StructInfo) -> None:
    assert symbols.join(a, b) == both
    pair_a, pair_b = rx.TupleStructInfo((a, a)), rx.TupleStructInfo((b, a))
    assert symbols.join(pair_a, pair_b) == rx.TupleStructInfo((both, a))


def test_branches_meet_without_their_own_dimensions() -> None:
    flag, data = Var("flag", tensor(dtype="bool")), Var("x", TensorStructInfo(None, "float32", 1))
    cast = Var("y", tensor(M))
    block = rx.BindingBlock((rx.MatchCast(cast, data, cast.info),))
    branch = rx.SeqExpr((block,), cast)
    assert Inference().of(rx.If(flag, branch, branch)) == TensorStructInfo(None, "float32", 1)


WINDOWS: dict[str, tuple[str, Callable[[Any, Any, Any], Any]]] = {
    "R.nn.conv2d(x, w, strides=[2, 1], padding=[1, 1], dilation=[1, 2])": (
        "(H - kh) // 2 + 2, W - kw * 2 + 4",
        lambda F, x, w: F.conv2d(x, w, stride=(2, 1), padding=1, dilation=(1, 2)),
    ),
    "R.nn.conv2d(x, w)": ("H + 1 - kh, W + 1 - kw", lambda F, x, w: F.conv2d(x, w)),
    "R.nn.conv2d_transpose(x, w, strides=[2, 2])": (
        "H * 2 + kh - 2, W * 2 + kw - 2",
        lambda F, x, w: F.conv_transpose2d(x, w, stride=2),
    ),
}


@pytest.mark.parametrize("call", WINDOWS)
def test_windows_of_unknown_extents(call: str) -> None:
    """Extents as TVM infers them.

    The numpy kernel runs them, a tensor program would need them as numbers.
    """
    torch = pytest.importorskip("torch")
    extents, reference = WINDOWS[call]
    text = f"""
@R.function
def main(x: R.Tensor((1, 4, "H", "W"), "float32"), w: R.Tensor((4, 4, "kh", "kw"), "float32")):
    H, W, kh, kw = T.int64(), T.int64(), T.int64(), T.int64()
    y: R.Tensor((1, 4, {extents}), "float32") = {call}
    return y
"""
    module = rx.parse(text)
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(shape).astype("float32") for shape in ((1, 4, 7, 9), (4, 4, 3, 2)))
    expected = reference(torch.nn.functional, torch.tensor(x), torch.tensor(w))
    found = backends.VirtualMachine(backends.build(module))["main"](x, w)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    with pytest.raises(Relay2RelaxError, match="the spatial extents of the weight must be numbers"):
        rx.transform.LegalizeOps()(module)
