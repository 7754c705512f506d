"""Branches, recursion and what the program says beforehand of lists, references and functions, in
both translations.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.core.errors import UnsupportedError
from relay2relax.relax_ir.transform import LegalizeOps

HEAD = '#[version = "0.0.5"]\n'
BRANCH = """
def @main(%c: bool, %x: Tensor[(?), float32]) {
  %0 = exp(%x);
  %1 = if (%c) { add(%0, %x) } else { if (%c) { %x } else { negative(%0) } };
  multiply(%1, %0)
}
"""
LOOP = """
def @main(%n: int32, %x: Tensor[(2), float32]) {
  %3 = (
    let %while_loop: fn (int32, Tensor[(2), float32]) -> (int32, Tensor[(2), float32]) =
      fn (%i: int32, %a: Tensor[(2), float32]) -> (int32, Tensor[(2), float32]) {
        %0 = less(%i, %n);
        if (%0) {
          %1 = add(%i, 1);
          %2 = add(%a, %x);
          %while_loop(%1, %2)
        } else { (%i, %a) }
      };
    %while_loop
  );
  %4 = %3(0, %x);
  %5 = %4.1;
  divide(%5, %x)
}
"""
GROWING = """
def @main(%n: int32) -> Tensor[(?, 1), int32] {
  %6 = (
    let %loop: fn (int32, Tensor[(?, 1), int32]) -> Tensor[(?, 1), int32] =
      fn (%i: int32, %st: Tensor[(?, 1), int32]) -> Tensor[(?, 1), int32] {
        %0 = less(%i, %n);
        if (%0) {
          %1 = add(%i, 1);
          %2 = reshape(%i, newshape=[1, 1]);
          %3 = (%st, %2);
          %4 = concatenate(%3);
          %loop(%1, %4)
        } else { %st }
      };
    %loop
  );
  %7 = reshape(0, newshape=[1, 1]);
  %8 = %6(1, %7);
  add(%8, 1)
}
"""
FIBONACCI = """
def @main(%n: int32) -> int32 { @fib(%n) }
def @fib(%n: int32) -> int32 {
  %0 = less(%n, 2);
  if (%0) { %n } else {
    %1 = subtract(%n, 1);
    %2 = subtract(%n, 2);
    %3 = @fib(%1);
    %4 = @fib(%2);
    add(%3, %4)
  }
}
"""
REFERENCES = """
def @main(%x: float32) {
  let %r = ref(%x);
  let %before = ref_read(%r);
  let %u = ref_write(%r, 2f);
  let %after = ref_read(%r);
  (%before, %after)
}
"""
LISTS = """
type List[A] { Cons(A, List[A]), Nil, }
def @total(%list: List[float32]) -> float32 {
  match (%list) {
    Cons(%head, %tail) => { %0 = @total(%tail); add(%head, %0) },
    Nil => 0f,
  }
}
def @map(%f: fn (float32) -> float32, %list: List[float32]) -> List[float32] {
  match (%list) {
    Cons(%head, %tail) => { %0 = %f(%head); %1 = @map(%f, %tail); Cons(%0, %1) },
    Nil => Nil,
  }
}
def @main(%x: float32, %y: float32) {
  %0 = Nil;
  %1 = Cons(%y, %0);
  %2 = Cons(%x, %1);
  %3 = fn (%v: float32) -> float32 { multiply(%v, %x) };
  %4 = @map(%3, %2);
  @total(%4)
}
"""
COUNTED = """
type List[A] { Cons(A, List[A]), Nil, }
def @repeat(%x: float32, %n: int32) -> List[float32] {
  %0 = equal(%n, 0);
  if (%0) { Nil } else { %1 = subtract(%n, 1); %2 = @repeat(%x, %1); Cons(%x, %2) }
}
def @nth(%list: List[float32], %n: int32) -> float32 {
  %0 = equal(%n, 0);
  match (%list) {
    Cons(%head, %tail) => if (%0) { %head } else { %1 = subtract(%n, 1); @nth(%tail, %1) },
    Nil => 0f,
  }
}
def @main(%x: float32) {
  %0 = @repeat(%x, 3);
  %1 = @nth(%0, 2);
  %2 = @nth(%0, 5);
  (%1, %2)
}
"""
F = np.float32
CASES: dict[str, tuple[str, list[Any], Any]] = {
    "branch taken": (BRANCH, [np.array(True), np.zeros(3, F)], np.ones(3, F)),
    "branch not taken": (BRANCH, [np.array(False), np.zeros(2, F)], -np.ones(2, F)),
    "loop": (LOOP, [np.int32(4), np.array([1, 3], F)], np.array([5, 5], F)),
    "growing": (GROWING, [np.int32(4)], np.array([[1], [2], [3], [4]], "int32")),
    "two calls of itself": (FIBONACCI, [np.int32(10)], np.array(55, "int32")),
    "references": (REFERENCES, [F(7)], (np.array(7, F), np.array(2, F))),
    "lists": (LISTS, [F(3), F(5)], np.array(24, F)),
    "lists counted": (COUNTED, [F(3)], (np.array(3, F), np.array(0, F))),
}


def parsed(text: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(HEAD + text))


@pytest.fixture(params=["lower_to_tir", "via_graph"])
def translate(request: pytest.FixtureRequest) -> Any:
    return getattr(translator, request.param)


def check(actual: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for one, other in zip(actual, expected, strict=True):
            check(one, other)
        return
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_translated(name: str, translate: Any) -> None:
    text, args, expected = CASES[name]
    relax = translate(parsed(text))
    relax_ir.check_well_formed(relax)
    script = relax.script()
    assert relax_ir.parse(script).script() == script
    check(backends.VirtualMachine(backends.build(relax))["main"](*args), expected)
    lowered = LegalizeOps()(relax)
    relax_ir.check_well_formed(lowered)
    check(backends.VirtualMachine(backends.build(lowered))["main"](*args), expected)


@pytest.mark.compiler
@pytest.mark.parametrize("name", ["branch taken", "loop", "growing", "two calls of itself"])
def test_compiled(name: str, translate: Any) -> None:
    text, args, expected = CASES[name]
    machine = backends.VirtualMachine(backends.build(translate(parsed(text)), target="c"))
    check(machine["main"](*args), expected)


@pytest.mark.tvm
@pytest.mark.parametrize("name", ["branch not taken", "loop", "growing", "two calls of itself"])
@pytest.mark.sweep(every=2)
def test_in_tvm(name: str, translate: Any) -> None:
    text, args, expected = CASES[name]
    machine = backends.VirtualMachine(backends.build(translate(parsed(text)), target="tvm"))
    check(machine["main"](*args), expected)


def test_what_it_looks_like() -> None:
    """Dataflow stands in blocks.

    The loop is a private function that gets what it captures behind its own arguments.
    """
    relax = translator.via_graph(parsed(LOOP))
    script = relax.script()
    assert "R.dataflow()" in script
    loop = relax["while_loop"]
    assert loop.private
    assert [param.name for param in loop.params] == ["i", "a", "n", "x"]
    assert "if " in script


def test_a_loop_of_ten_thousand_iterations_needs_one_frame(translate: Any) -> None:
    text = LOOP.replace("Tensor[(2), float32]", "Tensor[(20000), float32]")
    machine = backends.VirtualMachine(backends.build(translate(parsed(text))))
    x = np.ones(20000, F)
    machine["main"](np.int32(1), x)
    tracemalloc.start()
    machine["main"](np.int32(200), x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 200 states would be 16 megabytes.
    assert peak < 8_000_000
    small = backends.VirtualMachine(backends.build(translate(parsed(LOOP))))
    check(small["main"](np.int32(10_000), np.ones(2, F)), np.full(2, 10_001, F))


def test_deep_recursion_that_is_no_loop(translate: Any) -> None:
    text = """
