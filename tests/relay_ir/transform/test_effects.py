"""Lets whose values have effects, which passes have to keep."""

from __future__ import annotations

from typed import of_type

from relay2relax import relay_ir
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
