"""Calls of compiled functions: what a call is given belongs to it, whoever else calls at once."""

from __future__ import annotations

import signal
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c import compile_prim_funcs
from relay2relax.core.errors import ExecutionError
from relay2relax.tir import te

pytestmark = pytest.mark.compiler

RANDOM = np.random.default_rng(5)


def main(rows: str) -> Callable[..., Any]:
    """Return a function of an array of so many rows and a matrix, which needs temporaries."""
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[({rows}, 8), float32], %w: Tensor[(16, 8), float32]) {{
  %0 = nn.softmax(nn.dense(%x, %w, units=16));
  nn.softmax(nn.dense(%0, transpose(%w, axes=[1, 0]), units=8))
}}"""
    module = relay_ir.infer_type(relay_ir.parse(text))
    return backends.VirtualMachine(backends.build(translator.via_graph(module), target="c"))["main"]


def expected(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The same by numpy."""

    def softmax(values: np.ndarray) -> np.ndarray:
        raised = np.exp(values - values.max(-1, keepdims=True))
        made: np.ndarray = raised / raised.sum(-1, keepdims=True)
        return made

    return softmax(softmax(x @ w.T) @ w)


def arguments(rows: int) -> tuple[np.ndarray, np.ndarray]:
    return (
        RANDOM.standard_normal((rows, 8)).astype(np.float32),
        RANDOM.standard_normal((16, 8)).astype(np.float32),
    )


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no interval timers")
@pytest.mark.parametrize("rows", ["4", "?"])
@pytest.mark.sweep(every=2)
def test_a_signal_handler_may_call_the_same_function(rows: str) -> None:
    call = main(rows)
    outer, inner = arguments(4), arguments(4 if rows == "4" else 7)
    right, right_inside = call(*outer), call(*inner)
    np.testing.assert_allclose(right, expected(*outer), rtol=1e-4)
    wrong, calls, running = [], 0, 0

    def handler(*_: object) -> None:
        nonlocal calls, running
        calls += 1
        if running > 20:  # On a busy machine signals come faster than calls end.
            return
        running += 1
        if not np.array_equal(call(*inner), right_inside):
            wrong.append("inside")
        running -= 1

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    try:
        end = time.monotonic() + 0.7
        while time.monotonic() < end:
            if not np.array_equal(call(*outer), right):
                wrong.append("outside")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls > 100
    assert not wrong


def test_a_tracer_may_call_the_same_function_at_every_line() -> None:
    call, outer, inner = main("4"), arguments(4), arguments(4)
    right, right_inside = call(*outer), call(*inner)
    seen = []

    def trace(frame: Any, event: str, _: object) -> Any:
        if frame.f_code.co_filename.endswith("kernel_call.py") and event == "line":
            sys.settrace(None)
            seen.append(np.array_equal(call(*inner), right_inside))
            sys.settrace(trace)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = call(*outer)
    finally:
        sys.settrace(before)
    assert len(seen) > 10
    assert all(seen)
    np.testing.assert_array_equal(result, right)


def test_threads_do_not_see_each_other() -> None:
    call = main("?")
    given = [arguments(rows) for rows in (1, 3, 8, 17)]
    right = [call(*one) for one in given]
    wrong: list[int] = []

    def work(number: int) -> None:
        results = [call(*given[number]) for _ in range(200)]
        wrong.extend(number for one in results if not np.array_equal(one, right[number]))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(given))]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def resized(x: np.ndarray) -> None:
    x.resize((4000, 8), refcheck=False)
    x.resize((4, 8), refcheck=False)
    x[...] = 1


def restrided(x: np.ndarray) -> None:
    x.strides = (4, 16)


def reshaped(x: np.ndarray) -> None:
    x.shape = (8, 4)


def replaced(x: np.ndarray) -> None:
    state: Any = (1, (4, 8), x.dtype, False, np.full((4, 8), 3, np.float32).tobytes())
    x.__setstate__(state)


def retyped(x: np.ndarray) -> None:
    x.dtype = np.dtype(np.int32)  # type: ignore[misc]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("change", [resized, restrided, reshaped, replaced, retyped])
@pytest.mark.parametrize("rows", ["4", "?"])
def test_changes_of_an_array_between_calls_are_seen(change: Callable[[np.ndarray], None], rows: str) -> None:
    call = main(rows)
    x, w = arguments(4)
    x = x.copy()
    call(x, w)
    change(x)
    if change is reshaped:
        with pytest.raises(ExecutionError):
            call(x, w)
        return
    np.testing.assert_allclose(call(x, w), expected(x.astype(np.float32), w), rtol=1e-4)


def test_what_is_written_must_be_writable() -> None:
    a = te.placeholder((4,), "float32", "A")
    func = te.create_prim_func([a], [te.compute((4,), lambda i: a[i] * 2)])
    kernel = compile_prim_funcs([func]).kernel(func.name)
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    x.flags.writeable = False
    kernel(x, y)
    np.testing.assert_array_equal(y, [0, 2, 4, 6])
    y.flags.writeable = False
    with pytest.raises(ExecutionError, match="read-only"):
        kernel(x, y)
    np.testing.assert_array_equal(y, [0, 2, 4, 6])


@pytest.mark.parametrize("args", [(), (1,), (np.ones(4, np.float32),), (np.ones(4, np.float32), 3), ("a", "b", "c")])
def test_what_does_not_fit_is_refused(args: tuple[Any, ...]) -> None:
    a = te.placeholder((4,), "float32", "A")
    func = te.create_prim_func([a], [te.compute((4,), lambda i: a[i] * 2)])
    kernel = compile_prim_funcs([func]).kernel(func.name)
    for _ in range(2):
        with pytest.raises(ExecutionError):
            kernel(*args)


def test_calls_of_one_function_share_memory_for_temporaries() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1024, 1024), float32]) {
  %0 = nn.softmax(transpose(%x, axes=[1, 0]));
  add(%0, transpose(%0, axes=[1, 0]))
}"""
    run = backends.VirtualMachine(backends.build(translator.via_graph(relay_ir.parse(text)), "c"))["main"]
    x = np.ones((1024, 1024), np.float32)
    held = []
    for _ in range(3):
        run(x)
        held.append(traced_after(run, x))
    assert max(held) < x.nbytes


def traced_after(run: Callable[[np.ndarray], object], x: np.ndarray) -> int:
    """Return bytes that a call of ``run`` leaves behind when its result is gone."""
    tracemalloc.start()
    run(x)
    left = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return left
