"""The Relay executors: recorded models, the language's evaluation rules, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sweep import ROW
from typed import of_type

from relay2relax.backends import create_executor
from relay2relax.backends.relay.values import AdtValue, RefValue
from relay2relax.core.errors import ExecutionError, UnsupportedError
from relay2relax.core.tolerance import LONGEST_CHAIN, difference
from relay2relax.relay_ir import (
    Call,
    Constant,
    Function,
    GlobalVar,
    IRModule,
    Op,
    TypeInferenceError,
    Var,
    infer_type,
    parse,
)
from relay2relax.relay_ir.ir.types import TensorType

LIST = "type List[A] {\n  Cons(A, List[A]),\n  Nil,\n}\n"
COUNT = """
def @main(%n: int32) {
  let %loop = fn (%i: int32, %s: int32) {
    if (less(%i, %n)) { %loop(add(%i, 1), add(%s, %i)) } else { %s }
  };
  %loop(0, 0)
}
"""


def read(text: str) -> IRModule:
    return infer_type(parse('#[version = "0.0.5"]\n' + text))


def run(text: str, *args: Any, kind: str = "debug", backend: str = "numpy", **params: Any) -> Any:
    return create_executor(kind, read(text), backend).evaluate()(*args, **params)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for one in value:
            yield from leaves(one)
    else:
        yield value


# The recorded models


@pytest.mark.sweep(every=3)
@pytest.mark.golden
def test_models_on_numpy(model_case: Any) -> None:
    """The kind `debug` runs them in the tests of Relay's machine, C in those of the translators."""
    executor = create_executor("graph", infer_type(parse(model_case.text)))
    got, expected = list(leaves(executor.evaluate()(*model_case.arguments()))), model_case.expected()
    assert len(got) == len(expected)
    for ours, theirs in zip(got, expected, strict=True):
        found = difference(ours, theirs, LONGEST_CHAIN)
        assert found.agrees, found


PERCEPTRON = """
def @main(%data: Tensor[(?, 4), float32], %weight: Tensor[(3, 4), float32]) {
  nn.relu(nn.dense(%data, %weight, units=3))
}
"""


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
@pytest.mark.parametrize("kind", ["debug", "graph"])
def test_one_evaluation_serves_every_batch(kind: str, backend: str) -> None:
    weight = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    evaluate = create_executor(kind, read(PERCEPTRON), backend).evaluate()
    for batch in (1, 3, 64, 3):
        data = np.random.default_rng(batch).normal(size=(batch, 4)).astype("float32")
        got = evaluate(data, weight=weight)
        np.testing.assert_allclose(got, np.maximum(data @ weight.T, 0), rtol=1e-5, atol=1e-6)


# Evaluation rules


def test_a_shared_node_is_computed_once() -> None:
    shared = "%0 = ref_write(%r, add(ref_read(%r), 1f));"
    text = "def @main() { let %r = ref(0f); let %t = (PAIR); (%t, ref_read(%r)) }"
    pair = f"def @main() {{ let %r = ref(0f); {shared} let %t = (%0, %0); (%t, ref_read(%r)) }}"
    assert run(pair) == (((), ()), 1.0)
    twice = "ref_write(%r, add(ref_read(%r), 1f)), ref_write(%r, add(ref_read(%r), 1f))"
    assert run(text.replace("PAIR", twice)) == (((), ()), 2.0)


def test_a_node_shared_with_a_branch_is_computed_before_it() -> None:
    text = """
    def @main(%c: bool) {
      let %r = ref(0f);
      %0 = ref_write(%r, add(ref_read(%r), 1f));
      %1 = if (%c) { (%0, ref_read(%r)) } else { ((), ref_read(%r)) };
      (%1, %0)
    }"""
    # The read inside the branch comes after the write, whichever branch runs.
    assert run(text, True) == (((), 1.0), ())
    assert run(text, False) == (((), 1.0), ())


def test_only_the_chosen_branch_runs() -> None:
    text = """
    def @main(%c: bool) {
      let %r = ref(0f);
      let %u = if (%c) { ref_write(%r, 1f) } else { ref_write(%r, 2f) };
      ref_read(%r)
    }"""
    assert run(text, True) == 1
    assert run(text, False) == 2


def test_a_function_body_is_computed_at_every_call() -> None:
    text = """
    def @main() {
      let %r = ref(0f);
      let %next = fn () { let %u = ref_write(%r, add(ref_read(%r), 1f)); ref_read(%r) };
      (%next(), %next(), %next())
    }"""
    assert run(text) == (1.0, 2.0, 3.0)


