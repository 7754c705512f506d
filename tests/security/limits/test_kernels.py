"""Compiled kernels that run for hours end at a limit, and by Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import Limits, backends, relax_ir, relay_ir, translator
from relay2relax.core.errors import LimitError

pytestmark = pytest.mark.compiler

BEYOND = 5.0  # seconds, within which what is limited has ended on a machine that is busy
X = np.ones(4, np.float32)
HEAD = '#[version = "0.0.5"]\n'
# Programs on four numbers, which take hours; how many steps are known of before they begin.
RELAY = {
    "sum": ("sum(broadcast_to(%x, shape=[3000000, 1000000, 4]))", 12 * 10**12),
    "rows": ("sum(broadcast_to(%x, shape=[3000, 10000000000, 4]), axis=[1, 2])", 12 * 10**13),
    "columns": ("sum(broadcast_to(exp(%x), shape=[4000000, 2500000, 4]), axis=[0, 1])", 4 * 10**13),
    "product": (
        "sum(nn.dense(broadcast_to(%x, shape=[2, 4]), broadcast_to(reshape(%x, newshape=[1, 4]), "
        "shape=[300, 4]), units=300)) + sum(broadcast_to(%x, shape=[9000000, 9000000, 4]))",
        324 * 10**12,
    ),
}
SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func
    def long(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
BODY

    @R.function
    def main(x: R.Tensor(("n",), dtype="float32")):
        n = T.int64()
        cls = Module
        y = R.call_tir(cls.long, (x,), out_sinfo=R.Tensor((n,), dtype="float32"))
        return y
"""
# Loops whose extents are symbolic, are data, depend on other loops, are shared out, or end by data.
BODIES = {
    "symbolic": """
        for i, j, k, l in T.grid(n * 1000, n * 100000, n * 1000, n):
            B[(i + j) % n] = B[(i * k) % n] + A[l]""",
    "data": """
        for i in range(n * 1000):
            for j in range(T.Cast("int32", A[i % n] * T.float32(1000000000))):
                for k in range(T.Cast("int32", A[j % n] * T.float32(1000000000))):
                    B[(i + j) % n] = B[(i * k) % n] + A[k % n]""",
    "triangle": """
        for i in range(T.int64(100000000)):
            for j in range(i):
                B[j % n] = B[j % n] + A[i % n]""",
    "parallel": """
        for i in T.parallel(n):
            for j, k in T.grid(T.int64(10000000), T.int64(1000000)):
                B[i] = B[i] * A[(j + k) % n]""",
    "uneven": """
        for i in T.parallel(n):
            for j, k in T.grid(i * 10000000, T.int64(1000000)):
                B[i] = B[i] * A[(j + k) % n]""",
    "while": """
        B[0] = T.float32(0)
        while A[0] > B[0]:
            B[0] = B[0] * A[1]""",
    "nested_while": """
        for i in T.parallel(n):
            B[i] = T.float32(0)
            while A[i] > B[i]:
                for j in range(n):
                    B[i] = B[i] * A[j]""",
    "memory": """
        for i in range(T.int64(1000000000)):
            C = T.alloc_buffer((n * 25000,), "float32")
            C[0] = A[i % n]
            B[0] = C[0]""",
    "memory of a loop": """
        for i in range(T.int64(1000000000)):
            C = T.alloc_buffer((100000 + i % n,), "float32")
            C[0] = A[i % n]
            B[0] = C[0]""",
    "memory of numbers": """
        for i in range(T.int64(1000000000)):
            C = T.alloc_buffer((1000000,), "float32")
            C[0] = A[i % n]
            B[0] = C[0]""",
    "vectors": """
        for i in range(T.int64(1000000000)):
            for j in T.vectorized(T.int64(100000000)):
                B[j % n] = A[j % n]""",
}


def relay_main(body: str) -> Callable[..., Any]:
    module = relay_ir.infer_type(relay_ir.parse(f"{HEAD}def @main(%x: Tensor[(4), float32]) {{ {body} }}"))
    main: Callable[..., Any] = backends.VirtualMachine(backends.build(translator.lower_to_tir(module), target="c"))[
        "main"
    ]
    return main


def script_main(body: str) -> Callable[..., Any]:
    module = relax_ir.parse(SCRIPT.replace("BODY", body))
    main: Callable[..., Any] = backends.VirtualMachine(backends.build(module, target="c"))["main"]
    return main


