"""Type inference: Relay's rules, the recorded models, and what is said of ill-typed programs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sweep import ROW

from relay2relax.core.source import Span
from relay2relax.relay_ir import (
    Call,
    Function,
    GlobalVar,
    IRModule,
    Let,
    Op,
    Tuple,
    TypeInferenceError,
    Var,
    infer_type,
    parse,
)
from relay2relax.relay_ir.ir.types import FuncType, TensorType, TupleType
from relay2relax.tir.extent import ANY

CASES = Path(__file__).parent.parent / "cases" / "ill_typed"
LIST = "type List[A] {\n  Cons(A, List[A]),\n  Nil,\n}\n"


def typed(text: str) -> str:
    """Return a program's text after inference, without the version line."""
    return infer_type(parse('#[version = "0.0.5"]\n' + text)).astext(show_meta_data=False).split("\n", 1)[1]


def signature(text: str) -> str:
    """Return the first line of ``main`` after inference, comments removed."""
    line = next(line for line in typed(text).split("\n") if line.startswith("def @main"))
    return re.sub(r" /\*.*?\*/", "", line)


def tensor(*shape: Any, dtype: str = "float32") -> TensorType:
    return TensorType(shape, dtype)


def program(text: str) -> str:
    """Return recorded text without TVM's spans and without the remark that metadata was left
    out.
    """
    text = text.split("/* For debugging")[0]
    return re.sub(r" span=\S*(?= \*/)|[ ]*/\* span=[^*]*\*/", "", text).strip()


# The recorded programs


@pytest.mark.golden
def test_models_have_the_recorded_types(model_case: Any) -> None:
    mod = infer_type(parse(model_case.text))
    assert program(mod.astext(show_meta_data=False)).split("\n") == program(model_case.typed).split("\n")


# The rules


