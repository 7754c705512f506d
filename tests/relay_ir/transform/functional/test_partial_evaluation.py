"""PartialEvaluate, as TVM's test_pass_partial_eval.py, and by numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from recorded_cases import arguments, problem

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import Function, IRModule, const, op, transform
from relay2relax.relay_ir.build.prelude import library_text

LIBRARY = library_text(("prelude", "nat"))
ONLY = '#[version = "0.0.5"]\n'


def number(count: int) -> str:
    return "succ(" * count + "zero" + ")" * count


def evaluated(mod: IRModule) -> IRModule:
    """Return what TVM's tests compare: evaluated in part, without what nothing uses."""
    after = relay_ir.infer_type(transform.PartialEvaluate()(mod))
    return relay_ir.infer_type(transform.DeadCodeElimination(inline_once=True)(after))


# The main function, and what it becomes; the library is around both.
KNOWN = {
    "const_inline": ("() { let %f = fn (%d: float32) { add(%d, %d) }; %f(4f) }", "() -> float32 { 8f }"),
    "head_cons": ("[t](%x: t) -> t { @hd(Cons(%x, Nil)) }", "[t](%x: t) -> t { %x }"),
    "map": (
        "() -> List[int32] { @map(@id, Cons(1, Cons(2, Cons(3, Nil)))) }",
        "() -> List[int32] { Cons(1, Cons(2, Cons(3, Nil))) }",
    ),
    "double": (f"() -> nat {{ @nat_double({number(3)}) }}", f"() -> nat {{ {number(6)} }}"),
    "match_nat_id": (
        f"() -> nat {{ match ({number(3)}) {{ zero => {{ zero }}, succ(%x) => {{ succ(%x) }} }} }}",
        f"() -> nat {{ {number(3)} }}",
    ),
    "tuple_match": ("() { match ((1, 1)) { (%a, %b) => { add(%a, %b) } } }", "() -> int32 { 2 }"),
    "sum": ("() { @sum(Cons(1, Cons(2, Nil))) }", "() -> int32 { 3 }"),
    "branch": ("(%x: int32) { if (less(1, 2)) { %x } else { add(%x, 1) } }", "(%x: int32) -> int32 { %x }"),
    "cell": (
        "(%x: int32) { let %r = ref(%x); let %f = fn () { ref_read(%r) }; (%f(), 1) }",
        "(%x: int32) -> (int32, int32) { (%x, 1) }",
    ),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.sweep(every=2)
def test_what_is_known_is_evaluated(name: str) -> None:
    before, after = (relay_ir.infer_type(relay_ir.parse(f"{LIBRARY}\ndef @main{text}")) for text in KNOWN[name])
    found = evaluated(before)["main"]
    # The library is evaluated as well, so only the main functions are compared.
    assert relay_ir.first_difference(found, after["main"]) is None


RECURSIVE = {
    "loop": "def @main() -> int32 { @loop(1) } def @loop[t](%x: t) -> t { @loop(%x) }",
    "swap_loop": f"""def @main() -> nat {{ @swap({number(1)}, {number(2)}) }}
        def @swap(%x: nat, %y: nat) -> nat {{ @swap(%y, %x) }}""",
}


@pytest.mark.parametrize("name", RECURSIVE)
def test_endless_recursion_is_left(name: str) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(f"{LIBRARY}\n{RECURSIVE[name]}"))
    assert relay_ir.first_difference(evaluated(mod)["main"], mod["main"]) is None


def test_what_a_callee_said_of_parameters_is_kept() -> None:
    text = (
        "def @main(%n) { @next(%n) } def @next(%n: int32) { if (equal(%n, 0)) { %n } else { @next(subtract(%n, 1)) } }"
    )
    after = relay_ir.infer_type(transform.PartialEvaluate()(relay_ir.parse(f"{LIBRARY}\n{text}")))
    assert after.types[after["main"].params[0]] == relay_ir.TensorType((), "int32")


