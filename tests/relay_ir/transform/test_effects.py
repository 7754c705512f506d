"""Lets whose values have effects, which passes have to keep."""

from __future__ import annotations

import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir import Call, Function, GlobalVar, IRModule, Let, Op, Var, const, transform
from relay2relax.relay_ir.ir.rewrite import nodes

HEADER = '#[version = "0.0.5"]\n'


def kept(mod: IRModule) -> list[str]:
    """Return the variables that lets of ``@main`` bind after dead ones are gone."""
    after = transform.DeadCodeElimination()(mod)
    return sorted(node.var.name for node in nodes(after["main"]) if isinstance(node, Let))


def test_memory_is_given_back() -> None:
    """As TVM's test_impure_op and test_impure_func: also where a function does it."""
    x = Var("x", relay_ir.TensorType((2,), "float32"))
    kill = Call(Op("memory.kill"), (x,))
    frees = Function((x,), Let(Var("u"), kill, const(0)))
    y = Var("y", relay_ir.TensorType((2,), "float32"))
    f = GlobalVar("f")
    main = Function((y,), Let(Var("a"), Call(f, (y,)), Let(Var("b"), const(1), const(0))))
    mod = IRModule({f: frees, GlobalVar("main"): main})
    assert kept(mod) == ["a"]
    assert isinstance(transform.DeadCodeElimination()(mod)["f"].body, Let)
    assert isinstance(transform.DeadCodeElimination(ignore_impurity=True)(mod)["f"].body, relay_ir.Constant)


def test_calls_of_pure_functions_go() -> None:
    text = """
    def @write(%r: ref(int32)) -> int32 { let %u = ref_write(%r, 1); 0 }
    def @through(%r: ref(int32)) -> int32 { @write(%r) }
    def @pure(%x: int32) -> int32 { if (less(%x, 0)) { %x } else { @pure(subtract(%x, 1)) } }
    def @main(%r: ref(int32), %g: fn (int32) -> int32) -> int32 {
      let %a = @through(%r);
      let %b = @pure(3);
      let %c = fn (%z: int32) { add(%z, 2) };
      let %d = %c(3);
      let %e = fn (%z: int32) { @write(%r) };
      let %f = %e(3);
      let %h = %g(1);
      0
    }"""
    assert kept(relay_ir.parse(HEADER + text)) == ["a", "e", "f", "h"]


def test_later_names_of_a_value_are_used_for_it() -> None:
    """As TVM's test_let2 of the basic block normal form."""
    mod = relay_ir.parse(HEADER + "def @main() -> float32 { let %x = 4f; let %y = %x; %x }")
    first = of_type(transform.ToBasicBlockNormalForm()(mod)["main"].body, Let)
    second = of_type(first.body, Let)
    assert second.value is first.var
    assert second.body is second.var


BEFORE_AND_AFTER = {
    "dead let": ("(%z: int32) { let %x = 1; %z }", "(%z: int32) { %z }"),
    "one live let": ("(%z: int32) { let %x = 1; let %y = 2; add(%x, %x) }", "(%z: int32) { let %x = 1; add(%x, %x) }"),
    "nested let": (
        "(%d: int32, %b: int32) { let %a = %b; let %c = %d; %c }",
        "(%d: int32, %b: int32) { let %c = %d; %c }",
    ),
    "let in an operand": ("() { add((let %a = 1; 3), 2) }", "() { add(3, 2) }"),
    "field": ("() { let %a = 100; %t = (1, 2, 3, 4); %t.0 }", "() { %t = (1, 2, 3, 4); %t.0 }"),
    "dead recursion": (
        """() {
          let %f = fn (%n: int32) -> int32 { if (equal(%n, 0)) { %n } else { %f(subtract(%n, 1)) } };
          ()
        }""",
        "() { () }",
    ),
    "live recursion": (
        """() {
          let %f = fn (%n: int32) -> int32 { if (equal(%n, 0)) { %n } else { %f(subtract(%n, 1)) } };
          %f(2)
        }""",
        "",
    ),
    "a cell that nothing uses": ("() { let %r = ref(1); 0 }", "() { 0 }"),
}
# What is used once stands where it is used.
ONCE = {
    "into a function": (
        "() { let %x = add(1, 1); let %f = fn (%y: int32) { let %z = add(%y, %y); add(%x, %z) }; (%f(2), %f(3)) }",
        "() { let %x = add(1, 1); let %f = fn (%y: int32) { add(%x, add(%y, %y)) }; (%f(2), %f(3)) }",
    ),
    "cells": (
        """() {
          let %r = ref(0);
          let %y = ref_read(%r);
          let %u = ref_write(%r, add(%y, 1));
          %y
        }""",
        "",
    ),
}


@pytest.mark.parametrize(
    ("before", "after", "once"),
    [(*one, False) for one in BEFORE_AND_AFTER.values()] + [(*one, True) for one in ONCE.values()],
)
def test_tvms_tests_of_dead_code(before: str, after: str, once: bool) -> None:
    mod, expected = (
        relay_ir.parse(f"{HEADER}def @main{text.replace('%t', '%0')}") for text in (before, after or before)
    )
    found = relay_ir.infer_type(transform.DeadCodeElimination(inline_once=once)(mod))
    assert relay_ir.first_difference(found, relay_ir.infer_type(expected)) is None


def test_memory_is_taken_where_it_is_used() -> None:
    """As TVM's test_impure_op: what is taken stands where it is given back."""
    x = Var("x", relay_ir.TensorType((2,), "float32"))
    storage, gone = Var("s"), Var("u")
    record = relay_op("memory.alloc_storage")
    assert record is not None
    attrs = record.attrs(virtual_device=relay_ir.VirtualDevice())
    take = Call(Op(record.name), (const(8, "int64"), const([2], "int64"), const(64, "int64")), attrs)
    kill = Call(Op("memory.kill"), (storage,))
    mod = IRModule({GlobalVar("main"): Function((x,), Let(storage, take, Let(gone, kill, const(0))))})
    after = of_type(transform.DeadCodeElimination(inline_once=True)(mod)["main"].body, Let)
    assert of_type(after.value, Call).args == (take,)
    unused = IRModule({GlobalVar("main"): Function((x,), Let(storage, take, const(0)))})
    assert transform.DeadCodeElimination(inline_once=True)(unused)["main"] is unused["main"]
