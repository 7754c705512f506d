"""Modules made by hand, run by a real apache-tvm; expected values are numpy's."""

from __future__ import annotations

import tarfile
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_folder import load_module

from relay2relax import relax_ir as rx
from relay2relax.backends import tvm as tvm_backend
from relay2relax.core import tvm_installation as install
from relay2relax.core.errors import ExecutionError, FileError
from relay2relax.relax_ir import BlockBuilder, TensorStructInfo, Var, call_op
from relay2relax.tir import te
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc


def row_sums(n: tir.PrimExpr) -> PrimFunc:
    data = te.placeholder((n, 4), "float32", "data")
    axis = te.reduce_axis(4, "k")
    total = te.compute((n,), lambda i: te.sum(data[i, axis], axis), "total")
    doubled = te.compute((n, 4), lambda i, j: data[i, j] * 2.0, "doubled")
    return te.create_prim_func([data], [total, doubled], name="row_sums")


def dynamic_module() -> rx.IRModule:
    """Two results of one call_tir, operators, a tuple result, and names that are no identifiers."""
    n = tir.Var("n")
    data = Var("input.0", TensorStructInfo((n, 4), "float32"))
    bias = Var("onnx::Add_92", TensorStructInfo((4,), "float32"))
    bb = BlockBuilder()
    with bb.function("main", [data, bias], {"num_input": 1}):
        with bb.dataflow():
            shifted = bb.emit(call_op("add", data, bias), "class")
            out = (TensorStructInfo((n,), "float32"), TensorStructInfo((n, 4), "float32"))
            both = bb.emit(rx.CallTIR(bb.add_func(row_sums(n), "row_sums"), (shifted,), out))
            total = bb.emit(rx.TupleGetItem(both, 0))
            doubled = bb.emit_output(call_op("tanh", rx.TupleGetItem(both, 1)))
            total = bb.emit_output(total)
        bb.emit_func_output(rx.Tuple((total, rx.Tuple((doubled,)))))
    return bb.get()


