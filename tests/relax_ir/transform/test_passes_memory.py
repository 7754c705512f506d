"""Memory passes: what TVM's passes of the same names make, and the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.relax_ir.inference.memory import AllocStorage, PlaceTensor, read_memory_call
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.transform import (
    CallTIRRewrite,
    KillAfterLastUse,
    LegalizeOps,
    LowerAllocTensor,
    RewriteDataflowReshape,
    StaticPlanBlockMemory,
)

RANDOM = np.random.default_rng(7)
PASSES = (RewriteDataflowReshape(), CallTIRRewrite(), StaticPlanBlockMemory(), LowerAllocTensor(), KillAfterLastUse())

CASES = {
    "a chain": """
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.negative(a)
            c = R.exp(b)
            d = R.negative(c)
            R.output(d)
        return d
""",
    "dtypes and sizes": """
    def main(x: R.Tensor((2, 30), dtype="float32")) -> R.Tensor((2, 30), dtype="float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.astype(a, "float64")
            c = R.exp(b)
            d = R.astype(c, "float32")
            e = R.sum(d, axis=[1])
            f = R.exp(e)
            g = R.expand_dims(f, axis=[1])
            h = R.multiply(g, x)
            R.output(h)
        return h
""",
    "several results, and reshapes": """
    def main(x: R.Tensor((2, 6), dtype="float32")) -> R.Tensor((3, 2), dtype="float32"):
        with R.dataflow():
            s = R.split(x, 2, axis=1)
            a = s[0]
            b = R.add(a, a)
            d = s[1]
            e = R.add(b, d)
            f = R.reshape(e, R.shape([3, 2]))
            g = R.exp(f)
            h = R.add(g, g)
            R.output(h)
        return h
""",
    "symbolic sizes": """
    def main(x: R.Tensor(("n", 8), dtype="float32")) -> R.Tensor(("n", 8), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.reshape(a, R.shape([n, 2, 4]))
            c = R.negative(b)
            d = R.exp(c)
            e = R.sum(d, axis=[2])
            f = R.expand_dims(e, axis=[2])
            g = R.add(d, f)
            h = R.reshape(g, R.shape([n, 8]))
            i = R.exp(h)
            R.output(i)
        return i
""",
    "upper bounds": """
    def main(x: R.Tensor(("n", 8), dtype="float32")) -> R.Tensor(("n", 8), dtype="float32"):
        n = T.int64()
        R.func_attr({"tir_var_upper_bound": {"n": 16}})
        with R.dataflow():
            a = R.exp(x)
            b = R.negative(a)
            c = R.exp(b)
            d = R.negative(c)
            R.output(d)
        return d
""",
}


def parse(body: str) -> rx.IRModule:
    return rx.parse(f"@I.ir_module\nclass Module:\n    @R.function{body}")


def values(mod: rx.IRModule) -> list[rx.Expr]:
    main = mod["main"]
    assert isinstance(main, rx.Function)
    return [binding.value for seq in all_sequences([main.body]) for binding in bindings(seq)]


def storages(mod: rx.IRModule) -> list[AllocStorage]:
    return [call for value in values(mod) if isinstance(call := read_memory_call(value), AllocStorage)]


@pytest.mark.tvm
@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("name", CASES)
def test_memory_is_planned_as_by_tvm(name: str) -> None:
    from tvm import relax

    ours = LegalizeOps()(parse(CASES[name]))
    theirs = rx.to_tvm(ours)
    for step in (relax.transform.RewriteDataflowReshape, relax.transform.ToNonDataflow):
        theirs = step()(theirs)
    theirs = relax.transform.RemovePurityChecking()(theirs)
    for step in PASSES[1:]:
        theirs = getattr(relax.transform, type(step).__name__)()(theirs)
    for step in PASSES:
        ours = step(ours)
        rx.check_well_formed(ours)
        # What is printed is read by us, and by TVM.
        assert rx.structural_equal(rx.parse(ours.script()), ours)
        rx.to_tvm(ours)
    expected = rx.from_tvm(theirs)
    found = [(type(call), call) for value in values(ours) if (call := read_memory_call(value)) is not None]
    wanted = [(type(call), call) for value in values(expected) if (call := read_memory_call(value)) is not None]
    assert [kind for kind, _ in found] == [kind for kind, _ in wanted]
    for (_, mine), (_, other) in zip(found, wanted, strict=True):
        match mine, other:
            case AllocStorage(size, dtype), AllocStorage(other_size, other_dtype):
                assert dtype == other_dtype
                assert size == other_size or not isinstance(size, int)
            case PlaceTensor(_, offset, shape, dtype), PlaceTensor(_, other_offset, other_shape, other_dtype):
                assert (offset, len(shape), dtype) == (other_offset, len(other_shape), other_dtype)


@pytest.mark.tvm
@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("name", CASES)
def test_planned_memory_holds_the_same_numbers(name: str) -> None:
    mod = parse(CASES[name])
    main = mod["main"]
    assert isinstance(main, rx.Function)
    info = main.params[0].info
    assert isinstance(info, rx.TensorStructInfo)
    x = RANDOM.standard_normal([e if isinstance(e, int) else 5 for e in info.shape or ()]).astype(np.float32) / 4
    legal = LegalizeOps()(mod)
    expected = backends.VirtualMachine(backends.build(legal, target="tvm"))["main"](x)
    planned: Any = legal
    for step in PASSES:
        planned = step(planned)
        actual = backends.VirtualMachine(backends.build(planned))["main"](x)
        np.testing.assert_allclose(actual, expected, rtol=1e-5)
        np.testing.assert_allclose(backends.VirtualMachine(backends.build(planned, target="tvm"))["main"](x), expected)


def test_upper_bounds_make_the_plan_static() -> None:
    mod = LegalizeOps()(parse(CASES["upper bounds"]))
    planned = StaticPlanBlockMemory()(CallTIRRewrite()(mod))
    assert [one.size for one in storages(planned)] == [512, 512]  # 16 * 8 * 4 bytes
    x = np.ones((16, 8), np.float32)
    np.testing.assert_allclose(backends.VirtualMachine(backends.build(mod))["main"](x), -np.exp(-np.exp(x)), rtol=1e-5)
    wrong = parse(CASES["upper bounds"].replace('{"n": 16}', '{"n": "many"}'))
    with pytest.raises(Relay2RelaxError, match=r"`tir_var_upper_bound` is .*many"):
        StaticPlanBlockMemory()(CallTIRRewrite()(LegalizeOps()(wrong)))


def test_what_others_see_keeps_its_memory() -> None:
    """Results that escape into a tuple, a branch or another function are not overwritten."""
    mod = LegalizeOps()(
        parse("""
    def main(
        x: R.Tensor((2, 3), dtype="float32"), f: R.Tensor((), dtype="bool")
    ) -> R.Tuple(R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")):
        a = R.exp(x)
        b = R.negative(a)
        if f:
            c = R.add(a, b)
        else:
            c = b
        d = R.exp(c)
        e = R.negative(d)
        g = R.exp(e)
        return (b, g)
""")
    )
    x = RANDOM.standard_normal((2, 3)).astype(np.float32)
    for flag in (True, False):
        b = -np.exp(x)
        c = np.exp(x) + b if flag else b
        expected = b, np.exp(-np.exp(c))
        result = backends.VirtualMachine(backends.build(mod))["main"](x, np.array(flag))
        for one, other in zip(result, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)


def test_an_impure_function_says_so_itself() -> None:
    mod = parse("""
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        a = R.call_dps_packed("library.exp", (x,), R.Tensor((2, 3), dtype="float32"))
        return a
""")
    main = CallTIRRewrite()(mod)["main"]
    assert isinstance(main, rx.Function)
    assert main.attrs == {"relax.force_pure": True}
    assert 'R.call_packed("library.exp", x, alloc)' in rx.print_function(main)
    impure = CallTIRRewrite()(rx.parse(mod.script().replace("@R.function", "@R.function(pure=False)")))["main"]
    assert isinstance(impure, rx.Function)
    assert not impure.attrs


def test_results_may_be_tuples_in_tuples() -> None:
    mod = parse("""
    def main(x: R.Tensor((2,), dtype="float32")):
        a = R.call_dps_packed("test.nested_results", (x,), (R.Tensor((2,), "float32"),
                              R.Tuple(R.Tensor((4,), "int32"), R.Tensor((1,), "float32"))))
        return a
""")
    assert 'R.call_packed("test.nested_results", x, alloc, alloc_1, alloc_2)' in CallTIRRewrite()(mod).script()

    @backends.register_func("test.nested_results", override=True)
    def _(x: Any, first: Any, second: Any, third: Any) -> None:
        first[:], second[:], third[:] = x + 1, 7, x.sum()

    for target in ("numpy", "c"):
        machine = backends.VirtualMachine(backends.build(mod, target))
        first, (second, third) = machine["main"](np.array([1, 2], "float32"))
        assert (list(first), list(second), list(third)) == ([2, 3], [7, 7, 7, 7], [3])


def test_results_of_unknown_shape_are_refused() -> None:
    info = rx.TensorStructInfo(None, "float32", 2)
    x = rx.Var("x", info)
    body = rx.SeqExpr(
        (rx.BindingBlock((rx.Binding(out := rx.Var("out", info), rx.CallDPSPacked("f", (x,), (info,))),)),), out
    )
    mod = rx.IRModule({rx.GlobalVar("main"): rx.Function((x,), body, info)})
    with pytest.raises(UnsupportedError, match="out has no known shape"):
        CallTIRRewrite()(mod)


def test_memory_that_is_written_by_hand_is_run() -> None:
    mod = rx.parse("""
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def relu(A: T.Buffer((T.int64(2), T.int64(3)), "float32"), B: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        for i, j in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(A[vi, vj], T.float32(0))

    @R.function(pure=False)
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        cls = Module
        storage: R.Object = R.memory.alloc_storage(R.shape([24]), 0, "global", "float32")
        a: R.Tensor((2, 3), dtype="float32") = R.memory.alloc_tensor(storage, 0, R.shape([2, 3]), "float32", 0)
        R.memory.kill_storage(storage)
        cls.relu(x, a)
        b: R.Tensor((2, 3), dtype="float32") = R.builtin.alloc_tensor(R.shape([2, 3]), "float32", 0, "global")
        cls.relu(a, b)
        R.memory.kill_tensor(a)
        return b
""")
    rx.check_well_formed(mod)
    x = RANDOM.standard_normal((2, 3)).astype(np.float32)
    np.testing.assert_array_equal(backends.VirtualMachine(backends.build(mod))["main"](x), np.maximum(x, 0))
    pure = mod.script().replace("(pure=False)", "")
    with pytest.raises(Relay2RelaxError, match="a pure function contains a call that may have effects"):
        rx.parse(pure)
