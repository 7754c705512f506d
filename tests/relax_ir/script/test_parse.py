"""TVMScript is read: what is printed here, and handwritten programs in every spelling that TVM
had.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ParseError, UnsupportedError
from relay2relax.tir.ir.stmt import PrimFunc

DIALECTS = ("tvm", "tvm-0.18")


def assert_round_trip(mod: rx.IRModule, dialect: str) -> None:
    text = mod.script(dialect)
    parsed = rx.parse(text)
    assert parsed.script(dialect) == text
    assert rx.first_difference(mod, parsed) is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_round_trip(mlp: rx.IRModule, everything: rx.IRModule, dialect: str) -> None:
    assert_round_trip(mlp, dialect)
    assert_round_trip(everything, dialect)


@lru_cache(maxsize=1)
def typed(case: Any) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(case.text, case.name))


@pytest.mark.golden
@pytest.mark.sweep(every=10)
@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
def test_models(model_case: Any, translate: Any) -> None:
    mod = translate(typed(model_case))
    assert_round_trip(mod, "tvm")
    # What TVM 0.18 has no operator for is a PrimFunc there, so that the text alone comes back.
    text = mod.script("tvm-0.18")
    assert rx.parse(text).script("tvm-0.18") == text


def run(text: str, *args: Any) -> Any:
    mod = rx.parse(text)
    results = [backends.VirtualMachine(backends.build(mod, target=target))["main"](*args) for target in ("numpy",)]
    return results[0]


def prim_func(lines: str, params: str = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")') -> str:
    body = "\n".join(f"    {line}" for line in lines.strip("\n").splitlines())
    inner = "\n".join(f"    {line}" for line in f"@T.prim_func(s_tir=True)\ndef kernel({params}):\n{body}".splitlines())
    return f"""
@I.ir_module
class Module:
{inner}

    @R.function
    def main(x: R.Tensor((8,), dtype="float32")) -> R.Tensor((8,), dtype="float32"):
        cls = Module
        y = R.call_tir(cls.kernel, (x,), R.Tensor((8,), dtype="float32"))
        return y