def test_every_expression_gets_a_type() -> None:
    mod = parse(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(2, 3), float32]) {\n"
        "  let %t = (%x, 1f);\n  let %f = fn (%a: float32) { add(%a, %t.0) };\n  %f(%t.1)\n}\n"
    )
    main = mod["main"]
    typed_mod = infer_type(mod)
    assert typed_mod["main"].ret_type == tensor(2, 3)
    assert typed_mod["main"].body is main.body
    assert main.ret_type is None
    types = typed_mod.types
    f = FuncType((tensor(),), tensor(2, 3))
    outer = main.body
    assert isinstance(outer, Let)
    inner = outer.body
    assert isinstance(inner, Let)
    assert types[main.params[0]] == tensor(2, 3)
    assert types[outer.var] == types[outer.value] == TupleType((tensor(2, 3), tensor()))
    assert types[inner.var] == types[inner.value] == f
    assert types[outer] == types[inner] == types[inner.body] == tensor(2, 3)
    whole = FuncType((tensor(2, 3),), tensor(2, 3))
    assert types[typed_mod["main"]] == types[main] == types[typed_mod.get_global_var("main")] == whole
    assert infer_type(typed_mod).functions == typed_mod.functions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "def @main(%x: Tensor[(2), float32]) { let %y: Tensor[(?), float32] = %x; %y }",
            "def @main(%x: Tensor[(?), float32]) -> Tensor[(?), float32] {",
            id="a let widens what it is bound to",
        ),
        pytest.param(
            "def @main(%x: Tensor[(?), float32]) -> Tensor[(3), float32] { %x }",
            "def @main(%x: Tensor[(?), float32]) -> Tensor[(?), float32] {",
            id="a declared result widens",
        ),
        pytest.param(
            "def @main(%c: bool, %x: Tensor[(3), float32], %y: Tensor[(?), float32]) { if (%c) { %x } else { %y } }",
            "def @main(%c: bool, %x: Tensor[(?), float32], %y: Tensor[(?), float32]) -> Tensor[(?), float32] {",
            id="branches widen each other",
        ),
        pytest.param(
            "def @f(%a: Tensor[(?), float32]) -> Tensor[(?), float32] { %a }\n"
            "def @main(%x: Tensor[(3), float32]) { (@f(%x), %x) }",
            "def @main(%x: Tensor[(3), float32]) -> (Tensor[(?), float32], Tensor[(3), float32]) {",
            id="an argument keeps its type",
        ),
        pytest.param(
            "def @main(%x: Tensor[(2), float32]) { let %a = add(%x, %x); let %y: Tensor[(?), float32] = %x; (%a, %y) }",
            "def @main(%x: Tensor[(?), float32]) -> (Tensor[(?), float32], Tensor[(?), float32]) {",
            id="relations see what is known in the end",
        ),
        pytest.param(
            "def @main(%x: Tensor[(4, 5), float16], %w) { nn.dense(%x, %w, units=7) }",
            "def @main(%x: Tensor[(4, 5), float16], %w: Tensor[(7, 5), float16]) -> Tensor[(4, 7), float16] {",
            id="a weight follows from the data",
        ),
        pytest.param(
            "def @main(%x: Tensor[(4, ?), float32], %w: Tensor[(7, 5), float32]) { nn.dense(%x, %w, units=7) }",
            "def @main(%x: Tensor[(4, ?), float32], %w: Tensor[(7, ?), float32]) -> Tensor[(4, 7), float32] {",
            id="a weight takes unknown extents of the data",
        ),
        pytest.param(
            "def @main(%n: int32) {"
            " let %loop = fn (%i: int32, %s) { if (less(%i, %n)) { %loop(add(%i, 1), add(%s, 1f)) } else { %s } };"
            " %loop(0, 0f) }",
            "def @main(%n: int32) -> float32 {",
            id="a recursive function literal",
        ),
        pytest.param(
            "def @main(%x: float32) { let %id = fn [A](%a: A) -> A { %a }; (%id(%x), %id(1)) }",
            "def @main(%x: float32) -> (float32, int32) {",
            id="explicit type parameters are instantiated at every call",
        ),
        pytest.param(
            "def @main(%x: float32) { let %r = ref(%x); let %u = ref_write(%r, add(ref_read(%r), 1f));"
            " (%u, ref_read(%r)) }",
            "def @main(%x: float32) -> ((), float32) {",
            id="references",
        ),
        pytest.param(
            "def @main(%x: Tensor[(2, 3), float32], %b) {"
            ' nn.bias_add(%x, annotation.compiler_begin(annotation.stop_fusion(%b), compiler="own")) }',
            "def @main(%x: Tensor[(2, 3), float32], %b: Tensor[(3), float32]) -> Tensor[(2, 3), float32] {",
            id="annotations are their operands",
        ),
        pytest.param(
            LIST + "def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {"
            " match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil } }\n"
            "def @main(%xs: List[int32]) { @map(fn (%i: int32) { less(%i, 3) }, %xs) }",
            "def @main(%xs: List[int32]) -> List[bool] {",
            id="data types and polymorphic functions",
        ),
        pytest.param(
            "def @main(%p: (int32, (float32, bool))) { match (%p) { (%a, (%b, _)) => (%b, %a) } }",
            "def @main(%p: (int32, (float32, bool))) -> (float32, int32) {",
            id="tuple patterns",
        ),
    ],
)
def test_rules(text: str, expected: str) -> None:
    assert signature(text) == expected


@pytest.mark.parametrize("batch", [1, 3, ANY])
def test_a_batch_goes_through(batch: Any) -> None:
    text = (
        f"def @main(%x: Tensor[({batch!r}, 1, 28, 28), float32], %w: Tensor[(10, 784), float32]) {{\n"
        "  nn.softmax(nn.dense(nn.batch_flatten(%x), %w, units=10))\n}"
    )
    assert signature(text).endswith(f"-> Tensor[({batch!r}, 10), float32] {{")


# Mistakes


@pytest.mark.parametrize("case", sorted(path.stem for path in CASES.glob("*.relay")))
def test_what_is_said_of_an_ill_typed_program(case: str, golden_text: Any) -> None:
    mod = parse((CASES / f"{case}.relay").read_text(), f"{case}.relay")
    with pytest.raises(TypeInferenceError) as caught:
        infer_type(mod)
    golden_text(f"ill_typed/{case}.err", f"{caught.value}\n")


def refused(*params: Var, body: Any) -> TypeInferenceError:
    with pytest.raises(TypeInferenceError) as caught:
        infer_type(IRModule({GlobalVar("main"): Function(params, body)}))
    return caught.value


def test_programs_made_by_hand_are_checked_for_their_variables() -> None:
    x, y = Var("x", tensor(2)), Var("y")
    assert "unbound variable `%y`" in str(refused(x, body=Call(Op("add"), (x, y))))
    assert "bound more than once" in str(refused(x, body=Let(x, x, x)))
    out_of_reach = Tuple((Let(y, x, y), y))
    assert "out of reach" in str(refused(x, body=out_of_reach))
    assert "unknown operator ad" in str(refused(x, body=Call(Op("ad"), (x, x))))
    assert "used as a value" in str(refused(x, body=Tuple((Op("add"),))))


