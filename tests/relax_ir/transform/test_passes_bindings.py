"""Passes over bindings: sharing, canonical form, folding, flattening, dimensions, dispatch.

What they should make is what the installed TVM's passes of the same name make, or is written out
here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.transform import (
    BindSymbolicVars,
    CanonicalizeBindings,
    DeadCodeElimination,
    DispatchCalls,
    EliminateCommonSubexpr,
    FoldConstant,
    LegalizeOps,
    Pass,
    PassContext,
    PassTimingInstrument,
    Sequential,
    ToNonDataflow,
)
from relay2relax.tir import te
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.expr import maximum
from relay2relax.tir.ir.stmt import PrimFunc

TENSOR = 'R.Tensor((2, 3), dtype="float32")'
PAIR = f"R.Tuple({TENSOR}, {TENSOR})"
RANDOM = np.random.default_rng(3)


def module(body: str, result: str, returns: str = TENSOR, params: str = f"x: {TENSOR}, y: {TENSOR}") -> rx.IRModule:
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return rx.parse(
        f"@I.ir_module\nclass Module:\n    @R.function\n    def main({params}) -> {returns}:\n{lines}\n"
        f"        return {result}\n"
    )


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def run(mod: rx.IRModule, *args: Any, target: str = "numpy") -> Any:
    return backends.VirtualMachine(backends.build(mod, target=target))["main"](*args)


def names(mod: rx.IRModule) -> list[str]:
    main = mod["main"]
    assert isinstance(main, rx.Function)
    return [binding.var.name for seq in all_sequences([main.body]) for binding in bindings(seq)]


SHARING = {
    "equal calls": (
        "with R.dataflow():\n    a = R.add(x, y)\n    b = R.add(x, y)\n    c = R.multiply(a, b)\n    R.output(c)",
        "c",
        TENSOR,
    ),
    "constants by value": (
        'with R.dataflow():\n    a = R.add(x, R.const(1.0, "float32"))\n    b = R.add(x, R.const(1.0, "float32"))\n'
        '    c = R.add(x, R.const([[1.0], [2.0]], "float32"))\n    d = R.add(x, R.const([[1.0], [2.0]], "float32"))\n'
        "    e = R.multiply(a, b)\n    f = R.multiply(c, d)\n    g = R.multiply(e, f)\n    R.output(g)",
        "g",
        TENSOR,
    ),
    "tuples and shapes": (
        "with R.dataflow():\n    a = R.add(x, y)\n    t = (a, x)\n    u = (a, x)\n    p = t[0]\n    q = u[0]\n"
        "    c = R.multiply(p, q)\n    R.output(c, t)\n"
        "s: R.Shape([2, 3]) = R.shape([2, 3])\nv = R.reshape(x, s)\nw = R.reshape(x, s)\nz = R.add(v, w)",
        "(c, t, z)",
        f"R.Tuple({TENSOR}, {PAIR}, {TENSOR})",
    ),
}
CANONICAL = {
    "names": (
        "with R.dataflow():\n    a = R.add(x, y)\n    b = a\n    c = R.multiply(b, b)\n    d = c\n    R.output(d)",
        "d",
        TENSOR,
    ),
    "outputs that nobody uses": (
        "with R.dataflow():\n    a = R.add(x, y)\n    b = R.negative(a)\n    R.output(a, b)",
        "b",
        TENSOR,
    ),
    "fields of tuples, and casts that say nothing": (
        "with R.dataflow():\n    a = R.add(x, y)\n    t = (a, y)\n    b = t[0]\n    c = R.multiply(b, t[1])\n"
        "    u = (t[0], t[1])\n    v = R.negative(u[0])\n"
        f"    e = R.match_cast(c, {TENSOR})\n    R.output(e, a, u, v)\nz = x",
        "(e, u, z)",
        f"R.Tuple({TENSOR}, {PAIR}, {TENSOR})",
    ),
    "across blocks": (
        "with R.dataflow():\n    a = R.add(x, y)\n    R.output(a)\nk = R.negative(a)\n"
        "with R.dataflow():\n    b = a\n    c = x\n    R.output(b, c)",
        "(b, c, k)",
        f"R.Tuple({TENSOR}, {TENSOR}, {TENSOR})",
    ),
    "two names of one output": (
        "with R.dataflow():\n    a = R.add(x, y)\n    b = a\n    c = a\n    R.output(b, c)",
        "(b, c)",
        PAIR,
    ),
}


def check(mod: rx.IRModule, ours: Callable[[rx.IRModule], rx.IRModule], theirs: Callable[[Any], Any]) -> None:
    """Check a pass: well formed, TVM's result, the same numbers."""
    made = ours(mod)
    rx.check_well_formed(made)
    expected = rx.from_tvm(theirs(rx.to_tvm(mod)))
    assert rx.first_difference(made, expected) is None
    x, y = normal(2, 3), normal(2, 3)
    for one, other in zip(_flat(run(made, x, y)), _flat(run(mod, x, y)), strict=True):
        np.testing.assert_array_equal(one, other)


