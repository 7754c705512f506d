"""Normal form: what is nested is bound, once, where it is seen.

Sequences in the place of values are taken apart.
"""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import relax_ir as rx
from relay2relax.relax_ir import (
    Binding,
    BindingBlock,
    BlockBuilder,
    BuilderError,
    Function,
    If,
    MatchCast,
    SeqExpr,
    TensorStructInfo,
    Tuple,
    TupleGetItem,
    Var,
    call_op,
)

INFO = TensorStructInfo((), "int32")
X, Y = Var("x", INFO), Var("y", INFO)
COND = Var("cond", TensorStructInfo((), "bool"))


def normal(params: tuple[Var, ...], body: SeqExpr) -> rx.IRModule:
    mod = rx.IRModule({rx.GlobalVar("main"): Function(params, body, INFO, private=True)})
    made = rx.transform.Normalize()(mod)
    rx.check_well_formed(made)
    assert rx.transform.Normalize()(made) is made
    return made


def expected(text: str) -> rx.IRModule:
    head = "@I.ir_module\nclass Module:\n    @R.function(private=True)\n    def main"
    return rx.parse(head + "".join(f"    {line}\n" for line in text.strip().splitlines()))


def const(value: int) -> rx.Constant:
    return rx.Constant(np.array(value, "int32"))


def block(*bindings: Binding | MatchCast, dataflow: bool = False) -> BindingBlock:
    return BindingBlock(bindings, dataflow)


INT = 'R.Tensor((), dtype="int32")'


def test_nested_calls_are_bound() -> None:
    twice = call_op("add", X, X)
    for left, right in ((twice, call_op("add", X, X)), (twice, twice)):
        made = normal((X,), SeqExpr((), call_op("multiply", left, right)))
        text = [f"(x: {INT}) -> {INT}:", "    a = R.add(x, x)"]
        text += ["    b = R.multiply(a, a)"] if left is right else ["    b = R.add(x, x)", "    c = R.multiply(a, b)"]
        text += ["    return b" if left is right else "    return c"]
        assert rx.first_difference(made, expected("\n".join(text))) is None


def test_a_value_that_is_bound_and_nested_elsewhere() -> None:
    shared = call_op("add", X, X)
    first, last = Var("first", INFO), Var("last", INFO)
    seq = SeqExpr((block(Binding(first, shared), Binding(last, call_op("multiply", shared, first))),), last)
    text = f"""(x: {INT}) -> {INT}:
    first = R.add(x, x)
    gv = R.add(x, x)
    last = R.multiply(gv, first)
    return last"""
    assert rx.first_difference(normal((X,), seq), expected(text)) is None


def test_branches_bind_for_themselves() -> None:
    shared = call_op("add", X, Y)
    condition = TupleGetItem(Tuple((COND,)), 0)
    chosen = If(condition, SeqExpr((), call_op("multiply", shared, shared)), SeqExpr((), shared))
    out = Var("out", INFO)
    seq = SeqExpr((block(Binding(out, chosen)),), call_op("add", out, shared))
    text = f"""(cond: R.Tensor((), dtype="bool"), x: {INT}, y: {INT}) -> {INT}:
    c = (cond,)[0]
    if c:
        a = R.add(x, y)
        b = R.multiply(a, a)
        out = b
    else:
        a = R.add(x, y)
        out = a
    s = R.add(x, y)
    result = R.add(out, s)
    return result"""
    assert rx.first_difference(normal((COND, X, Y), seq), expected(text)) is None


def test_branches_nested_in_arguments() -> None:
    chosen = If(COND, SeqExpr((), X), SeqExpr((), call_op("add", X, X)))
    made = normal((COND, X), SeqExpr((), call_op("multiply", chosen, chosen)))
    func = made["main"]
    assert isinstance(func, Function)
    (only,) = func.body.blocks
    assert [type(one.value).__name__ for one in only.bindings] == ["If", "Call"]


