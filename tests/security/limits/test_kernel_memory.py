"""Memory that kernels ask for themselves: what does not fit is an error of ours, never a signal."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import Limits, backends, relax_ir
from relay2relax.backends.c.export.export import export_c
from relay2relax.core.errors import LimitError, OutOfMemoryError

TARGETS = ["numpy", pytest.param("c", marks=pytest.mark.compiler)]
MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def k(a: T.handle, b: T.handle):
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in LOOP(n):
            with T.block("b"):
                vi = T.axis.spatial(n, i)
                with T.block("inner"):
                    big = T.alloc_buffer((SHAPE), "float32")
                    big[ZEROS] = T.float32(vi)
                    B[vi] = big[ZEROS]

    @R.function
    def main(x: R.Tensor(("n", "m"), dtype="float32")):
        n = T.int64()
        m = T.int64()
        cls = Module
        y = R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((n,), dtype="float32"))
        return y
"""
# Shapes of a local buffer, shapes of the argument for which it is more than there is, and the bytes
# where they are a number that 64 bits hold.
SHAPES: dict[str, tuple[str, list[tuple[tuple[int, int], int | None]]]] = {
    "product": ("n, m, n, m", [((20000, 200), 64 * 10**12), ((1 << 40, 0), None)]),
    "one extent": ("n * m * n * m * 4,", [((20000, 200), 256 * 10**12)]),
    "wraps to little": ("n * 4294967296, n * 4294967296", [((4, 1), None), ((3, 0), None)]),
    "wraps below zero": ("n * 3037000500, n * 3037000500", [((1, 1), None), ((2, 1), None)]),
    "a difference": ("n * 70368744177664 - m, 1", [((4, 1), (4 * 2**46 - 1) * 4)]),
    "steps": ("vi * 1099511627776 + 1,", [((9, 1), None)]),
}


def text(shape: str, loop: str = "range") -> str:
    zeros = ", ".join("0" for part in shape.split(",") if part.strip())
    return MODULE.replace("SHAPE", shape).replace("ZEROS", zeros).replace("LOOP", loop)


def with_locals(loop: str, lines: list[str], value: str) -> str:
    """Return the module with other buffers, and ``value`` as its result."""
    begin, rest = text("n, m", loop).split("                    big = ")
    end = rest.split("B[vi] = big[0, 0]")[1]
    return "".join([begin, *(f"                    {line}\n" for line in lines), f"{' ' * 20}B[vi] = {value}", end])


def main_of(target: str, shape: str, loop: str = "range") -> Callable[..., Any]:
    built = backends.build(relax_ir.parse(text(shape, loop)), target=target)
    main: Callable[..., Any] = backends.VirtualMachine(built)["main"]
    return main


def refused(error: type[Exception], run: Callable[[], object]) -> str:
    with pytest.raises(error) as caught:
        run()
    return str(caught.value)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("loop", ["range", "T.parallel"])
@pytest.mark.parametrize("target", TARGETS)
def test_more_than_there_is(target: str, loop: str, name: str) -> None:
    if target == "numpy" and loop != "range":
        pytest.skip("numpy has one kind of loops")
    shape, calls = SHAPES[name]
    main = main_of(target, shape, loop)
    for extents, size in calls:
        if 0 in extents and extents[0] > 1000 and target == "numpy":
            continue  # The result alone is more than there is.
        given = np.empty(extents, np.float32)
        said = refused(OutOfMemoryError, lambda given=given: main(given))  # type: ignore[misc]
        if size is not None:
            assert "the buffer 'big'" in said
            assert f"({size} bytes)" in said


@pytest.mark.parametrize("target", TARGETS)
def test_it_counts_for_the_limit(target: str) -> None:
    main = main_of(target, "n, m, m")
    given = np.zeros((100, 100), np.float32)
    expected = np.arange(100, dtype=np.float32)

    def limited() -> object:
        with Limits(memory=3_999_999):
            return main(given)

    said = refused(LimitError, limited)
    assert "the buffer 'big'" in said
    assert "needs 4 MB (4000000 bytes)" in said
    with Limits(memory=200_000_000):
        np.testing.assert_array_equal(main(given), expected)
    np.testing.assert_array_equal(main(given), expected)


@pytest.mark.compiler
def test_a_limit_counts_all_that_is_held_at_once() -> None:
    """Ten buffers of 1 MB, one within the other, do not fit into 5 MB; one after the other they
    do.
    """
    names = [f"t{number}" for number in range(10)]
    lines = [f'{name} = T.alloc_buffer((n, m), "float32")' for name in names]
    lines += [f"{name}[0, 0] = T.float32(vi)" for name in names]
    module = relax_ir.parse(with_locals("range", lines, " + ".join(f"{name}[0, 0]" for name in names)))
    main = backends.VirtualMachine(backends.build(module, target="c"))["main"]
    given = np.zeros((500, 500), np.float32)

    def limited() -> object:
        with Limits(memory=5_000_000):
            return main(given)

    assert "needs 1 MB (1000000 bytes)" in refused(LimitError, limited)
    one_by_one = main_of("c", "n, m")
    with Limits(memory=5_000_000):
        one_by_one(given)


NO_MORE = """
import resource, sys
sys.path[:0] = [{here!r}]
import numpy as np
import test_kernel_memory as t
from relay2relax.core.errors import OutOfMemoryError
main = t.main_of({target!r}, "n, m, 30", "T.parallel")
main(np.zeros((30, 30), np.float32))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 400_000_000,) * 2)
try:
    main(np.zeros((30, 500_000), np.float32))
except OutOfMemoryError as error:
    print(error.code, "'big'" in str(error), "(1800000000 bytes)" in str(error))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("target", TARGETS)
def test_a_system_that_has_no_more(target: str) -> None:
    program = NO_MORE.format(here=str(Path(__file__).parent), target=target)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "R2R-0834 True True\n"), done.stderr


@pytest.mark.compiler
@pytest.mark.parametrize("loop", ["range", "T.parallel"])
def test_the_stack_is_not_filled(loop: str) -> None:
    """A hundred and forty buffers of 64 kB at once, 9 MB, are more than stacks have."""
    names = [f"t{number}" for number in range(140)]
    lines = [f'{name} = T.alloc_buffer((16000,), "float32")' for name in names]
    lines += [f"for j in range(16000): {name}[j] = T.float32(vi)" for name in names]
    module = relax_ir.parse(with_locals(loop, lines, " + ".join(f"{name}[vi]" for name in names)))
    main = backends.VirtualMachine(backends.build(module, target="c"))["main"]
    np.testing.assert_array_equal(main(np.zeros((3, 3), np.float32)), np.arange(3) * 140)


@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize("name", ["product", "wraps to little", "steps"])
def test_an_exported_library_says_that_memory_is_lacking(name: str, tmp_path: Path) -> None:
    shape, calls = SHAPES[name]
    export_c(relax_ir.parse(text(shape)), tmp_path, "net")
    built = subprocess.run(["make", "-s", "-C", tmp_path], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    for extents, _ in calls:
        if max(extents) > 1000:
            continue
        command = [str(tmp_path / "net"), *map(str, extents)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "net: memory is lacking\n"), extents
