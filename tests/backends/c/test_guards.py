"""Accesses of generated C lie inside their tensors: proved, or guarded; with ``checked`` all are
looked at.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from c_programs import PROGRAMS, c_program

from relay2relax import backends, relax_ir
from relay2relax.backends.c import compile_prim_funcs
from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.core.errors import ExecutionError
from relay2relax.core.tolerance import difference
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.ir.stmt import PrimFunc


def program(params: str, body: str) -> PrimFunc:
    """Return a tensor program whose last parameter is its result."""
    lines = ["from tvm.script import tir as T", "@T.prim_func", f"def place({params}):"]
    lines += [f"    {line}" for line in ['T.func_attr({"num_outputs": 1})', *body.strip("\n").splitlines()]]
    text = "@I.ir_module\nclass Module:\n" + "\n".join("    " + line for line in lines[1:])
    func = next(iter(relax_ir.parse(text).functions.values()))
    assert isinstance(func, PrimFunc)
    return func


WRITES_OUTSIDE = program(
    'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")',
    """
for i in range(8):
    with T.block("B"):
        v = T.axis.spatial(8, i)
        B[v + 100000000] = A[v]
""",
)
READS_BELOW = program(
    'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")',
    """
for i in range(8):
    with T.block("B"):
        v = T.axis.spatial(8, i)
        B[v] = A[v - 1000000]
""",
)
READS_NEXT_ROW = program(
    'I: T.Buffer((3,), "int64"), A: T.Buffer((4, 5), "float32"), B: T.Buffer((3,), "float32")',
    """
for i in range(3):
    with T.block("B"):
        v = T.axis.spatial(3, i)
        B[v] = A[1, I[v]]
""",
)
# In 32 bits four times 2**30 is 0: the condition holds, and proves nothing.
WRAPS_AROUND = program(
    'I: T.Buffer((3,), "int32"), A: T.Buffer((8,), "float32"), B: T.Buffer((3,), "float32")',
    """
for i in range(3):
    with T.block("B"):
        v = T.axis.spatial(3, i)
        B[v] = T.if_then_else(I[v] * 4 >= 0 and I[v] * 4 < 32, A[I[v]], T.float32(-1))
""",
)
SCATTERS = program(
    'I: T.Buffer((3,), "int64"), A: T.Buffer((3,), "float32"), B: T.Buffer((8,), "float32")',
    """
for i in range(3):
    with T.block("B"):
        v = T.axis.spatial(3, i)
        B[I[v]] = A[v]
""",
)
CHOOSES = program(
    'I: T.Buffer((4,), "int64"), A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")',
    """
for i in range(4):
    with T.block("B"):
        v = T.axis.spatial(4, i)
        B[v] = T.Select(I[v] >= T.int64(0) and I[v] < T.int64(8), A[I[v]], T.float32(-1))
""",
)
ROWS = """
@I.ir_module
class Module:
    @T.prim_func
    def rows(X: T.Buffer((5, 4), "float32"), places: T.handle, result: T.handle):
        n = T.int64()
        I = T.match_buffer(places, (n,), "int64")
        Y = T.match_buffer(result, (n, 4), "float32")
        for i, j in T.grid(n, 4):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[I[vi], vj]

    @R.function
    def main(x: R.Tensor((5, 4), "float32"), i: R.Tensor(("n",), "int64")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        gv = R.call_tir(Module.rows, (x, i), out_sinfo=R.Tensor((n, 4), dtype="float32"))
        return gv
"""


@pytest.mark.compiler
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize(
    ("func", "given", "said"),
    [
        (WRITES_OUTSIDE, [np.ones(8, np.float32)], "place 100000007"),
        (READS_BELOW, [np.ones(8, np.float32)], "place -1000000"),
        (READS_NEXT_ROW, [np.array([0, 4, 5]), np.ones((4, 5), np.float32)], "index 5 is outside dimension 1 of 'A'"),
        (READS_NEXT_ROW, [np.array([0, -1, 2]), np.ones((4, 5), np.float32)], "index -1 is outside dimension 1 of 'A'"),
        (WRAPS_AROUND, [np.array([0, 1 << 30, 2], np.int32), np.ones(8, np.float32)], "index 1073741824 is outside"),
        (SCATTERS, [np.array([0, 9, 2]), np.ones(3, np.float32)], "index 9 is outside dimension 0 of 'B'"),
        (SCATTERS, [np.array([0, -(1 << 63), 2]), np.ones(3, np.float32)], "of 'B', which has extent 8"),
    ],
)
@pytest.mark.sweep(every=2)
def test_what_lies_outside_is_refused(func: PrimFunc, given: list[np.ndarray], said: str, checked: bool) -> None:
    result = np.zeros([integer(extent, {}) for extent in func.buffers[-1].shape], np.float32)
    module = compile_prim_funcs([func], checked=checked)
    for call in (partial(module.call, func.name), module.kernel(func.name)):
        with pytest.raises(ExecutionError, match=re.escape(said)):
            call(*given, result)
    with pytest.raises(ExecutionError):
        evaluate_prim_func(func, given, [result])


# Positions that leave their dtype, as indices of eight elements.
FAR_PLACES = (
    "T.min(i * 1073741823 + i, 7)",
    "T.max(i - 2147483647 - i * 5, 0)",
    "T.min(i * 9223372036854775807, 7)",
    "T.min(T.int64(7), T.Cast('int64', i) * T.int64(9223372036854775807))",
    "(i * 1073741823 + 5) % (i + 1)",
    "T.Cast('int64', i * 1073741823) % T.int64(7)",
    "T.truncmod(T.abs(i * 1073741824), 7)",
    "T.if_then_else(i * 1073741824 < 8, i * 1073741824 // 536870912 + 4, 0)",
    "T.if_then_else(i * 1073741823 >= 0, i * 3, 0)",
    "i // 2147483647 // 1073741824",
)


@pytest.mark.compiler
@pytest.mark.parametrize("checked", [False, True])
def test_positions_that_leave_their_dtype(checked: bool) -> None:
    """C reads one of the elements, or refuses; around them are others."""
    params = 'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")'
    funcs = [program(params, f"for i in range(8):\n    B[i] = A[{place}]") for place in FAR_PLACES]
    named = [replace(func, name=f"place{number}") for number, func in enumerate(funcs)]
    module = compile_prim_funcs(named, checked=checked)
    around = np.full(24, np.nan, np.float32)
    around[8:16] = range(8)
    for func in named:
        result = np.zeros(8, np.float32)
        with suppress(ExecutionError):
            module.call(func.name, around[8:16], result)
            assert np.isin(result, around[8:16]).all(), func


OPEN = """
@I.ir_module
class Module:
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), other: T.handle, B: T.Buffer((8,), "float32")):
        n = T.int64()
        C = T.match_buffer(other, (n,), "float32")
        BODY

    @R.function
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor((8,), "float32"):
        gv = R.call_tir(Module.kernel, (x, y), out_sinfo=R.Tensor((8,), dtype="float32"))
        return gv