def ended(limits: Limits, run: Callable[[], object]) -> str:
    begin = time.monotonic()
    with pytest.raises(LimitError) as caught, limits:
        run()
    assert time.monotonic() - begin < BEYOND
    return str(caught.value)


@pytest.mark.parametrize("name", RELAY)
def test_lines_of_relay(name: str) -> None:
    text, steps = RELAY[name]
    main = relay_main(text)
    assert "the time is over: the limit is 0.3 s" in ended(Limits(seconds=0.3), lambda: main(X))
    said = ended(Limits(steps=10**9), lambda: main(X))
    # A kernel of fused loops counts them at least as often as the program says.
    counted = int(said.split("takes ")[1].split()[0])
    assert steps <= counted < 2 * steps
    assert "in @main, where it calls fused_" in said


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("name", BODIES)
def test_loops_of_scripts(name: str) -> None:
    main = script_main(BODIES[name])
    assert "the time is over" in ended(Limits(seconds=0.3), lambda: main(X))


def test_relays_executors() -> None:
    """One call of an operator: a million products for each of a million results."""
    types = "%x: Tensor[(1, 1, 2000, 2000), float32], %w: Tensor[(1, 1, 1000, 1000), float32]"
    text = f"{HEAD}def @main({types}) {{\n  nn.conv2d(%x, %w, kernel_size=[1000, 1000], channels=1)\n}}"
    run = backends.create_executor("debug", relay_ir.infer_type(relay_ir.parse(text)), backend="c").evaluate()
    given = np.ones((1, 1, 2000, 2000), np.float32), np.ones((1, 1, 1000, 1000), np.float32)
    for limits in (Limits(seconds=0.3), Limits(steps=10**9)):
        assert "3 |   nn.conv2d(" in ended(limits, lambda: run(*given))


@pytest.mark.sweep(every=2)
def test_what_is_computed_ahead() -> None:
    """Constants alone decide a loop: it runs when the program is built."""
    text = "%x + sum(broadcast_to(exp(reshape(meta, newshape=[1])), shape=[3000000, 1000000]))"
    module = relay_ir.infer_type(
        relay_ir.parse(f"{HEAD}def @main(%x: Tensor[(4), float32]) {{ {text.replace('meta', '2f')} }}")
    )
    program = translator.lower_to_tir(module)

    def build_and_run() -> None:
        backends.VirtualMachine(backends.build(program, target="c"))["main"](X)

    ended(Limits(seconds=3), build_and_run)


def test_limits_hold_in_other_threads() -> None:
    main, said = relay_main(RELAY["sum"][0]), []
    worker = threading.Thread(target=lambda: said.append(ended(Limits(seconds=0.3), lambda: main(X))))
    worker.start()
    worker.join(BEYOND)
    assert "the time is over" in said[0]


def test_what_fits_is_computed() -> None:
    """Long loops within generous limits, whose pieces are all there."""
    main = script_main("""
        for i in range(n):
            B[i] = T.float32(0)
        for i, j in T.grid(n * 1000003, T.int64(13)):
            B[i % n] = B[i % n] + A[j % n]""")
    with Limits(seconds=600, steps=10**9):
        found = main(X)
    # Each of four numbers is added to 13 times a million; float32 is exact below 2^24.
    np.testing.assert_array_equal(found, np.full(4, 13 * 1000003, np.float32))


def test_a_handler_may_call_the_function() -> None:
    """A signal's handler runs meanwhile, and what it raises ends the call."""
    main = relay_main(RELAY["sum"][0])
    small = relay_main("sum(broadcast_to(%x, shape=[3000, 4]))")
    seen: list[float] = []

    def handle(*_: object) -> None:
        seen.append(float(small(X)))
        if len(seen) == 3:
            raise TimeoutError("the handler has seen enough")

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with pytest.raises(TimeoutError, match="seen enough"):
            main(X)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen == [12000.0] * 3
    assert float(small(X)) == 12000.0


INTERRUPTED = """
import sys
sys.path[:0] = [{here!r}]
import test_kernels as t
main = {build}
print("begins", flush=True)
try:
    main(t.X)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


BUILDS = ['t.relay_main(t.RELAY["sum"][0])', *(f't.script_main(t.BODIES["{name}"])' for name in ("while", "uneven"))]


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.sweep(every=2)
def test_ctrl_c(build: str) -> None:
    text = INTERRUPTED.format(here=str(Path(__file__).parent), build=build)
    line = [sys.executable, "-c", text]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.4)
        begin = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert time.monotonic() - begin < BEYOND
    assert (process.returncode, said) == (0, "interrupted\n")