"""


DATA = np.arange(8, dtype="float32") - 3


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("for i in range(8):\n    B[i] = A[i] * 2", DATA * 2),
        ("for i in T.serial(8):\n    B[i] = -A[i]", -DATA),
        ("for i in T.parallel(T.int64(8)):\n    B[i] = A[i] + T.Cast('float32', i)", DATA + np.arange(8)),
        ("for i in T.vectorized(8):\n    B[i] = T.max(A[i], T.float32(0))", np.maximum(DATA, 0)),
        ("for i in T.unroll(8):\n    if A[i] > T.float32(0):\n        B[i] = A[i]\n    else:\n        B[i] = 0.0",
         np.maximum(DATA, 0)),
        ("for i in range(2, 8):\n    B[i] = A[i]\nfor i in range(2):\n    B[i] = 1.0", np.r_[1, 1, DATA[2:]]),
        ("for i in range(0, 8, 2):\n    B[i] = 1.0\n    B[i + 1] = 2.0", np.tile([1, 2], 4)),
        ("for i, j in T.grid(2, 4):\n    with T.sblock('B'):\n        vi = T.axis.spatial(8, i * 4 + j)\n"
         "        B[vi] = T.if_then_else(vi > 0, A[vi - 1], T.float32(0))", np.r_[0, DATA[:-1]]),
        ("for i0, i1 in T.grid(3, 3):\n    with T.sblock('B'):\n        vi = T.axis.spatial(8, i0 * 3 + i1)\n"
         "        T.where(i0 * 3 + i1 < 8)\n        T.reads(A[vi])\n        T.writes(B[vi])\n        B[vi] = A[vi]",
         DATA),
        ("C = T.sblock_alloc_buffer((8,))\nfor i in range(8):\n    with T.sblock('C'):\n"
         "        vi = T.axis.remap('S', [i])\n        C[vi] = A[vi] * A[vi]\nfor i in range(8):\n"
         "    with T.sblock('B'):\n        vi = T.axis.remap('S', [i])\n        B[vi] = C[vi]", DATA**2),
        ("for i, k in T.grid(8, 8):\n    with T.sblock('B'):\n        vi, vk = T.axis.remap('SR', [i, k])\n"
         "        with T.init():\n            B[vi] = 0.0\n        B[vi] += A[vk]", np.full(8, DATA.sum())),
        ("n = T.alloc_buffer((1,), 'int32')\nn[0] = 0\nwhile n[0] < 8:\n    B[n[0]] = A[n[0]]\n    n[0] = n[0] + 1",
         DATA),
        ("for i in range(8):\n    v: T.let[T.float32] = A[i] + 1.0\n    B[i] = v * v", (DATA + 1) ** 2),
        ("s: T.float32 = T.float32(0)\nfor i in range(8):\n    s = s + A[i]\n    B[i] = s", np.cumsum(DATA)),
        ("for i in range(8):\n    B[i] = T.Select(-2 < A[i] and A[i] < 2, A[i], T.float32(9))",
         np.where((DATA > -2) & (DATA < 2), DATA, 9)),
        ("for i in range(8):\n    B[i] = T.float32(i // 3 + i % 3 + T.truncdiv(i, 2) + (i << 1) + (~i & 7))",
         [i // 3 + i % 3 + i // 2 + (i << 1) + (~i & 7) for i in range(8)]),
        ("with T.sblock('root'):\n    T.reads()\n    T.writes()\n    for i in range(8):\n        with T.sblock('B'):\n"
         "            vi = T.axis.spatial(8, i)\n            B[vi] = T.exp(A[vi]) * T.float32('inf')",
         np.exp(DATA) * np.inf),
        ("with T.sblock('scan'):\n    T.reads(A[0:8])\n    T.writes(B[0:8])\n    for i in range(8):\n"
         "        B[i] = A[i] + T.if_then_else(i > 0, B[i - 1], T.float32(0))", np.cumsum(DATA)),
    ],
)  # fmt: skip
def test_prim_funcs(lines: str, expected: Any) -> None:
    text = prim_func(lines)
    np.testing.assert_allclose(run(text, DATA), np.asarray(expected, "float32"), rtol=1e-6)
    printed = rx.parse(text).script()
    assert rx.parse(printed).script() == printed


def test_rounding_is_that_of_the_dialect() -> None:
    halves = np.array([-2.5, -1.5, -0.5, 0.49999997, 0.5, 1.5, 2.5, 3.2], "float32")
    today = prim_func("for i in range(8):\n    B[i] = T.round(A[i])")
    classic = today.replace("s_tir=True", "").replace("@I.ir", "from tvm.script import tir as T\n@I.ir")
    np.testing.assert_array_equal(run(today, halves), np.rint(halves))
    np.testing.assert_array_equal(run(classic, halves), np.array([-3, -2, -1, 0, 1, 2, 3, 3], "float32"))


def test_scalars_that_follow_the_results() -> None:
    text = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def fill(var_A: T.handle, var_B: T.handle, n: T.int64):
        m = T.int64()
        A = T.match_buffer(var_A, (m,), "float32")
        B = T.match_buffer(var_B, (m,), "float32")
        for i in T.serial(m):
            with T.block("B"):
                vi = T.axis.spatial(m, i)
                B[vi] = A[vi] + T.Cast("float32", n)
    @R.function
    def main(x: R.Tensor(("m",), dtype="float32")) -> R.Tensor(("m",), dtype="float32"):
        m = T.int64()
        cls = Module
        y = R.call_tir(cls.fill, (x,), out_sinfo=R.Tensor((m,), dtype="float32"), tir_vars=R.shape([m * 2]))
        return y
"""
    np.testing.assert_array_equal(run(text, np.zeros(3, "float32")), np.full(3, 6, "float32"))


