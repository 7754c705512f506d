"""The Relax virtual machine: programs written by hand, against numpy written here and TVM's
recorded listings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sweep import CHAIN
from typed import of_type

from relay2relax import backends, relax_ir, translator
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm.machine import BytecodeMachine
from relay2relax.core.errors import ExecutionError, UnsupportedError
from relay2relax.relax_ir.build.builder import BlockBuilder, call_op
from relay2relax.relax_ir.ir import expr as rx
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.tir import te
from relay2relax.tir.ir.expr import Var, maximum
from relay2relax.tir.ir.stmt import PrimFunc

RANDOM = np.random.default_rng(11)
TARGETS = ["numpy", pytest.param("c", marks=pytest.mark.compiler)]


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def tensor(*shape: Any, dtype: str = "float32") -> TensorStructInfo:
    return TensorStructInfo(tuple(shape), dtype)


def matmul(rows: Any, inner: int, columns: int, name: str) -> PrimFunc:
    a, b = te.placeholder((rows, inner), name="A"), te.placeholder((inner, columns), name="B")
    k = te.reduce_axis(inner)
    out = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "C")
    return te.create_prim_func([a, b], [out], name=name)


def relu(rows: Any, columns: int, name: str) -> PrimFunc:
    a = te.placeholder((rows, columns), name="A")
    return te.create_prim_func([a], [te.compute((rows, columns), lambda i, j: maximum(a[i, j], 0.0), "R")], name=name)


def mlp() -> rx.IRModule:
    """Two layers over a symbolic number of rows."""
    n, m = Var("n"), Var("n")
    x, v, w = rx.Var("x", tensor(n, 20)), rx.Var("v", tensor(20, 30)), rx.Var("w", tensor(30, 7))
    bb = BlockBuilder()
    first, second, positive = (
        bb.add_func(f, f.name) for f in (matmul(m, 20, 30, "first"), matmul(m, 30, 7, "second"), relu(m, 30, "relu"))
    )
    with bb.function("main", [x, v, w]):
        with bb.dataflow():
            h = bb.emit(rx.CallTIR(first, (x, v), (tensor(n, 30),)))
            h = bb.emit(rx.CallTIR(positive, (h,), (tensor(n, 30),)))
            out = bb.emit_output(rx.CallTIR(second, (h, w), (tensor(n, 7),)))
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.parametrize("target", TARGETS)
def test_one_executable_serves_every_batch(target: str) -> None:
    vm = backends.VirtualMachine(backends.build(mlp(), target=target))
    v, w = normal(20, 30), normal(30, 7)
    for batch in (1, 3, 64, 0):
        x = normal(batch, 20)
        result = vm["main"](x, v, w)
        np.testing.assert_allclose(result, np.maximum(x @ v, 0) @ w, rtol=1e-4, atol=1e-4)
        assert result.dtype == np.float32


def test_arguments_go_by_name_and_take_the_parameters_dtype() -> None:
    vm = backends.VirtualMachine(backends.build(mlp()))
    x, v, w = normal(2, 20), normal(20, 30), normal(30, 7)
    expected = vm["main"](x, v, w)
    assert (vm["main"](x, w=w, v=v) == expected).all()
    assert vm["main"](x.astype(np.float64), v.tolist(), w).dtype == np.float32
    torch = pytest.importorskip("torch")
    assert (vm["main"](torch.tensor(x), v, w) == expected).all()
    with pytest.raises(ExecutionError, match=r"main \(x, v, w\): missing arguments: w"):
        vm["main"](x, v)
    with pytest.raises(ExecutionError, match="given: 3 by position, 'u'"):
        vm["main"](x, v, w, u=1)
    with pytest.raises(ExecutionError, match="no function 'other'; it has: main"):
        vm["other"]


def test_shapes_are_checked_with_names() -> None:
    vm = backends.VirtualMachine(backends.build(mlp()))
    with pytest.raises(ExecutionError, match=r"dimension 0 is 21, expected 20; the shape is \(21, 30\)") as caught:
        vm["main"](normal(2, 20), normal(21, 30), normal(30, 7))
    assert 'fn=main, loc=param[1], param=v, annotation=R.Tensor((20, 30), dtype="float32")' in str(caught.value)
    with pytest.raises(ExecutionError, match=r"expected a tensor of 2 dimensions, found shape \(20,\)"):
        vm["main"](normal(20), normal(20, 30), normal(30, 7))
    with pytest.raises(ExecutionError, match="expected a tensor, found tuple"):
        vm["main"]((normal(2, 20),), normal(20, 30), normal(30, 7))


def test_an_extent_that_two_parameters_share_must_agree() -> None:
    n = Var("n")
    x, y = rx.Var("x", tensor(n)), rx.Var("y", tensor(n * 2))
    bb = BlockBuilder()
    with bb.function("main", [x, y]):
        bb.emit_func_output(y)
    vm = backends.VirtualMachine(backends.build(bb.get()))
    assert vm["main"](normal(2), normal(4)).shape == (4,)
    with pytest.raises(ExecutionError, match=r"dimension 0 is 5, expected 4; the shape is \(5,\)"):
        vm["main"](normal(2), normal(5))


@pytest.mark.parametrize("target", TARGETS)
def test_results_share_no_memory_with_arguments(target: str) -> None:
    x = rx.Var("x", tensor(2, 3))
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            flat = bb.emit_output(call_op("reshape", x, rx.ShapeExpr((6,))))
            turned = bb.emit_output(call_op("permute_dims", x, axes=(1, 0)))
        bb.emit_func_output(rx.Tuple((x, flat, flat, turned)))
    vm = backends.VirtualMachine(backends.build(bb.get(), target=target))
    data = normal(2, 3)
    before = data.copy()
    results = vm["main"](data)
    assert [r.tolist() for r in results] == [
        before.tolist(), before.ravel().tolist(), before.ravel().tolist(), before.T.tolist()
    ]  # fmt: skip
    for result in results:
        result[...] = 0
        assert (data == before).all()
    assert not np.shares_memory(results[1], results[2])


@pytest.mark.parametrize("target", TARGETS)
def test_branches_and_recursion(target: str) -> None:
    """Halve until below one: a hundred thousand calls deep would be too much for Python's stack,
    not for ours.
    """
    info, flag = tensor(), tensor(dtype="bool")
    a = te.placeholder((), name="A")
    less = te.create_prim_func([a], [te.compute((), lambda: a() < 1.0, "L")], name="less")
    down = te.create_prim_func([a], [te.compute((), lambda: a() - 1.0, "D")], name="down")
    bb = BlockBuilder()
    smaller, step = bb.add_func(less, "less"), bb.add_func(down, "down")
    x = rx.Var("x", info)
    main = rx.GlobalVar("main")
    test, merged = rx.Var("test", flag), rx.Var("merged", info)
    stop = rx.SeqExpr((), x)
    next_, result = rx.Var("next", info), rx.Var("result", info)
    again = rx.SeqExpr(
        (rx.BindingBlock((
            rx.Binding(next_, rx.CallTIR(step, (x,), (info,))),
            rx.Binding(result, rx.Call(main, (next_,))),
        )),),
        result,
    )  # fmt: skip
    body = rx.SeqExpr(
        (rx.BindingBlock((
            rx.Binding(test, rx.CallTIR(smaller, (x,), (flag,))),
            rx.Binding(merged, rx.If(test, stop, again)),
        )),),
        merged,
    )  # fmt: skip
    module = rx.IRModule({main: rx.Function((x,), body, info), smaller: less, step: down})
    executable = backends.build(module, target=target)
    listing = executable.as_text()
    assert "  call  vm.builtin.read_if_cond in: %" in listing
    assert "  If    %" in listing
    assert "  goto  " in listing
    assert float(backends.VirtualMachine(executable)["main"](np.float32(5000.25))) == 0.25


def test_closures_capture_trailing_parameters() -> None:
    info = tensor(3)
    x, y, inner = rx.Var("x", info), rx.Var("y", info), rx.Var("a", info)
    total = rx.Var("total", info)
    body = rx.SeqExpr((rx.BindingBlock((rx.Binding(total, call_op("subtract", inner, y)),)),), total)
    func = rx.Function((inner,), body, info)
    f, out = rx.Var("f", FuncStructInfo((info,), info)), rx.Var("out", info)
    blocks = (rx.BindingBlock((rx.Binding(f, func), rx.Binding(out, rx.Call(f, (x,))))),)
    module = rx.IRModule({rx.GlobalVar("main"): rx.Function((x, y), rx.SeqExpr(blocks, out), info)})
    a, b = normal(3), normal(3)
    executable = backends.build(module)
    assert (backends.VirtualMachine(executable)["main"](a, b) == a - b).all()
    assert "vm.builtin.make_closure in: f[main_f], %1" in executable.as_text()
    assert "vm.builtin.invoke_closure in: %vm, %2, %0" in executable.as_text()


def test_match_cast_defines_its_extents() -> None:
    n = Var("n")
    x = rx.Var("x", TensorStructInfo(None, "float32", 2))
    y = rx.Var("y", tensor(n, 3))
    out = rx.Var("out", tensor(n * 3))
    blocks = (
        rx.BindingBlock((
            rx.MatchCast(y, x, tensor(n, 3)),
            rx.Binding(out, call_op("reshape", y, rx.ShapeExpr((n * 3,)))),
        )),
    )  # fmt: skip
    module = rx.IRModule({rx.GlobalVar("main"): rx.Function((x,), rx.SeqExpr(blocks, out), tensor(n * 3))})
    vm = backends.VirtualMachine(backends.build(module))
    data = normal(4, 3)
    assert (vm["main"](data) == data.ravel()).all()
    with pytest.raises(ExecutionError, match="dimension 1 is 2, expected 3"):
        vm["main"](normal(4, 2))


def test_shapes_tuples_and_numbers_are_arguments() -> None:
    n = Var("n")
    s = rx.Var("s", ShapeStructInfo((n, 2)))
    t = rx.Var("t", TupleStructInfo((tensor(n), tensor(2))))
    p = rx.Var("p", PrimStructInfo("int64", n))
    module = rx.IRModule(
        {
            rx.GlobalVar("main"): rx.Function(
                (s, t, p), rx.SeqExpr((), rx.Tuple((t, s))), TupleStructInfo((t.info, s.info))
            )
        }
    )
    vm = backends.VirtualMachine(backends.build(module))
    pair, shape = vm["main"](ShapeTuple((3, 2)), [normal(3), normal(2)], 3)
    assert shape == (3, 2)
    assert [one.shape for one in pair] == [(3,), (2,)]
    with pytest.raises(ExecutionError, match="dimension 0 is 3, expected 4"):
        vm["main"](ShapeTuple((3, 2)), (normal(3), normal(2)), 4)
    for row in ((3, 2), [np.int32(3), 2], np.array([3, 2])):
        assert vm["main"](row, (normal(3), normal(2)), 3)[1] == (3, 2)
    with pytest.raises(ExecutionError, match="expected a shape, found tuple"):
        vm["main"]((3.5, 2), (normal(3), normal(2)), 3)
    with pytest.raises(ExecutionError, match="expected a tuple of 2 fields, found 1"):
        vm["main"](ShapeTuple((3, 2)), (normal(3),), 3)


def test_registered_functions_fill_their_last_argument() -> None:
    info = tensor(2, 3)
    x, out = rx.Var("x", info), rx.Var("out", info)
    blocks = (rx.BindingBlock((rx.Binding(out, rx.CallDPSPacked("test.double", (x,), (info,))),), dataflow=True),)
    module = rx.IRModule({rx.GlobalVar("main"): rx.Function((x,), rx.SeqExpr(blocks, out), info)})
    executable = backends.build(module)
    with pytest.raises(ExecutionError, match=r"no function 'test\.double' is registered"):
        backends.VirtualMachine(executable)

    @backends.register_func("test.double", override=True)
    def double(a: np.ndarray, result: np.ndarray) -> None:
        np.multiply(np.from_dlpack(a), 2, out=result)

    data = normal(2, 3)
    assert (backends.VirtualMachine(executable)["main"](data) == data * 2).all()
    with pytest.raises(ExecutionError, match=r"'test\.double' is registered already"):
        backends.register_func("test.double")(double)


def test_storage_is_reused_and_never_seen() -> None:
    """A chain of kernels needs two storages; what is returned has one of its own."""
    info = tensor(4, 4)
    bb = BlockBuilder()
    x = rx.Var("x", info)
    positive = bb.add_func(relu(4, 4, "relu"), "relu")
    with bb.function("main", [x]):
        with bb.dataflow():
            value: rx.Expr = x
            for _ in range(6):
                value = bb.emit(rx.CallTIR(positive, (value,), (info,)))
            out = bb.emit_output(value)
        bb.emit_func_output(out)
    executable = backends.build(bb.get())
    assert executable.as_text().count("vm.builtin.alloc_storage in") == 3
    data = normal(4, 4)
    assert (backends.VirtualMachine(executable)["main"](data) == np.maximum(data, 0)).all()


def test_a_long_chain_is_compiled_and_run_without_recursion() -> None:
    info = tensor(2)
    x = rx.Var("x", info)
    bindings, value = [], x
    call = call_op("add", x, x)
    for number in range(CHAIN):
        var = rx.Var(f"lv{number}", info, dataflow=True)
        bindings.append(rx.Binding(var, rx.Call(call.op, (value, x), call.attrs)))
        value = var
    body = rx.SeqExpr((rx.BindingBlock(tuple(bindings), dataflow=True),), value)
    module = rx.IRModule({rx.GlobalVar("main"): rx.Function((x,), body, info)})
    result = backends.VirtualMachine(backends.build(module))["main"](np.ones(2, np.float32))
    assert result.tolist() == [CHAIN + 1, CHAIN + 1]


def test_unknown_targets_and_extents_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="no target 'gpu'; there are: numpy, c, tvm"):
        backends.build(mlp(), target="gpu")
    n, m = Var("n"), Var("m")
    x = rx.Var("x", tensor(n))
    bb = BlockBuilder()
    kernel = bb.add_func(relu(m, 3, "relu"), "relu")
    out = rx.Var("out", tensor(m, 3))
    blocks = (rx.BindingBlock((rx.Binding(out, rx.CallTIR(kernel, (x,), (tensor(m, 3),))),)),)
    module = rx.IRModule({
        rx.GlobalVar("main"): rx.Function((x,), rx.SeqExpr(blocks, out), tensor(m, 3)), kernel: relu(m, 3, "relu"),
    })  # fmt: skip
    with pytest.raises(UnsupportedError, match="the value of the symbolic extent 'm'"):
        backends.build(module)


@pytest.mark.golden
@pytest.mark.parametrize("name", ["mlp", "mlp_dynamic_batch"])
def test_listing_is_the_one_that_tvm_records(name: str, get_model_case: Any) -> None:
    from relay2relax import relay_ir

    case = get_model_case(name)
    module = translator.lower_to_tir(relay_ir.infer_type(relay_ir.parse(case.text)))
    executable = backends.build(module)
    recorded = (case.folder.parent.parent / "relax_classic" / f"{name}.vm.txt").read_text()
    assert (executable.stats() + "\n" + executable.as_text()).rstrip() == recorded.rstrip()


@pytest.mark.golden
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["mlp", "lstm_relay", "bert_tiny", "dqn", "unet"])
@pytest.mark.sweep(every=2)
def test_models_reproduce_the_recorded_results(name: str, target: str, get_model_case: Any) -> None:
    from relay2relax import relay_ir
    from relay2relax.core.tolerance import LONGEST_CHAIN, difference

    case = get_model_case(name)
    module = translator.lower_to_tir(relay_ir.infer_type(relay_ir.parse(case.text)))
    result = backends.VirtualMachine(backends.build(module, target=target))["main"](*case.arguments())
    results = result if isinstance(result, tuple) else (result,)
    for actual, expected in zip(results, case.expected(), strict=True):
        found = difference(actual, expected, LONGEST_CHAIN)
        assert found.agrees, found.reason


def test_extents_are_computed_before_the_branches_that_ask_for_them() -> None:
    """An extent that both branches need, and one that a match_cast inside a branch names."""
    script = """
