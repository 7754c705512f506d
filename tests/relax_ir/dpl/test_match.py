"""What patterns of Relax match; each test has the meaning of TVM's test of that name.

They are those of ``test_dataflow_pattern.py`` of TVM 0.27 that match nodes by themselves.
"""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import relax_ir as rx
from relay2relax.relax_ir import call_op, dpl
from relay2relax.relax_ir.analysis import get_var2val
from relay2relax.relax_ir.dpl import (
    ExternFuncPattern,
    FunctionPattern,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir

ANY = rx.ObjectStructInfo()
F32 = rx.TensorStructInfo(dtype="float32", ndim=2)
SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func
    def tir_matmul(A: T.Buffer((32, 32)), B: T.Buffer((32, 32)), C: T.Buffer((32, 32))):
        for i, j, k in T.grid(32, 32, 32):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]

    @T.prim_func
    def tir_relu(A: T.Buffer((32, 32)), B: T.Buffer((32, 32))):
        for i, j in T.grid(32, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.max(A[vi, vj], T.float32(0))

    @T.prim_func
    def tir_zeros(A: T.Buffer((32,))):
        for i in range(32):
            with T.block("A"):
                vi = T.axis.remap("S", [i])
                A[vi] = T.float32(0)

    @R.function
    def main(x: R.Tensor((32, 32), "float32"), w: R.Tensor((32, 32), "float32")):
        cls = Module
        with R.dataflow():
            lv0 = R.call_tir(cls.tir_matmul, (x, w), out_sinfo=R.Tensor((32, 32), dtype="float32"))
            lv1 = R.call_tir(cls.tir_relu, (lv0,), out_sinfo=R.Tensor((32, 32), dtype="float32"))
            lv2 = R.call_tir(cls.tir_zeros, R.tuple(), out_sinfo=R.Tensor((32,), dtype="float32"))
            gv = (lv1, lv2)
            R.output(gv)
        return gv
"""
PACKED = """
@R.function(pure=False)
def main(x: R.Tensor((32, 32), "float32"), w: R.Tensor((32, 32), "float32")):
    gv0 = R.call_packed("test.vm.mul", x, w, sinfo_args=(R.Tensor(ndim=2, dtype="float32"),))
    return gv0
"""


def var(name: str, info: rx.StructInfo = ANY) -> rx.Var:
    return rx.Var(name, info)


def inner(name: str) -> rx.Var:
    return rx.Var(name, ANY, True)


def main_of(script: str) -> rx.Function:
    func = rx.parse(script)["main"]
    assert isinstance(func, rx.Function)
    return func


def tensor(*shape: Extent, dtype: str = "float32") -> rx.Var:
    return var("x", rx.TensorStructInfo(shape, dtype))


def added(a: rx.Var, b: rx.Var) -> rx.Call:
    return call_op("add", a, b)


def test_expr_pattern() -> None:
    x = var("x")
    assert is_expr(x).match(x)
    assert not is_expr(x).match(var("y"))


def test_var_pattern() -> None:
    assert is_var("x").match(var("x"))
    assert is_var().match(var("x"))
    assert is_var().match(inner("x"))
    assert not is_var("x").match(rx.GlobalVar("x"))


def test_dataflow_var_pattern() -> None:
    assert is_dfv("x").match(inner("x"))
    assert not is_dfv("x").match(rx.GlobalVar("x"))
    assert not is_dfv().match(var("x"))
    assert is_dfv().match(main_of(SCRIPT).body.blocks[0].bindings[0].var)


def test_global_var_pattern() -> None:
    assert is_gv("x").match(rx.GlobalVar("x"))
    assert is_gv().match(rx.GlobalVar("x"))
    assert not is_gv("x").match(rx.GlobalVar("y"))
    assert not is_gv("x").match(var("x"))
    # A part of the name is enough.
    assert is_gv("relu").match(rx.GlobalVar("fused_relu_1"))


def test_constant_pattern() -> None:
    assert is_const().match(rx.Constant(np.array([[0.1, 1.1], [3.1, 4.1]], "float32")))
    assert not is_const().match(var("x"))


def test_wildcard_pattern() -> None:
    assert wildcard().match(var("x"))


def test_call_pattern() -> None:
    assert is_op("relax.add")(wildcard(), wildcard()).match(added(var("x", F32), var("y", F32)))
    assert not is_op("relax.add")(wildcard()).match(added(var("x", F32), var("y", F32)))


def test_function_pattern() -> None:
    a, b = wildcard(), wildcard()
    pattern = FunctionPattern([a, b], is_op("relax.add")(a, b))
    x, y = var("x", F32), var("y", F32)
    assert pattern.match(rx.Function((x, y), rx.SeqExpr((), added(x, y)), F32))
    assert not pattern.match(rx.Function((x, y), rx.SeqExpr((), call_op("multiply", x, y)), F32))


def test_tuple_pattern() -> None:
    pattern = is_tuple([wildcard(), is_dfv()])
    pair = rx.Tuple((rx.GlobalVar("x"), inner("y")))
    assert isinstance(pattern, dpl.TuplePattern)
    assert pattern.match(pair)
    assert not pattern.match(rx.Tuple((inner("x"), rx.GlobalVar("y"))))
    assert not pattern.match(rx.Tuple(()))
    for place, index in ((0, 0), (1, 1), (-1, 1), (None, 0), (None, 1)):
        assert pattern[place].match(rx.TupleGetItem(pair, index))
    assert not pattern[0].match(rx.TupleGetItem(pair, 1))
    with pytest.raises(IndexError):
        pattern[2]


def test_unordered_tuple_pattern() -> None:
    pattern = is_tuple([is_const(), is_dfv()], unordered=True)
    empty = rx.Constant(np.array([], "float32"))
    assert isinstance(pattern, dpl.UnorderedTuplePattern)
    assert pattern.match(rx.Tuple((empty, inner("x"))))
    assert pattern.match(rx.Tuple((inner("x"), empty)))
    assert not pattern.match(rx.Tuple((inner("x"), inner("y"))))
    assert not pattern.match(rx.Tuple(()))
    # The first field that a pattern takes may have to be given back.
    assert is_tuple([wildcard(), is_const()], unordered=True).match(rx.Tuple((empty, inner("x"))))


def test_tuple_get_item_pattern() -> None:
    pair = rx.Tuple((rx.GlobalVar("x"), inner("y")))
    pattern = is_tuple_get_item(is_tuple([is_gv("x"), is_dfv("y")]), 0)
    assert pattern.match(rx.TupleGetItem(pair, 0))
    assert not pattern.match(rx.TupleGetItem(pair, 1))


def test_or_pattern() -> None:
    pattern = is_dfv("x") | is_gv("x")
    assert isinstance(pattern, dpl.OrPattern)
    assert pattern.match(inner("x"))
    assert pattern.match(rx.GlobalVar("x"))
    assert not pattern.match(var("x"))
    assert not pattern.match(inner("y"))


def test_and_pattern() -> None:
    pattern = wildcard().has_shape((2, 3, 3)) & dpl.has_dtype("float32")
    assert isinstance(pattern, dpl.AndPattern)
    assert pattern.match(tensor(2, 3, 3))
    assert not pattern.match(tensor(3, 3, 3))
    assert not pattern.match(tensor(2, 3, 3, dtype="float16"))
    assert not pattern.match(var("x", rx.TensorStructInfo(dtype="float32", ndim=3)))


def test_not_pattern() -> None:
    pattern = ~wildcard().has_shape((2, 3, 3))
    assert isinstance(pattern, dpl.NotPattern)
    assert pattern.match(tensor(3, 3, 3))
    assert not pattern.match(tensor(2, 3, 3))


def test_dtype_pattern() -> None:
    assert dpl.has_dtype("float32").match(main_of(SCRIPT).body.blocks[0].bindings[0].var)
    assert not dpl.has_dtype("float16").match(tensor(2))


def test_shape_pattern() -> None:
    assert wildcard().has_shape([32, 32]).match(main_of(SCRIPT).body.blocks[0].bindings[0].var)
    n, m = tir.Var("n"), tir.Var("m")
    x = tensor(n, m, n + m)
    assert wildcard().has_shape([n, m, n + m]).match(x)
    assert wildcard().has_shape([n, m, m + n]).match(x)
    assert not wildcard().has_shape([1, 2, 3]).match(x)
    assert not wildcard().has_shape([m, n, n + m]).match(x)


def test_prim_arr_pattern() -> None:
    pattern = is_shape([32, 32])
    assert [pattern[0], pattern[1], len(pattern)] == [32, 32, 2]
    assert pattern.match(rx.ShapeExpr((32, 32)))
    n, m = tir.Var("n"), tir.Var("m")
    assert is_shape([n, m, n + m]).match(rx.ShapeExpr((n, m, n + m)))
    assert not is_shape([n, m, n * m]).match(rx.ShapeExpr((n, m, n + m)))


def test_extern_fn_pattern() -> None:
    assert ExternFuncPattern("test.nop").match(rx.ExternFunc("test.nop"))
    assert ExternFuncPattern().match(rx.ExternFunc("test.nop"))
    assert not ExternFuncPattern("test.nop").match(rx.ExternFunc("test"))


def test_op_attr() -> None:
    x, y = tensor(1, 3, 9, 9), rx.Var("y", rx.TensorStructInfo((4, 3, 3, 3), "float32"))
    conv = call_op(
        "nn.conv2d", x, y, strides=(3, 3), padding=(0, 0, 0, 0), dilation=(1, 1), channels=None, kernel_size=None
    )
    pattern = is_op("relax.nn.conv2d")(is_var("x"), is_var("y"))
    assert pattern.has_attr({"strides": [3, 3]}).match(conv)
    assert not pattern.has_attr({"strides": [4, 3]}).match(conv)
    assert not pattern.has_attr({"stride": [3, 3]}).match(conv)


def test_match_call_attr() -> None:
    x, y = var("x", F32), var("y", F32)
    func = rx.Function((x, y), rx.SeqExpr((), added(x, y)), F32, {"Codegen": "mine", "global_symbol": "symbol"})
    one, two = is_var("x"), is_var("y")
    pattern = FunctionPattern([one, two], is_op("relax.add")(one, two))
    assert pattern.has_attr({"Codegen": "mine", "global_symbol": "symbol"}).match(func)
    assert pattern.has_attr({"Codegen": "mine"}).match(func)
    assert not pattern.has_attr({"ping": "pong"}).match(func)
    assert pattern.has_attr({}).match(func)


def test_is_call_tir() -> None:
    main = main_of(SCRIPT)
    _, relu, zeros, _ = (binding.value for binding in main.body.blocks[0].bindings)
    var2val = get_var2val(main)
    assert is_call_tir("tir_relu").match(relu)
    assert is_call_tir("tir_relu", [is_call_tir("tir_matmul")]).match(relu, var2val=var2val)
    assert not is_call_tir("tir_relu", [is_call_tir("tir_matmul")]).match(relu)
    assert not is_call_tir("tir_relu", [is_call_tir("tir_relu")]).match(relu, var2val=var2val)
    assert is_call_tir("tir_zeros", []).match(zeros, var2val=var2val)


def test_varg_default_wildcard() -> None:
    value = main_of(PACKED).body.blocks[0].bindings[0].value
    assert ExternFuncPattern("test.vm.mul")(wildcard(), wildcard()).match(value)
    assert ExternFuncPattern("test.vm.mul")(varg_default_wildcard=True).match(value)
    assert not ExternFuncPattern("test.vm.mul")(wildcard()).match(value)


def test_simple_call_packed() -> None:
    value = main_of(PACKED).body.blocks[0].bindings[0].value
    assert is_call_packed("test.vm.mul").match(value)
    assert is_call_packed("test.vm.mul", [is_var("x"), is_var("w")]).match(value)
    assert not is_call_packed("test.vm.mul", [is_var("w"), is_var("x")]).match(value)


def test_what_matched_is_told() -> None:
    x, y = var("x", F32), var("y", F32)
    a, b = wildcard(), is_var("y")
    pattern = is_op("relax.subtract")(a, b)
    value = call_op("subtract", x, y)
    found = pattern.extract_matched_expr(value)
    assert found is not None
    assert (found[pattern], found[a], found[b]) == (value, x, y)
    assert pattern.extract_matched_expr(call_op("subtract", y, x)) is None


@pytest.mark.parametrize("allow_reshape", [False, True])
def test_fused_bias_activation(allow_reshape: bool) -> None:
    script = f"""
@R.function
def main(x: R.Tensor((1, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32"), b: R.Tensor((4,), "float32"),
         s: R.Tensor((1, 4, 1, 1), "float32")):
    with R.dataflow():
        c = R.nn.conv2d(x, w)
        r = R.reshape(b, (1, 4, 1, 1))
        a = R.add(c, {"r" if allow_reshape else "s"})
        gv = R.nn.relu(a)
        R.output(gv)
    return gv
"""
    main = main_of(script)
    values, last = get_var2val(main), main.body.blocks[0].bindings[-1].value

    def matches(reshaped: bool) -> bool:
        pattern = dpl.make_fused_bias_activation_pattern(
            "relax.nn.conv2d", with_bias=True, activation="relax.nn.relu", allow_reshape=reshaped
        )
        return pattern.match(last, values)

    assert matches(allow_reshape)
    # A bias that is reshaped is a bias, too.
    assert matches(False)
    assert matches(True) is allow_reshape
    assert not dpl.make_fused_bias_activation_pattern("relax.nn.conv2d", activation="relax.nn.relu").match(last, values)