def test_scalars_as_dimensions_and_conditions() -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def main(n: R.Prim("int64"), x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n", 1), dtype="float32"):
        if n > T.int64(3):
            r = R.add(x, x)
        else:
            r = R.negative(x)
        return R.reshape(r, R.shape([n, 1]))
"""
    printed = rx.parse(text).script()
    assert 'def main(n: R.Prim("int64"), x: R.Tensor((n,), dtype="float32"))' in printed
    assert rx.first_difference(rx.parse(printed), rx.parse(text)) is None
    for size, factor in ((3, -1), (4, 2)):
        x = np.arange(size, dtype="float32")
        np.testing.assert_array_equal(run(text, size, x), (x * factor)[:, None])


def test_operator_sugar_and_nested_calls() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n", 3), "float32"), w: R.Tensor((3, 2), "float32")) -> R.Tensor(("n", 2), "float32"):
    with R.dataflow():
        y = R.nn.relu(R.matmul(x, w) * R.const(2.0, "float32") - 1.0) / R.const([1, 2], "float32")
        R.output(y)
    return y
"""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 3), np.float32), rng.standard_normal((3, 2), np.float32)
    np.testing.assert_allclose(run(text, x, w), np.maximum(x @ w * 2 - 1, 0) / [1, 2], rtol=1e-5)


def test_positional_attributes_and_defaults_are_those_of_tvm() -> None:
    mod = rx.parse("""
@R.function
def main(x: R.Tensor((2, 3, 4), dtype="float32")) -> R.Tensor((4, 3), dtype="float32"):
    a = R.sum(x, 0, False)
    b = R.permute_dims(a, [1, 0])
    c = R.clip(b, 0.0, 6.0)
    d = R.reshape(c, (2, 6))
    e = R.reshape(d, R.shape([4, 3]))
    return e
""")
    main = mod["main"]
    assert isinstance(main, rx.Function)
    data = np.arange(24, dtype="float32").reshape(2, 3, 4) / 4
    result = backends.VirtualMachine(backends.build(mod))["main"](data)
    np.testing.assert_array_equal(result, np.clip(data.sum(0).T, 0, 6).reshape(4, 3))


def test_an_operator_without_record_is_kept_and_refused_when_run() -> None:
    text = """# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), dtype="float32")) -> R.Tensor((2, 4), dtype="float32"):
        gv: R.Tensor((2, 4), dtype="float32") = R.ccl.allreduce(x, "sum", True)
        return gv"""
    mod = rx.parse(text)
    assert mod.script() == text
    with pytest.raises(UnsupportedError, match=r"R\.ccl\.allreduce cannot be run"):
        backends.VirtualMachine(backends.build(mod))["main"](np.zeros((2, 4), "float32"))


def test_dtypes_are_values() -> None:
    text = """
@R.function(pure=False)
def main(x: R.Tensor((2,), dtype="float32")):
    y: R.Tensor((2,), dtype="float32") = R.call_packed("f", x, R.dtype("float32"), R.dtype("void"), R.str("float32"))
    return y
"""
    mod = rx.parse(text)
    assert 'R.call_packed("f", x, R.dtype("float32"), R.dtype("void"), R.str("float32"))' in mod.script()
    assert rx.first_difference(rx.parse(mod.script()), mod) is None
    assert rx.first_difference(rx.parse(text.replace('R.str("float32")', 'R.dtype("float32")')), mod) is not None


def test_results_of_packed_functions() -> None:
    mod = rx.parse("""
@R.function(pure=False)
def main(x: R.Tensor((2,), dtype="float32")):
    f: R.Callable = R.ExternFunc("g")
    R.call_packed("f", x, sinfo_args=(R.Tuple,))
    y = R.call_packed(f, x, ty_args=(R.Tensor((2,), dtype="float32"),))
    return R.call_dps_packed(f, (y,), out_sinfo=R.Tensor((2,), dtype="float32"))
""")
    assert 'R.call_packed("g", x, ty_args=[R.Tensor((2,), dtype="float32")])' in mod.script("tvm-0.27")
    assert 'R.call_packed("f", x, sinfo_args=[R.Tuple])' in mod.script("tvm-0.25")
    assert 'R.call_dps_packed("g", (y,), R.Tensor((2,), dtype="float32"))' in mod.script()
    for dialect in ("tvm", "tvm-0.18", "tvm-0.25", "tvm-0.27"):
        assert rx.first_difference(rx.parse(mod.script(dialect)), mod) is None


