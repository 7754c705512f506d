"""Generated C: expressions, kernels against numpy, the cache and the compiler's absence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay2relax.backends.c.codegen.expression import Atom, Conditional, Infix, Prefix, render
from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.loaded_module import compile_prim_funcs
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.stages import flat_index
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.core.errors import CompilerError, ExecutionError, UnsupportedError
from relay2relax.core.tolerance import difference
from relay2relax.tir import te
from relay2relax.tir.ir.expr import (
    Binary,
    BinaryOp,
    Buffer,
    IntImm,
    PrimExpr,
    Select,
    Var,
    cast,
    if_then_else,
    maximum,
    minimum,
)
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import map_expr

RANDOM = np.random.default_rng(7)
DENSE_AND_SOFTMAX = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 8), float32], %w: Tensor[(5, 8), float32]) { nn.softmax(nn.dense(%x, %w, units=5)) }"""


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def test_parentheses_where_precedence_asks_for_them() -> None:
    a, b, c = Atom("a"), Atom("b"), Atom("c")
    assert render(Infix("*", Infix("+", a, b), c)) == "(a + b) * c"
    assert render(Infix("-", a, Infix("-", b, c))) == "a - (b - c)"
    assert render(Infix("-", Infix("-", a, b), c)) == "a - b - c"
    assert render(Infix("&&", Infix("<", a, b), Infix("<", b, c))) == "(a < b) && (b < c)"
    assert render(Prefix("-", Atom("-1"))) == "-(-1)"
    assert render(Conditional(Conditional(a, b, c), a, Conditional(a, b, c))) == "(a ? b : c) ? a : a ? b : c"


def test_names_of_the_program_do_not_reach_the_text() -> None:
    evil = 'x; } int main() { system("rm") //'
    a = te.placeholder((Var(evil), 2), name=evil)
    func = te.create_prim_func([a], [te.compute(a.shape, lambda i, j: a[i, j] + 1.0, evil)], name=evil)
    units, _ = generate([func], Machine())
    assert all("system" not in unit.text and '"rm"' not in unit.text for unit in units)


@pytest.mark.compiler
def test_functions_share_one_object_and_stages_that_are_alike() -> None:
    def scale(name: str, extent: int) -> PrimFunc:
        x = te.placeholder((extent, 4), name="X")
        return te.create_prim_func([x], [te.compute((extent, 4), lambda i, j: x[i, j] * 2.0)], name=name)

    funcs = [scale("one", 3), scale("two", 3), scale("three", 5)]
    units, _ = generate(funcs, Machine())
    assert sum(unit.text.count("* 2.0f") for unit in units) == 2
    module = compile_prim_funcs(funcs)
    data, result = normal(5, 4), np.empty((5, 4), np.float32)
    module.call("three", data, result)
    assert (result == data * 2).all()
    with pytest.raises(ExecutionError, match="dimension 0 of argument 'X' has extent 5, expected 3"):
        module.call("one", data, result)
    with pytest.raises(ExecutionError, match="no function 'four'"):
        module.call("four", data, result)


@pytest.mark.compiler
def test_arrays_may_be_strided() -> None:
    x = te.placeholder((4, 3), name="X")
    module = compile_prim_funcs([te.create_prim_func([x], [te.compute((4, 3), lambda i, j: x[i, j] + 1.0)], name="f")])
    data, result = normal(3, 4).T, np.empty((3, 4), np.float32).T
    module.call("f", data, result)
    assert (result == data + 1).all()