def @main(%n: int32) -> int32 { @count(%n) }
def @count(%n: int32) -> int32 {
  %0 = equal(%n, 0);
  if (%0) { 0 } else {
    %1 = subtract(%n, 1);
    %2 = @count(%1);
    add(%2, 1)
  }
}
"""
    machine = backends.VirtualMachine(backends.build(translate(parsed(text))))
    check(machine["main"](np.int32(5000)), np.array(5000, "int32"))


def test_the_only_function_is_the_entry(translate: Any) -> None:
    text = FIBONACCI.split("\n", 2)[2]
    machine = backends.VirtualMachine(backends.build(translate(parsed(text))))
    check(machine["fib"](np.int32(7)), np.array(13, "int32"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            """
type List[A] { Cons(A, List[A]), Nil, }
def @main(%c: bool, %x: float32) {
  %0 = Nil;
  %1 = if (%c) { Cons(%x, %0) } else { Nil };
  match (%1) { Cons(%head, _) => %head, Nil => 0f, }
}
""",
            "a branch gives a value of the data type List .constructor Cons.",
        ),
        (
            """
type List[A] { Cons(A, List[A]), Nil, }
def @count(%n: int32) -> List[int32] {
  %0 = equal(%n, 0);
  if (%0) { Nil } else { %1 = subtract(%n, 1); %2 = @count(%1); Cons(%n, %2) }
}
def @main(%n: int32) { @count(%n) }
""",
            "count calls itself with values, or gives some, that Relax does not have",
        ),
        (
            """
type List[A] { Cons(A, List[A]), Nil, }
def @main(%list: List[float32]) { %list }
""",
            "the parameter list has the type `List.float32.`; Relax has no such values",
        ),
        (
            """
def @main(%c: bool, %x: float32) {
  let %r = ref(%x);
  let %u = if (%c) { ref_write(%r, 2f) } else { () };
  ref_read(%r)
}
""",
            "what a reference holds is known only when the program runs",
        ),
        (
            """
def @main(%c: bool, %x: float32) {
  %0 = if (%c) { fn (%a: float32) -> float32 { %a } } else { fn (%b: float32) -> float32 { exp(%b) } };
  %0(%x)
}
""",
            "a branch gives a function",
        ),
    ],
)
def test_what_only_the_running_program_knows_is_refused(text: str, message: str, translate: Any) -> None:
    with pytest.raises(UnsupportedError, match=message):
        translate(parsed(text))