def test_closures_capture_and_travel() -> None:
    text = """
    def @adder(%n: float32) -> fn (float32) -> float32 { fn (%x: float32) { add(%x, %n) } }
    def @twice(%f: fn (float32) -> float32, %x: float32) -> float32 { %f(%f(%x)) }
    def @main(%x: float32) { (@twice(@adder(3f), %x), @adder(1f)) }
    """
    first, closure = run(text, 1)
    assert first == 7
    assert closure(np.float32(5)) == 6


def test_mutual_recursion() -> None:
    text = """
    def @even(%n: int32) -> bool { if (equal(%n, 0)) { True } else { @odd(subtract(%n, 1)) } }
    def @odd(%n: int32) -> bool { if (equal(%n, 0)) { False } else { @even(subtract(%n, 1)) } }
    def @main(%n: int32) { @even(%n) }
    """
    assert run(text, 10)
    assert not run(text, 2001)


@pytest.mark.sweep(every=2)
def test_loops_and_recursion_are_not_bounded_by_the_stack() -> None:
    assert run(COUNT, 20000) == sum(range(20000))
    deep = """
    def @sum(%n: int32) -> int32 { if (equal(%n, 0)) { 0 } else { add(%n, @sum(subtract(%n, 1))) } }
    def @main(%n: int32) { @sum(%n) }
    """
    assert run(deep, 20000) == sum(range(20001))


def test_data_types_and_patterns() -> None:
    text = (
        LIST
        + """
    def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {
      match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }
    }
    def @foldr[A, B](%f: fn (A, B) -> B, %z: B, %xs: List[A]) -> B {
      match (%xs) { Cons(%x, %rest) => %f(%x, @foldr(%f, %z, %rest)), Nil => %z }
    }
    def @main(%a: int32) {
      let %xs = Cons(%a, Cons(2, Cons(3, Nil)));
      let %doubled = @map(fn (%i: int32) { multiply(%i, 2) }, %xs);
      (@foldr(fn (%x: int32, %s: int32) { add(%x, %s) }, 0, %doubled), @foldr(Cons, Nil, %xs))
    }"""
    )
    total, copied = run(text, 1)
    assert total == 12
    assert isinstance(copied, AdtValue)
    assert repr(copied.fields[0]) == "array(1, dtype=int32)"
    rest: object = copied
    for _ in range(3):
        rest = of_type(rest, AdtValue).fields[1]
    assert of_type(rest, AdtValue).constructor.name == "Nil"


def test_nested_patterns_try_clauses_in_order() -> None:
    text = (
        LIST
        + """
    def @main(%n: int32) {
      let %xs = if (less(%n, 1)) { Nil } else { if (less(%n, 2)) { Cons(5, Nil) } else { Cons(6, Cons(7, Nil)) } };
      match (%xs) { Cons(%a, Cons(%b, _)) => add(%a, %b), Cons(%a, Nil) => %a, Nil => 0 }
    }"""
    )
    assert [int(run(text, n)) for n in range(3)] == [0, 5, 13]


def test_a_match_that_nothing_fits() -> None:
    with pytest.raises(ExecutionError, match="no clause of this match fits Nil"):
        run(LIST + "def @main() { let %xs: List[int32] = Nil; match? (%xs) { Cons(%a, _) => %a } }")


def test_references_are_returned_as_cells() -> None:
    cell = run("def @main(%x: float32) { let %r = ref(%x); let %u = ref_write(%r, add(%x, 1f)); %r }", 1)
    assert isinstance(cell, RefValue)
    assert cell.value == 2


def test_observed_values() -> None:
    mod = read("def @main(%x: float32) { %0 = add(%x, 1f); (multiply(%0, %0), %0) }")
    seen: list[tuple[str, Any]] = []

    def observe(expr: Any, value: Any) -> None:
        name = of_type(expr.op, Op).name if isinstance(expr, Call) else type(expr).__name__
        seen.append((name, float(value) if isinstance(value, np.ndarray) else len(value)))

    create_executor("graph", mod).evaluate(observe=observe)(2)
    assert seen == [("add", 3.0), ("multiply", 9.0), ("Tuple", 2)]


