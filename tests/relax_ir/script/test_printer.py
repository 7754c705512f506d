"""Relax modules as text; what TVM makes of the text is in ``tests/backends/test_tvm_target.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import of_type, present

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ParseError, Relay2RelaxError, UnsupportedError
from relay2relax.core.words import word
from relay2relax.relax_ir import BlockBuilder, TensorStructInfo, Var, call_op
from relay2relax.relax_ir.ir.text import attribute_text, constant_text, extent_text, number_text
from relay2relax.tir.extent import static
from relay2relax.tir.ir import expr as tir

Golden = Callable[[str, str], None]


def test_mlp(mlp: rx.IRModule, golden_text: Golden) -> None:
    golden_text("mlp.py.txt", mlp.script())


def test_classic_dialect(mlp: rx.IRModule, golden_text: Golden) -> None:
    golden_text("mlp_classic.py.txt", mlp.script("tvm-0.18"))


def test_everything(everything: rx.IRModule, golden_text: Golden) -> None:
    golden_text("everything.py.txt", everything.script())


@pytest.mark.tvm
def test_tvm_reads_both(mlp: rx.IRModule, everything: rx.IRModule) -> None:
    import tvm

    for module in (mlp, everything):
        parsed = tvm.script.from_source(module.script())
        assert {var.name_hint for var in parsed.get_global_vars()} == {var.name for var in module.functions}


def test_classic_words_for_memory_and_scalars() -> None:
    """In TVM 0.18 T.alloc_buffer belongs to the block around it, and scalars follow the results of
    a PrimFunc.
    """
    mod = rx.parse("""
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def scan(var_A: T.handle, first: T.int64, var_B: T.handle):
        m = T.int64()
        A = T.match_buffer(var_A, (m,), "float32")
        B = T.match_buffer(var_B, (m,), "float32")
        total = T.alloc_buffer((1,), "float32", scope="local")
        twice = T.sblock_alloc_buffer((m,), "float32")
        total[0] = T.Cast("float32", first)
        for i in range(m):
            half = T.alloc_buffer((1,), "float32")
            half[0] = T.nearbyint(A[i] / T.float32(2))
            total[0] = total[0] + half[0]
            twice[i] = total[0]
        for i in range(m):
            B[i] = twice[i] + twice[i]

    @R.function
    def main(x: R.Tensor(("m",), dtype="float32")) -> R.Tensor(("m",), dtype="float32"):
        m = T.int64()
        cls = Module
        y = R.call_tir(cls.scan, (x, R.prim_value(m * 2)), R.Tensor((m,), dtype="float32"))
        return y