DIFFERENCE = """
def @diff(%x: nat, %y: nat) -> nat {
  match (%x) {
    zero => { %y },
    succ(%a) => { match (%y) { zero => { %x }, succ(%b) => { @diff(%b, %a) } } },
  }
}
def @main() -> nat { @diff(SEVEN, THREE) }
"""


def test_recursion_over_constructors() -> None:
    text = LIBRARY + DIFFERENCE.replace("SEVEN", number(7)).replace("THREE", number(3))
    found = evaluated(relay_ir.parse(text))["main"].body
    expected = relay_ir.parse(f"{LIBRARY}\ndef @main() -> nat {{ {number(4)} }}")["main"].body
    assert str(found) == str(expected)


def test_the_whole_library() -> None:
    """As TVM's test_nat_update: it is evaluated, and still type-checks."""
    mod = relay_ir.infer_type(relay_ir.parse(LIBRARY))
    after = relay_ir.infer_type(transform.PartialEvaluate()(transform.ToANormalForm()(mod)))
    assert [var.name for var in after.functions] == [var.name for var in mod.functions]


EFFECTS = {
    "if_ref": """(%d: bool) {
      let %r = ref(1);
      let %u = fn () { ref_write(%r, add(ref_read(%r), ref_read(%r))) };
      let %e = if (%d) { %u() } else { %u() };
      ref_read(%r)
    }""",
    "function_invalidate": """(%d: bool) {
      let %r = ref(0);
      let %f = fn () -> int32 { ref_read(%r) };
      let %g = if (%d) { %f } else { %f };
      let %u = ref_write(%r, 1);
      if (%d) { %g() } else { %g() }
    }""",
}


@pytest.mark.parametrize("name", EFFECTS)
@pytest.mark.parametrize("choice", [True, False])
def test_effects_happen_once_and_in_order(name: str, choice: bool) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(f"{ONLY}def @main{EFFECTS[name]}"))
    after = relay_ir.infer_type(transform.PartialEvaluate()(mod))
    given = np.asarray(choice)
    found, expected = (np.asarray(create_executor("debug", one).evaluate()(given)) for one in (after, mod))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(expected, 2 if name == "if_ref" else 1)


def test_a_match_that_cannot_succeed() -> None:
    mod = relay_ir.parse(f"{LIBRARY}\ndef @main() -> nat {{ match? (zero) {{ succ(%x) => {{ %x }} }} }}")
    with pytest.raises(UnsupportedError, match="no clause"):
        transform.PartialEvaluate()(mod)


def test_random_programs_keep_their_numbers(recorded: Any) -> None:
    """Every tenth random program gives what TVM recorded of it."""
    for case in list(recorded("random"))[::10]:
        mod = relay_ir.load_json(case["json"])
        after = evaluated(mod)
        got = create_executor("debug", after).evaluate()(*arguments(case, mod["main"]))
        assert problem(got, case, mod) == "", case["id"]


@pytest.mark.parametrize("model", ["mlp", "lstm_relay", "dqn"])
def test_models_keep_their_numbers(get_model_case: Callable[[str], Any], model: str) -> None:
    case = get_model_case(model)
    after = transform.PartialEvaluate()(relay_ir.load_json(case.json))
    found = create_executor("debug", after).evaluate()(*case.arguments())
    for value, expected in zip(found if isinstance(found, tuple) else [found], case.expected(), strict=True):
        np.testing.assert_allclose(np.asarray(value), expected, rtol=2e-4, atol=2e-5)


@pytest.mark.sweep(every=2)
def test_a_long_program() -> None:
    value: Any = relay_ir.var("x", shape=(2,))
    for _ in range(20_000):
        value = op.add(value, const(1.0))
    after = transform.PartialEvaluate()(IRModule.from_expr(value))
    assert isinstance(after["main"], Function)