def _flat(value: Any) -> list[Any]:
    return [leaf for one in value for leaf in _flat(one)] if isinstance(value, tuple) else [value]


@pytest.mark.tvm
@pytest.mark.parametrize("call_only", [False, True])
@pytest.mark.parametrize("name", SHARING)
def test_equal_values_are_computed_once(name: str, call_only: bool) -> None:
    from tvm import relax

    body, result, returns = SHARING[name]
    theirs = relax.transform.EliminateCommonSubexpr(call_only)
    check(module(body, result, returns), EliminateCommonSubexpr(call_only), theirs)


@pytest.mark.tvm
@pytest.mark.parametrize("name", CANONICAL)
def test_canonical_bindings(name: str) -> None:
    from tvm import relax

    body, result, returns = CANONICAL[name]
    check(module(body, result, returns), CanonicalizeBindings(), relax.transform.CanonicalizeBindings())


@pytest.mark.tvm
def test_dimensions_of_casts_are_those_known_before() -> None:
    from tvm import relax

    mod = rx.parse("""
@R.function
def main(x: R.Tensor(("m", "n"), "float32"), t: R.Tuple(R.Tensor(("m", 4), "float32"))):
    m, n, o, p, q = T.int64(), T.int64(), T.int64(), T.int64(), T.int64()
    y = R.match_cast(x, R.Tensor((o, p), "float32"))
    z = R.add(y, x)
    u = R.match_cast(t, R.Tuple(R.Tensor((q, 4), "float32")))
    v = R.match_cast(z, R.Tensor((q, p), "float32"))
    w = R.add(v, R.broadcast_to(R.const(1.0, "float32"), R.shape([o, p])))
    return (w, u)
""")
    ours = CanonicalizeBindings()(mod)
    assert rx.first_difference(ours, rx.from_tvm(relax.transform.CanonicalizeBindings()(rx.to_tvm(mod)))) is None
    assert "match_cast" not in rx.print_module(ours)
    x, field = normal(2, 3), normal(2, 4)
    for one, other in zip(_flat(run(ours, x, (field,))), _flat(run(mod, x, (field,))), strict=True):
        np.testing.assert_array_equal(one, other)


DISAGREEING = """
@R.function
def main(x: R.Tensor(({}, ), "float32"), y: R.Tensor(({},), "float32")):
    k = T.int64()
    a = R.match_cast(x, R.Tensor((k,), "float32"))
    b = R.match_cast(y, R.Tensor((k,), "float32"))
    return (a, b)
"""


@pytest.mark.tvm
def test_the_second_cast_of_a_dimension_is_a_check() -> None:
    from tvm import relax

    mod = rx.parse(DISAGREEING.format('"m"', '"n"'))
    ours = CanonicalizeBindings()(mod)
    assert rx.first_difference(ours, rx.from_tvm(relax.transform.CanonicalizeBindings()(rx.to_tvm(mod)))) is None
    assert ours.script().count("match_cast") == 1
    with pytest.raises(Relay2RelaxError):
        run(ours, normal(2), normal(3))
    with pytest.raises(Relay2RelaxError, match="casts disagree about the dimension 'k': it is 2 by 'a', and 3 by 'b'"):
        CanonicalizeBindings()(rx.parse(DISAGREEING.format(2, 3)))