def test_functions_that_the_module_names() -> None:
    mod = rx.parse("""
@I.ir_module
class Module:
    outside = R.ExternFunc("registered.name")

    @R.function(pure=False)
    def main(x: R.Tensor((2,), dtype="float32")):
        cls = Module
        y: R.Tensor((2,), dtype="float32") = cls.outside(x)
        return y
""")
    assert 'R.call_packed("registered.name", x)' in mod.script()


def test_empty_tuples_as_tvm_prints_them() -> None:
    mod = rx.parse("""
@R.function
def main(x: R.Tensor((2,), dtype="float32")) -> R.Tuple:
    gv: R.Tuple
    with R.dataflow():
        lv: R.Tensor((2,), dtype="float32") = R.nn.relu(x)
        R.tuple()
        R.output(gv)
    R.tuple()
    return gv
""")
    main = mod["main"]
    assert isinstance(main, rx.Function)
    bound = [(one.var.name, one.var.dataflow) for block in main.body.blocks for one in block.bindings]
    assert bound == [("lv", True), ("gv", False), ("_", False)]
    assert rx.first_difference(rx.parse(mod.script()), mod) is None
    # TVM writes the empty tuple in place of such a variable, too.
    again = rx.parse(mod.script().replace("return gv", "return R.tuple()"))
    assert rx.first_difference(again, mod) is None
    assert rx.structural_hash(again) == rx.structural_hash(mod)


def test_attention_is_one_operator_with_a_bias_or_without() -> None:
    text = """
@R.function
def main(q: R.Tensor((1, 8, 2, 4), dtype="float32"), b: R.Tensor((1, 1, 8, 8), dtype="float32")):
    x = R.nn.attention(q, q, q, bias=b, scale=T.float32(0.5))
    y = R.nn.attention_bias(x, x, x, b, scale=None, causal_mask=None, window_size=None)
    return R.nn.attention(y, y, y, causal_mask="TopLeft")
"""
    printed = rx.parse(text).script()
    assert "R.nn.attention(q, q, q, b, scale=0.5)" in printed
    assert "R.nn.attention(x, x, x, b)" in printed
    assert 'R.nn.attention(y, y, y, causal_mask="TopLeft")' in printed
    assert rx.parse(printed).script() == printed


def test_scalars_of_operators_keep_their_dtype() -> None:
    text = """
@R.function
def main(x: R.Tensor((2,), dtype="int64")):
    y = R.one_hot(x, T.float32(1), R.prim_value(T.float32(0)), depth=4)
    z = R.one_hot(x, 1, 0, depth=4)
    return (y, z, R.eye(3, 4, 1, dtype="float32"), R.hamming_window(4, True, T.float32(0.5), T.float32(0.5), "float32"))
"""
    printed = rx.parse(text).script()
    assert "R.one_hot(x, R.prim_value(T.float32(1.0)), R.prim_value(T.float32(0.0)), depth=4, axis=-1)" in printed
    assert 'y: R.Tensor((2, 4), dtype="float32")' in printed
    assert 'z: R.Tensor((2, 4), dtype="int64")' in printed
    assert rx.parse(printed).script() == printed


def test_a_function_without_declared_result_is_read_before_its_callers() -> None:
    mod = rx.parse("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")):
        return Module.helper(x)
    @R.function(private=True)
    def helper(x: R.Tensor((2,), dtype="float32")):
        return R.add(x, x)
""")
    assert [func.ret for func in mod.functions.values() if isinstance(func, rx.Function)] == [
        rx.TensorStructInfo((2,), "float32")
    ] * 2


def test_recursion_and_branches() -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def loop(i: R.Tensor((), dtype="int64"), x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        c: R.Tensor((), dtype="bool") = R.less(i, R.const(3, "int64"))
        if c:
            i1: R.Tensor((), dtype="int64") = R.add(i, R.const(1, "int64"))
            x1: R.Tensor((2,), dtype="float32") = R.add(x, x)
            r: R.Tensor((2,), dtype="float32") = cls.loop(i1, x1)
        else:
            r: R.Tensor((2,), dtype="float32") = x
        return r
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        y: R.Tensor((2,), dtype="float32") = cls.loop(R.const(0, "int64"), x)
        return y
"""
    np.testing.assert_array_equal(run(text, np.array([1, 2], "float32")), np.array([8, 16], "float32"))