@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), dtype="bool"), x: R.Tensor(("n",), dtype="float32"), s: R.Tensor((1,), dtype="int64")):
        n = T.int64()
        m = T.int64()
        if c:
            h: R.Shape(ndim=1) = R.tensor_to_shape(s)
            k = R.match_cast(h, R.Shape([m]))
            a = R.zeros(R.shape([m, n * 2]), dtype="float32")
            r = R.sum(a, axis=[0])
        else:
            b = R.ones(R.shape([n * 2]), dtype="float32")
            r = R.add(b, b)
        return r
"""
    machine = backends.VirtualMachine(backends.build(relax_ir.parse(script)))
    x, s = np.zeros(3, "float32"), np.array([4], "int64")
    np.testing.assert_array_equal(machine["main"](np.array(True), x, s), np.zeros(6, "float32"))
    np.testing.assert_array_equal(machine["main"](np.array(False), x, s), np.full(6, 2, "float32"))


def test_a_call_in_tail_position_takes_its_callers_frame() -> None:
    script = """
@I.ir_module
class Module:
    @R.function
    def loop(i: R.Tensor((), dtype="int32")) -> R.Tensor((), dtype="int32"):
        cls = Module
        c: R.Tensor((), dtype="bool") = R.less(i, R.const(100000, "int32"))
        if c:
            j: R.Tensor((), dtype="int32") = R.add(i, R.const(1, "int32"))
            r: R.Tensor((), dtype="int32") = cls.loop(j)
        else:
            r: R.Tensor((), dtype="int32") = i
        return r