"""
# Loops on several threads: of no rounds, because an extent is negative, and of as many as another.
PARALLEL = {
    "less than none": (
        "for i in T.parallel(n - T.int64(8)):\n            for j in T.parallel(n - T.int64(8)):\n"
        "                B[T.min(i, T.int64(7))] = A[T.min(j, T.int64(7))]",
        [0] * 8,
    ),
    "a triangle": (
        "for i in T.parallel(8):\n            for j in T.parallel(i + 1):\n                B[i] = B[i] + A[j]",
        [0, 1, 3, 6, 10, 15, 21, 28],
    ),
}


@pytest.mark.compiler
@pytest.mark.parametrize("name", PARALLEL)
def test_rounds_of_parallel_loops(name: str) -> None:
    body, expected = PARALLEL[name]
    program = relax_ir.parse(OPEN.replace("BODY", body))
    main = backends.VirtualMachine(backends.build(program, target="c"))["main"]
    found = main(np.arange(8, dtype=np.float32), np.zeros(3, np.float32))
    np.testing.assert_array_equal(found, np.array(expected, np.float32))


@pytest.mark.compiler
@pytest.mark.parametrize("checked", [False, True])
def test_what_is_not_chosen_is_not_loaded(checked: bool) -> None:
    places = np.array([0, 7, 1 << 40, -5])
    result = np.zeros(4, np.float32)
    compile_prim_funcs([CHOOSES], checked=checked).call("place", places, np.arange(8, dtype=np.float32), result)
    assert result.tolist() == [0.0, 7.0, -1.0, -1.0]
    again = np.zeros(4, np.float32)
    evaluate_prim_func(CHOOSES, [places, np.arange(8, dtype=np.float32)], [again])
    assert again.tolist() == result.tolist()


def test_what_is_proved_is_not_guarded() -> None:
    for name in PROGRAMS:
        one = c_program(name)
        units, entries = generate([one.func], Machine(), one.constants)
        if name not in ("sort",):
            assert not any(entry.sites for entry in entries.values()), name
            assert not any("r2r_within(" in unit.text.split("r2r_powi")[-1] for unit in units), name


@pytest.mark.compiler
@pytest.mark.sweep(every=2)
def test_checked_code_computes_the_same() -> None:
    programs = {name: c_program(name) for name in PROGRAMS}
    results = {}
    for checked in (False, True):
        module = compile_prim_funcs([one.whole for one in programs.values()], checked=checked)
        for name, one in programs.items():
            results[name, checked] = one.outputs()
            module.call(name, *one.arguments().values(), *results[name, checked])
    for name in programs:
        for plain, looked_at in zip(results[name, False], results[name, True], strict=True):
            assert difference(looked_at, plain, 64).agrees, name


@pytest.mark.compiler
@pytest.mark.parametrize("checked", [False, True])
def test_an_executable_says_which_index(checked: bool) -> None:
    run = backends.VirtualMachine(backends.build(relax_ir.parse(ROWS), target="c", checked=checked))["main"]
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    assert np.array_equal(np.asarray(run(x, np.array([4, 0]))), x[[4, 0]])
    for wrong in (5, -1, 1 << 62):
        with pytest.raises(ExecutionError, match=f"index {wrong} is outside dimension 0 of 'x', which has extent 5"):
            run(x, np.array([4, wrong]))
    # Nothing of a refused call is left.
    assert np.array_equal(np.asarray(run(x, np.array([1]))), x[[1]])


@pytest.mark.parametrize("rows", [3, 0])
@pytest.mark.compiler
def test_a_guard_stands_before_the_loop_that_would_repeat_it(rows: int) -> None:
    func = next(one for one in relax_ir.parse(ROWS).functions.values() if isinstance(one, PrimFunc))
    units, _ = generate([func], Machine())
    kernel = units[0].text.split("r2r_powi")[-1]
    # Beside the function's own text: a row of four is one vector.
    assert re.findall(r"= r2r_within\(.*\n.*floatx4", kernel)
    assert kernel.count("r2r_within(") == 1
    result = np.zeros((rows, 4), np.float32)
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    compile_prim_funcs([func]).call(func.name, x, np.arange(rows), result)
    assert np.array_equal(result, x[:rows])
