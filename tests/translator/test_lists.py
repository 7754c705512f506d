"""Lists of which only the running program knows which part is asked for: the arms of a branch give
the same constructors, and the program ends where no clause would match.
"""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.core import ExecutionError, UnsupportedError

HEAD = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
"""
LIBRARY = (
    HEAD
    + """def @nth[A](%xs: List[A], %n: int32) -> A {
  if (equal(%n, 0)) {
    match? (%xs) { Cons(%h, _) => %h }
  } else {
    @nth(match? (%xs) { Cons(_, %t) => %t }, subtract(%n, 1))
  }
}
def @update[A](%xs: List[A], %n: int32, %v: A) -> List[A] {
  if (equal(%n, 0)) {
    match? (%xs) { Cons(_, %t) => Cons(%v, %t) }
  } else {
    match? (%xs) { Cons(%h, %t) => Cons(%h, @update(%t, subtract(%n, 1), %v)) }
  }
}
"""
)
X, Y = np.array([1, 2], "float32"), np.array([6, 7], "float32")
PLACES = "%x: Tensor[(2), float32], %y: Tensor[(2), float32], %n: int32"
READ = LIBRARY + f"def @main({PLACES}) {{ @nth(Cons(%x, Cons(%y, Nil)), %n) }}\n"
WRITTEN = LIBRARY + f"def @main({PLACES}) {{ @update(Cons(%x, Cons(%x, Cons(%x, Nil))), %n, %y) }}\n"


@pytest.fixture(params=["tir", "graph"])
def via(request: pytest.FixtureRequest) -> translator.Via:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(
    params=["numpy", pytest.param("c", marks=pytest.mark.compiler), pytest.param("tvm", marks=pytest.mark.tvm)]
)
def target(request: pytest.FixtureRequest) -> str:
    return request.param  # type: ignore[no-any-return]


def machine(text: str, via: translator.Via, target: str) -> backends.VirtualMachine:
    module = translator.translate(relay_ir.parse(text), via)
    relax_ir.check_well_formed(module)
    return backends.VirtualMachine(backends.build(module, target=target))


def test_a_list_is_read_where_the_program_says(via: translator.Via, target: str) -> None:
    built = machine(READ, via, target)
    np.testing.assert_array_equal(built["main"](X, Y, np.int32(0)), X)
    np.testing.assert_array_equal(built["main"](X, Y, np.int32(1)), Y)


@pytest.mark.parametrize("place", [2, -1])
def test_a_place_that_is_not_in_the_list_ends_the_program(via: translator.Via, target: str, place: int) -> None:
    message = r"no clause matches a value of the data type List \(constructor Nil\) \(<text>:5:5\)"
    with pytest.raises(ExecutionError, match=message):
        machine(READ, via, target)["main"](X, Y, np.int32(place))


def test_a_list_is_written_where_the_program_says(via: translator.Via, target: str) -> None:
    built = machine(WRITTEN, via, target)
    for place in range(3):
        first, (second, (third, end)) = built["main"](X, Y, np.int32(place))
        for at, one in enumerate((first, second, third)):
            np.testing.assert_array_equal(one, Y if at == place else X)
        assert end == ()
    with pytest.raises(ExecutionError, match="no clause matches"):
        built["main"](X, Y, np.int32(3))


@pytest.mark.parametrize("at", [0, 1])
def test_an_arm_without_a_result_ends_the_program_only_where_it_is_taken(
    via: translator.Via, target: str, at: int
) -> None:
    arms = ["match? (%e) { Cons(%h, _) => %h }", "negative(%x)"]
    text = (
        HEAD
        + f"""def @main(%c: bool, %x: Tensor[(2), float32]) {{
  let %e = if (%c) {{ Nil }} else {{ Nil }};
  if (%c) {{ {arms[at]} }} else {{ {arms[1 - at]} }}
}}
"""
    )
    built = machine(text, via, target)
    np.testing.assert_array_equal(built["main"](np.bool_(at), X), -X)
    with pytest.raises(ExecutionError, match="no clause matches"):
        built["main"](np.bool_(not at), X)


def test_functions_of_one_body_are_chosen_by_what_they_hold(via: translator.Via, target: str) -> None:
    text = (
        HEAD
        + """def @main(%c: bool, %x: float32, %y: float32) {
  let %scale = fn (%by: float32) -> fn (float32) -> float32 { fn (%v: float32) -> float32 { multiply(%v, %by) } };
  let %f = if (%c) { %scale(%x) } else { %scale(%y) };
  (%f(%x), %f(%y))
}
"""
    )
    built = machine(text, via, target)
    for chosen in (True, False):
        by = 2 if chosen else 3
        got = built["main"](np.bool_(chosen), np.float32(2), np.float32(3))
        assert [float(one) for one in got] == [2 * by, 3 * by]


def test_tensors_of_several_shapes_are_chosen_from_a_list(via: translator.Via, target: str) -> None:
    text = (
        LIBRARY
        + """def @main(%x: Tensor[(?), float32], %y: Tensor[(?), float32], %n: int32) {
  negative(@nth(Cons(%x, Cons(%y, Nil)), %n))
}
"""
    )
    built = machine(text, via, target)
    long = np.arange(5, dtype="float32")
    np.testing.assert_array_equal(built["main"](X, long, np.int32(0)), -X)
    np.testing.assert_array_equal(built["main"](X, long, np.int32(1)), -long)


def test_a_recursive_function_that_may_end_the_program_has_effects(via: translator.Via, target: str) -> None:
    text = (
        LIBRARY
        + f"""def @total(%i: int32, {PLACES}) -> Tensor[(2), float32] {{
  if (equal(%i, %n)) {{
    %x
  }} else {{
    add(@nth(Cons(%x, Cons(%y, Nil)), %i), @total(add(%i, 1), %x, %y, %n))
  }}
}}
def @main({PLACES}) {{ @total(0, %x, %y, %n) }}
"""
    )
    built = machine(text, via, target)
    np.testing.assert_array_equal(built["main"](X, Y, np.int32(2)), X + Y + X)
    with pytest.raises(ExecutionError, match="no clause matches"):
        built["main"](X, Y, np.int32(3))
    module = translator.translate(relay_ir.parse(text), via)
    assert not any(func.pure for func in module.functions.values() if isinstance(func, relax_ir.Function))


@pytest.mark.sweep(every=2)
def test_the_length_of_a_list_follows_from_given_extents_and_data(via: translator.Via, target: str) -> None:
    text = (
        HEAD
        + """def @split(%v: Tensor[(?), float32], %i: int32, %n: int32) -> List[float32] {
  if (equal(%i, %n)) { Nil } else { Cons(take(%v, %i), @split(%v, add(%i, 1), %n)) }
}
def @main(%v: Tensor[(?), float32], %n: int32) {
  (@split(%v, 0, take(shape_of(%v, dtype="int32"), 0)), @split(%v, 0, %n))
}
"""
    )
    mod = relay_ir.parse(text)
    with pytest.raises(UnsupportedError, match="split calls itself with values"):
        translator.translate(mod, via)
    module = translator.translate(mod, via, params={"n": np.array(1, "int32")}, dims={"v": (2,)})
    whole, part = backends.VirtualMachine(backends.build(module, target=target))["main"](X)
    assert [float(whole[0]), float(whole[1][0]), whole[1][1]] == [1, 2, ()]
    assert [float(part[0]), part[1]] == [1, ()]


def test_functions_of_arms_that_are_left_out_are_not_in_the_module(via: translator.Via) -> None:
    text = (
        HEAD
        + """def @none() -> List[Tensor[(2), float32]] { Nil }
