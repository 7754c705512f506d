"""A result that no memory has says which operator needs how many bytes, and where it stands: within
limits before anything is allocated, without them when the system refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

from relay2relax import Limits, backends, relay_ir, translator
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.core.errors import ExecutionError, LimitError, OutOfMemoryError
from relay2relax.tir.ir.expr import Buffer, FloatImm, IntImm, Var
from relay2relax.tir.ir.stmt import BufferStore, For, PrimFunc

BACKENDS = ["numpy", pytest.param("c", marks=pytest.mark.compiler)]


@dataclass(frozen=True)
class Huge:
    """A call of ``op`` whose result takes ``size`` bytes for ``args``."""

    op: str
    text: str
    size: int
    args: list[Any] = field(default_factory=list)


TALL, TALLER = np.zeros((400_000, 1), np.float32), np.zeros((40_000_000, 1), np.float32)
ROW = np.zeros((1, 3_000_000), np.float32)
SHAPE = np.array([4_000_000, 4_000_000])
A, B, R = "Tensor[(400000, 1), float32]", "Tensor[(40000000, 1), float32]", "Tensor[(1, 3000000), float32]"
S, OPEN = "Tensor[(2), int64]", 'shape=None, dtype="float32"'
SQUARE = 4 * 4_000_000**2
# 4 bytes for each element.
CASES = [
    Huge("nn.dense", f"(%x: {A}, %y: {B}) {{ nn.dense(%x, %y, units=None) }}", 64 * 10**12, [TALL, TALLER]),
    Huge("zeros", '() { zeros(shape=[4000000, 4000000], dtype="float32") }', SQUARE),
    Huge("zeros", '() { zeros(shape=[4000000000, 4000000000], dtype="float32") }', 1_000_000 * SQUARE),
    Huge("full", '() { full(1f, shape=[4000000, 4000000], dtype="float32") }', SQUARE),
    Huge("add", f"(%x: {B}, %y: {R}) {{ add(%x, %y) }}", 4 * TALLER.size * ROW.size, [TALLER, ROW]),
    Huge("repeat", f"(%x: {B}) {{ repeat(%x, repeats=4000000) }}", 16_000_000 * TALLER.size, [TALLER]),
    Huge("tile", f"(%x: {B}) {{ tile(%x, reps=[1, 4000000]) }}", 16_000_000 * TALLER.size, [TALLER]),
    Huge("dyn.full", f"(%s: {S}) {{ dyn.full(1f, %s, {OPEN}) }}", SQUARE, [SHAPE]),
    Huge("dyn.zeros", f"(%s: {S}) {{ dyn.zeros(%s, {OPEN}) }}", SQUARE, [SHAPE]),
]


def typed(text: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\ndef @main{text}'))


def message(error: type[ExecutionError] | type[LimitError], run: Callable[[], object]) -> str:
    with pytest.raises(error) as caught:
        run()
    return str(caught.value)


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.op} {case.size}")
@pytest.mark.parametrize("backend", BACKENDS)
def test_relay(case: Huge, backend: str) -> None:
    run = backends.create_executor("debug", typed(case.text), backend=backend).evaluate()

    def limited() -> None:
        with Limits(memory=1_000_000_000):
            run(*case.args)

    for said in (message(LimitError, limited), message(OutOfMemoryError, lambda: run(*case.args))):
        assert f"{case.op} " in said
        assert f"({case.size} bytes)" in said
        assert "(<text>:2:" in said
        assert "^^^" in said


@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.op} {case.size}")
@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
@pytest.mark.parametrize("backend", BACKENDS)
def test_relax(case: Huge, translate: Any, backend: str) -> None:
    main = backends.VirtualMachine(backends.build(translate(typed(case.text)), target=backend))["main"]

    def limited() -> None:
        with Limits(memory=1_000_000_000):
            main(*case.args)

    for said in (message(LimitError, limited), message(OutOfMemoryError, lambda: main(*case.args))):
        assert f"({case.size} bytes)" in said
        assert "note: in @main" in said


@pytest.mark.compiler
def test_temporaries_of_machine_code() -> None:
    """What a kernel keeps between its stages counts as well: 40 GB here, of a result of 400 kB."""
    body = "let %y = nn.dense(%x, %x, units=None); max(cumsum(%y, axis=0), axis=[1])"
    text = f"(%x: Tensor[(100000, 1), float32]) {{ {body} }}"
    main = backends.VirtualMachine(backends.build(translator.lower_to_tir(typed(text)), target="c"))["main"]
    with Limits(memory=1_000_000_000), pytest.raises(LimitError, match=r"what \w+ keeps meanwhile needs .* bytes"):
        main(np.ones((100_000, 1), np.float32))


def test_random_inputs() -> None:
    mod = typed("(%x: Tensor[(100000000000, 1000), float32]) { sum(%x) }")
    wanted = r"a random value for parameter 'x' needs 800 TB \(800000000000000 bytes\)"
    with pytest.raises(OutOfMemoryError, match=wanted):
        translator.compare(mod)
    with Limits(memory=1_000_000_000), pytest.raises(LimitError, match=wanted):
        translator.compare(mod)


def test_constants_are_not_folded_beyond_the_limit() -> None:
    """A value that does not fit is left to the program, which says so if it ever gets there."""
    x = np.ones((1000, 1), np.float32)
    once = "repeat(%x, repeats=8, axis=1)"
    text = f"(%x: Tensor[(1000, 1), float32], %c: bool) {{ if (%c) {{ {once} }} else {{ negative({once}) }} }}"
    with Limits(memory=20_000):
        relax = translator.via_graph(typed(text), {"x": x})
        main = backends.VirtualMachine(backends.build(relax, target="numpy"))["main"]
        with pytest.raises(LimitError, match=r"\(32000 bytes\)"):
            main(True)
    assert main(True).shape == (1000, 8)


@pytest.mark.parametrize("count", [999_999, 1_000_000])
def test_the_limit_itself_is_allowed(count: int) -> None:
    run = backends.create_executor("debug", typed('() { zeros(shape=[1000000], dtype="int8") }')).evaluate()
    with Limits(memory=count, extents=1_000_000):
        if count < 1_000_000:
            with pytest.raises(LimitError):
                run()
        else:
            assert run().shape == (1_000_000,)


# What numpy refuses without an element: it multiplies the extents that are not 0.
FAR = [
    ("zeros", '() { zeros(shape=[2305843009213693952, 0, 16], dtype="float32") }', []),
    ("tile", f"(%x: Tensor[(1, 0), float32]) {{ tile(%x, reps=[{1 << 62}, 1]) }}", [np.zeros((1, 0), np.float32)]),
    ("dyn.zeros", f"(%s: {S}) {{ dyn.zeros(%s, {OPEN}) }}", [np.array([1 << 62, 0])]),
]


@pytest.mark.parametrize(("op", "text", "args"), FAR, ids=[op for op, _, _ in FAR])
@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_needs_no_bytes(op: str, text: str, args: list[Any], backend: str) -> None:
    """Extents beyond an address beside one of 0: no message says that memory lacks for 0 bytes."""
    module = typed(text)
    for run in (
        backends.create_executor("debug", module, backend=backend).evaluate(),
        backends.VirtualMachine(backends.build(translator.lower_to_tir(module), target=backend))["main"],
    ):
        said = message(ExecutionError, partial(run, *args))
        assert "0 bytes" not in said
        if backend == "c":
            assert "needs strides longer than all of memory, although it has no elements" in said


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_result_without_elements_takes_no_time(backend: str) -> None:
    """An extent of 2**40 stands beside one of 0; counting to it would take hours."""
    text = "(%x: Tensor[(0, 3, 1, 1), float32]) { nn.upsampling(%x, scale_h=1f, scale_w=1099511627776f) }"
    module = typed(text)
    for run in (
        backends.create_executor("debug", module, backend=backend).evaluate(),
        backends.VirtualMachine(backends.build(translator.lower_to_tir(module), target=backend))["main"],
    ):
        with Limits(seconds=5):
            assert np.asarray(run(np.zeros((0, 3, 1, 1), np.float32))).shape == (0, 3, 1, 1 << 40)


def test_loops_around_no_steps_take_no_time() -> None:
    n, m = IntImm(1 << 61, "int64"), IntImm(0, "int64")
    i, j = Var("i", "int64"), Var("j", "int64")
    result = Buffer("B", (IntImm(4),), "float32")
    store = BufferStore(result, (IntImm(0),), FloatImm(1.0, "float32"))
    body = For(i, n, For(j, m, store))
    func = PrimFunc("none", (handle := Var("b", "handle"),), {handle: result}, body, (), 1)
    found = np.zeros(4, np.float32)
    with Limits(seconds=5):
        evaluate_prim_func(func, [], [found])
    assert found.tolist() == [0.0, 0.0, 0.0, 0.0]