""")
    text = mod.script("tvm-0.18")
    assert "def scan(var_A: T.handle, var_B: T.handle, first: T.int64):" in text
    assert 'out_sinfo=R.Tensor((m,), dtype="float32"), tir_vars=R.shape([m * 2]))' in text
    made = [line.strip().partition("(")[0] for line in text.splitlines() if "_buffer(" in line and "match" not in line]
    assert made == ["twice = T.alloc_buffer", "total = T.decl_buffer", "half = T.decl_buffer"]
    assert rx.first_difference(rx.parse(text), mod) is None


def test_script_file_has_real_imports(mlp: rx.IRModule) -> None:
    text = rx.script_file(mlp)
    assert text.startswith("from tvm.script import ir as I\nfrom tvm.script import tirx as T\n")
    assert text.endswith("return gv\n")
    compile(text, "script", "exec")


def test_names_of_parameters() -> None:
    names = ["d1.3.weight", "d1_3_weight", "class", "onnx::Conv_92", "/d1/Conv", "3", "", "R", "x"]
    params = tuple(Var(name, TensorStructInfo((2,), "float32")) for name in names)
    func = rx.Function(params, rx.SeqExpr((), params[0]), params[0].info)
    printed = rx.script_names(func)
    assert list(printed) == names
    assert all(name.isidentifier() for name in printed.values())
    assert len(set(printed.values())) == len(names)
    assert printed["d1.3.weight"] == "d1_3_weight"
    header = rx.print_function(func).splitlines()[1].partition(" -> ")[0]
    assert [part.rpartition(" ")[2].rpartition("(")[2] for part in header.split(": ")[:-1]] == list(printed.values())


def test_parameters_keep_their_names_from_dimensions() -> None:
    n = tir.Var("n")
    params = (Var("x", TensorStructInfo((n,), "float32")), Var("n", TensorStructInfo((), "int64")))
    func = rx.Function(params, rx.SeqExpr((), params[0]), params[0].info)
    assert rx.script_names(func) == {"x": "x", "n": "n"}
    assert 'def main(x: R.Tensor(("n_1",), dtype="float32"), n: ' in rx.print_function(func)


def test_two_parameters_of_one_name_have_no_table() -> None:
    params = tuple(Var("x", TensorStructInfo((2,), "float32")) for _ in range(2))
    func = rx.Function(params, rx.SeqExpr((), params[0]), params[0].info)
    assert rx.parameter_names(func) == ("x", "x_1")
    with pytest.raises(Relay2RelaxError, match="several parameters are called x"):
        rx.script_names(func)


A, B = tir.Var("a"), tir.Var("b")


@pytest.mark.parametrize(
    ("extent", "text"),
    [
        (3, "3"),
        (A + 1, "a + 1"),
        (A - (B - 1), "a - (b - 1)"),
        ((A + B) * 2, "(a + b) * 2"),
        (A * B // 2 % 3, "a * b // 2 % 3"),
        (tir.Binary("*", A, tir.Binary("*", B, A)), "a * (b * a)"),
        (tir.Binary("//", A, tir.Binary("//", B, A)), "a // (b // a)"),
        (tir.minimum(A, 4) + 1, "T.min(a, 4) + 1"),
        (tir.Binary(">", A + 1, tir.IntImm(3)), "a + 1 > 3"),
        (tir.Binary("==", tir.Binary(">", A, B), tir.Binary(">", B, A)), "(a > b) == (b > a)"),
        (tir.IntImm(5, "int32"), "T.int32(5)"),
        (tir.FloatImm(0.5, "float32"), "T.float32(0.5)"),
    ],
)
def test_extents(extent: Any, text: str) -> None:
    assert extent_text(extent, lambda var: word(var.name)) == text


def test_extents_that_scripts_cannot_say() -> None:
    with pytest.raises(UnsupportedError, match="cannot say"):
        extent_text(tir.Call("exp", (A,), "int64"), lambda var: word(var.name))


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (TensorStructInfo((A, 4), "float32"), 'R.Tensor(("a", 4), dtype="float32")'),
        (TensorStructInfo((), "bool"), 'R.Tensor((), dtype="bool")'),
        (TensorStructInfo((2,)), "R.Tensor((2,))"),
        (TensorStructInfo(None, "int8", 2), 'R.Tensor(dtype="int8", ndim=2)'),
        (TensorStructInfo(), "R.Tensor"),
        (rx.ShapeStructInfo((A + 1, 3)), 'R.Shape(["a + 1", 3])'),
        (rx.ShapeStructInfo(None, 2), "R.Shape(ndim=2)"),
        (rx.ShapeStructInfo(), "R.Shape"),
        (rx.TupleStructInfo((TensorStructInfo((), "int8"), rx.ObjectStructInfo())),
         'R.Tuple(R.Tensor((), dtype="int8"), R.Object)'),
        (rx.TupleStructInfo(), "R.Tuple"),
        (rx.PrimStructInfo("int64"), 'R.Prim("int64")'),
        (rx.FuncStructInfo((TensorStructInfo(),), rx.TupleStructInfo()), "R.Callable((R.Tensor,), R.Tuple, True)"),
        (rx.FuncStructInfo(None, rx.ObjectStructInfo()), "R.Callable"),
    ],
)  # fmt: skip
def test_struct_info(info: rx.StructInfo, text: str) -> None:
    assert rx.print_struct_info(info) == text


def test_numbers_are_exact() -> None:
    rng = np.random.default_rng(1)
    for dtype, bits in (("float32", np.uint32), ("float16", np.uint16), ("float64", np.uint64)):
        drawn = rng.integers(0, np.iinfo(bits).max, 2000, dtype=bits, endpoint=True).view(dtype)
        for value in drawn[np.isfinite(drawn)]:
            assert np.array(float(number_text(value)), dtype).tobytes() == value.tobytes()
    assert number_text(np.float32(0.1)) == "0.1"
    assert number_text(np.float64(0.1)) == "0.1"
    assert number_text(np.float32(-np.inf)) == 'float("-inf")'
    assert number_text(np.int64(-(2**63))) == str(-(2**63))
    assert number_text(np.bool_(True)) == "True"


def test_constants() -> None:
    assert constant_text(np.array([[1, 2]], "int8")) == 'R.const([[1, 2]], "int8")'
    assert constant_text(np.array(True)) == 'R.const(True, "bool")'
    assert constant_text(np.zeros((2, 0), "float32")) == 'R.const([[], []], "float32")'
    assert constant_text(np.zeros(0, "int8")) == 'R.const([], "int8")'


def test_constants_without_elements() -> None:
    text = """
