"""Tensor programs as people and TVM write them: read, run on numpy, in C and by apache-tvm, against
numpy by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ExecutionError, Relay2RelaxError
from relay2relax.tir.analysis.check import check_prim_func
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.stmt import PrimFunc

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((4, 6)).astype("float32")
ROW = RANDOM.standard_normal(8).astype("float32")
PLACES = np.array([3, 0, 7, 7, 1, 2, 5, 4], "int64")

A8 = 'A: T.Buffer((T.int64(8),), "float32")'
B8 = 'B: T.Buffer((T.int64(8),), "float32")'

# name: parameters, body, arguments, results
CASES: dict[str, tuple[str, str, list[np.ndarray], list[np.ndarray]]] = {
    "symbolic extents": (
        "a: T.handle, b: T.handle",
        """
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (m, n), "float32")
    for i, j in T.grid(m, n):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * T.Cast("float32", n)
""",
        [X],
        [X.T * np.float32(4)],
    ),
    "numbers beyond int32": (
        f"{A8}, {B8}",
        """
    for i in T.serial(0, 8):
        B[i] = A[i] + T.Cast("float32", i * 4294967296 // 2147483648 + (i < 2147483648))
""",
        [ROW],
        [ROW + np.arange(1, 16, 2, dtype=np.float32)],
    ),
    "strings as extents": (
        "a: T.handle, b: T.handle",
        """
    n = T.int64()
    A = T.match_buffer(a, (n, n + T.int64(2)), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, k in T.grid(n, n + T.int64(2)):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(1)
            B[vi] = B[vi] + A[vi, vk]
""",
        [X],
        [(X.astype("float64").sum(1) + 1).astype("float32")],
    ),
    "predicate of a split loop": (
        f"{A8}, {B8}",
        """
    for i0, i1 in T.grid(T.int64(3), T.int64(3)):
        with T.sblock("B"):
            vi = T.axis.spatial(T.int64(8), i0 * T.int64(3) + i1)
            T.where(i0 * T.int64(3) + i1 < T.int64(8))
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] * T.float32(2)
""",
        [ROW],
        [ROW * 2],
    ),
    "axes that begin elsewhere": (
        f"{A8}, {B8}",
        """
    for i in range(T.int64(8)):
        with T.sblock("zero"):
            vi = T.axis.spatial(T.int64(8), i)
            B[vi] = T.float32(0)
    for i, k in T.grid(T.int64(4), T.int64(2)):
        with T.sblock("B"):
            vi = T.axis.spatial((T.int64(2), T.int64(6)), i + T.int64(2))
            vk = T.axis.reduce((T.int64(1), T.int64(3)), k + T.int64(1))
            B[vi] = B[vi] + A[vi + vk - T.int64(1)]
""",
        [ROW],
        [np.concatenate([[0, 0], ROW[2:6] + ROW[3:7], [0, 0]]).astype("float32")],
    ),
    "rank 0": (
        'A: T.Buffer((), "float32"), B: T.Buffer((), "float32")',
        """
    with T.sblock("B"):
        vi = T.axis.spatial(1, T.int64(0))
        T.reads(A[()])
        T.writes(B[()])
        B[()] = A[()] * T.float32(2)
""",
        [np.array(1.5, "float32")],
        [np.array(3.0, "float32")],
    ),
    "an opaque block": (
        f"{A8}, {B8}",
        """
    with T.sblock("scan"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        for i in range(8):
            B[i] = A[i] + T.if_then_else(i > 0, B[i - 1], T.float32(0))
""",
        [ROW],
        [np.cumsum(ROW, dtype="float32")],
    ),
    "while, locals and branches": (
        f"{A8}, {B8}",
        """
    i = T.alloc_buffer((1,), "int32")
    i[0] = 0
    while i[0] < 8:
        if A[i[0]] > T.float32(0):
            B[i[0]] = A[i[0]]
        else:
            B[i[0]] = T.float32(0)
        i[0] = i[0] + 1
""",
        [ROW],
        [np.maximum(ROW, 0)],
    ),
    "immutable and mutable names": (
        f"{A8}, {B8}",
        """
    for i in range(T.int64(8)):
        twice: T.let[T.float32] = A[i] * T.float32(2)
        once = T.bind(A[i])
        total: T.float32 = twice
        total = total + once
        alias = T.meta_var(twice)
        B[i] = total + alias
""",
        [ROW],
        [ROW * 5],
    ),
    "kinds of loops": (
        'A: T.Buffer((T.int64(4), T.int64(6)), "float32"), B: T.Buffer((T.int64(4), T.int64(6)), "float32")',
        """
    for i in T.parallel(T.int64(4)):
        for j in T.unroll(T.int64(3)):
            for k in T.vectorized(T.int64(2)):
                with T.sblock("B"):
                    vi = T.axis.spatial(T.int64(4), i)
                    vj = T.axis.spatial(T.int64(6), j * T.int64(2) + k)
                    B[vi, vj] = T.exp(A[vi, vj])
""",
        [X],
        [np.exp(X)],
    ),
    "steps": (
        f"{A8}, {B8}",
        """
    for i in range(0, 8, 2):
        B[i] = A[i]
    for i in range(1, 8, 2):
        B[i] = -A[i]
""",
        [ROW],
        [ROW * np.array([1, -1] * 4, "float32")],
    ),
    "casts and choices": (
        f'{A8}, B: T.Buffer((T.int64(8),), "int32")',
        """
    for i in T.serial(T.int64(8), annotations={"note": 1}):
        with T.sblock("B"):
            vi = T.axis.spatial(T.int64(8), i)
            n: T.let[T.int32] = T.Cast("int32", vi)
            B[vi] = T.Select(A[vi] > T.float32(0) and not A[vi] > T.float32(1), n, ~n)
""",
        [ROW],
        [np.where((ROW > 0) & ~(ROW > 1), np.arange(8), ~np.arange(8)).astype("int32")],
    ),
    "places out of data": (
        f'{A8}, I: T.Buffer((T.int64(8),), "int64"), {B8}',
        """
    for i in range(T.int64(8)):
        with T.sblock("B"):
            vi = T.axis.spatial(T.int64(8), i)
            T.reads(A[I[vi]], I[vi])
            T.writes(B[vi])
            B[vi] = A[I[vi]]
""",
        [ROW, PLACES],
        [ROW[PLACES]],
    ),
    "several results and temporaries": (
        f'{A8}, {B8}, C: T.Buffer((), "float32")',
        """
    D = T.sblock_alloc_buffer((T.int64(8),))
    for i in range(T.int64(8)):
        with T.sblock("D"):
            vi = T.axis.spatial(T.int64(8), i)
            D[vi] = T.abs(A[vi])
    for i in range(T.int64(8)):
        with T.sblock("B"):
            vi = T.axis.spatial(T.int64(8), i)
            B[vi] = T.sqrt(D[vi])
    for k in range(T.int64(8)):
        with T.sblock("C"):
            vk = T.axis.reduce(T.int64(8), k)
            with T.init():
                C[()] = T.min_value("float32")
            C[()] = T.max(C[()], D[vk])
""",
        [ROW],
        [np.sqrt(np.abs(ROW)), np.abs(ROW).max()],
    ),
    "two values at once": (
        'A: T.Buffer((T.int64(4), T.int64(6)), "float32"), I: T.Buffer((T.int64(4),), "int64")',
        """
    mv = T.sblock_alloc_buffer((T.int64(4),), "float32")
    mi = T.sblock_alloc_buffer((T.int64(4),), "int64")
    for i, k in T.grid(T.int64(4), T.int64(6)):
        with T.sblock("red"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(mi[vi], mv[vi])
            with T.init():
                mi[vi] = T.int64(-1)
                mv[vi] = T.min_value("float32")
            v_i: T.let[T.int64] = T.Select(mv[vi] > A[vi, vk] or mv[vi] == A[vi, vk] and mi[vi] < vk, mi[vi], vk)
            v_v: T.let[T.float32] = T.Select(mv[vi] > A[vi, vk], mv[vi], A[vi, vk])
            mi[vi] = v_i
            mv[vi] = v_v
    for i in range(T.int64(4)):
        with T.sblock("out"):
            vi = T.axis.spatial(T.int64(4), i)
            I[vi] = mi[vi]
""",
        [X],
        [X.argmax(1)],
    ),
}  # fmt: skip


def module_text(params: str, body: str, arguments: list[np.ndarray], results: list[np.ndarray]) -> str:
    def info(array: np.ndarray) -> str:
        return f'R.Tensor({array.shape}, dtype="{array.dtype}")'

    names = [f"x{number}" for number in range(len(arguments))]
    inputs = ", ".join(f"{name}: {info(one)}" for name, one in zip(names, arguments, strict=True))
    outputs = ", ".join(map(info, results))
    inner = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return f"""
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f({params}):
{inner}
    @R.function
    def main({inputs}):
        cls = Module
        y = R.call_tir(cls.f, ({", ".join(names)},), [{outputs}])
        return y
"""


def close(actual: Any, expected: list[np.ndarray]) -> None:
    found = list(actual) if isinstance(actual, (tuple, list)) else [actual]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_on_numpy(name: str) -> None:
    module = rx.parse(module_text(*CASES[name]))
    close(backends.VirtualMachine(backends.build(module))["main"](*CASES[name][2]), CASES[name][3])
    assert rx.first_difference(rx.parse(module.script()), module) is None


@pytest.mark.compiler
@pytest.mark.parametrize("name", CASES)
def test_in_c(name: str) -> None:
    module = rx.parse(module_text(*CASES[name]))
    close(backends.VirtualMachine(backends.build(module, "c"))["main"](*CASES[name][2]), CASES[name][3])


@pytest.mark.tvm
@pytest.mark.parametrize("name", CASES)
@pytest.mark.sweep(every=3)
def test_in_tvm(name: str) -> None:
    """TVM reads what was written, and what we print of it."""
    import tvm
    from tvm import relax

    text = module_text(*CASES[name])
    for module in (tvm.script.from_source(text), rx.to_tvm(rx.parse(text))):
        machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
        result = machine["main"](*map(tvm.runtime.tensor, CASES[name][2]))
        close([one.numpy() for one in result] if len(CASES[name][3]) > 1 else result.numpy(), CASES[name][3])


@pytest.mark.parametrize(
    ("param", "declared"),
    [
        ('A: T.Buffer((T.int64(8),), "float32", elem_offset=offset)', "offset = T.int64()"),
        ('A: T.Buffer((T.int64(8),), "float32", strides=(stride,))', "stride = T.int64()"),
        ('A: T.Buffer((T.int64(8),), "float32", align=64, offset_factor=1)', "pass"),
        ('A: T.Buffer((T.int64(8),), strides=[], buffer_type="auto", scope="global")', "pass"),
    ],
)
def test_what_callers_decide_of_a_buffer(param: str, declared: str) -> None:
    body = f"    {declared}\n    for i in range(T.int64(8)):\n        B[i] = A[i]\n"
    module = rx.parse(module_text(f"{param}, {B8}", body, [ROW], [ROW]))
    close(backends.VirtualMachine(backends.build(module))["main"](ROW), [ROW])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("C = T.match_buffer(A, (8,))\n    B[0] = C[0]", "stands in a block"),
        ("C = T.decl_buffer((8,), data=A)\n    B[0] = C[0]", "no buffer's memory"),
        ("B[0] = A[18446744073709551616 - T.int64(1)]", "this number does not fit in int64"),
    ],
)
def test_what_has_no_form_is_said(body: str, message: str) -> None:
    with pytest.raises(Relay2RelaxError, match=message):
        rx.parse(module_text(f"{A8}, {B8}", f"    {body}\n", [ROW], [ROW]))


def test_functions_of_the_runtime_are_kept_and_refused_when_run() -> None:
    body = """
    with T.sblock("sorted"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        T.call_packed("tvm.contrib.unknown", T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(8), 0, 1,
            T.float32(0), T.int64(0)), T.address_of(B[1]))
"""
    module = rx.parse(module_text(f"{A8}, {B8}", body, [ROW], [ROW]), check_well_formed=False)
    assert "A.data, T.tvm_stack_make_shape(T.int32(8))" in module.script()
    assert "T.address_of(B[1])" in module.script()
    assert rx.first_difference(rx.parse(module.script(), check_well_formed=False), module) is None
    with pytest.raises(ExecutionError, match=r"no function 'tvm\.contrib\.unknown' is registered"):
        backends.VirtualMachine(backends.build(module))["main"](ROW)


def test_every_bit_of_unsigned_numbers() -> None:
    given = np.array([0, 1, 200, 255], "uint8")
    params = 'A: T.Buffer((T.int64(4),), "uint8"), B: T.Buffer((T.int64(4),), "uint8")'
    text = module_text(params, "    for i in range(T.int64(4)):\n        B[i] = ~A[i]\n", [given], [given])
    close(backends.VirtualMachine(backends.build(rx.parse(text)))["main"](given), [~given])


def compiled(target: str) -> Callable[[np.ndarray], Any]:
    given = "\n".join(f"    {line}" for line in CASES["symbolic extents"][1].strip("\n").splitlines())
    text = f"""
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(a: T.handle, b: T.handle):
{given}
    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")):
        n, m = T.int64(), T.int64()
        return R.call_tir(Module.f, (x,), R.Tensor((m, n), dtype="float32"))
"""
    machine: Any = backends.VirtualMachine(backends.build(rx.parse(text), target))
    return lambda x: machine["main"](x)


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 5)])
def test_extents_of_nothing(target: str, shape: tuple[int, int]) -> None:
    given = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    result = compiled(target)(given)
    assert result.shape == shape[::-1]
    np.testing.assert_array_equal(result, given.T * np.float32(shape[0]))


CONDITION = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def divides(N: T.int64) -> T.bool:
        return N % T.int64(16) == T.int64(0)

    @R.function(pure=False)
    def main(A: R.Tensor(("N",), "float32")) -> R.Tensor(("N",), "float32"):
        N = T.int64()
        cls = Module
        whole: T.bool = cls.divides(N)
        if whole:
            out_then: R.Tensor((N,), "float32") = R.add(A, A)
            out: R.Tensor((N,), "float32") = out_then
        else:
            out_else: R.Tensor((N,), "float32") = R.negative(A)
            out: R.Tensor((N,), "float32") = out_else
        return out
"""


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_a_program_returns_a_scalar(target: str) -> None:
    """As TVM's ComputePrimValue writes conditions on extents."""
    module = rx.parse(CONDITION)
    assert rx.structural_equal(rx.parse(module.script()), module)
    main = backends.VirtualMachine(backends.build(module, target))["main"]
    for extent, factor in ((32, 2), (33, -1)):
        data = np.arange(extent, dtype="float32")
        np.testing.assert_array_equal(main(data), data * factor)


def test_programs_are_not_asked_for_more_than_tvm_asks() -> None:
    """A result that is never written, and a symbol of another name, are read.

    ``check_prim_func`` finds the first.
    """
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def nothing(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
        T.func_attr({"global_symbol": "something"})
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.nothing, (x,), out_ty=R.Tensor((2, 3), "float32"))
            R.output(y)
        return y
"""
    program = of_type(rx.parse(text)["nothing"], PrimFunc)
    assert program.attrs["global_symbol"] == "something"
    with pytest.raises(TIRError, match="the output B is never written"):
        check_prim_func(program)
