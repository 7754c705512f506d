"""Continuation-passing style, as TVM's test_pass_to_cps.py: numbers stay, and cells can go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from recorded_cases import arguments, problem

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import Call, Function, FuncType, IRModule, RefCreate, TypeVar, Var, op, transform
from relay2relax.relay_ir.build.prelude import library_text
from relay2relax.relay_ir.ir.rewrite import nodes

HEADER = '#[version = "0.0.5"]\n'


def both_ways(mod: IRModule) -> IRModule:
    there = relay_ir.infer_type(transform.ToCPS()(mod))
    return relay_ir.infer_type(transform.UnCPS()(there))


def run(mod: IRModule, *args: Any) -> Any:
    return create_executor("debug", mod).evaluate()(*args)


def test_the_identity() -> None:
    x = relay_ir.var("x", shape=())
    made = transform.to_cps(Function((x,), x))
    ty = relay_ir.infer_type(IRModule.from_expr(made))
    found = ty.types[ty["main"]]
    assert isinstance(found, FuncType)
    assert found.arg_types[1] == FuncType((found.arg_types[0],), found.ret_type)
    assert isinstance(transform.un_cps(made).body, Call)


def test_functions_of_functions() -> None:
    t = TypeVar("t")
    x, f = Var("x", t), Var("f", FuncType((t,), t))
    double = Function((f, x), Call(f, (Call(f, (x,)),)), t, (t,))
    relay_ir.infer_type(IRModule.from_expr(transform.to_cps(double)))


@pytest.mark.parametrize("evaluated", [False, True])
def test_recursion(evaluated: bool) -> None:
    text = """
    def @main(%i: Tensor[(10, 10), float32]) {
      let %f = @nat_iterate(fn (%x: Tensor[(10, 10), float32]) { add(%x, %x) }, succ(succ(succ(zero))));
      %f(%i)
    }"""
    mod = relay_ir.infer_type(relay_ir.parse(library_text(("prelude", "nat")) + text))
    after = both_ways(mod)
    assert "nat_iterate_cps" in after
    if evaluated:
        # What nothing uses has no types that could be found.
        after = transform.PartialEvaluate()(after)
        after = relay_ir.infer_type(transform.DeadCodeElimination(inline_once=True)(after))
    data = np.random.default_rng(0).standard_normal((10, 10)).astype("float32")
    np.testing.assert_allclose(np.asarray(run(after, data)), 8 * data)


PROGRAMS = {
    "cell of functions": """(%c: bool) {
      let %f = ref(fn () { 0f });
      let %x = if (%c) { ref_write(%f, fn () { 1f }) } else { ref_write(%f, fn () { 2f }) };
      %0 = ref_read(%f);
      %0()
    }""",
    "branch": """(%c: bool) {
      let %r = ref(1);
      let %a = if (%c) { ref_write(%r, 2) } else { ref_write(%r, add(ref_read(%r), 2)) };
      let %b = if (%c) { add(ref_read(%r), 5) } else { ref_read(%r) };
      (%b, ref_read(%r))
    }""",
    "loop": """(%c: bool) {
      let %loop = fn (%i: int32, %s: int32) -> int32 {
        if (less(%i, 5)) { %loop(add(%i, 1), add(%s, %i)) } else { %s }
      };
      if (%c) { %loop(0, 0) } else { %loop(3, 1) }
    }""",
    "match": """(%c: bool) {
      match? ((%c, 3)) { (%a, %b) => { if (%a) { %b } else { add(%b, %b) } } }
    }""",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("choice", [True, False])
def test_control_flow(name: str, choice: bool) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(f"{HEADER}def @main{PROGRAMS[name]}"))
    found, expected = (run(one, np.asarray(choice)) for one in (both_ways(mod), mod))
    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def gradient_of(make: Callable[[Any, Any], Any]) -> IRModule:
    x, y = relay_ir.var("x", shape=(1, 16)), relay_ir.var("y", shape=(1, 16))
    mod = relay_ir.infer_type(IRModule.from_expr(Function((x, y), make(x, y))))
    return relay_ir.infer_type(transform.FirstOrderGradient()(mod))


@pytest.mark.parametrize("name", ["cell of functions", "branch"])
def test_cells_go(name: str) -> None:
    """As TVM's test_cps_pe: evaluation in part sees through branches."""
    mod = relay_ir.infer_type(relay_ir.parse(f"{HEADER}def @main{PROGRAMS[name]}"))
    after = relay_ir.infer_type(transform.PartialEvaluate()(both_ways(mod)))
    after = transform.DeadCodeElimination(inline_once=True, ignore_impurity=True)(after)
    assert not [node for node in nodes(after["main"]) if isinstance(node, RefCreate)]
    for choice in (True, False):
        found, expected = (run(one, np.asarray(choice)) for one in (after, mod))
        for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_gradients_stay() -> None:
    mod = gradient_of(lambda x, y: op.tanh(x * y) + x)
    args = [np.random.default_rng(i).standard_normal((1, 16)).astype("float32") for i in range(2)]
    found, expected = (run(one, *args) for one in (both_ways(mod), mod))
    np.testing.assert_array_equal(np.asarray(found[0]), np.asarray(expected[0]))
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_random_programs_keep_their_numbers(recorded: Any) -> None:
    for case in list(recorded("random"))[::20]:
        mod = relay_ir.load_json(case["json"])
        got = run(both_ways(mod), *arguments(case, mod["main"]))
        assert problem(got, case, mod) == "", case["id"]


def test_what_is_refused() -> None:
    x = relay_ir.var("x", shape=())
    with pytest.raises(UnsupportedError, match="not a continuation"):
        transform.un_cps(Function((x,), x))
    with pytest.raises(UnsupportedError, match="not a continuation"):
        transform.un_cps(Function((), relay_ir.const(1)))
    y = relay_ir.var("y", shape=())
    primitive = Function((x,), Call(Function((y,), y, attrs={"Primitive": 1}), (x,)))
    with pytest.raises(UnsupportedError, match="primitive"):
        transform.to_cps(primitive)
    mod = relay_ir.parse(HEADER + "def @f(%x: int32) -> int32 { %x } def @main(%x: int32) -> int32 { @f(%x) }")
    with pytest.raises(UnsupportedError, match="use ToCPS"):
        transform.to_cps(mod["main"], mod)


def test_a_long_program() -> None:
    value: Any = relay_ir.var("x", shape=(2,))
    for _ in range(5_000):
        value = op.abs(value)
    assert transform.ToCPS()(IRModule.from_expr(value))["main"].type_params