@pytest.mark.tvm
def test_constants_take_the_place_of_their_names() -> None:
    from tvm import relax

    mod = module(
        """
c = R.const([[1.0, 2.0, 3.0]], "float32")
t = (c, x)
d = R.add(t[0], y)
""",
        "(d, c)",
        f'R.Tuple({TENSOR}, R.Tensor((1, 3), dtype="float32"))',
    )
    check(mod, CanonicalizeBindings(), relax.transform.CanonicalizeBindings())
    both = Sequential([CanonicalizeBindings(), DeadCodeElimination()])
    check(mod, both, lambda it: relax.transform.DeadCodeElimination()(relax.transform.CanonicalizeBindings()(it)))
    assert names(both(mod)) == ["d"]


@pytest.mark.tvm
def test_dataflow_blocks_become_ordinary_ones() -> None:
    from tvm import relax

    mod = module(
        "with R.dataflow():\n    a = R.add(x, y)\n    b = R.add(a, a)\n    R.output(b)\nc = R.add(b, x)\n"
        "with R.dataflow():\n    d = R.add(c, y)\n    e = R.add(d, d)\n    R.output(e)",
        "e",
    )
    check(mod, ToNonDataflow(), relax.transform.ToNonDataflow())


def test_what_branches_compute_is_shared_inwards_only() -> None:
    mod = module(
        "a = R.add(x, y)\nif f:\n    b = R.add(x, y)\n    c = R.negative(x)\n    d = R.add(b, c)\n"
        "else:\n    e = R.negative(x)\n    d = R.add(e, e)\ng = R.negative(x)\nh = R.add(a, g)\ni = R.add(h, d)",
        "i",
        params=f'f: R.Tensor((), dtype="bool"), x: {TENSOR}, y: {TENSOR}',
    )
    shared = EliminateCommonSubexpr()(mod)
    rx.check_well_formed(shared)
    assert shared.script().count("= a\n") == 1
    assert sorted(set(names(mod)) - set(names(CanonicalizeBindings()(shared)))) == ["b"]
    x, y = normal(2, 3), normal(2, 3)
    for flag in (True, False):
        np.testing.assert_array_equal(run(shared, np.array(flag), x, y), run(mod, np.array(flag), x, y))


def test_effects_and_memory_are_not_shared() -> None:
    mod = rx.parse(f"""
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: {TENSOR}) -> R.Tuple({TENSOR}, {TENSOR}, R.Object, R.Object):
        a: {TENSOR} = R.builtin.alloc_tensor(R.shape([2, 3]), "float32", 0)
        b: {TENSOR} = R.builtin.alloc_tensor(R.shape([2, 3]), "float32", 0)
        c: R.Object = R.call_packed("next", x)
        d: R.Object = R.call_packed("next", x)
        return (a, b, c, d)
""")
    assert EliminateCommonSubexpr()(mod) is mod
    assert FoldConstant()(mod) is mod


# Folding.


def test_constants_are_folded_through_operators_tuples_and_kernels() -> None:
    weight = normal(4, 3)
    mod = module(
        "with R.dataflow():\n    t = R.permute_dims(w, axes=[1, 0])\n    s = R.split(t, 2, axis=1)\n    a = s[0]\n"
        "    b = s[1]\n    c = R.concat((a, b), axis=1)\n    d = R.matmul(x, c)\n    R.output(d)",
        "d",
        'R.Tensor((2, 4), dtype="float32")',
        f'x: {TENSOR}, w: R.Tensor((4, 3), dtype="float32")',
    )
    bound = rx.transform.BindParams("main", {"w": weight})(mod)
    x = normal(2, 3)
    for lowered in (bound, LegalizeOps()(bound)):
        folded = FoldConstant()(lowered)
        rx.check_well_formed(folded)
        assert names(folded) == ["d"]
        np.testing.assert_allclose(run(folded, x), x @ weight.T, rtol=1e-5)
        (constant,) = [
            arg.data
            for seq in all_sequences([of_type(folded["main"], rx.Function).body])
            for binding in bindings(seq)
            for arg in binding.value.args  # type: ignore[union-attr]
            if isinstance(arg, rx.Constant)
        ]
        np.testing.assert_array_equal(constant, weight.T)
        assert constant.flags.c_contiguous