@pytest.mark.parametrize(
    "text",
    [
        'n = TypeVar("n")\n@I.ir_module\nclass Module:\n    @R.function\n'
        '    def main(x: R.Tensor((n, 3), dtype="float32")) -> R.Tensor((n, 3), dtype="float32"):\n        return x',
        'from __future__ import annotations\n@I.ir_module\nclass Module:\n    @R.function\n'
        '    def main[n](x: R.Tensor((n, 3), dtype="float32")) -> R.Tensor((n, 3), dtype="float32"):\n        return x',
        '@relax.function\ndef main(x: Tensor((n, 3), "float32")) -> Tensor(None, "float32", ndim = 2):\n'
        '    # block 0\n    with relax.dataflow():\n        gv = relax.add(x, x)\n        relax.output(gv)\n'
        '    return gv',
    ],
)  # fmt: skip
def test_spellings_of_symbolic_dimensions(text: str) -> None:
    func = rx.parse(text)["main"]
    assert isinstance(func, rx.Function)
    info = func.params[0].info
    assert isinstance(info, rx.TensorStructInfo)
    assert info.shape is not None
    assert repr(info.shape) == "(n, 3)"


def test_prim_func_alone() -> None:
    func = rx.parse("@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    n = T.int64()\n"
                    "    A = T.match_buffer(a, (n,))\n    B = T.match_buffer(b, (n,), 'int8')\n"
                    "    for i in range(n):\n        B[i] = T.Cast('int8', A[i])")["f"]  # fmt: skip
    assert isinstance(func, PrimFunc)
    assert [buffer.dtype for buffer in func.buffers] == ["float32", "int8"]
    assert func.num_outputs == 1


OLD_TABLE = """{"root": 1, "nodes": [{"type_key": ""},
 {"type_key": "Map", "keys": ["relax.expr.Constant"], "data": [2]}, {"type_key": "Array", "data": [3]},
 {"type_key": "relax.expr.Constant", "attrs": {"data": "0", "span": "0"}}],
 "b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQABAAAAAAAAAAQAAAAAAAAAAADAPw=="]}"""
NEW_TABLE = """{"root_index": 5, "nodes": [{"type": "ffi.String", "data": "ir.GenericConst"}, {"type": "None"},
 {"type": "ffi.Tensor", "data": "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQABAAAAAAAAAAQAAAAAAAAAAADAPw=="},
 {"type": "ir.GenericConst", "data": {"span": 1, "ty": 1, "value": 2}}, {"type": "ffi.Array", "data": [3]},
 {"type": "ffi.Map", "data": [0, 4]}]}"""
USE = """
@R.function
def main(x: R.Tensor((1,), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
    y: R.Tensor((1,), dtype="float32") = R.add(x, metadata["{}"][0])
    return y
"""


@pytest.mark.parametrize(("table", "key"), [(OLD_TABLE, "relax.expr.Constant"), (NEW_TABLE, "ir.GenericConst")])
def test_constants_of_the_metadata_section(table: str, key: str) -> None:
    text = f'metadata = tvm.ir.load_json("""{table}""")\n' + USE.format(key)
    np.testing.assert_array_equal(run(text, np.ones(1, "float32")), np.array([2.5], "float32"))


def test_constants_from_the_caller() -> None:
    text = USE.format("ir.GenericConst")
    mod = rx.parse(text, constants={"metadata": {"ir.GenericConst": [np.array([1.5], "float32")]}})
    np.testing.assert_array_equal(backends.VirtualMachine(backends.build(mod))["main"](np.ones(1, "float32")), [2.5])
    with pytest.raises(ParseError, match="the text leaves out `metadata"):
        rx.parse(text)
    with pytest.raises(ParseError, match="this constant is not in the text"):
        rx.parse(text, constants={"metadata": {}})
