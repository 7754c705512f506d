"""Stages and statements as text: names, literals, parentheses, every kind of statement."""

from __future__ import annotations

import pytest

from relay2relax.backends.c.stage_printer import StagePrinter
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    Cast,
    FloatImm,
    IntImm,
    Not,
    PrimExpr,
    Select,
    StringImm,
    Var,
    binary,
    logical_and,
)
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import (
    Allocate,
    Assert,
    BufferStore,
    Evaluate,
    For,
    If,
    Let,
    LoopKind,
    Seq,
    Stmt,
    While,
)

A, B = Var("a"), Var("b")


@pytest.mark.parametrize(("expr", "text"), [
    (binary("-", A, binary("-", B, A)), "a - (b - a)"),
    (binary("*", binary("+", A, B), IntImm(3)), "(a + b) * 3"),
    (binary("min", A, IntImm(7, "int64")), "min(a, 7)"),
    (Cast("float16", FloatImm(0.5, "float32")), "float16(0.5)"),
    (FloatImm(0.5, "float64"), "float64(0.5)"),
    (IntImm(3, "int8"), "int8(3)"),
    (IntImm(1, "bool"), "true"),
    (Not(binary("<", A, B)), "not a < b"),
    (Not(logical_and(binary("<", A, B), binary("<", B, A))), "not (a < b and b < a)"),
    (Select(binary("<", A, B), A, B), "select(a < b, a, b)"),
    (call("exp", FloatImm(1.0, "float32")), "exp(1.0)"),
    (StringImm("x"), "'x'"),
])  # fmt: skip
def test_expressions(expr: PrimExpr, text: str) -> None:
    assert StagePrinter().expr(expr) == text


def test_things_of_one_name_are_numbered() -> None:
    one, two = Buffer("t", (IntImm(4),), "float32"), Buffer("t", (IntImm(4),), "float32")
    printer = StagePrinter()
    sum_ = Binary("+", BufferLoad(one, (Var("i"),)), BufferLoad(two, (Var("i"),)))
    assert printer.expr(sum_) == "t[i] + t_1[i_1]"
    assert printer.buffer(one) == "t"


def test_statements() -> None:
    out, own = Buffer("out", (IntImm(4),), "int64"), Buffer("own", (IntImm(2),), "int64", "local")
    i, v = Var("i"), Var("v")
    store = BufferStore(out, (i,), v)
    body: Stmt = Let(v, binary("*", i, IntImm(2)), If(binary("<", v, IntImm(4)), store, Seq((store, store))))
    parallel = For(i, IntImm(4), body, LoopKind.PARALLEL, {"worth": binary(">=", A, IntImm(9))})
    waiting = While(binary("<", A, IntImm(1)), Evaluate(call("exp", FloatImm(1.0, "float32"))))
    assert StagePrinter().statement(Allocate(own, Seq((parallel, waiting)))) == [
        "local own: int64[2]",
        "parallel for i < 4 if a >= 9:",
        "  let v = i * 2",
        "  if v < 4:",
        "    out[i] = v",
        "  else:",
        "    out[i] = v",
        "    out[i] = v",
        "while a < 1:",
        "  exp(1.0)",
    ]


def test_what_is_lowered_before_is_refused() -> None:
    with pytest.raises(TypeError, match="Assert is lowered before"):
        StagePrinter().statement(Assert(IntImm(1, "bool"), (StringImm("never"),)))
