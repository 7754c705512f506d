"""Arguments that share memory with what a program writes are refused, on every target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relax_ir
from relay2relax.backends.c import compile_prim_funcs
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.core.errors import ExecutionError
from relay2relax.tir.ir.stmt import PrimFunc

TARGETS = ["numpy", pytest.param("c", marks=pytest.mark.compiler)]
MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def k(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            WRITTEN[7 - i] = A[i] + B[i]

    @R.function(pure=False)
    def main(a: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32")):
        y = R.call_tir_inplace(Module.k, ARGUMENTS, inplace_indices=[NUMBER], out_sinfo=R.Tensor((8,), "float32"))
        return y
"""
X = np.arange(8, dtype=np.float32)


def text(arguments: str, written: int) -> str:
    found = MODULE.replace("WRITTEN", "AB"[written]).replace("NUMBER", str(written))
    return found.replace("ARGUMENTS", arguments)


def main(target: str, arguments: str, written: int) -> Any:
    return backends.VirtualMachine(backends.build(relax_ir.parse(text(arguments, written)), target=target))["main"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("written", [0, 1])
def test_one_array_twice(target: str, written: int) -> None:
    run = main(target, "(a, a)", written)
    with pytest.raises(ExecutionError, match=rf"arguments '{'AB'[written]}' and '{'BA'[written]}' share memory"):
        run(X.copy(), X.copy())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("written", [0, 1])
@pytest.mark.parametrize("begin", [0, 1, 7])
def test_views_of_one_array(target: str, written: int, begin: int) -> None:
    run, memory = main(target, "(a, b)", written), np.zeros(16, np.float32)
    with pytest.raises(ExecutionError, match="share memory"):
        run(memory[:8], memory[begin : begin + 8])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("written", [0, 1])
def test_parts_that_lie_apart(target: str, written: int) -> None:
    """Halves of an array, and every other element of one, have nothing in common."""
    run = main(target, "(a, b)", written)
    for first, second in ((slice(8), slice(8, 16)), (slice(0, 16, 2), slice(1, 16, 2))):
        memory = np.arange(16, dtype=np.float32)
        one, other = memory[first], memory[second]
        # What is read may be written already: of two elements that change places, the second.
        parts = [one.copy(), other.copy()]
        for place in range(8):
            parts[written][7 - place] = parts[0][place] + parts[1][place]
        if target == "numpy":
            continue  # Whole axes at once: the order of loops is not defined.
        run(one, other)
        np.testing.assert_array_equal(one, parts[0])
        np.testing.assert_array_equal(other, parts[1])


VIEWS = {
    "reshape": ("R.reshape(b, R.shape([2, 4]))", (2, 4)),
    "same shape": ("R.reshape(b, R.shape([8]))", (8,)),
    "expand_dims": ("R.expand_dims(b, axis=0)", (1, 8)),
    "broadcast": ("R.broadcast_to(b, R.shape([3, 8]))", (3, 8)),
    "turned": ("R.permute_dims(R.reshape(b, R.shape([2, 4])), axes=[1, 0])", (4, 2)),
    "flipped": ("R.flip(b, axis=0)", (8,)),
    "part": ("R.split(b, indices_or_sections=2, axis=0)[1]", (4,)),
    "other function": ("cls.shown(b)", (8,)),
}
VIEWED = """
@I.ir_module
class Module:
    @T.prim_func
    def k(A: T.Buffer(SHAPE, "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = B[i] + A[PLACE] + T.float32(1)

    @R.function
    def shown(b: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        v = R.reshape(b, R.shape([8]))
        return v

    @R.function(pure=False)
    def main(b: R.Tensor((8,), "float32")):
        cls = Module
        v = VIEW
        y = R.call_tir_inplace(cls.k, (v, b), inplace_indices=[1], out_sinfo=R.Tensor((8,), "float32"))
        return (v, y)
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", VIEWS)
def test_what_operators_make_stays_what_it_was(target: str, name: str) -> None:
    """A view would change with what is written in place, or be refused beside it."""
    view, shape = VIEWS[name]
    script = VIEWED.replace("VIEW", view).replace("SHAPE", str(shape)).replace("PLACE", ", ".join("0" for _ in shape))
    run = backends.VirtualMachine(backends.build(relax_ir.parse(script), target=target))["main"]
    viewed, written = run(X + 1)
    first = {"flipped": 8, "part": 5}.get(name, 1)
    np.testing.assert_array_equal(written, X + 1 + first + 1)
    assert viewed.shape == shape
    assert viewed.reshape(-1)[0] == first


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_only_read_may_be_one_array(target: str) -> None:
    module = relax_ir.parse("""
@I.ir_module
class Module:
    @T.prim_func
    def k(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = A[i] + B[7 - i]

    @R.function
    def main(a: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32")):
        return R.call_tir(Module.k, (a, b), out_sinfo=R.Tensor((8,), "float32"))
""")
    run = backends.VirtualMachine(backends.build(module, target=target))["main"]
    np.testing.assert_array_equal(run(X, X), np.full(8, 7, np.float32))


@pytest.mark.compiler
def test_functions_that_are_called_by_themselves() -> None:
    func = next(f for f in relax_ir.parse(text("(a, b)", 1)).functions.values() if isinstance(f, PrimFunc))
    compiled, array = compile_prim_funcs([func]), X.copy()
    calls = (
        lambda: compiled.call("k", array, array),
        lambda: compiled.kernel("k")(array, array),
        lambda: evaluate_prim_func(func, [array], [array]),
    )
    for call in calls:
        with pytest.raises(ExecutionError, match="k: arguments 'B' and 'A' share memory, and 'B' is written to"):
            call()
