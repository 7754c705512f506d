"""Passes on small modules of our own: the same program as the installed TVM's pass makes, and the
same numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relax_ir.inference.memory import AllocStorage, PlaceTensor, read_memory_call
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.transform import (
    BindParams,
    BindSymbolicVars,
    CallTIRRewrite,
    DeadCodeElimination,
    FoldConstant,
    KillAfterLastUse,
    LegalizeOps,
    Pass,
    StaticPlanBlockMemory,
)
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir

PROGRAMS = """
    @T.prim_func(private=True)
    def exp(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i in range(n):
            with T.sblock("exp"):
                v = T.axis.spatial(n, i)
                B[v] = T.exp(A[v])

    @T.prim_func(private=True)
    def twice(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (4,))
        B = T.match_buffer(b, (4,))
        C = T.match_buffer(c, (4,))
        for i in range(4):
            with T.sblock("twice"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + A[v]
                C[v] = A[v] * A[v]
"""
T4 = 'R.Tensor((4,), "float32")'
# By the name of the pass: parameters, body and result of ``main``.
MODULES: dict[str, list[tuple[str, str]]] = {
    "EliminateCommonSubexpr": [
        (f"x: {T4}, y: {T4}", "with R.dataflow():\n    a = R.add(x, y)\n    b = R.add(x, y)\n    c = R.exp(b)\n"
         "    R.output(b, c)\nd = R.add(x, y)\ne = R.exp(d)\nreturn (b, c, d, e)"),
        (f"x: {T4}", "a = R.exp(x)\nb = x\nc = x\nd = R.add(b, c)\ne = (a, d)\nf = (a, d)\nreturn (e, f)"),
        ('x: R.Tensor(ndim=1, dtype="float32")', "n, m = T.int64(), T.int64()\n"
         'a = R.match_cast(x, R.Tensor((n,), "float32"))\nb = R.match_cast(x, R.Tensor((n,), "float32"))\n'
         'c = R.match_cast(x, R.Tensor((m,), "float32"))\nreturn (a, b, c)'),
    ],
    "CanonicalizeBindings": [
        ("", 'with R.dataflow():\n    a = R.const(1.0, "float32")\n    b = a\n    c = R.exp(a)\n    R.output(b, c)\n'
         "return (b, c)"),
        (f"t: R.Tuple({T4}, {T4})", "with R.dataflow():\n    a = t[0]\n    b = t[1]\n    u = (a, b)\n"
         "    v = R.exp(u[1])\n    R.output(u, v)\nreturn (u, v)"),
        (f"x: {T4}", "with R.dataflow():\n    a = R.exp(x)\n    b = a\n    c = R.exp(b)\n    R.output(a, b, c)\n"
         "with R.dataflow():\n    d = R.add(b, c)\n    e = d\n    R.output(e)\nreturn e"),
    ],
    "ConvertToDataflow": [
        (f"x: {T4}", 'a = R.exp(x)\nb = R.exp(a)\nc = R.call_packed("f", b, ty_args=(R.Tensor((4,), "float32"),))\n'
         "d = R.exp(c)\nwith R.dataflow():\n    e = R.exp(d)\n    R.output(e)\nf = (e, d)\nreturn f"),
    ],
    "FoldConstant": [
        (f"x: {T4}", 'with R.dataflow():\n    s = R.add(R.const([1, 1], "int64"), R.const([1, 1], "int64"))\n'
         '    a = R.expand_dims(s, axis=[0])\n    b = R.astype(a, "float32")\n    c = R.sum(b)\n    d = R.add(x, c)\n'
         "    R.output(d)\nreturn d"),
    ],
    "ToNonDataflow": [
        (f"x: {T4}", "with R.dataflow():\n    a = R.exp(x)\n    b = R.exp(a)\n    R.output(b)\nc = R.exp(b)\nreturn c"),
    ],
    "CallTIRRewrite": [
        (f"x: {T4}", f"a = R.call_tir(Module.exp, (x,), {T4})\nb = R.call_tir(Module.twice, (a,), [{T4}, {T4}])\n"
         "c = b[0]\nd = b[1]\ne = R.add(c, d)\nreturn e"),
        (f"x: {T4}", f'a = R.call_dps_packed("f", (x, R.prim_value(3)), [{T4}, {T4}])\nreturn a'),
    ],
    "DeadCodeElimination": [
        (f"x: {T4}", f"a = R.call_tir(Module.exp, (x,), {T4})\nb = R.exp(a)\nc = R.exp(x)\nreturn c"),
    ],
}  # fmt: skip


def module(params: str, body: str, header: str = "") -> rx.IRModule:
    lines = "\n".join(f"        {line}" for line in [*header.splitlines(), *body.splitlines()])
    return rx.parse(
        f"@I.ir_module\nclass Module:\n{PROGRAMS}\n    @R.function(pure={'call_packed(' not in body})\n"
        f"    def main({params}):\n{lines}\n"
    )


def values(mod: rx.IRModule) -> list[rx.Expr]:
    main = mod["main"]
    assert isinstance(main, rx.Function)
    return [binding.value for seq in all_sequences([main.body]) for binding in bindings(seq)]


def memory(mod: rx.IRModule) -> list[Any]:
    return [call for value in values(mod) if (call := read_memory_call(value)) is not None]


def run(mod: rx.IRModule, *args: Any, target: str = "numpy") -> Any:
    return backends.VirtualMachine(backends.build(mod, target=target))["main"](*args)


@pytest.mark.tvm
@pytest.mark.parametrize(("name", "number"), [(name, i) for name, found in MODULES.items() for i in range(len(found))])
@pytest.mark.sweep(every=2)
def test_the_program_is_the_one_that_tvm_makes(name: str, number: int) -> None:
    from tvm import relax

    mod = module(*MODULES[name][number])
    theirs = rx.to_tvm(mod)
    if name == "CallTIRRewrite":
        theirs = relax.transform.RemovePurityChecking()(theirs)
    expected = rx.from_tvm(getattr(relax.transform, name)()(theirs))
    one: Pass[rx.IRModule] = getattr(rx.transform, name)()
    made = one(mod)
    rx.check_well_formed(made)
    if name == "CallTIRRewrite":
        # TVM says of every function that was pure that it is; here those say so that have effects
        # now.
        names = [var.name for var in made.functions if isinstance(made[var], rx.Function)]
        assert names == ["main"]
    assert rx.first_difference(made, expected) is None


def test_entries_keep_private_functions() -> None:
    mod = rx.parse("""
@I.ir_module
class Module:
    @R.function(private=True)
    def one(x: R.Tensor((4,), "float32")):
        return Module.two(x)

    @R.function(private=True)
    def two(x: R.Tensor((4,), "float32")):
        return x

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return x
""")
    assert {var.name for var in DeadCodeElimination()(mod).functions} == {"main"}
    assert {var.name for var in DeadCodeElimination(["one"])(mod).functions} == {"main", "one", "two"}
    with pytest.raises(Relay2RelaxError, match="no function 'three'"):
        DeadCodeElimination(["three"])(mod)


# Binding.


@pytest.mark.tvm
def test_parameters_are_bound_by_names_and_variables_to_arrays_and_tensors() -> None:
    import torch
    import tvm

    mod = module(
        f'x: R.Tensor(("n",), "float32"), y: {T4}, s: R.Shape(["n"]), k: R.Prim("float32")',
        "z = R.add(x, y)\nreturn (z, s, k)",
    )
    main = mod["main"]
    assert isinstance(main, rx.Function)
    data = np.arange(4, dtype=np.float32)
    for value in (data, rx.Constant(data), torch.arange(4, dtype=torch.float32), tvm.runtime.tensor(data)):
        for key in ("x", main.params[0]):
            bound = BindParams("main", {key: value, "s": (4,), main.params[3]: 0.5})(mod)
            rx.check_well_formed(bound)
            z, s, k = run(bound, np.ones(4, np.float32))
            np.testing.assert_array_equal(z, data + 1)
            assert (tuple(s), float(k)) == ((4,), 0.5)
    x = main.params[0]
    cases: list[tuple[dict[Any, Any], str]] = [
        ({"x": data, x: data}, "the parameter 'x' is bound twice"),
        ({rx.Var("x", x.info): data}, "main has no parameter 'x'"),
        ({"x": data, "s": (5,)}, "the value of parameter 's' has dimension 0 is 5, expected 4"),
        ({"s": data.tolist(), "k": "a"}, "parameter 'k' is a scalar, not str"),
    ]
    for params, problem in cases:
        with pytest.raises(Relay2RelaxError, match=problem):
            BindParams("main", params)(mod)


@pytest.mark.tvm
def test_dimensions_are_bound_in_every_function_and_to_expressions() -> None:
    from tvm import relax

    mod = rx.parse("""
@I.ir_module
class Module:
    @R.function
    def one(x: R.Tensor(("m", "n"), "float32")):
        return x

    @R.function
    def two(x: R.Tensor(("m", "n"), "float32"), y: R.Tensor(("n", "m"), "float32")):
        m, n = T.int64(), T.int64()
        z = R.reshape(x, R.shape([m * n]))
        return z
""")
    extents: list[dict[str | tir.Var, Extent]] = [{"n": 16}, {"m": 2, "n": 3}]
    for given in extents:
        expected = rx.from_tvm(relax.transform.BindSymbolicVars(given)(rx.to_tvm(mod)))
        assert rx.first_difference(BindSymbolicVars(given)(mod), expected) is None
    one = mod["one"]
    assert isinstance(one, rx.Function)
    info = one.params[0].info
    assert isinstance(info, rx.TensorStructInfo)
    assert info.shape is not None
    m, n = info.shape
    assert isinstance(m, tir.Var)
    assert isinstance(n, tir.Var)
    assert "(16, " in BindSymbolicVars({m: 16})(mod).script()
    wide = tir.Var("k")
    both = BindSymbolicVars({m: wide * 2, n: wide})(mod)
    assert 'R.Tensor(("k * 2", "k")' in both.script()
    refused: list[tuple[dict[str | tir.Var, Extent], str]] = [
        ({m: wide * 2}, "no parameter of one determines the dimension 'k'"),
        ({m: 3, "m": 3}, "the dimension 'm' of one is bound twice"),
        ({tir.Var("m"): 3}, "there is no symbolic dimension 'm'"),
    ]
    for given, problem in refused:
        with pytest.raises(Relay2RelaxError, match=problem):
            BindSymbolicVars(given)(mod)


# Memory.


def test_bounds_hold_whatever_the_dimensions_are() -> None:
    """An extent that shrinks where a dimension grows is as large as it becomes for the smallest
    dimension.
    """
    header = (
        'm, n = T.int64(), T.int64()\nR.func_attr({"tir_var_upper_bound": {"m": 5, "n": 20}, "relax.force_pure": True})'
    )
    body = (
        'a = R.builtin.alloc_tensor(R.shape([n - m]), "float32", 0)\n_1 = Module.exp(z, a)\n'
        'b = R.builtin.alloc_tensor(R.shape([n - m]), "float32", 0)\n_2 = Module.exp(a, b)\nreturn b'
    )
    tensor = 'R.Tensor(("{}",), "float32")'
    mod = module(f"x: {tensor.format('n')}, y: {tensor.format('m')}, z: {tensor.format('n - m')}", body, header)
    found = memory(StaticPlanBlockMemory()(mod))
    assert AllocStorage(80, "float32") in found


@pytest.mark.tvm
def test_results_of_symbolic_shape_may_be_planned_too() -> None:
    from tvm import relax

    header = (
        'n = T.int64()\nR.func_attr({"tir_var_upper_bound": {"n": 20}, "relax.force_pure": True, '
        '"relax.memory_plan_dynamic_func_output": True})'
    )
    body = (
        'a = R.builtin.alloc_tensor(R.shape([n]), "float32", 0)\n_1 = Module.exp(x, a)\n'
        'b = R.builtin.alloc_tensor(R.shape([n]), "float32", 0)\n_2 = Module.exp(a, b)\nreturn b'
    )
    mod = module('x: R.Tensor(("n",), "float32")', body, header)
    ours = StaticPlanBlockMemory()(mod)
    assert rx.first_difference(ours, rx.from_tvm(relax.transform.StaticPlanBlockMemory()(rx.to_tvm(mod)))) is None
    np.testing.assert_allclose(run(ours, np.zeros(7, np.float32)), np.full(7, np.e), rtol=1e-6)


def test_branches_take_storages_that_are_free() -> None:
    text = f"""
a = R.call_tir(Module.exp, (x,), {T4})
b = R.call_tir(Module.exp, (a,), {T4})
c = R.call_tir(Module.exp, (b,), {T4})
if f:
    d = R.call_tir(Module.exp, (c,), {T4})
    e = R.call_tir(Module.exp, (d,), {T4})
else:
    g = R.call_tir(Module.exp, (x,), {T4})
    e = R.call_tir(Module.exp, (g,), {T4})
h = R.call_tir(Module.exp, (e,), {T4})
i = R.call_tir(Module.exp, (h,), {T4})
return i"""
    mod = module(f'f: R.Tensor((), "bool"), x: {T4}', text.strip())
    planned = KillAfterLastUse()(StaticPlanBlockMemory()(CallTIRRewrite()(mod)))
    rx.check_well_formed(planned)
    found = memory(planned)
    # a and b share nothing; what is free then serves d, g and h. What branches see, or return, has
    # its own memory.
    assert sum(isinstance(one, AllocStorage) for one in found) == 2
    assert sum(isinstance(one, PlaceTensor) for one in found) == 5
    x = np.linspace(-3, -2, 4, dtype=np.float32)
    for flag in (True, False):
        expected = run(mod, np.array(flag), x)
        for target in ("numpy", "c"):
            np.testing.assert_allclose(run(planned, np.array(flag), x, target=target), expected, rtol=1e-6)


def test_a_view_keeps_the_storage() -> None:
    body = (
        'a = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)\n_1 = Module.exp(x, a)\n'
        'b = R.call_packed("vm.builtin.reshape", a, R.shape([4]), ty_args=(R.Tensor((4,), "float32"),))\n'
        'c = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)\n_2 = Module.exp(b, c)\n'
        'd = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)\n_3 = Module.exp(c, d)\nreturn d'
    )
    planned = StaticPlanBlockMemory()(module(f"x: {T4}", body))
    assert sum(isinstance(one, AllocStorage) for one in memory(planned)) == 2


# Scalars.


@pytest.mark.tvm
def test_scalars_that_operators_take_are_lowered() -> None:
    from tvm import relax

    mod = module(
        f'x: {T4}, k: R.Prim("float32")', "a = R.add(x, k)\nb = R.maximum(a, R.prim_value(T.float32(0.5)))\nreturn b"
    )
    ours = LegalizeOps()(mod)
    rx.check_well_formed(ours)
    x = np.linspace(-2, 2, 4, dtype=np.float32)
    legal = rx.from_tvm(relax.transform.LegalizeOps()(rx.to_tvm(mod)))
    for made in (mod, ours, legal):
        for target in ("numpy", "c", "tvm") if made is not mod else ("numpy",):
            np.testing.assert_allclose(run(made, x, 0.25, target=target), np.maximum(x + np.float32(0.25), 0.5))


def test_folding_leaves_out_what_it_has_used_up() -> None:
    mod = module(f"x: {T4}", 'a = R.const([1.0, 2.0], "float32")\nb = R.concat((a, a))\nc = R.add(x, b)\nreturn c')
    assert len(values(FoldConstant()(mod))) == 1


def test_shapes_that_are_computed_from_constants_are_known() -> None:
    mod = module(f"x: {T4}", 's = R.add(R.const([1, 1], "int64"), R.const([1, 1], "int64"))\nr = R.tensor_to_shape(s)\n'
                 "a = R.reshape(x, r)\nb = R.exp(a)\nreturn b")  # fmt: skip
    made = FoldConstant()(mod)
    rx.check_well_formed(made)
    assert len(values(made)) == 2
    main = made["main"]
    assert isinstance(main, rx.Function)
    assert main.ret == rx.TensorStructInfo((2, 2), "float32")
    np.testing.assert_array_equal(run(made, np.zeros(4, np.float32)), np.ones((2, 2)))


def test_a_tensor_that_is_cast_lives_as_long_as_the_cast() -> None:
    mod = module(f"x: {T4}", "m = T.int64()\n" f"a = R.call_tir(Module.exp, (x,), {T4})\n"
                 'b = R.match_cast(a, R.Tensor((m,), "float32"))\nc = R.reshape(b, R.shape([2, 2]))\n'
                 "d = R.add(c, c)\nreturn d")  # fmt: skip
    for target in ("numpy", "c"):
        np.testing.assert_array_equal(run(mod, np.zeros(4, np.float32), target=target), np.full((2, 2), 2.0))
