"""What makes a tensor program illegal, and when two are the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from typed import of_type

from relay2relax.tir import TIRError, check_prim_func, structural_equal, structural_key, te
from relay2relax.tir.ir.expr import AnyExtent, Binary, Buffer, Call, IntImm, Not, PrimExpr, Select, Var, cast, const
from relay2relax.tir.ir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    For,
    If,
    IterKind,
    IterVar,
    Let,
    PrimFunc,
    Seq,
    Stmt,
    While,
)

EIGHT = const(8, "int64")
SOURCE, TARGET = Buffer("source", (EIGHT,)), Buffer("target", (EIGHT,))
P, Q, F = Var("i"), Var("j"), Var("f", "float32")
ZERO = const(0, "float32")


def program(body: Stmt) -> PrimFunc:
    return PrimFunc("f", (a := Var("a", "handle"), b := Var("b", "handle")), {a: SOURCE, b: TARGET}, body)


def store(value: PrimExpr, index: PrimExpr = P) -> Stmt:
    return For(P, EIGHT, BufferStore(TARGET, (index,), value))


def block(**changes: Any) -> Stmt:
    v = Var("v")
    axis = IterVar(v, EIGHT, IterKind.SPATIAL)
    whole = te.create_prim_func([x := te.placeholder((8,))], [te.compute((8,), lambda i: x[i])]).body
    found = of_type(of_type(of_type(whole, Seq).stmts[0], For).body, BlockRealize).block
    region = found.writes[0]
    reads = (replace(region, buffer=SOURCE, region=(replace(region.region[0], begin=v),)),)
    writes = (replace(region, buffer=TARGET, region=(replace(region.region[0], begin=v),)),)
    made = Block("b", (axis,), body=BufferStore(TARGET, (v,), SOURCE[v]), reads=reads, writes=writes)
    return For(P, EIGHT, BlockRealize((P,), replace(made, **changes)))


def test_legal_programs() -> None:
    check_prim_func(program(store(SOURCE[P])))
    check_prim_func(program(block()))
    n = Var("n")
    x = te.placeholder((n, 4))
    k = te.reduce_axis(4)
    check_prim_func(te.create_prim_func([x], [te.compute((n,), lambda i: te.sum(x[i, k], axis=k))]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda: store(SOURCE[Q]), "variable j is not defined"),
        (lambda: store(SOURCE[P, P]), "a load of source with 2 indices; it has 1 dimensions"),
        (lambda: store(Buffer("other", (EIGHT,))[P]), "a load of other, which is not declared"),
        (lambda: store(SOURCE[P], F), "variable f is not defined"),
        (lambda: store(const(0, "int32")), "a store of int32 into target, which holds float32"),
        (lambda: store(ZERO, cast("float32", P)), "an index of target has dtype float32"),
        (lambda: store(Binary("+", ZERO, const(1, "float64"))), "'+' have dtypes float32 and float64"),
        (lambda: store(Binary("//", ZERO, ZERO)), "'//' takes integers, not float32"),
        (lambda: store(cast("float32", Binary("/", P, P))), "'/' takes floats, not int64"),
        (lambda: store(cast("float32", Binary("and", P, P))), "'and' takes bools, not int64"),
        (lambda: store(cast("float32", Not(P))), "negation of int64"),
        (lambda: store(Select(P, ZERO, ZERO)), "condition of a choice has dtype int64"),
        (lambda: store(Call("if_then_else", (P > 0, ZERO, P), "float32")), "branches of a choice"),
        (lambda: store(cast("float32", AnyExtent())), "about which nothing is known"),
        (lambda: For(P, const(8, "int32"), store(ZERO, Q)), "the loop i is int64, its extent int32"),
        (lambda: For(P, EIGHT, store(ZERO)), "variable i is bound twice"),
        (lambda: Let(F, P, store(ZERO)), "variable i is not defined"),
        (lambda: Let(F, EIGHT, store(F)), "f is float32, its value int64"),
        (lambda: If(ZERO, store(ZERO)), "condition of a branch has dtype float32"),
        (lambda: While(EIGHT, store(ZERO)), "condition of a while has dtype int64"),
        (lambda: Seq(()), "the output target is never written"),
        (lambda: block(iter_vars=()), "the block b has 0 axes and 1 values"),
        (lambda: block(reads=()), "reads source, which its regions do not say"),
        (lambda: block(writes=()), "writes target, which its regions do not say"),
        (lambda: block(init=BufferStore(TARGET, (IntImm(0),), ZERO)), "has an init, but no reduction axis"),
        (
            lambda: block(iter_vars=(IterVar(Var("v"), EIGHT, IterKind.REDUCE),)),
            "has reduction axes, but accumulates nothing",
        ),
    ],
)
def test_mistakes(body: Callable[[], Stmt], message: str) -> None:
    with pytest.raises(TIRError, match=message.replace("(", r"\(").replace("+", r"\+")):
        check_prim_func(program(body()))


def test_all_mistakes_are_listed() -> None:
    with pytest.raises(TIRError) as caught:
        check_prim_func(program(store(SOURCE[Q, Q] + F)))
    assert len(caught.value.diagnostics) == 4


def test_parameters() -> None:
    good = program(store(ZERO))
    a, b = good.params
    with pytest.raises(TIRError, match="given twice"):
        check_prim_func(replace(good, params=(a, a, b)))
    with pytest.raises(TIRError, match="must have a buffer"):
        check_prim_func(replace(good, buffer_map={b: TARGET}))
    with pytest.raises(TIRError, match="is no parameter"):
        check_prim_func(replace(good, params=(b,)))
    with pytest.raises(TIRError, match="3 outputs"):
        check_prim_func(replace(good, num_outputs=3))
    with pytest.raises(TIRError, match="declared twice"):
        check_prim_func(replace(good, root_buffers=(TARGET,)))


def row_sum(name: str, rows: PrimExpr | int, factor: float = 2.0, dtype: str = "float32") -> PrimFunc:
    x = te.placeholder((rows, 4), dtype, name)
    k = te.reduce_axis(4, f"{name}_k")
    total = te.compute((rows,), lambda i: te.sum(x[i, k], axis=k), f"{name}_total")
    return te.create_prim_func([x], [te.compute((rows,), lambda i: total[i] * factor, f"{name}_y")], name)


def test_names_do_not_matter_all_else_does() -> None:
    one, other = row_sum("a", Var("n")), row_sum("b", Var("m"))
    assert structural_equal(one, other)
    assert hash(structural_key(one)) == hash(structural_key(other))
    different = [row_sum("a", 4), row_sum("a", Var("n"), 3.0), row_sum("a", Var("n"), dtype="float64")]
    different.append(replace(one, attrs={"op_pattern": 1}))
    for func in different:
        assert not structural_equal(one, func)
    assert not structural_equal(row_sum("a", 4, 0.0), row_sum("a", 4, -0.0))
    assert structural_equal(row_sum("a", 4, float("nan")), row_sum("a", 4, float("nan")))


def test_which_variable_is_used_matters() -> None:
    n, m = Var("n"), Var("m")

    def first(extent: Var) -> PrimFunc:
        x = te.placeholder((n, m), "float32")
        return te.create_prim_func([x], [te.compute((extent,), lambda i: x[0, 0])])

    assert not structural_equal(first(n), first(m))