@R.function
def main(x: R.Tensor((2, 3), dtype="float32")):
    return R.concat((x, R.const(tvm.runtime.empty((0, 3), "float32"), "float32")), axis=0)
"""
    mod = rx.parse(text)
    assert 'R.const(tvm.runtime.empty((0, 3), "float32"), "float32")' in mod.script()
    assert 'R.const(tvm.nd.empty((0, 3), "float32"), "float32")' in mod.script("tvm-0.18")
    for dialect in ("tvm", "tvm-0.18"):
        assert rx.first_difference(rx.parse(mod.script(dialect)), mod) is None
    assert rx.script_file(mod).startswith("import tvm\n")
    assert not rx.script_file(rx.parse("@R.function\ndef main(x: R.Object):\n    return x\n")).startswith("import tvm")
    with pytest.raises(ParseError, match="has elements"):
        rx.parse(text.replace("(0, 3)", "(1, 3)"))


@pytest.mark.tvm
def test_tvm_reads_constants_without_elements() -> None:
    from tvm.script import from_source

    builder = rx.BlockBuilder()
    with builder.function("main", []):
        builder.emit_func_output(builder.emit(rx.Constant(np.zeros((0, 3), "int8"))))
    mod = builder.get()
    assert rx.first_difference(rx.from_tvm(from_source(mod.script())), mod) is None


def test_attributes() -> None:
    value = {"b": [1, 2.5, "x", None, True], "a": {"inf": float("inf")}}
    assert attribute_text(value, lambda var: word(var.name)) == (
        '{"a": {"inf": float("inf")}, "b": [1, 2.5, "x", None, True]}'
    )
    with pytest.raises(UnsupportedError, match="cannot say the attribute value"):
        attribute_text(object(), lambda var: word(var.name))


def test_constants_may_have_names(mlp: rx.IRModule) -> None:
    bound = rx.transform.BindParams("main", {"onnx::Add_92": np.zeros(3, "float32")})(mlp)
    assert "R.add(lv1, W)" in rx.print_module(bound, name_constant=lambda constant: word("W"))
    assert 'R.add(lv1, R.const([0.0, 0.0, 0.0], "float32"))' in bound.script()


def test_an_operator_that_a_dialect_lacks() -> None:
    data = Var("x", TensorStructInfo((2,), "float32"))
    bb = BlockBuilder()
    with bb.function("main", [data]):
        bb.emit_func_output(call_op("trunc", data))
    assert "R.trunc(x)" in bb.get().script()
    classic = bb.get().script("tvm-0.18")
    assert "R.call_tir(cls.tir_trunc, (x,), out_sinfo=" in classic
    assert rx.parse(classic).script("tvm-0.18") == classic
    with pytest.raises(UnsupportedError, match=r"dialect tvm-0\.18 has no operator R\.trunc"):
        rx.print_function(of_type(bb.get()["main"], rx.Function), dialect="tvm-0.18")
    with pytest.raises(UnsupportedError, match="unknown TVMScript dialect 'c'"):
        bb.get().script("c")


def test_branches_nest_deeply() -> None:
    flag = Var("flag", TensorStructInfo((), "bool"))
    data = Var("x", TensorStructInfo((2,), "float32"))
    depth = 3000
    bb = BlockBuilder()
    bb.begin_function("main", [flag, data])
    for _ in range(depth):
        bb.begin_sequence()
    value: rx.Expr = data
    for _ in range(depth):
        then = bb.end_sequence(value)
        bb.begin_sequence()
        value = bb.emit(rx.If(flag, then, bb.end_sequence(data)))
    bb.emit_func_output(value)
    bb.end_function()
    module = bb.get()
    rx.check_well_formed(module)
    assert rx.structural_equal(module, module)
    assert module.script().count("if flag:") == depth


PURE_PACKED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            y: R.Tensor((2, 3), dtype="float32") = R.call_pure_packed("f", x, ty_args=R.Tensor((2, 3), dtype="float32"))
            R.output(y)
        return y
"""


def test_what_a_pure_packed_function_returns_is_said_release_by_release() -> None:
    mod = rx.parse(PURE_PACKED)
    rx.check_well_formed(mod)
    for dialect, keyword in (("tvm-0.18", "sinfo_args"), ("tvm-0.25", "sinfo_args"), ("tvm-0.27", "ty_args")):
        text = mod.script(dialect)
        assert f'R.call_pure_packed("f", x, {keyword}=[R.Tensor((2, 3), dtype="float32")])' in text
        assert rx.parse(text).script(dialect) == text
    with pytest.raises(UnsupportedError, match=r"print for one of them: tvm-0\.25, tvm-0\.27"):
        mod.script()