def expected_of_dynamic(data: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shifted = data + bias
    return shifted.sum(1), np.tanh(shifted * 2)


def constant_module(constant: np.ndarray) -> rx.IRModule:
    bb = BlockBuilder()
    with bb.function("main"), bb.dataflow():
        result = bb.emit_output(rx.Constant(constant))
        bb.end_dataflow()
        bb.emit_func_output(result)
        bb.begin_dataflow()
    return bb.get()


@pytest.mark.tvm
def test_one_executable_serves_every_batch() -> None:
    executable = tvm_backend.build(dynamic_module())
    rng = np.random.default_rng(0)
    bias = rng.standard_normal(4, dtype=np.float32)
    for batch in (1, 3, 64):
        data = rng.standard_normal((batch, 4), dtype=np.float32)
        total, (doubled,) = executable["main"](data, bias)
        expected = expected_of_dynamic(data, bias)
        np.testing.assert_allclose(total, expected[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(doubled, expected[1], rtol=1e-5, atol=1e-6)


@pytest.mark.tvm
def test_the_same_script_as_a_python_file(tmp_path: Path) -> None:
    import tvm

    module = dynamic_module()
    loaded = load_file(tmp_path / "dynamic.py", rx.script_file(module))
    tvm.ir.assert_structural_equal(loaded.Module, tvm_backend.to_tvm(module))
    executable = tvm.compile(loaded.Module, target="llvm")
    data, bias = np.ones((2, 4), np.float32), np.zeros(4, np.float32)
    total, _ = tvm.relax.VirtualMachine(executable, tvm.cpu())["main"](data, bias)
    np.testing.assert_array_equal(total.numpy(), [4, 4])


def load_file(path: Path, text: str) -> Any:
    path.write_text(text)
    return load_module(f"script_{path.stem}", path)


CONSTANTS = [
    np.array(0.1, "float32"),
    np.array(-0.0, "float64"),
    np.array([1.5, np.inf, -np.inf, np.nan, 3.4028235e38, 1e-45, 0.1], "float32"),
    np.array([[1, 2], [-(2**63), 2**63 - 1]], "int64"),
    np.array([True, False]),
    np.array(True),
    np.array([[0.1], [65504.0]], "float16"),
    np.array([0, 255], "uint8"),
    np.array(7, "int32"),
]


@pytest.mark.tvm
@pytest.mark.parametrize("constant", CONSTANTS, ids=lambda c: f"{c.dtype}{list(c.shape)}")
def test_constants_reach_tvm_bit_by_bit(constant: np.ndarray, tmp_path: Path) -> None:
    import tvm

    module = constant_module(constant)
    result = tvm_backend.build(module)["main"]()
    assert result.dtype == constant.dtype
    assert result.tobytes() == constant.tobytes()
    # Through the text, where every element is written out.
    parsed = tvm.script.from_source(module.script())
    machine = tvm.relax.VirtualMachine(tvm.relax.build(parsed, target="llvm"), tvm.cpu())
    assert machine["main"]().numpy().tobytes() == constant.tobytes()


@pytest.mark.tvm
def test_branches_functions_shapes_and_match_cast() -> None:
    n, m = tir.Var("n"), tir.Var("m")
    flag = Var("flag", TensorStructInfo((), "bool"))
    data = Var("x", TensorStructInfo((n, 3), "float32"))
    unknown = Var("n", TensorStructInfo(None, "float32", 1))
    inner = Var("t", TensorStructInfo((m, 3), "float32"))
    bb = BlockBuilder()
    with bb.function("twice", [inner], private=True) as twice:
        bb.emit_func_output(call_op("add", inner, inner))
    with bb.function("main", [flag, data, unknown]):
        length = tir.Var("length")
        known = bb.match_cast(unknown, TensorStructInfo((length,), "float32"))
        bb.begin_sequence()
        then = bb.end_sequence(rx.Call(twice, (data,)))
        bb.begin_sequence()
        otherwise = bb.end_sequence(call_op("negative", data))
        chosen = bb.emit(rx.If(flag, then, otherwise), "chosen")
        squared = bb.emit(call_op("multiply", known, known))
        shape = bb.emit(rx.ShapeExpr((n * 2, n + length)))
        bb.emit_func_output(rx.Tuple((chosen, squared, shape)))
    main = tvm_backend.build(bb.get())["main"]
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([2, 3, 4], np.float32)
    for value, expected in ((True, x + x), (False, -x)):
        chosen_value, squared_value, shape_value = main(np.array(value), x, y)
        np.testing.assert_array_equal(chosen_value, expected)
        np.testing.assert_array_equal(squared_value, y * y)
        assert shape_value == (4, 5)


@pytest.mark.tvm
def test_scalar_conditions_and_kernels_without_inputs() -> None:
    n = tir.Var("n")
    data = Var("x", TensorStructInfo((n,), "float32"))
    iota = te.create_prim_func([], [te.compute((3,), lambda i: tir.cast("float32", i), "iota")], name="iota")
    bb = BlockBuilder()
    with bb.function("main", [data]):
        with bb.dataflow():
            bb.emit(call_op("negative", data))
        with bb.dataflow():
            info = TensorStructInfo((3,), "float32")
            numbers = bb.emit_output(rx.CallTIR(bb.add_func(iota), (), (info,)))
        bb.begin_sequence()
        then = bb.end_sequence(call_op("add", data, data))
        bb.begin_sequence()
        long = rx.PrimValue(tir.Binary(">", n, tir.IntImm(3)))
        chosen = bb.emit(rx.If(long, then, bb.end_sequence(data)))
        bb.emit_func_output(rx.Tuple((numbers, chosen)))
    main = tvm_backend.build(bb.get())["main"]
    for length, factor in ((3, 1), (4, 2)):
        ones = np.ones(length, np.float32)
        first, second = main(ones)
        np.testing.assert_array_equal(first, [0, 1, 2])
        np.testing.assert_array_equal(second, ones * factor)


@pytest.mark.tvm
def test_tuples_scalars_and_shapes_as_arguments() -> None:
    n = tir.Var("n")
    pair = Var("pair", rx.TupleStructInfo((TensorStructInfo((n,), "float32"), TensorStructInfo((n,), "float32"))))
    shape = Var("shape", rx.ShapeStructInfo((n, 2)))
    factor = tir.Var("factor")
    data = te.placeholder((n,), "float32", "data")
    out = te.compute((n,), lambda i: data[i] * tir.cast("float32", factor), "scaled")
    func = te.create_prim_func([data], [out], name="scaled")
    bb = BlockBuilder()
    with bb.function("main", [pair, shape]):
        with bb.dataflow():
            total = bb.emit(call_op("add", rx.TupleGetItem(pair, 0), rx.TupleGetItem(pair, 1)))
            info = (TensorStructInfo((n,), "float32"),)
            scaled = bb.emit_output(rx.CallTIR(bb.add_func(func), (total,), info, (n * 3,)))
        bb.emit_func_output(rx.Tuple((scaled, shape, rx.Tuple(()))))
    module = bb.get()
    rx.check_well_formed(module)
    ones = np.ones(4, np.float32)
    scaled_value, shape_value, empty = tvm_backend.build(module)["main"]((ones, ones), (4, 2))
    np.testing.assert_array_equal(scaled_value, ones * 24)
    assert (shape_value, empty) == ((4, 2), ())


@pytest.mark.tvm
def test_local_functions_are_lifted() -> None:
    n = tir.Var("n")
    data = Var("x", TensorStructInfo((n,), "float32"))
    local = Var("y", TensorStructInfo((n,), "float32"))
    bb = BlockBuilder()
    with bb.function("main", [data]):
        bb.begin_sequence()
        body = bb.end_sequence(call_op("add", local, data))
        closure = bb.emit(rx.Function((local,), body, local.info), "add_x")
        bb.emit_func_output(rx.Call(closure, (data,)))
    module = bb.get()
    rx.check_well_formed(module)
    ones = np.ones(3, np.float32)
    np.testing.assert_array_equal(tvm_backend.build(module)["main"](ones), ones * 2)


@pytest.mark.tvm
def test_arguments_that_do_not_fit_are_refused() -> None:
    main = tvm_backend.build(dynamic_module())["main"]
    with pytest.raises(ExecutionError, match="missing arguments: `onnx::Add_92`"):
        main(np.ones((2, 4), np.float32))
    with pytest.raises(ExecutionError, match=r"`input\.0` has shape \(2, 5\), expected \(n, 4\)"):
        main(np.ones((2, 5), np.float32), np.ones(4, np.float32))
    with pytest.raises(ExecutionError, match="the module has no function 'other'; it has: main"):
        tvm_backend.build(dynamic_module())["other"]


@pytest.mark.tvm
def test_what_tvm_refuses_is_our_error() -> None:
    bb = BlockBuilder()
    data = Var("x", TensorStructInfo((2,), "int32"))
    with bb.function("main", [data]):
        bb.emit_func_output(bb.emit(rx.Call(rx.ExternFunc("nobody.registered.this"), (data,)), info=data.info))
    module = rx.IRModule(
        {
            var: rx.Function(func.params, func.body, func.ret, func.attrs, pure=False)
            for var, func in bb.get().functions.items()
            if isinstance(func, rx.Function)
        }
    )
    rx.check_well_formed(module)
    with pytest.raises(tvm_backend.TvmError, match=r"nobody\.registered\.this"):
        tvm_backend.build(module)["main"](np.ones(2, np.int32))


@pytest.mark.tvm
def test_listing_and_saving(tmp_path: Path) -> None:
    executable = tvm_backend.build(dynamic_module())
    assert executable.stats().startswith("Relax VM executable statistics:")
    assert "@main:" in executable.as_text()
    executable.save(tmp_path / "model.tar")
    with tarfile.open(tmp_path / "model.tar") as archive:
        assert archive.getnames()
    executable.save(tmp_path / "model.tar")
    (tmp_path / "notes.tar").write_text("mine")
    with pytest.raises(FileError, match="would be written over"):
        executable.save(tmp_path / "notes.tar")


@pytest.mark.tvm
@pytest.mark.compiler
def test_a_saved_library_is_loaded(tmp_path: Path) -> None:
    import tvm

    path = tmp_path / "model.so"
    tvm_backend.build(dynamic_module()).save(path)
    machine = tvm.relax.VirtualMachine(tvm.runtime.load_module(str(path)), tvm.cpu())
    assert machine["main"] is not None


@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        ({}, "apache-tvm is not installed"),
        ({"apache-tvm": "0.18.0"}, "scripts are for 0.25, 0.26, 0.27"),
        ({"apache-tvm": "0.27.0"}, "apache-tvm-ffi is not installed"),
        ({"apache-tvm": "0.27.0", "apache-tvm-ffi": "0.1.15.post2"}, "needs >=0.1.14.post0,<0.1.15"),
        ({"apache-tvm": "0.27.0", "apache-tvm-ffi": "0.1.14"}, "needs >=0.1.14.post0,<0.1.15"),
        ({"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.14.post1"}, None),
        ({"apache-tvm": "0.26.0", "apache-tvm-ffi": "0.1.13.post1"}, "needs >=0.1.13.post2,<0.1.15"),
        ({"apache-tvm": "0.25.0", "apache-tvm-ffi": "0.1.12"}, None),
    ],
)
def test_pairs_of_packages(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], problem: str | None) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    found = install.installation_problem()
    assert (found is None) == (problem is None)
    if problem is not None:
        assert found is not None
        assert problem in found