@pytest.mark.tvm
def test_as_many_bindings_are_folded_as_by_tvm() -> None:
    from tvm import relax

    mod = module(
        'with R.dataflow():\n    a = R.add(R.const([1.0, 2.0, 3.0], "float32"), R.const(2.0, "float32"))\n'
        '    b = R.multiply(a, R.const([[2.0], [3.0]], "float32"))\n    c = R.add(x, b)\n    d = R.add(c, y)\n'
        "    R.output(d)",
        "d",
    )
    legal = LegalizeOps()(mod)
    ours = FoldConstant()(legal)
    theirs = rx.from_tvm(relax.transform.FoldConstant()(rx.to_tvm(legal)))
    assert names(ours) == names(theirs) == ["c", "d"]
    x, y = normal(2, 3), normal(2, 3)
    expected = x + np.array([3, 4, 5], np.float32) * np.array([[2], [3]], np.float32) + y
    np.testing.assert_array_equal(run(ours, x, y), expected)
    np.testing.assert_array_equal(run(theirs, x, y), expected)


def test_what_only_fills_a_tensor_stays() -> None:
    text = 'R.broadcast_to(R.const(1.0, "float32"), R.shape([{0}, {0}]))'
    for extent, folded in ((32, True), (64, False)):
        tensor = f'R.Tensor(({extent}, {extent}), dtype="float32")'
        mod = module(f"a = {text.format(extent)}\nb = R.add(x, a)", "b", tensor, f"x: {tensor}")
        assert names(FoldConstant()(mod)) == (["b"] if folded else ["a", "b"])
        assert names(FoldConstant(limit=1 << 20)(mod)) == ["b"]


def test_a_call_that_its_operator_refuses_stays() -> None:
    mod = module('a = R.take(R.const([1.0], "float32"), R.const(5, "int64"))\nb = R.add(x, a)', "b")
    assert names(FoldConstant()(mod))[-1] == "b"


def test_programs_without_an_operator_are_folded_by_who_can_run_them() -> None:
    data = te.placeholder((2, 3), "float32", "data")
    double = te.create_prim_func([data], [te.compute((2, 3), lambda i, j: data[i, j] * 2.0, "out")], name="double")
    info = rx.TensorStructInfo((2, 3), "float32")
    value = normal(2, 3)
    x = rx.Var("x", info)
    bb = rx.BlockBuilder()
    with bb.function("main", [x]):
        twice = bb.emit(rx.CallTIR(bb.add_func(double), (rx.Constant(value),), (info,)))
        bb.emit_func_output(bb.emit(rx.call_op("add", x, twice), "sum"))
    mod = bb.get()
    assert FoldConstant()(mod) is mod

    def evaluate(func: PrimFunc, inputs: Any, outputs: Any) -> None:
        assert func.name == "double"
        outputs[0][...] = inputs[0] * 2

    folded = FoldConstant(evaluate=evaluate)(mod)
    assert names(folded) == ["sum"]
    np.testing.assert_array_equal(run(folded, value), value + value * 2)


# Symbolic dimensions.


def dynamic() -> rx.IRModule:
    return rx.parse("""
@I.ir_module
class Module:
    @R.function(private=True)
    def double(t: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        r: R.Tensor((n, 4), dtype="float32") = R.add(t, t)
        return r

    @R.function
    def main(x: R.Tensor(("n", 2, 2), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            a: R.Tensor((n, 4), dtype="float32") = R.reshape(x, R.shape([n, 4]))
            b: R.Tensor((n, 4), dtype="float32") = cls.double(a)
            R.output(b)
        return b
""")


@pytest.mark.tvm
def test_dimensions_get_values() -> None:
    from tvm import relax

    bound = BindSymbolicVars({"n": 3})(dynamic())
    rx.check_well_formed(bound)
    expected = rx.from_tvm(relax.transform.BindSymbolicVars({"n": 3})(rx.to_tvm(dynamic())))
    assert rx.first_difference(bound, expected) is None
    x = normal(3, 2, 2)
    np.testing.assert_array_equal(run(bound, x), 2 * x.reshape(3, 4))