@pytest.mark.tvm
def test_pure_packed_functions_reach_the_installed_tvm() -> None:
    mod = rx.parse(PURE_PACKED)
    again = rx.from_tvm(rx.to_tvm(mod))
    assert "R.call_pure_packed(" in again.script("tvm-0.27")
    main = again["main"]
    assert isinstance(main, rx.Function)
    assert main.body.blocks[0].bindings[0].var.info == rx.TensorStructInfo((2, 3), "float32")


SCALARS = """
@I.ir_module
class Module:
    @R.function
    def main(k: R.Prim("int64"), x: R.Tensor((4,), dtype="float32"), unused: R.Prim("int64")):
        a = R.zeros(R.shape([k, 2]), "float32")
        b = R.prim_value(k + 1)
        c = R.ones(R.shape([b * 2]), "float32")
        return (a, b, c, R.broadcast_to(x, R.shape([k, 4])))
"""


@pytest.mark.parametrize("dialect", ["tvm", "tvm-0.18"])
def test_scalars_that_are_extents_in_the_body_only(dialect: str) -> None:
    mod = rx.parse(SCALARS)
    text = mod.script(dialect)
    assert ('k: R.Prim(value="k_1")' in text) == (dialect == "tvm-0.18")  # two names, as releases before 0.26 want
    assert rx.first_difference(rx.parse(text), mod) is None
    main = mod["main"]
    assert isinstance(main, rx.Function)
    k, _, unused = (param.info for param in main.params)
    assert isinstance(k, rx.PrimStructInfo)
    assert k.value is not None
    assert unused == rx.PrimStructInfo("int64")
    result = backends.VirtualMachine(backends.build(mod))["main"](3, np.ones(4, "float32"), 0)
    assert [np.shape(one) for one in result] == [(3, 2), (), (8,), (3, 4)]
    assert int(result[1]) == 4


@pytest.mark.tvm
def test_tvm_reads_scalars_that_are_extents() -> None:
    mod = rx.parse(SCALARS)
    back = rx.from_tvm(rx.to_tvm(mod))
    assert rx.first_difference(back, mod) is None


def test_arrays_apart_from_the_text(mlp: rx.IRModule) -> None:
    main = mlp["main"]
    assert isinstance(main, rx.Function)
    rng = np.random.default_rng(0)
    shapes = {p.name: present(of_type(p.info, TensorStructInfo).shape) for p in main.params[1:]}
    params = {name: rng.random([present(static(e)) for e in shape], np.float32) for name, shape in shapes.items()}
    bound = rx.transform.BindParams("main", params)(mlp)
    text, constants = rx.print_apart(bound)
    assert text == bound.script(show_meta=False)
    assert text.endswith("# Metadata omitted. Use show_meta=True in script() method to show it.")
    arrays = constants["metadata"]["relax.expr.Constant"]
    assert {id(one) for one in arrays} == {id(one) for one in params.values()}
    again = rx.parse(text, constants=constants)
    assert rx.first_difference(again, bound) is None
    assert rx.print_apart(again)[0] == text
    with pytest.raises(ParseError, match="the text leaves out `metadata"):
        rx.parse(text)
    # Where there is nothing to leave out, nothing is said.
    assert mlp.script(show_meta=False) == mlp.script()


def test_symbols_as_they_were_declared_until_0_19() -> None:
    text = """
@T.prim_func
def copy(a: T.handle, b: T.handle):
    n = {one}
    m = {other}
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""
    today = rx.parse(text.format(one="T.int64()", other="T.int32()"))
    before = rx.parse(text.format(one='T.var("int64")', other='T.Var("m", "int32")'))
    assert rx.first_difference(before, today) is None


def test_regions_count_as_their_buffer_does() -> None:
    """Of a block that says nothing of what it reads, buffers of int32 extents are read in int32."""
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for i0, j0 in T.grid(2, 2):
            with T.block("outer"):
                vi, vj = T.axis.remap("SS", [i0, j0])
                for i1, j1 in T.grid(4, 4):
                    with T.block("inner"):
                        vx, vy = T.axis.remap("SS", [i1, j1])
                        B[vi * 4 + vx, vj * 4 + vy] = A[vi * 4 + vx, vj * 4 + vy]
"""
    module = rx.parse(text)
    printed = module.script()
    assert "T.reads(A[0:8, 0:8])" in printed
    assert "T.writes(B[0:8, 0:8])" in printed
    assert rx.first_difference(rx.parse(printed), module) is None
