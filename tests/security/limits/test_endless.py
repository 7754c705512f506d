"""What never ends, ends at the limit, and the message shows where the program was."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from relay2relax import Limits, backends, relax_ir, relay_ir, translator
from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.core.errors import LimitError
from relay2relax.core.errors.table import limits
from relay2relax.tir.ir.stmt import PrimFunc

BACKENDS = ["numpy", pytest.param("c", marks=pytest.mark.compiler)]
BOUNDS = [(Limits(steps=500), limits.STEPS), (Limits(seconds=0.1), limits.SECONDS)]
BEYOND = 3.0  # seconds, within which what is limited has ended on a machine that is busy
HEAD = '#[version = "0.0.5"]\n'
# A tail call, a call whose result is used, a list that grows, a closure that calls itself.
RELAY = {
    "tail": """
def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  @f(add(%x, %x))
}
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { @f(%x) }""",
    "deep": """
def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  add(%x, @f(add(%x, %x)))
}
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { @f(%x) }""",
    "list": """
type List[A] {
  Cons(A, List[A]),
  Nil,
}
def @f(%l: List[Tensor[(2), float32]], %x: Tensor[(2), float32]) -> List[Tensor[(2), float32]] {
  @f(Cons(%x, %l), %x)
}
def @main(%x: Tensor[(2), float32]) -> List[Tensor[(2), float32]] { @f(Nil, %x) }""",
    "closure": """
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  let %f: fn(Tensor[(2), float32]) -> Tensor[(2), float32] =
    fn (%y: Tensor[(2), float32]) -> Tensor[(2), float32] { %f(add(%y, %x)) };
  %f(%x)
}""",
}
SPIN = """
@I.ir_module
class Module:
    @T.prim_func
    def spin(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        i = T.alloc_buffer((1,), "int32")
        i[0] = 0
        while i[0] < 10:
            b[0] = b[0] + a[0]

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        cls = Module
        y = R.call_tir(cls.spin, (x,), out_sinfo=R.Tensor((4,), dtype="float32"))
        return y
"""
LONG = """
@I.ir_module
class Module:
    @T.prim_func
    def long(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i, j in T.grid(1000000, 1000000):
            b[(i * j) % 4] = b[(i + j) % 4] * a[j % 4]

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")):
        cls = Module
        y = R.call_tir(cls.long, (x,), out_sinfo=R.Tensor((4,), dtype="float32"))
        return y
"""
X = np.ones(2, np.float32)


def typed(text: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(HEAD + text))


def reached(bound: Limits, kind: object, run: Callable[[], object]) -> str:
    """Return the message of the limit that ``run`` reaches, soon."""
    begin = time.monotonic()
    with pytest.raises(LimitError) as caught, bound:
        run()
    assert time.monotonic() - begin < BEYOND
    assert caught.value.diagnostics[0].kind is kind
    return str(caught.value)


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize(("bound", "kind"), BOUNDS)
@pytest.mark.parametrize("name", RELAY)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("executor", ["debug", "vm"])
def test_relay(executor: str, backend: str, name: str, bound: Limits, kind: object) -> None:
    run = backends.create_executor(executor, typed(RELAY[name]), backend=backend).evaluate()
    said = reached(bound, kind, lambda: run(X))
    assert "^^^" in said
    assert "(<text>:" in said


@pytest.mark.parametrize(("bound", "kind"), BOUNDS)
@pytest.mark.parametrize("name", ["tail", "deep"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_relax(backend: str, name: str, bound: Limits, kind: object) -> None:
    main = backends.VirtualMachine(backends.build(translator.via_graph(typed(RELAY[name])), target=backend))["main"]
    assert "note: in @f" in reached(bound, kind, lambda: main(X))


@pytest.mark.parametrize(("bound", "kind"), BOUNDS)
@pytest.mark.parametrize("target", BACKENDS)
def test_a_while_of_tensor_ir(target: str, bound: Limits, kind: object) -> None:
    """Machine code cannot be asked: what may not end is interpreted, where it is built or made a
    machine of within limits.
    """
    module = relax_ir.parse(SPIN)
    x = np.ones(4, np.float32)

    def run() -> object:
        return backends.VirtualMachine(backends.build(module, target=target))["main"](x)

    assert "in spin, at `while i[0] < 10:`" in reached(bound, kind, run)


@pytest.mark.parametrize(("bound", "kind"), BOUNDS)
def test_a_loop_that_is_interpreted(bound: Limits, kind: object) -> None:
    main = backends.VirtualMachine(backends.build(relax_ir.parse(LONG), target="numpy"))["main"]
    assert "in long, at" in reached(bound, kind, lambda: main(np.ones(4, np.float32)))


def test_memory_that_a_list_takes() -> None:
    """A list of tensors that grows for ever ends by the memory that it takes."""
    text = RELAY["list"].replace("(2)", "(1000000)").replace("Cons(%x, %l)", "Cons(add(%x, %x), %l)")
    run = backends.create_executor("vm", typed(text)).evaluate()
    said = reached(Limits(memory=100_000_000), limits.MEMORY, lambda: run(np.ones(1_000_000, np.float32)))
    assert "add of float32(1000000)" in said
    assert "are in use" in said


_PAIR = "(%x: Tensor[(2), float32]) -> Tensor[(2), float32]"
DOUBLING = "".join(f"def @f{n}{_PAIR} {{ @f{n - 1}(@f{n - 1}(%x)) }}\n" for n in range(1, 40))


@pytest.mark.parametrize("translate", [translator.via_graph, translator.lower_to_tir])
def test_a_program_that_doubles_when_it_is_inlined(translate: Callable[[relay_ir.IRModule], object]) -> None:
    """Forty functions, each of which calls the one before twice, are 2^40 calls in one."""
    first = f"def @f0{_PAIR} {{ add(%x, %x) }}\n"
    mod = typed(f"{first}{DOUBLING}def @main(%x: Tensor[(2), float32]) {{ @f39(%x) }}")
    reached(Limits(seconds=0.2), limits.SECONDS, lambda: translate(mod))


@pytest.mark.compiler
@pytest.mark.parametrize("extents", [(100_000_000,), (4_000, 4_000)])
def test_loops_that_ask_to_be_unrolled(extents: tuple[int, ...]) -> None:
    """A loop of that many copies stays a loop: what is written in C does not grow with it."""
    grid = "".join(f"{'    ' * (n + 1)}for i{n} in T.unroll({extent}):\n" for n, extent in enumerate(extents))
    text = f"""
@T.prim_func
def f(x: T.Buffer((20,), "float32")):
{grid}{"    " * (len(extents) + 1)}x[i0 % 20] = x[i0 % 20] + T.float32(1)
"""
    func = next(iter(relax_ir.parse(text).functions.values()))
    assert isinstance(func, PrimFunc)
    with Limits(seconds=20):
        units, _ = generate([func], find_compiler().machine, {})
    assert sum(len(unit.text) for unit in units) < 20_000_000