def @main(%c: bool, %x: Tensor[(2), float32]) {
  let %e = @none();
  if (%c) { let %y = exp(%x); match? (%e) { Cons(%h, _) => add(%h, %y) } } else { negative(%x) }
}
"""
    )
    module = translator.translate(relay_ir.parse(text), via)
    assert "exp" not in module.script()
    assert {"main", "negative"} >= {var.name for var in module.functions} - {"logical_not"}


def test_the_map_of_such_a_program_names_what_is_there() -> None:
    traced = translator.translate_with_map(relay_ir.parse(READ))
    places = [place for place in traced.map.relax if place.name == "_"]
    assert len(places) == 1
    match = [number for number, node in enumerate(traced.map.relay) if node.kind == "If"]
    assert any(place.name == "_" for number in match for place in traced.map.places(number))


def test_what_decides_the_length_of_a_list_is_named_with_its_inputs(via: translator.Via) -> None:
    text = (
        HEAD
        + """def @split(%v: Tensor[(?), float32], %i: int32, %n: int32) -> List[float32] {
  if (equal(%i, %n)) { Nil } else { Cons(take(%v, %i), @split(%v, add(%i, 1), %n)) }
}
def @main(%unused: float32, %data: Tensor[(?), float32], %count: int32) {
"""
    )
    for length, name in (('take(shape_of(%data, dtype="int32"), 0)', "data"), ("add(%count, 1)", "count")):
        with pytest.raises(UnsupportedError) as caught:
            translator.translate(relay_ir.parse(text + f"  @split(%data, 0, {length})\n}}\n"), via)
        (found,) = caught.value.diagnostics
        assert found.kind is not None
        assert found.kind.code == "R2R-0730"
        assert found.where is not None
        assert (found.where.line, found.where.column) == (4, 7)
        assert found.label.endswith(f"by what is given for %{name}")
        assert f"say beforehand what is known of %{name}:" in found.help


def test_arms_of_different_forms_are_named_once(via: translator.Via) -> None:
    """What is made of the value is not told as well."""
    text = (
        HEAD
        + """def @main(%c: bool, %x: float32, %y: float32) {
  let %a = (%x, ref(%x));
  let %b = (%y, ref(%y));
  let %either = fn (%p: (float32, ref(float32)), %q: (float32, ref(float32))) {
    let %r = if (%c) { %p } else { %q };
    (%r.0, %r.1)
  };
  let %r = %either(%a, %b);
  (%r.0, ref_read(%r.1))
}
"""
    )
    with pytest.raises(UnsupportedError) as caught:
        translator.translate(relay_ir.parse(text), via)
    (found,) = caught.value.diagnostics
    assert found.kind is not None
    assert found.kind.code == "R2R-0731"
    assert found.where is not None
    assert found.where.line == 7
    assert "a branch gives a reference" in found.title
    assert "move what uses the value into both arms" in found.help
