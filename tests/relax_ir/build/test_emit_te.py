"""Tensor expressions emitted by the builder: the same module as TVM's builder makes, and the same
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relax_ir import BlockBuilder, BuilderError, PrimStructInfo, ShapeStructInfo, TensorStructInfo, Var
from relay2relax.tir import te
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc

# Parameters by name: extents and dtype, or the dtype of a scalar.
Params = dict[str, Any]
# ``build(builder, parameters, te module)`` builds the function ``main``, here and in TVM.
Build = Callable[[Any, Sequence[Any], Any], None]


def ours(params: Params, build: Build) -> rx.IRModule:
    dims: dict[str, tir.Var] = {}
    variables = []
    for name, said in params.items():
        if isinstance(said, str):
            variables.append(Var(name, PrimStructInfo(said)))
            continue
        shape = tuple(dims.setdefault(d, tir.Var(d)) if isinstance(d, str) else d for d in said[0])
        info = ShapeStructInfo(shape) if said[1] == "shape" else TensorStructInfo(shape, said[1])
        variables.append(Var(name, info))
    bb = BlockBuilder()
    build(bb, variables, te)
    rx.check_well_formed(bb.get())
    return bb.get()


def theirs(params: Params, build: Build) -> Any:
    import tvm
    from tvm import relax, tirx

    dims: dict[str, Any] = {}
    variables = []
    for name, said in params.items():
        if isinstance(said, str):
            variables.append(relax.Var(name, tvm.ir.PrimType(said)))
            continue
        shape = [dims.setdefault(d, tirx.Var(d, "int64")) if isinstance(d, str) else d for d in said[0]]
        variables.append(
            relax.Var(name, relax.ShapeType(shape) if said[1] == "shape" else relax.TensorType(shape, said[1]))
        )
    bb = relax.BlockBuilder()
    build(bb, variables, tvm.te)
    return bb.get()


def nested_arguments(bb: Any, params: Sequence[Any], te: Any) -> None:
    x, y, z = params

    def difference(args: Any, others: Any, word: str) -> Any:
        assert word == "hello"
        a, b = args
        total = te.compute((128, 128), lambda i, j: a[i, j] + b[i, j], "total")
        return te.compute((128, 128), lambda i, j: total[i, j] - others["C"][i, j], "out")

    with bb.function("main", [x, y, z]):
        bb.emit_func_output(bb.emit_te(difference, [x, y], {"C": z}, word="hello"))


def shared_programs(bb: Any, params: Sequence[Any], te: Any) -> None:
    x, y, z = params

    def add_one(a: Any) -> Any:
        return te.compute((128, 128), lambda i, j: a[i, j] + 1.0, "out")

    with bb.function("main", [x, y, z]):
        with bb.dataflow():
            bb.emit_te(add_one, x)
            bb.emit_te(add_one, y)
            out = bb.emit_output(bb.call_te(add_one, z))
        bb.emit_func_output(out)


def offset(bb: Any, params: Sequence[Any], te: Any) -> None:
    x, scalar = params

    def shifted(a: Any, by: Any) -> Any:
        return te.compute(a.shape, lambda i: a[i] * by, "out")

    with bb.function("main", [x, scalar]):
        bb.emit_func_output(bb.emit_te(shifted, x, scalar, primfunc_name_hint="named"))


def scalar_in_between(bb: Any, params: Sequence[Any], te: Any) -> None:
    def scaled(a: Any, scale: Any, b: Any) -> Any:
        return te.compute([16], lambda i: a[i] * scale + b[i], "out")

    with bb.function("main", params):
        bb.emit_func_output(bb.emit_te(scaled, *params, primfunc_attrs={"op_pattern": 8}))


def several_results(bb: Any, params: Sequence[Any], te: Any) -> None:
    def both(a: Any) -> Any:
        first = te.compute((4,), lambda i: a[i] + 1.0, "first")
        return first, te.compute((4,), lambda i: first[i] * 2.0, "second")

    with bb.function("main", params):
        pair = bb.emit_te(both, *params)
        bb.emit_func_output([pair, (params[0], pair)])


CASES: list[tuple[Params, Build]] = [
    ({"x": (("n", "m"), "float32"), "y": (("n", "m"), "float32"), "z": (("n", "m"), "float32")}, nested_arguments),
    ({"x": (("n", "m"), "float32"), "y": (("n", "m"), "float32"), "z": ((128, "m"), "float32")}, shared_programs),
    ({"x": (("n",), "float32"), "k": "float32"}, offset),
    ({"a": ((16,), "float32"), "k": "float32", "b": ((16,), "float32")}, scalar_in_between),
    ({"a": ((4,), "float32")}, several_results),
]


@pytest.mark.tvm
@pytest.mark.parametrize(("params", "build"), CASES, ids=[case[1].__name__ for case in CASES])
def test_the_module_that_tvm_builds(params: Params, build: Build) -> None:
    import tvm

    tvm.ir.assert_structural_equal(rx.to_tvm(ours(params, build)), theirs(params, build), map_free_vars=True)


def test_equal_programs_are_one() -> None:
    mod = ours(*CASES[1])
    assert [var.name for var, func in mod.functions.items() if isinstance(func, PrimFunc)] == ["add_one", "add_one1"]


def test_numbers() -> None:
    a, b = np.arange(16, dtype="float32"), np.ones(16, "float32")
    mod = ours(*CASES[3])
    kernel = mod["scaled"]
    assert isinstance(kernel, PrimFunc)
    assert dict(kernel.attrs) == {"op_pattern": 8}
    for target in ("numpy", "c"):
        machine = backends.VirtualMachine(backends.build(mod, target))
        np.testing.assert_array_equal(machine["main"](a, np.float32(3), b), a * 3 + b)


def test_dimensions_are_passed_where_no_tensor_tells_them() -> None:
    n, m = tir.Var("n"), tir.Var("m")
    x, s = Var("x", TensorStructInfo((n,), "float32")), Var("s", ShapeStructInfo((m,)))
    bb = BlockBuilder()
    with bb.function("main", [x, s]):
        row = bb.emit_te(lambda a, shape: te.compute(shape, lambda i: a[i], "out"), x, s, primfunc_name_hint="begin")
        value = bb.emit_te(lambda a, k: te.compute((4,), lambda i: a[i + k], "out"), x, m * 2, primfunc_name_hint="at")
        bb.emit_func_output((row, value))
    first_call, second_call = (bb.lookup_binding(var) for var in (row, value))
    assert isinstance(first_call, rx.CallTIR)
    assert first_call.tir_args == ()  # the result's shape tells it
    assert isinstance(second_call, rx.CallTIR)
    assert second_call.tir_args == (m,)
    assert row.info == TensorStructInfo((m,), "float32")
    rx.check_well_formed(bb.get())
    machine = backends.VirtualMachine(backends.build(bb.get(), "numpy"))
    first, second = machine["main"](np.arange(10, dtype="float32"), (3,))
    np.testing.assert_array_equal(first, [0, 1, 2])
    np.testing.assert_array_equal(second, [6, 7, 8, 9])


def test_what_tensor_expressions_do_not_take() -> None:
    bb = BlockBuilder()
    unknown = Var("x", TensorStructInfo(None, "float32", 2))
    with pytest.raises(rx.StructInfoError, match=r"x is R\.Tensor\(dtype=\"float32\", ndim=2\)"):
        bb.call_te(lambda a: a, unknown)
    with pytest.raises(Relay2RelaxError, match="returns 3, expected one tensor or several"):
        bb.call_te(lambda: 3, primfunc_name_hint="three")
    count = Var("k", PrimStructInfo("int64"))
    with pytest.raises(rx.StructInfoError, match="the result of row has the extent k"):
        bb.call_te(lambda k: te.compute((k,), lambda i: i, "out"), count, primfunc_name_hint="row")


def test_functions_that_are_there() -> None:
    mod = ours(*CASES[4])
    bb = BlockBuilder(mod)
    assert rx.structural_equal(bb.get(), mod)
    both = mod.get_global_var("both")
    bb.update_func(both, ours(*CASES[1])["add_one"])
    assert bb.get()["both"] is not mod["both"]
    with pytest.raises(BuilderError, match="no function 'other'"):
        bb.update_func(rx.GlobalVar("other"), mod["both"])
    assert bb.get_unique_name("both") == "both1"
    local = rx.Function((), rx.SeqExpr((), rx.Constant(np.ones(1))), TensorStructInfo((1,), "float64"), private=True)
    again = rx.Function((), rx.SeqExpr((), rx.Constant(np.ones(1))), TensorStructInfo((1,), "float64"), private=True)
    assert bb.add_func(local, "local") is bb.add_func(again, "other")


def test_a_function_that_fails_is_not_begun() -> None:
    x = Var("x", TensorStructInfo((2,), "float32"))
    bb = BlockBuilder()
    with pytest.raises(BuilderError, match="main has no result"), bb.function("main", [x]):
        bb.emit(x)
    with bb.function("other", [x]):
        bb.emit_func_output(x)
        with pytest.raises(BuilderError, match="emit_func_output is called twice in other"):
            bb.emit_func_output(x)
    with pytest.raises(BuilderError, match="given its parameters when it began"), bb.function("main", [x]):
        bb.emit_func_output(x, [x])
    with pytest.raises(ZeroDivisionError), bb.function("main", [x]), bb.dataflow():
        raise ZeroDivisionError
    assert [var.name for var in bb.get().functions] == ["other"]
    with bb.function("main"):
        assert bb.emit_func_output(x, params=[x]).name == "main"
    again = BlockBuilder(bb.get())
    with pytest.raises(ZeroDivisionError), again.function("main", [x]):
        raise ZeroDivisionError
    assert rx.structural_equal(again.get(), bb.get())


def test_private_functions_of_one_name() -> None:
    x = Var("x", TensorStructInfo((2,), "float32"))
    bb = BlockBuilder()
    for _ in range(2):
        with bb.function("part", [x], private=True):
            bb.emit_func_output(x)
    with pytest.raises(BuilderError, match="has a function 'part' already"):
        bb.begin_function("part", [x])
    assert [var.name for var in bb.get().functions] == ["part", "part1"]


def test_bindings_by_themselves() -> None:
    x = Var("x", TensorStructInfo((2,), "float32"))
    bb = BlockBuilder()
    bb.begin_sequence()
    plain = bb.emit(rx.call_op("negative", x))
    with bb.dataflow():
        inner = bb.emit(rx.call_op("negative", plain))
        out = bb.emit_output((inner, [x]))
    cast = bb.match_cast(out, out.info)
    bb.emit_normalized(rx.Binding(Var("z", x.info), x))
    seq = bb.end_sequence(cast)
    assert [one.dataflow for one in seq.blocks] == [False, True, False]
    assert bb.lookup_binding(cast) is out
    assert bb.lookup_binding(x) is None
    with pytest.raises(BuilderError, match="end_sequence without"):
        bb.end_sequence(x)