"""
    machine = backends.VirtualMachine(backends.build(relax_ir.parse(script)))
    inner = of_type(machine._machine, BytecodeMachine)
    assert machine["loop"](np.array(99_000, "int32")) == 100_000
    kinds = [step[0] for function in inner._functions if function is not None for step in function.steps]
    assert kinds.count(5) == 1
    assert kinds.count(1) == 0


@pytest.mark.tvm
@pytest.mark.parametrize("target", [*TARGETS, "tvm"])
def test_closures_as_tvm_writes_them_after_lifting(target: str) -> None:
    """The captured values are the last parameters of the lifted function."""
    module = relax_ir.parse("""
@I.ir_module
class Module:
    @R.function(private=True)
    def lifted(y: R.Tensor((2,), "float32"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        s: R.Tensor((2,), dtype="float32") = R.add(R.add(y, y), x)
        return s

    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), y: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        inner: R.Object = R.make_closure(cls.lifted, (x,))
        z: R.Tensor((2,), dtype="float32") = R.invoke_pure_closure(inner, (y,), ty_args=R.Tensor((2,), dtype="float32"))
        return z
""")
    x, y = normal(2), normal(2)
    result = backends.VirtualMachine(backends.build(module, target=target))["main"](x, y)
    np.testing.assert_allclose(result, 2 * y + x, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_function_says_of_its_result_is_checked(target: str) -> None:
    """Inference knows nothing of ``y``; the function does."""
    machine = backends.VirtualMachine(
        backends.build(
            relax_ir.parse("""
@R.function
def main(x: R.Tensor(("n", "m"), dtype="int32"), y: R.Object) -> R.Tensor(("m", "n")):
    return y
"""),
            target,
        )
    )
    x = np.zeros((1, 2), "int32")
    assert machine["main"](x, np.zeros((2, 1), "float32")).shape == (2, 1)
    with pytest.raises(ExecutionError, match=r"dimension 0 is 1, expected 2(.|\n)*fn=main, loc=return"):
        machine["main"](x, x)
    with pytest.raises(ExecutionError, match="expected a tensor of 2 dimensions, found shape"):
        machine["main"](x, np.zeros((2, 1, 1), "float32"))


def test_extents_of_a_result_are_computed() -> None:
    machine = backends.VirtualMachine(
        backends.build(
            relax_ir.parse("""
@R.function
def main(x: R.Tensor(dtype="float32")) -> R.Shape(ndim=2):
    n, m = T.int64(), T.int64()
    y = R.match_cast(x, R.Tensor((n, m), "float32"))
    return R.shape([n * 2, m * 3])
""")
        )
    )
    assert tuple(machine["main"](np.zeros((2, 3), "float32"))) == (4, 9)