def test_blocks_of_one_kind_are_one() -> None:
    values = [Var(f"v{i}", INFO) for i in range(4)]
    sources = [X, *values]
    one, two, three, four = (Binding(var, sources[i]) for i, var in enumerate(values))
    blocks = (block(one, dataflow=True), block(two, dataflow=True), block(three), block(four))
    text = f"""(x: {INT}) -> {INT}:
    with R.dataflow():
        v0 = x
        v1 = v0
        R.output(v0, v1)
    v2 = v1
    v3 = v2
    return v3"""
    assert rx.first_difference(normal((X,), SeqExpr(blocks, values[-1])), expected(text)) is None


def test_sequences_in_the_place_of_values() -> None:
    q, u, z, y = (Var(name, INFO) for name in "quzy")
    w, cast = Var("w", INFO, dataflow=True), Var("cast", INFO)
    inner = SeqExpr(
        (
            block(Binding(q, const(2)), MatchCast(cast, q, INFO)),
            block(Binding(w, q), Binding(u, w), dataflow=True),
            block(Binding(z, SeqExpr((), u))),
        ),
        call_op("add", z, cast),
    )
    text = f"""(x: {INT}) -> {INT}:
    q = R.const(2, "int32")
    cast = R.match_cast(q, {INT})
    with R.dataflow():
        w = q
        u = w
        R.output(u)
    z = u
    y = R.add(z, cast)
    return y"""
    assert rx.first_difference(normal((X,), SeqExpr((block(Binding(y, inner)),), y)), expected(text)) is None


def test_local_functions_have_bodies_of_their_own() -> None:
    arg, local, out = Var("a", INFO), Var("f", rx.FuncStructInfo((INFO,), INFO)), Var("out", INFO)
    func = Function((arg,), SeqExpr((), call_op("add", arg, call_op("negative", arg))), INFO)
    seq = SeqExpr((block(Binding(local, func), Binding(out, rx.Call(local, (call_op("negative", X),)))),), out)
    text = f"""(x: {INT}) -> {INT}:
    @R.function
    def f(a: {INT}) -> {INT}:
        b = R.negative(a)
        c = R.add(a, b)
        return c
    d = R.negative(x)
    out: {INT} = f(d)
    return out"""
    assert rx.first_difference(normal((X,), seq), expected(text)) is None


@pytest.mark.sweep(every=2)
def test_deep_nesting() -> None:
    value: rx.Expr = X
    for _ in range(20_000):
        value = call_op("negative", value)
    for _ in range(2_000):
        value = If(COND, SeqExpr((), value), SeqExpr((), X))
    for _ in range(2_000):
        value = SeqExpr((), value)
    made = normal((COND, X), SeqExpr((), value))
    assert isinstance(made["main"], Function)


def inner_sequence(dataflow: bool) -> SeqExpr:
    bb = BlockBuilder()
    bb.begin_sequence()
    if dataflow:
        bb.begin_dataflow()
    one, two = bb.emit(const(1), "a"), bb.emit(const(2), "b")
    total = call_op("add", one, two)
    out = bb.emit_output(total, "c") if dataflow else bb.emit(total, "c")
    if dataflow:
        bb.end_dataflow()
    return bb.end_sequence(out)


@pytest.mark.parametrize(("inner", "blocks"), [(True, [True]), (False, [True, False, True])])
def test_sequences_emitted_into_a_dataflow_block(inner: bool, blocks: list[bool]) -> None:
    bb = BlockBuilder()
    with bb.function("main"):
        with bb.dataflow():
            bb.emit(const(3), "d")
            out = bb.emit_output(bb.emit(inner_sequence(inner), "e"), "f")
        bb.emit_func_output(out)
    func = bb.get()["main"]
    assert isinstance(func, Function)
    assert [one.dataflow for one in func.body.blocks] == blocks
    assert [b.var.name for one in func.body.blocks for b in one.bindings] == ["d", "a", "b", "c", "e", "f"]
    rx.check_well_formed(bb.get())


def test_a_dataflow_variable_stays_in_its_block() -> None:
    bb = BlockBuilder()
    bb.begin_sequence()
    bb.begin_dataflow()
    inside = bb.emit(const(3), "d")
    with pytest.raises(BuilderError, match="the dataflow variable d is used"):
        bb.emit(SeqExpr((block(Binding(Y, call_op("add", inside, inside))),), Y))
