"""The library of Relay programs, run on the debug executor.

What its functions do is TVM's documentation of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.backends.relay.values import AdtValue
from relay2relax.core import Relay2RelaxError
from relay2relax.relay_ir import Constructor, Function, GlobalVar, IRModule, var
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.prelude import Prelude, library_text

PARTS = ("prelude", "nat", "gradient", "core")
LIBRARY = library_text(PARTS, tensor_arrays=("float32",))


def plain(value: Any) -> Any:
    """Return a value of a program as Python's: lists of ``Cons`` as lists, other constructors by
    name.
    """
    if isinstance(value, AdtValue):
        if value.constructor.name in ("Cons", "Nil"):
            found = []
            while value.constructor.name == "Cons":
                found.append(plain(value.fields[0]))
                value = value.fields[1]
            return found
        return (value.constructor.name, *map(plain, value.fields)) if value.fields else value.constructor.name
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.tolist() if isinstance(value, np.ndarray) else value


def run(body: str, result: str = "") -> Any:
    arrow = f" -> {result}" if result else ""
    mod = relay_ir.parse(f"{LIBRARY}\ndef @main(){arrow} {{ {body} }}")
    return plain(create_executor("debug", mod).evaluate()())


def numbers(*values: int) -> str:
    text = "Nil"
    for value in reversed(values):
        text = f"Cons({value}, {text})"
    return text


PLUS = "fn (%x: int32, %y: int32) -> int32 { add(%x, %y) }"
MINUS = "fn (%x: int32, %y: int32) -> int32 { subtract(%x, %y) }"
TWICE = "fn (%x: int32) -> int32 { multiply(%x, 2) }"
STATE = "fn (%s: int32, %x: int32) -> (int32, int32) { (add(%s, %x), multiply(%s, 10)) }"
DOWN = "fn (%n: int32) -> Option[(int32, int32)] { if (equal(%n, 0)) { None } else { Some((subtract(%n, 1), %n)) } }"
TREE = "Rose(1, Cons(Rose(2, Nil), Cons(Rose(3, Cons(Rose(4, Nil), Nil)), Nil)))"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("@id(3)", 3),
        (f"@compose({TWICE}, fn (%x: int32) -> int32 {{ add(%x, 1) }})(5)", 12),
        (f"@flip({MINUS})(2, 10)", 8),
        (f"@hd({numbers(4, 5)})", 4),
        (f"@tl({numbers(4, 5, 6)})", [5, 6]),
        (f"@nth({numbers(4, 5, 6)}, 2)", 6),
        (f"@length({numbers(4, 5, 6)})", 3),
        (f"@update({numbers(4, 5, 6)}, 1, 9)", [4, 9, 6]),
        (f"@map({TWICE}, {numbers(1, 2, 3)})", [2, 4, 6]),
        (f"@foldl({MINUS}, 10, {numbers(1, 2, 3)})", 4),
        (f"@foldr({MINUS}, 10, {numbers(1, 2, 3)})", -8),
        (f"@foldr1({MINUS}, {numbers(1, 2, 3)})", 2),
        (f"@sum({numbers(1, 2, 3)})", 6),
        (f"@concat({numbers(1, 2)}, {numbers(3)})", [1, 2, 3]),
        (f"@filter(fn (%x: int32) -> bool {{ greater(%x, 1) }}, {numbers(1, 2, 3)})", [2, 3]),
        (f"@zip({numbers(1, 2, 3)}, {numbers(7, 8)})", [(1, 7), (2, 8)]),
        (f"@rev({numbers(1, 2, 3)})", [3, 2, 1]),
        (f"@map_accumr({STATE}, 1, {numbers(1, 2, 3)})", (7, [60, 40, 10])),
        (f"@map_accuml({STATE}, 1, {numbers(1, 2, 3)})", (7, [40, 20, 10])),
        (f"@unfoldr({DOWN}, 3)", [3, 2, 1]),
        (f"@unfoldl({DOWN}, 3)", [1, 2, 3]),
        (f"@tmap({TWICE}, {TREE})", ("Rose", 2, [("Rose", 4, []), ("Rose", 6, [("Rose", 8, [])])])),
        (f"@size({TREE})", 4),
        (f"@iterate({TWICE}, 5)(1)", 32),
        ("@nat_double(succ(succ(zero)))", ("succ", ("succ", ("succ", ("succ", "zero"))))),
        ("@nat_add(succ(zero), succ(zero))", ("succ", ("succ", "zero"))),
        (f"@nat_nth({numbers(4, 5)}, succ(zero))", 5),
        (f"@nat_update({numbers(4, 5)}, succ(zero), 9)", [4, 9]),
        (f"@nat_iterate({TWICE}, succ(succ(succ(zero))))(1)", 8),
        ("@FromGradCell(One(fn () -> float32 { 1f }))", 1.0),
    ],
)  # fmt: skip
@pytest.mark.sweep(every=2)
def test_functions(body: str, expected: Any) -> None:
    assert run(body) == expected


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("Multiply", "Raw(3f)", "Raw(4f)", 12.0),
        ("Multiply", "Raw(3f)", "{one}", 3.0),
        ("Multiply", "{one}", "Raw(4f)", 4.0),
        ("Multiply", "{zero}", "Raw(4f)", 0.0),
        ("Multiply", "Raw(4f)", "{zero}", 0.0),
        ("Add", "Raw(3f)", "Raw(4f)", 7.0),
        ("Add", "{zero}", "Raw(4f)", 4.0),
        ("Add", "{one}", "{one}", 2.0),
    ],
)
def test_gradient_cells(name: str, a: str, b: str, expected: Any) -> None:
    cells = {"{one}": "One(fn () -> float32 { 1f })", "{zero}": "Zero(fn () -> float32 { 0f })"}
    function = f"fn (%x: float32, %y: float32) -> float32 {{ {name.lower()}(%x, %y) }}"
    body = f"@FromGradCell(@{name}GradCell({function}, {cells.get(a, a)}, {cells.get(b, b)}))"
    assert run(body) == expected


@pytest.mark.parametrize("body", ["@hd(Nil)", "@tl(Nil)", f"@nth({numbers(1)}, 1)", f"@nth({numbers(1)}, -1)"])
def test_partial_functions_fail(body: str) -> None:
    with pytest.raises(Relay2RelaxError):
        run(body, "int32" if "tl" not in body else "List[int32]")


# --- tensor arrays ---

WRITTEN = """let %a = @tensor_array_float32(3);
  let %b = @tensor_array_write_float32(%a, 0, tensor1_float32(full(1f, shape=[2], dtype="float32")));
  let %c = @tensor_array_write_float32(%b, 1, tensor1_float32(full(2f, shape=[2], dtype="float32")));
  let %d = @tensor_array_write_float32(%c, 2, tensor1_float32(full(3f, shape=[2], dtype="float32")));