def test_without_a_text_the_span_says_where() -> None:
    x = Var("x", tensor(2))
    problem = refused(x, body=Call(Op("add"), (x,), span=Span("layer1/Add", 3, 4)))
    assert problem.diagnostics[0].notes == ("in function @main, at layer1/Add:3:4",)


def test_one_mistake_is_told_once() -> None:
    x = Var("x", tensor(2))
    bad = Call(Op("nn.dense"), (x,))
    problem = refused(x, body=Tuple((Call(Op("nn.relu"), (bad,)), Call(Op("add"), (bad, bad)))))
    assert len(problem.diagnostics) == 1


# Size


def calls(length: int) -> tuple[Var, Any]:
    x = Var("x", tensor(2, 3))
    body: Any = x
    for _ in range(length):
        body = Call(Op("add"), (body, x))
    return x, body


def lets(length: int) -> tuple[Var, Any]:
    x = Var("x", tensor(2, 3))
    bound = [(Var("v"), op) for op in ("nn.relu", "tanh") * (length // 2)]
    sources: Iterator[Var] = iter([x, *(var for var, _ in bound)])
    values = [(var, Call(Op(op), (source,))) for (var, op), source in zip(bound, sources, strict=False)]
    body: Any = bound[-1][0]
    for var, value in reversed(values):
        body = Let(var, value, body)
    return x, body


@pytest.mark.parametrize("make", [calls, lets])
def test_many_operators_in_a_row(make: Any) -> None:
    x, body = make(ROW)
    mod = infer_type(IRModule({GlobalVar("main"): Function((x,), body)}))
    assert mod["main"].ret_type == tensor(2, 3)
    assert mod.types[body] == tensor(2, 3)


def nested(depth: int, width: int = 1) -> IRModule:
    x = Var("x", tensor())
    body: Any = x
    for _ in range(depth):
        body = Tuple((body,) * width)
    return IRModule({GlobalVar("main"): Function((x,), body)})


def test_deeply_nested_types() -> None:
    mod = infer_type(nested(90))
    ty: Any = mod.types[mod["main"].body]
    assert "-> " + "(" * 90 + "float32,)" in mod.astext()
    for _ in range(90):
        ty = ty.fields[0]
    assert ty == tensor()


@pytest.mark.parametrize(("mod", "message"), [(nested(3000), "more than 100 levels"), (nested(60, 2), "types in it")])
def test_types_beyond_any_use_are_refused(mod: IRModule, message: str) -> None:
    with pytest.raises(TypeInferenceError, match=message):
        infer_type(mod)


def test_an_argument_says_what_a_parameter_is() -> None:
    text = "def @main(%x: float32) { let %f = fn (%y) { tanh(%y) }; %f(%x) }"
    assert signature(text) == "def @main(%x: float32) -> float32 {"


CHAIN = """#[version = "0.0.5"]
def @f(%x: Tensor[(3), float32]) {
  @g(%x)
}

def @g(%x: Tensor[(3), float32]) {
  exp(%x)
}
"""


def test_results_are_declared_or_inferred_first() -> None:
    # TVM 0.18 refuses such a module, and its interpreter runs it.
    mod = parse(CHAIN)
    with pytest.raises(TypeInferenceError, match="result of `@g` cannot be inferred"):
        infer_type(mod)
    found = infer_type(mod, declare_results=True)
    assert [var.name for var in found.functions] == ["f", "g"]
    assert {function.ret_type for function in found.functions.values()} == {TensorType((3,), "float32")}


def test_functions_without_results_that_call_each_other_are_refused() -> None:
    with pytest.raises(TypeInferenceError, match="cannot be inferred"):
        infer_type(parse(CHAIN.replace("exp(%x)", "@f(%x)")), declare_results=True)


def test_a_negative_extent_is_a_type_as_in_tvm() -> None:
    # TVM 0.18 accepts `Tensor[(-1, 10), float32]`, and what follows from it.
    assert "-> Tensor[(-1, 10), float32]" in signature("def @main(%x: Tensor[(-1, 10), float32]) { add(%x, %x) }")