def test_intermediate_values_are_dropped() -> None:
    x = Var("x", TensorType((1000, 1000)))
    body: Any = x
    for _ in range(200):  # 800 MB, were they all kept
        body = Call(Op("nn.relu"), (body,))
    alive: set[int] = set()
    peak = 0

    def observe(expr: Any, value: Any) -> None:
        nonlocal peak
        import weakref

        alive.add(id(value))
        weakref.finalize(value, alive.discard, id(value))
        peak = max(peak, len(alive))

    mod = IRModule({GlobalVar("main"): Function((x,), body)})
    create_executor("graph", mod).evaluate(observe=observe)(np.ones((1000, 1000), "float32"))
    assert peak <= 3


def test_constants_are_not_changed() -> None:
    data = np.ones(3, "float32")
    c = Constant(data)
    mod = IRModule({GlobalVar("main"): Function((), Call(Op("add"), (c, c)))})
    evaluate = create_executor("graph", mod).evaluate()
    assert evaluate().tolist() == evaluate().tolist() == [2, 2, 2]
    assert data.tolist() == [1, 1, 1]


def test_many_operators_in_a_row() -> None:
    x = Var("x", TensorType(()))
    body: Any = x
    for _ in range(ROW):
        body = Call(Op("add"), (body, x))
    mod = IRModule({GlobalVar("main"): Function((x,), body)})
    assert create_executor("graph", mod).evaluate()(1) == ROW + 1


# What the graph executor admits


def test_local_functions_are_dataflow() -> None:
    text = """
    def @half(%x: float32) -> float32 { multiply(%x, 0.5f) }
    def @main(%x: float32) {
      let %f = fn (%a: float32, %t: (float32, float32)) { let %g = fn (%b: float32) { add(%b, %t.1) }; %g(%a) };
      (%f(%x, (1f, 2f)), @half(%x), fn (%a: float32) { %a }(%x))
    }"""
    assert run(text, 4, kind="graph") == (6.0, 2.0, 4.0)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def @main(%c: bool, %x: float32) { if (%c) { %x } else { 0f } }", "`if`"),
        ("def @main(%x: float32) { ref_read(ref(%x)) }", "references"),
        ("def @main(%t: (float32, int32)) { match (%t) { (%a, _) => %a } }", "`match`"),
        (LIST + "def @main(%x: float32) { Cons(%x, Nil) }", "values of data types"),
        ("def @main(%x: float32) { fn (%y: float32) { add(%x, %y) } }", "a function used as a value"),
        ("def @main(%f: fn (float32) -> float32) { %f(1f) }", "a call of a function that is only known at run time"),
        ("def @main(%x: float32) -> float32 { @main(%x) }", "recursion"),
    ],
)
def test_what_the_graph_executor_refuses(text: str, what: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        create_executor("graph", read(text)).evaluate()
    assert f"the graph executor cannot run {what}" in str(caught.value)
    assert "use the debug executor" in str(caught.value)


# What callers get wrong


def test_unknown_executors_and_functions() -> None:
    mod = read("def @main(%x: float32) { %x }")
    with pytest.raises(UnsupportedError, match="no executor of Relay 'aot'"):
        create_executor("aot", mod)
    with pytest.raises(UnsupportedError, match="no backend of the Relay executors 'cuda'"):
        create_executor("debug", mod, "cuda")
    with pytest.raises(Exception, match="no function @other; it has: main"):
        create_executor("debug", mod).evaluate("other")


def test_ill_typed_modules_do_not_run() -> None:
    x = Var("x", TensorType((2,)))
    mod = IRModule({GlobalVar("main"): Function((x,), Call(Op("add"), (x,)))})
    with pytest.raises(TypeInferenceError):
        create_executor("debug", mod)


def test_shapes_that_only_meet_at_run_time() -> None:
    text = "def @main(%a: Tensor[(?), float32], %b: Tensor[(?), float32]) {\n  add(%a, %b)\n}"
    with pytest.raises(ExecutionError) as caught:
        run(text, np.ones(2), np.ones(3))
    assert "add cannot be computed for arguments of shapes (2,), (3,) (<text>:3:3)" in str(caught.value)


@pytest.mark.compiler
def test_extents_that_types_do_not_tell_are_taken_as_they_come() -> None:
    """TVM checks no extents that types leave unknown: a bias of one element is repeated."""
    text = """#[version = "0.0.5"]
    def @main(%data: Tensor[(?, ?), float32], %bias: Tensor[(?), float32]) { nn.bias_add(%data, %bias) }"""
    mod = infer_type(parse(text))
    data, bias = np.ones((2, 3), np.float32), np.full(1, 5, np.float32)
    for backend in ("numpy", "c"):
        found = create_executor("debug", mod, backend=backend).evaluate()(data, bias)
        np.testing.assert_array_equal(found, np.full((2, 3), 6, np.float32))