"""
MATRIX = 'reshape(arange(0f, 6f, 1f, start=0f, stop=6f, step=1f, dtype="float32"), newshape=[3, 2])'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("@tensor_array_float32(2)", ["tensor_nil_float32"] * 2),
        (WRITTEN + "@tensor_array_read_float32(%d, 1)", ("tensor1_float32", [2, 2])),
        (WRITTEN + "@tensor_array_concat_float32(%d)", ("tensor1_float32", [1, 1, 2, 2, 3, 3])),
        (WRITTEN + "@tensor_array_stack_float32(%d)", ("tensor2_float32", [[1, 1], [2, 2], [3, 3]])),
        (f"@tensor_take_float32(tensor2_float32({MATRIX}), 1, 3)", ("tensor2_float32", [[2, 3], [4, 5]])),
        (f"@tensor_expand_dims_float32(tensor2_float32({MATRIX}))",
         ("tensor3_float32", [[[0, 1], [2, 3], [4, 5]]])),
        (f"@tensor_array_unstack_tensor2_float32({MATRIX})",
         [("tensor1_float32", [0, 1]), ("tensor1_float32", [2, 3]), ("tensor1_float32", [4, 5])]),
        (WRITTEN + f"@tensor_array_scatter_float32(%d, cast(arange(2f, 0f, -1f, start=2f, stop=0f, step=-1f, "
                   f'dtype="float32"), dtype="int32"), @tensor_array_unstack_tensor2_float32({MATRIX}))',
         [("tensor1_float32", [1, 1]), ("tensor1_float32", [2, 3]), ("tensor1_float32", [0, 1])]),
        (f"@tensor_array_split_float32(@tensor_array_float32(2), tensor2_float32({MATRIX}), "
         'cast(arange(1f, 3f, 1f, start=1f, stop=3f, step=1f, dtype="float32"), dtype="int32"))',
         [("tensor2_float32", [[0, 1]]), ("tensor2_float32", [[2, 3], [4, 5]])]),
    ],
)  # fmt: skip
def test_tensor_arrays(body: str, expected: Any) -> None:
    assert run(body) == expected


STATIC = library_text(static_tensor_arrays=[("float32", (3, 2)), ("float32", (2,)), ("float32", ())])
ROWS = f"@tensor_array_unstack_float32_3_2({MATRIX})"
INDICES = 'cast(arange(2f, 0f, -1f, start=2f, stop=0f, step=-1f, dtype="float32"), dtype="int32")'
LENGTHS = 'cast(arange(1f, 3f, 1f, start=1f, stop=3f, step=1f, dtype="float32"), dtype="int32")'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("@tensor_array_float32_2(1)", ["tensor_nil_float32_2"]),
        (f"@tensor_get_data_float32_2(@tensor_array_read_float32_2({ROWS}, 1))", [2, 3]),
        (f"@tensor_array_stack_float32_2({ROWS})", ("tensor_constructor_float32_any_2", [[0, 1], [2, 3], [4, 5]])),
        (f"@tensor_array_concat_float32_2({ROWS})", ("tensor_constructor_float32_any", [0, 1, 2, 3, 4, 5])),
        (f"@tensor_array_gather_float32_2({ROWS}, {INDICES})",
         ("tensor_constructor_float32_any_2", [[4, 5], [2, 3]])),
        (f"@tensor_array_scatter_float32_2(@tensor_array_float32_2(3), {INDICES}, {ROWS})",
         ["tensor_nil_float32_2", ("tensor_constructor_float32_2", [2, 3]), ("tensor_constructor_float32_2", [0, 1])]),
        (f"@tensor_take_float32_3_2(tensor_constructor_float32_3_2({MATRIX}), 1, 3)",
         ("tensor_constructor_float32_any_2", [[2, 3], [4, 5]])),
        (f"let %empty: List[static_tensor_float32_any_2_t[]] = Cons(tensor_nil_float32_any_2, "
         f"Cons(tensor_nil_float32_any_2, Nil)); "
         f"@tensor_array_split_float32_3_2(%empty, tensor_constructor_float32_3_2({MATRIX}), {LENGTHS})",
         [("tensor_constructor_float32_any_2", [[0, 1]]), ("tensor_constructor_float32_any_2", [[2, 3], [4, 5]])]),
        ("@tensor_array_stack_float32_scalar(Cons(tensor_constructor_float32_scalar(7f), Nil))",
         ("tensor_constructor_float32_any", [7])),
    ],
)  # fmt: skip
def test_tensor_arrays_of_one_shape(body: str, expected: Any) -> None:
    mod = relay_ir.parse(f"{STATIC}\ndef @main() {{ {body} }}")
    assert plain(create_executor("debug", mod).evaluate()()) == expected


# --- beside a program ---


def test_the_library_beside_a_module() -> None:
    x = var("x", shape=(2,))
    mod = IRModule({GlobalVar("main"): Function((x,), op.nn.relu(x))})
    p = Prelude(mod)
    cons, nil = of_type(p.Cons, Constructor), of_type(p.Nil, Constructor)
    xs = cons(relay_ir.const(1), cons(relay_ir.const(2), nil()))
    count = GlobalVar("count")
    made = p.mod.with_function(count, Function((), of_type(p.length, GlobalVar)(xs)))
    assert create_executor("debug", made).evaluate("count")().item() == 2
    assert p.List in made.type_definitions
    assert "length" in dir(p)
    with pytest.raises(AttributeError, match="no 'lenght'"):
        _ = p.lenght
    with pytest.raises(Relay2RelaxError, match="already defines"):
        Prelude(made)


def test_unknown_parts() -> None:
    with pytest.raises(Relay2RelaxError, match="no part of the library 'lists'"):
        library_text(("lists",))
    with pytest.raises(Relay2RelaxError, match="no tensor array of 'complex64'"):
        library_text(tensor_arrays=("complex64",))
    with pytest.raises(Relay2RelaxError, match="no tensor array of 'bool'"):
        library_text(static_tensor_arrays=[("bool", (2,))])


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16"])
def test_tensor_arrays_of_every_dtype_have_types(dtype: str) -> None:
    relay_ir.infer_type(Prelude(tensor_arrays=(dtype,)).mod)
