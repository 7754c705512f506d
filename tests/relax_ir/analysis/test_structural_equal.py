"""Structural equality and hashes: names and spans do not count, everything else does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from relay2relax import relax_ir as rx
from relay2relax.core.source import Span
from relay2relax.relax_ir import BlockBuilder, TensorStructInfo, Var, call_op, first_difference, structural_hash
from relay2relax.relax_ir.analysis.structural_equal import structural_equal
from relay2relax.tir.ir import expr as tir


def build(
    name: str = "x",
    dimension: str = "n",
    rank: int = 2,
    operator: str = "add",
    constant: float = 1.0,
    span: Span | None = None,
    attrs: dict[str, int] | None = None,
    axes: tuple[int, ...] = (1, 0),
    swap: bool = False,
) -> rx.IRModule:
    n = tir.Var(dimension)
    data = Var(name, TensorStructInfo((n, 3, 4)[:rank], "float32"), span=span)
    other = Var("y", data.info)
    bb = BlockBuilder()
    with bb.function("main", [data, other], attrs):
        with bb.dataflow():
            turned = bb.emit(call_op("permute_dims", other if swap else data, axes=axes, span=span))
            scaled = bb.emit(call_op(operator, turned, rx.Constant(np.array(constant, "float32"))), name)
            result = bb.emit_output(scaled)
        bb.emit_func_output(rx.Tuple((result, rx.ShapeExpr((n * 2,)))))
    return bb.get()


def test_names_and_spans_do_not_count() -> None:
    assert structural_equal(build(), build("data", "batch", span=Span("conv_0")))
    assert structural_hash(build()) == structural_hash(build("data", "batch", span=Span("conv_0")))


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (lambda: build(operator="multiply"), "main, binding x_1: operator add and operator multiply are called"),
        (lambda: build(constant=2.0), "main, binding x_1: the constants differ"),
        (lambda: build(attrs={"num_input": 1}), "main: attributes {} and {'num_input': 1}"),
        (lambda: build(rank=3, axes=(1, 0, 2)), "main, parameter x: 2 and 3 entries"),
        (lambda: build(swap=True), "main, binding lv: variables x and y"),
    ],
)
def test_differences_have_a_place(other: Callable[[], rx.IRModule], difference: str) -> None:
    assert first_difference(build(), other()) == difference
    assert structural_hash(build()) != structural_hash(other())


def test_not_a_number_is_itself() -> None:
    assert structural_equal(build(constant=np.nan), build(constant=np.nan))
    assert structural_hash(build(constant=np.nan)) == structural_hash(build(constant=-np.nan))


def test_zeros_are_equal() -> None:
    assert structural_equal(build(constant=0.0), build(constant=-0.0))
    assert structural_hash(build(constant=0.0)) == structural_hash(build(constant=-0.0))


def test_modules_with_everything(everything: rx.IRModule, mlp: rx.IRModule) -> None:
    assert structural_equal(everything, everything)
    assert structural_equal(mlp, mlp)
    assert first_difference(everything, mlp) == "functions on one side only: relu, twice"
    assert structural_hash(everything) == structural_hash(rx.parse(everything.script()))
    assert structural_hash(everything) != structural_hash(mlp)


def test_hashes_are_the_same_in_every_process(everything: rx.IRModule) -> None:
    program = (
        "import sys; from relay2relax import relax_ir as rx; print(rx.structural_hash(rx.parse(sys.stdin.read())))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], input=everything.script(), capture_output=True, text=True, check=True
    )
    assert int(found.stdout) == structural_hash(everything)


def test_dimensions_keep_apart() -> None:
    n, m = tir.Var("n"), tir.Var("m")

    def function(*dims: tir.Var) -> rx.Function:
        params = tuple(Var(f"x{i}", TensorStructInfo((dim,), "float32")) for i, dim in enumerate(dims))
        return rx.Function(params, rx.SeqExpr((), params[0]), params[0].info)

    assert structural_equal(function(n, n), function(m, m))
    assert structural_equal(function(n, m), function(m, n))
    assert not structural_equal(function(n, m), function(n, n))
    assert not structural_equal(function(n, n), function(n, m))
    assert structural_hash(function(n, n)) == structural_hash(function(m, m))
    assert structural_hash(function(n, n)) != structural_hash(function(n, m))


def test_parts_of_programs() -> None:
    n, m, k = tir.Var("n"), tir.Var("m"), tir.Var("k")
    info, other = TensorStructInfo((n, n), "float32"), TensorStructInfo((m, m), "float32")
    assert structural_equal(info, info)
    assert not structural_equal(info, other)
    assert structural_equal(info, other, map_free_vars=True)
    assert not structural_equal(info, TensorStructInfo((m, k), "float32"), map_free_vars=True)
    assert not structural_equal(TensorStructInfo((m, k), "float32"), info, map_free_vars=True)
    assert structural_hash(info) == structural_hash(other)
    x, y, z = Var("x", info), Var("y", info), Var("z", other)
    twice, mixed = call_op("add", x, x), call_op("add", x, y)
    assert structural_equal(twice, call_op("add", x, x))
    assert first_difference(twice, call_op("add", y, y)) == "expression: variables x and y"
    assert structural_equal(twice, call_op("add", y, y), map_free_vars=True)
    assert structural_equal(twice, call_op("add", z, z), map_free_vars=True)
    assert not structural_equal(twice, mixed, map_free_vars=True)
    assert not structural_equal(mixed, twice, map_free_vars=True)
    branch = rx.If(x, rx.SeqExpr((), x), rx.SeqExpr((), y))
    assert structural_equal(branch, rx.If(x, rx.SeqExpr((), x), rx.SeqExpr((), y)))
    assert not structural_equal(branch, rx.If(x, rx.SeqExpr((), y), rx.SeqExpr((), x)))
    assert structural_hash(branch) == structural_hash(rx.If(x, rx.SeqExpr((), x), rx.SeqExpr((), y)))
    assert first_difference(x, info) == "a Var and a TensorStructInfo"
    own, same = (
        rx.Function((var,), rx.SeqExpr((), rx.Tuple((var, x))), rx.TupleStructInfo((var.info, info)))
        for var in (Var("a", TensorStructInfo((tir.Var("d"),), "int8")) for _ in range(2))
    )
    assert structural_equal(own, same)
    rx.assert_structural_equal(own, same)
    with pytest.raises(rx.DifferentError, match="expression: variables x and y"):
        rx.assert_structural_equal(twice, call_op("add", y, y))


def test_scalars_that_are_no_numbers() -> None:
    one, other = (rx.PrimValue(tir.FloatImm(float("nan"), "float32")) for _ in range(2))
    assert structural_equal(one, other)
    assert structural_hash(one) == structural_hash(other)


@pytest.mark.tvm
def test_tvm_agrees() -> None:
    import tvm

    from relay2relax.backends.tvm import to_tvm

    first = to_tvm(build())
    tvm.ir.assert_structural_equal(first, to_tvm(build("data", "batch")))
    for other in (build(operator="multiply"), build(swap=True)):
        with pytest.raises(ValueError, match="StructuralEqual"):
            tvm.ir.assert_structural_equal(first, to_tvm(other))
