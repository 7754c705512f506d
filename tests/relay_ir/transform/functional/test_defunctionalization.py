"""Programs of first order, as TVM's test_pass_defunctionalization.py: numbers stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import FuncType, IRModule, transform
from relay2relax.relay_ir.build.prelude import library_text
from relay2relax.relay_ir.ir.rewrite import nodes

LIBRARY = library_text(("prelude", "nat"))
PROGRAMS = {
    "simple": """
    def @simple[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }
    def @main(%l: Tensor[(4), float32]) -> Tensor[(4), float32] {
      @simple(fn (%x: Tensor[(4), float32]) { add(%x, %x) }, %l)
    }""",
    "polymorphic literal": """
    def @simple[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }
    def @main(%l: Tensor[(4), float32]) -> Tensor[(4), float32] { @simple(fn [A](%x: A) -> A { %x }, %l) }""",
    "name": """
    def @double(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { add(%x, %x) }
    def @main(%l: Tensor[(4), float32]) -> Tensor[(4), float32] {
      @hd(@map(@double, Cons(%l, Cons(multiply(%l, 3f), Nil))))
    }""",
    "closure": """
    def @main(%l: Tensor[(4), float32]) -> Tensor[(4), float32] {
      let %k = multiply(%l, 3f);
      @foldl(fn (%a: Tensor[(4), float32], %b: Tensor[(4), float32]) { add(multiply(%a, %k), %b) }, %l,
        Cons(%l, Cons(%k, Nil)))
    }""",
    "result is a function": """
    def @main(%l: Tensor[(4), float32]) -> Tensor[(4), float32] {
      let %f = @nat_iterate(fn (%x: Tensor[(4), float32]) { add(%x, %l) }, succ(succ(succ(zero))));
      %f(%l)
    }""",
    "continuations": """
    def @total(%f: fn (Tensor[(4), float32]) -> Tensor[(4), float32], %k: List[Tensor[(4), float32]])
        -> Tensor[(4), float32] {
      match (%k) {
        Cons(%x, %rest) => {
          @total(fn (%n: Tensor[(4), float32]) -> Tensor[(4), float32] { add(%x, %f(%n)) }, %rest)
        },
        Nil => { %f(zeros(shape=[4], dtype="float32")) },
      }
    }
    def @main(%l: Tensor[(4), float32]) -> Tensor[(4), float32] {
      @total(@id, Cons(%l, Cons(exp(%l), Nil)))
    }""",
    "functions in data": """
    def @main(%l: Tensor[(4), float32]) -> Tensor[(4), float32] {
      let %fs = Cons(fn (%x: Tensor[(4), float32]) { add(%x, %l) }, Nil);
      let %pair = (@hd(%fs), 2f);
      let %f = %pair.0;
      multiply(%f(%l), %pair.1)
    }""",
    "calls itself": """
    def @main(%l: Tensor[(4), float32]) -> Tensor[(4), float32] {
      let %loop = fn (%i: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
        if (less(%i, 3)) { %loop(add(%i, 1), add(%x, %l)) } else { %x }
      };
      %loop(0, %l)
    }""",
    "calls itself from within": """
    def @main(%l: Tensor[(4), float32]) -> Tensor[(4), float32] {
      let %loop = fn (%i: int32) -> Tensor[(4), float32] {
        let %next = fn (%j: int32) -> Tensor[(4), float32] { exp(%loop(add(%j, 1))) };
        if (less(%i, 2)) { %next(%i) } else { %l }
      };
      %loop(0)
    }""",
    "chosen": """
    def @main(%l: Tensor[(4), float32]) -> Tensor[(4), float32] {
      let %f = if (less(min(%l), 0f)) { fn (%x: Tensor[(4), float32]) { negative(%x) } }
        else { fn (%x: Tensor[(4), float32]) { %x } };
      %f(%l)
    }""",
}


def values_of_functions(mod: IRModule) -> list[str]:
    """Return the functions that ``@main`` reaches and in which functions are values."""
    found, stack, seen = [], ["main"], set()
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in nodes(mod[name].body):
            if isinstance(node, relay_ir.GlobalVar):
                stack.append(node.name)
            named = isinstance(node, (relay_ir.GlobalVar, relay_ir.Op, relay_ir.Constructor))
            if not named and isinstance(mod.types[node], FuncType):
                found.append(name)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_become_first_order(name: str) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(f"{LIBRARY}\n{PROGRAMS[name]}"))
    assert values_of_functions(mod)
    after = relay_ir.infer_type(transform.Defunctionalization()(mod))
    assert values_of_functions(after) == []
    for seed in range(2):
        data = np.random.default_rng(seed).standard_normal(4).astype("float32")
        found, expected = (np.asarray(create_executor("debug", one).evaluate()(data)) for one in (after, mod))
        np.testing.assert_array_equal(found, expected)
    assert relay_ir.structural_equal(relay_ir.infer_type(relay_ir.parse(str(after))), after)


def refused(text: str) -> Any:
    return pytest.raises(UnsupportedError, match=text)


def test_what_is_refused() -> None:
    def mod(text: str) -> IRModule:
        return relay_ir.infer_type(relay_ir.parse(f"{LIBRARY}\n{text}"))

    with refused("takes or gives functions"):
        transform.Defunctionalization()(mod("def @main(%f: fn (int32) -> int32) -> int32 { %f(1) }"))
    with refused("takes or gives functions"):
        transform.Defunctionalization()(mod("def @main[A](%x: A) -> A { %x }"))
    endless = """
    def @grow[A](%f: fn (A) -> int32, %x: A) -> int32 {
      @grow(fn (%p: (A, A)) { %f(%p.0) }, (%x, %x))
    }
    def @main(%x: int32) -> int32 { @grow(fn (%y: int32) { %y }, %x) }"""
    with refused("more and more types"):
        transform.Defunctionalization()(mod(endless))