def test_dimensions_are_named_by_variables_too() -> None:
    mod = dynamic()
    main = mod["main"]
    assert isinstance(main, rx.Function)
    info = main.params[0].info
    assert isinstance(info, rx.TensorStructInfo)
    assert info.shape is not None
    n = info.shape[0]
    assert isinstance(n, tir.Var)
    bound = BindSymbolicVars({n: 5}, "main")(mod)["main"]
    assert isinstance(bound, rx.Function)
    assert bound.ret == rx.TensorStructInfo((5, 4), "float32")
    cases: list[tuple[dict[str | tir.Var, Extent], str]] = [
        ({"m": 3}, "no symbolic dimension 'm'"),
        ({"n": -1}, "a dimension cannot be -1"),
    ]
    for binding_map, problem in cases:
        with pytest.raises(Relay2RelaxError, match=problem):
            BindSymbolicVars(binding_map)(mod)
    with pytest.raises(Relay2RelaxError, match="no function 'other'"):
        BindSymbolicVars({"n": 1}, "other")(mod)


# Dispatch.


def relu(name: str = "positive") -> PrimFunc:
    data = te.placeholder((2, 3), "float32", "data")
    out = te.compute((2, 3), lambda i, j: maximum(data[i, j], 0.0), "out")
    return te.create_prim_func([data], [out], name=name)


def test_operators_go_to_external_functions_and_back_to_programs() -> None:
    mod = module("with R.dataflow():\n    a = R.nn.relu(x)\n    b = R.add(a, y)\n    R.output(b)", "b")

    @backends.register_func("test_dispatch.relu")
    def _(source: np.ndarray, target: np.ndarray) -> None:
        np.maximum(source, 0, out=target)

    outside = DispatchCalls({"nn.relu": "test_dispatch.relu"})(mod)
    rx.check_well_formed(outside)
    assert 'R.call_dps_packed("test_dispatch.relu", (x,), R.Tensor((2, 3)' in outside.script()
    inside = DispatchCalls({"test_dispatch.relu": relu()})(outside)
    rx.check_well_formed(inside)
    assert "R.call_tir(cls.positive, (x,), R.Tensor((2, 3)" in inside.script()
    again = DispatchCalls({"positive": "test_dispatch.relu"})(inside)
    assert rx.structural_equal(again["main"], outside["main"])
    x, y = normal(2, 3), normal(2, 3)
    for one in (outside, inside, again):
        np.testing.assert_array_equal(run(one, x, y), np.maximum(x, 0) + y)


def test_who_is_asked_chooses_call_by_call() -> None:
    mod = module("a = R.nn.relu(x)\nb = R.nn.relu(y)\nc = R.add(a, b)", "c")

    def only_x(call: Any) -> str | None:
        return "library.relu" if call.args[0].name == "x" else None

    made = DispatchCalls({"nn.relu": only_x})(mod)
    assert made.script().count("library.relu") == 1
    assert made.script().count("R.nn.relu(y)") == 1


def test_what_cannot_be_dispatched_is_said() -> None:
    mod = module("a = R.add(x, y)", "a")
    with pytest.raises(Relay2RelaxError, match="positive takes 2 arguments; the call has 3"):
        DispatchCalls({"add": relu()})(mod)
    unknown = module(
        "a = R.add(x, x)", "a", 'R.Tensor(dtype="float32", ndim=2)', 'x: R.Tensor(dtype="float32", ndim=2)'
    )
    with pytest.raises(UnsupportedError, match="no known shape"):
        DispatchCalls({"add": "library.add"})(unknown)


# The pass manager.


def test_the_pass_manager_is_the_one_of_relay() -> None:
    from relay2relax import relay_ir

    assert relay_ir.transform.Sequential is Sequential
    timing = PassTimingInstrument()
    mod = module("a = R.add(x, y)\nb = R.add(x, y)\nc = R.add(a, b)", "c")
    pipeline: Pass[rx.IRModule] = Sequential([EliminateCommonSubexpr(), CanonicalizeBindings()], name="tidy")
    with PassContext(disabled_pass=["EliminateCommonSubexpr"], instruments=[timing]):
        assert names(pipeline(mod)) == ["a", "b", "c"]
    assert [line.partition(":")[0].strip() for line in timing.render().splitlines()] == ["tidy", "CanonicalizeBindings"]
    with PassContext(opt_level=0):
        assert names(pipeline(mod)) == ["a", "b", "c"]
    assert names(pipeline(mod)) == ["a", "c"]
