"""Mistakes that ``check_well_formed`` finds; what the builder makes has none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typed import of_type

from relay2relax import relax_ir as rx
from relay2relax.relax_ir import Binding, BindingBlock, SeqExpr, TensorStructInfo, Var, WellFormedError, call_op
from relay2relax.tir import te
from relay2relax.tir.ir import expr as tir

N = tir.Var("n")
F32 = TensorStructInfo((N, 3), "float32")


def module_of(
    *blocks: BindingBlock, body: rx.Expr, params: tuple[Var, ...] = (), ret: rx.StructInfo = F32, pure: bool = True
) -> rx.IRModule:
    func = rx.Function(params, SeqExpr(blocks, body), ret, pure=pure)
    return rx.IRModule({rx.GlobalVar("main"): func})


def mistakes(module: rx.IRModule) -> list[str]:
    with pytest.raises(WellFormedError) as caught:
        rx.check_well_formed(module)
    return [one.title for one in caught.value.diagnostics]


def test_what_the_builder_makes_is_well_formed(mlp: rx.IRModule, everything: rx.IRModule) -> None:
    rx.check_well_formed(mlp)
    rx.check_well_formed(everything)


def test_undefined_and_repeated_variables() -> None:
    x, y, z = Var("x", F32), Var("y", F32), Var("z", F32)
    block = BindingBlock((Binding(y, call_op("add", x, z)), Binding(y, x)))
    assert mistakes(module_of(block, body=y, params=(x,))) == [
        "the variable z is not defined",
        "the variable y is defined twice",
    ]


def test_every_mistake_is_reported_with_its_place() -> None:
    x, y = Var("x", F32), Var("y", F32)
    block = BindingBlock((Binding(y, call_op("add", x, Var("a", F32))),))
    with pytest.raises(WellFormedError) as caught:
        rx.check_well_formed(module_of(block, body=Var("b", F32), params=(x,)))
    assert [(d.title, d.label) for d in caught.value.diagnostics] == [
        ("the variable a is not defined", "in main, where y is bound"),
        ("the variable b is not defined", "in main"),
    ]


def test_dataflow_variables_end_with_their_block() -> None:
    x, inner = Var("x", F32), Var("lv", F32, dataflow=True)
    block = BindingBlock((Binding(inner, x),), dataflow=True)
    assert mistakes(module_of(block, body=inner, params=(x,))) == ["the dataflow variable lv is out of reach here"]
    plain = BindingBlock((Binding(inner, x),))
    assert mistakes(module_of(plain, body=inner, params=(x,))) == [
        "the dataflow variable lv is bound outside of a dataflow block",
        "the dataflow variable lv is out of reach here",
    ]


def test_variables_of_a_branch_end_with_it() -> None:
    flag, x, y, z = Var("flag", TensorStructInfo((), "bool")), Var("x", F32), Var("y", F32), Var("z", F32)
    then = SeqExpr((BindingBlock((Binding(y, call_op("negative", x)),)),), y)
    block = BindingBlock((Binding(z, rx.If(flag, then, SeqExpr((), x))),))
    rx.check_well_formed(module_of(block, body=z, params=(flag, x)))
    assert mistakes(module_of(block, body=y, params=(flag, x))) == ["the variable y is out of reach here"]
    inside = replace(block, dataflow=True)
    assert mistakes(module_of(inside, body=z, params=(flag, x))) == ["a dataflow block contains a branch"]
    wrong = BindingBlock((Binding(z, rx.If(x, then, SeqExpr((), x))),))
    (problem,) = mistakes(module_of(wrong, body=z, params=(flag, x)))
    assert problem.startswith("a condition is a rank-0 bool")


def test_arguments_are_leaves() -> None:
    x, y = Var("x", F32), Var("y", F32)
    block = BindingBlock((Binding(y, call_op("negative", call_op("negative", x))),))
    assert mistakes(module_of(block, body=y, params=(x,))) == ["an argument is a Call; it needs a variable of its own"]
    assert mistakes(module_of(body=call_op("negative", x), params=(x,))) == [
        "the result is a Call that has no variable"
    ]


def test_claims_that_do_not_follow() -> None:
    x = Var("x", F32)
    for info, reason in [
        (TensorStructInfo((N, 4), "float32"), "dimension 1 is 3, expected 4"),
        (TensorStructInfo((N, 3), "int8"), "dtype float32, expected int8"),
        (TensorStructInfo((tir.IntImm(5), 3), "float32"), "that does not follow"),
    ]:
        y = Var("y", info)
        (problem,) = mistakes(
            module_of(BindingBlock((Binding(y, call_op("negative", x)),)), body=y, params=(x,), ret=info)
        )
        assert problem.startswith("y is said to be")
        assert problem.endswith(reason)
    less = Var("y", TensorStructInfo(None, "float32", 2))
    block = BindingBlock((Binding(less, call_op("negative", x)),))
    rx.check_well_formed(module_of(block, body=less, params=(x,), ret=less.info))
    # A function may say more of its result than inference knows, as TVM lets it, but nothing else.
    rx.check_well_formed(module_of(block, body=less, params=(x,), ret=F32))
    other = TensorStructInfo((N, 3, 1), "float32")
    (problem,) = mistakes(module_of(block, body=less, params=(x,), ret=other))
    assert problem.startswith("the result is said to be")


def test_dimensions_need_a_definition() -> None:
    m = tir.Var("m")
    x, s = Var("x", TensorStructInfo((N * 2,), "float32")), Var("s", rx.ShapeStructInfo((m, 2)))
    block = BindingBlock((Binding(s, rx.ShapeExpr((m, 2))),))
    found = mistakes(module_of(block, body=x, params=(x,), ret=x.info))
    assert found == [
        "the symbolic dimension n is not defined",
        "the symbolic dimension m is not defined",
        "the symbolic dimension m is not defined",
        "the symbolic dimension n is not defined",
    ]
    unknown, known = Var("u", TensorStructInfo(None, "float32", 1)), Var("k", TensorStructInfo((m,), "float32"))
    cast = BindingBlock((rx.MatchCast(known, unknown, known.info), Binding(s, rx.ShapeExpr((m, 2)))))
    rx.check_well_formed(module_of(cast, body=unknown, params=(unknown,), ret=unknown.info))
    assert mistakes(module_of(cast, body=known, params=(unknown,), ret=known.info)) == [
        "the symbolic dimension m is not defined"
    ]


def test_effects() -> None:
    x, y = Var("x", F32), Var("y", F32)
    call = Binding(y, rx.Call(rx.ExternFunc("f"), (x,)))
    rx.check_well_formed(module_of(BindingBlock((call,)), body=y, params=(x,), pure=False))
    assert mistakes(module_of(BindingBlock((call,)), body=y, params=(x,))) == [
        "a pure function contains a call that may have effects"
    ]
    block = BindingBlock((call,), dataflow=True)
    assert mistakes(module_of(block, body=y, params=(x,), pure=False)) == [
        "a dataflow block contains a call that may have effects"
    ]


def test_call_tir_fits_its_prim_func() -> None:
    m = tir.Var("m")
    data = te.placeholder((m, 3), "float32", "data")
    func = te.create_prim_func([data], [te.compute((m,), lambda i: data[i, 0], "out")], name="first")
    kernel, main = rx.GlobalVar("first"), rx.GlobalVar("main")
    x, y = Var("x", F32), Var("y", TensorStructInfo((N,), "float32"))

    def problems(call: rx.CallTIR, ret: rx.StructInfo = y.info) -> list[str]:
        out = Var("y", ret)
        body = SeqExpr((BindingBlock((Binding(out, call),)),), out)
        module = rx.IRModule({kernel: func, main: rx.Function((x, y), body, ret)})
        return mistakes(module)

    good = rx.CallTIR(kernel, (x,), (of_type(y.info, TensorStructInfo),))
    body = SeqExpr((BindingBlock((Binding(z := Var("z", y.info), good),)),), z)
    rx.check_well_formed(rx.IRModule({kernel: func, main: rx.Function((x, y), body, y.info)}))
    assert problems(replace(good, args=(x, x))) == [
        "first has 2 parameters; call_tir passes 2 arguments, 0 scalars and 1 results"
    ]
    assert problems(replace(good, args=(y,))) == ["argument 0 of first: rank 1, expected 2"]
    wrong = TensorStructInfo((N + 1,), "float32")
    assert problems(replace(good, out=(wrong,)), wrong) == ["result 0 of first: dimension 0 is n + 1, expected n"]
    assert problems(replace(good, func=main)) == ["call_tir calls main, which is not a PrimFunc"]
    assert problems(replace(good, func=rx.GlobalVar("none"))) == ["the module has no function none"]


def test_prim_funcs_are_checked_too() -> None:
    data = te.placeholder((2,), "float32", "data")
    func = te.create_prim_func([data], [te.compute((2,), lambda i: data[i], "out")], name="copy")
    broken = replace(func, buffer_map={}, params=())
    with pytest.raises(WellFormedError, match="copy"):
        rx.check_well_formed(rx.IRModule({rx.GlobalVar("copy"): broken}))


def test_functions_that_are_missing() -> None:
    x, y = Var("x", F32), Var("y", F32)
    block = BindingBlock((Binding(y, rx.Call(rx.GlobalVar("f"), (x,))),))
    assert mistakes(module_of(block, body=y, params=(x,))) == ["no function of the module is called 'f'"]


UNARY = ("negative", "tanh", "exp")
BINARY = ("add", "multiply", "maximum")


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 50), st.integers(0, 50)), max_size=25))
def test_any_program_of_the_builder_is_well_formed(steps: list[tuple[int, int, int]]) -> None:
    flag, x = Var("flag", TensorStructInfo((), "bool")), Var("x", F32)
    bb = rx.BlockBuilder()
    bb.begin_function("main", [flag, x])
    depth = 0
    scopes: list[list[rx.Expr]] = [[x]]
    for kind, i, j in steps:
        values = [value for scope in scopes for value in scope]
        a, b = values[i % len(values)], values[j % len(values)]
        match kind:
            case 0:
                scopes[-1].append(bb.emit(call_op(UNARY[i % 3], a)))
            case 1 | 2:
                scopes[-1].append(bb.emit(call_op(BINARY[j % 3], a, call_op(UNARY[i % 3], b))))
            case 3 if not bb.in_dataflow:
                bb.begin_sequence()
                scopes.append([])
                depth += 1
            case 4 if depth and not bb.in_dataflow:
                scopes.pop()
                depth -= 1
                then = bb.end_sequence(x)
                bb.begin_sequence()
                otherwise = bb.end_sequence(call_op("negative", x))
                scopes[-1].append(bb.emit(rx.If(flag, then, otherwise)))
            case 5:
                with bb.dataflow():
                    inner = bb.emit(call_op("negative", a))
                    scopes[-1].append(bb.emit_output(call_op("add", inner, b)))
            case 6:
                scopes[-1].append(bb.emit(rx.TupleGetItem(rx.Tuple((a, b)), i % 2)))
    for _ in range(depth):
        then = bb.end_sequence(x)
        bb.begin_sequence()
        scopes.pop()
        scopes[-1].append(bb.emit(rx.If(flag, then, bb.end_sequence(x))))
    bb.emit_func_output(scopes[0][-1])
    bb.end_function()
    module = bb.get()
    rx.check_well_formed(module)
    assert rx.structural_equal(module, module)
    compile(rx.script_file(module), "script", "exec")