@pytest.mark.compiler
def test_integer_arithmetic_wraps_and_divides_as_the_program_says() -> None:
    x, y = te.placeholder((6,), "int8", "X"), te.placeholder((6,), "int32", "Y")
    outs = [te.compute((6,), lambda i: x[i] * x[i] // IntImm(7, "int8"))]
    outs += [te.compute((6,), lambda i, op=op: Binary(op, y[i], IntImm(-3, "int32"))) for op in ("//", "%", "truncdiv")]
    func = te.create_prim_func([x, y], outs, name="f")
    small = np.array([-128, -77, -1, 0, 99, 127], np.int8)
    wide = np.array([-7, -6, -1, 0, 5, 6], np.int32)
    results = [np.empty(6, np.int8)] + [np.empty(6, np.int32) for _ in range(3)]
    compile_prim_funcs([func]).call("f", small, wide, *results)
    assert (results[0] == (small * small) // np.int8(7)).all()
    assert [r.tolist() for r in results[1:]] == [[2, 2, 0, 0, -2, -2], [-1, 0, -1, 0, -1, 0], [2, 2, 0, 0, -1, -2]]


@pytest.mark.compiler
def test_branches_around_short_loops_keep_their_values() -> None:
    """gcc 12 loses one side of such a loop where it makes masks of the branch."""
    x, y = te.placeholder((2, 8, 2), name="X"), te.placeholder((2, 8, 2), name="Y")

    def element(i: PrimExpr, j: PrimExpr, k: PrimExpr) -> PrimExpr:
        joined = if_then_else(j < 8, x[i, j, k], y[i, j - 8, k])
        return cast("int32", maximum(minimum(joined, 100.0), -100.0))

    a, b = normal(2, 8, 2) * 9, normal(2, 8, 2) * 9
    result = np.empty((2, 16, 2), np.int32)
    compile_prim_funcs([te.create_prim_func([x, y], [te.compute((2, 16, 2), element)], name="f")]).call(
        "f", a, b, result
    )
    assert (result == np.concatenate([a, b], 1).astype(np.int32)).all()


@pytest.mark.compiler
@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "erf", "sqrt", "rsqrt", "log", "round", "floor", "sin"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.sweep(every=3)
def test_intrinsics_agree_with_torch(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = te.placeholder((5000,), dtype, "X")
    module = compile_prim_funcs([te.create_prim_func([x], [te.compute((5000,), lambda i: call(name, x[i]))], name="f")])
    data = np.concatenate([np.linspace(-20, 20, 4993), [0.5, 1.5, 2.5, -0.5, np.inf, -np.inf, np.nan]]).astype(dtype)
    if name in ("sqrt", "rsqrt", "log"):
        data = np.abs(data) + np.asarray(1e-3, dtype)
    result = np.empty(5000, dtype)
    module.call("f", data, result)
    expected = getattr(torch, name)(torch.tensor(data.astype(np.float64))).numpy().astype(dtype)
    if name == "sin":
        data, result, expected = data[:-3], result[:-3], expected[:-3]
    finite = np.isfinite(expected)
    assert np.array_equal(result[~finite], expected[~finite], equal_nan=True)
    np.testing.assert_allclose(result[finite], expected[finite], rtol=4 * np.finfo(dtype).eps, atol=1e-30)


Row, Column = Var("row"), Var("column")
ARITHMETIC: tuple[BinaryOp, ...] = ("+", "-", "*")
DIVISIONS: tuple[BinaryOp, ...] = ("//", "%", "truncdiv", "truncmod")
BITWISE: tuple[BinaryOp, ...] = ("&", "|", "^")


def expressions(leaves: list[PrimExpr]) -> st.SearchStrategy[PrimExpr]:
    """Integers: every operator, compared exactly. Floats: continuous ones, so that a last bit stays
    a last bit.
    """
    exact = leaves[0].dtype == "int32"

    def extend(inner: st.SearchStrategy[PrimExpr]) -> st.SearchStrategy[PrimExpr]:
        pair, three = st.tuples(inner, inner), st.tuples(inner, inner, inner)
        found = [
            st.tuples(st.sampled_from(ARITHMETIC), pair).map(lambda t: Binary(t[0], *t[1])),
            pair.map(lambda p: maximum(*p)),
            pair.map(lambda p: minimum(*p)),
        ]
        if not exact:
            return st.one_of(*found, inner.map(lambda e: call("tanh", e)))
        seven = IntImm(7, "int32")
        return st.one_of(
            *found,
            st.tuples(st.sampled_from(DIVISIONS), inner).map(lambda t: Binary(t[0], t[1], seven)),
            st.tuples(st.sampled_from(BITWISE), pair).map(lambda t: Binary(t[0], *t[1])),
            three.map(lambda t: Select(t[0] < t[1], t[2], t[0])),
            three.map(lambda t: if_then_else(t[0] >= t[1], t[2], t[1])),
            inner.map(lambda e: cast("int32", cast("int8", e))),
        )

    return st.recursive(st.sampled_from(leaves), extend, max_leaves=8)


@pytest.mark.compiler
@settings(max_examples=15)
@given(
    data=st.data(),
    dtype=st.sampled_from(["int32", "float32"]),
    rows=st.integers(1, 5),
    columns=st.integers(1, 40),
    reduce=st.sampled_from(["sum", "max", ""]),
)
@pytest.mark.sweep(every=2)
def test_random_expressions_agree_with_numpy(
    data: st.DataObject, dtype: str, rows: int, columns: int, reduce: str
) -> None:
    x, y = te.placeholder((rows, columns), dtype, "X"), te.placeholder((columns,), dtype, "Y")
    body = data.draw(expressions([x[Row, Column], y[Column], x[Row, 0]]))

    def at(row: PrimExpr, column: PrimExpr) -> PrimExpr:
        places: dict[PrimExpr, PrimExpr] = {Row: row, Column: column}

        def change(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, te.ProducerLoad):
                return te.ProducerLoad(node.tensor, tuple(places.get(k, k) for k in node.indices))
            return None

        return map_expr(body, change)

    k = te.reduce_axis(columns)
    if reduce:
        out = te.compute((rows,), lambda r: getattr(te, reduce)(at(r, k.var), axis=k), "out")
    else:
        out = te.compute((rows, columns), at, "out")
    func = te.create_prim_func([x, y], [out], name="f")
    inputs = [(RANDOM.standard_normal(shape) * 3).astype(dtype) for shape in ((rows, columns), (columns,))]
    shape = (rows,) if reduce else (rows, columns)
    expected, actual = np.empty(shape, dtype), np.empty(shape, dtype)
    evaluate_prim_func(func, inputs, [expected])
    compile_prim_funcs([func]).call("f", *inputs, actual)
    # A product of n factors loses n last bits, a sum of n terms is measured by its largest term.
    found = difference(actual, expected, length=64 * columns)
    magnitude = max(float(np.abs(one).max()) for one in inputs) + 1.0
    assert found.agrees or np.abs(actual - expected).max() <= 1e-5 * columns * magnitude**8, found.reason


def test_dtypes_that_c_has_not_are_refused() -> None:
    x = te.placeholder((2,), "int4", "X")
    with pytest.raises(UnsupportedError, match="no int4"):
        generate([te.create_prim_func([x], [te.compute((2,), lambda i: x[i])])], Machine())


def test_a_missing_compiler_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(CompilerError, match="'no-such-compiler', named by CC, was not found") as caught:
        find_compiler()
    assert "help: install gcc or clang" in str(caught.value)
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CompilerError, match="no C compiler was found"):
        find_compiler()


@pytest.mark.compiler
def test_a_compiler_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken-cc"
    broken.write_text(
        '#!/bin/sh\ncase "$*" in *-dM*) echo "#define __broken__ 1";; *) echo "disk on fire" >&2; exit 3;; esac\n'
    )
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path / "cache"))
    x = te.placeholder((2,), name="X")
    with pytest.raises(CompilerError, match="disk on fire"):
        compile_prim_funcs([te.create_prim_func([x], [te.compute((2,), lambda i: x[i])])])
    assert not list((tmp_path / "cache").glob("*"))


@pytest.mark.compiler
@pytest.mark.sweep(every=2)
def test_processes_may_compile_the_same_module_at_once(tmp_path: Path) -> None:
    program = (
        "import numpy as np\nfrom relay2relax.backends.c import compile_prim_funcs\nfrom relay2relax.tir import te\n"
        "x = te.placeholder((8,), name='X')\n"
        "f = te.create_prim_func([x], [te.compute((8,), lambda i: x[i] * 3.0)], name='f')\n"
        "o = np.empty(8, np.float32)\ncompile_prim_funcs([f]).call('f', np.ones(8, np.float32), o)\n"
        "assert (o == 3).all()\n"
    )
    environment = {**os.environ, "RELAY2RELAX_CACHE": str(tmp_path)}
    running = [subprocess.Popen([sys.executable, "-c", program], env=environment) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_buffer_is_flattened_in_row_major_order() -> None:
    i, j = Var("i"), Var("j")
    position = flat_index(Buffer("b", (IntImm(3), IntImm(5))), (i, j))
    assert position in (i * 5 + j, j + i * 5)


@pytest.mark.compiler
@pytest.mark.sweep(every=2)
def test_nothing_hangs_on_asserts(tmp_path: Path) -> None:
    """``python -O`` leaves assert statements out; a build must not need what they do."""
    program = (
        """
import numpy as np
from relay2relax import backends, relay_ir, translator

assert False, "asserts are left out"
text = """
        + repr(DENSE_AND_SOFTMAX)
        + """
x, w = np.ones((3, 8), np.float32), np.ones((5, 8), np.float32)
module = translator.via_graph(relay_ir.infer_type(relay_ir.parse(text)), {"w": w})
result = backends.VirtualMachine(backends.build(module, target="c"))["main"](x)
print(float(result.sum()))
"""
    )
    environment = {**os.environ, "RELAY2RELAX_CACHE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-O", "-c", program], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(3.0)
