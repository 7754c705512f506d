"""Libraries for other machines, made by cross compilers and run by emulators, compute what the
program does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.machine import ARM_LEVELS
from relay2relax.backends.c.platforms import Platform
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.core.errors import CompilerError, UnsupportedError

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(shutil.which("make") is None, reason="no make"),
]
TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 3, 9, 8), float32], %i: Tensor[(4), int64], %w: Tensor[(16, 3, 3, 3), float32],
          %s: Tensor[(16), float32], %d: Tensor[(9, 16), float32], %table: Tensor[(5, 6), int32]) {
  %0 = nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1, 1, 1]), %s));
  %1 = nn.softmax(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%0)), %d, units=9));
  (%1, erf(%0), multiply(take(%table, %i, axis=0, mode="clip"), 3))
}"""
ARM, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64"
needs_arm = pytest.mark.skipif(not all(map(shutil.which, (ARM, QEMU))), reason=f"no {ARM} or no {QEMU}")


def numbers(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def exported(folder: Path, target: str, cpu: str = "", march: str = "native") -> list[np.ndarray]:
    """Export the program, lay its inputs beside it, and return its results on this machine."""
    params = {
        "w": numbers(16, 3, 3, 3, seed=1), "s": numbers(16, seed=2), "d": numbers(9, 16, seed=3),
        "table": np.arange(30, dtype=np.int32).reshape(5, 6),
    }  # fmt: skip
    program = translator.via_graph(relay_ir.infer_type(relay_ir.parse(TEXT)), params)
    given = [numbers(2, 3, 9, 8, seed=4), np.array([3, 0, 9, 1])]
    for number, one in enumerate(given):
        one.tofile(folder / f"input{number}.raw")
    backends.export_c(program, folder, "net", march, target=target, cpu=cpu)
    results: list[np.ndarray] = translator.flatten(backends.VirtualMachine(backends.build(program))["main"](*given))
    return results


def make(folder: Path, *arguments: str) -> None:
    command = ["make", "-s", "-j2", "-C", str(folder), *arguments]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:3000]


def agree(folder: Path, expected: Sequence[np.ndarray], *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    for number, one in enumerate(expected):
        found = np.fromfile(folder / f"out{number}.raw", one.dtype).reshape(one.shape)
        np.testing.assert_allclose(found, one, rtol=1e-5, atol=1e-6)


@needs_arm
@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("cpu", ["neoverse-n1", "neoverse-v1"])
def test_arm(cpu: str, tmp_path: Path) -> None:
    """NEON, and SVE of 256 bits."""
    expected = exported(tmp_path, "aarch64", cpu)
    make(tmp_path, "CFLAGS=-O2 -static")
    emulated = (QEMU, "-cpu", "max,sve-default-vector-length=32", "./net", "-o", "out", "2")
    agree(tmp_path, expected, *emulated, "input0.raw", "input1.raw")
    dump = [ARM.replace("gcc", "objdump"), "-d", "net_kernels0.o"]
    code = subprocess.run(dump, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ("fmla\tz" in code.stdout) == (cpu == "neoverse-v1")


@needs_arm
@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("bits", [32, 16])
def test_arm_sets(bits: int, tmp_path: Path) -> None:
    """The library takes SVE where its vectors have 256 bits, and says no where they do not."""
    levels = list(ARM_LEVELS)
    expected = exported(tmp_path, "aarch64", march=",".join(reversed(levels)))
    make(tmp_path, "CFLAGS=-O1 -static")
    emulated = (QEMU, "-cpu", f"max,sve-default-vector-length={bits}", "./net", "-o", "out")
    agree(tmp_path, expected, *emulated, "2", "input0.raw", "input1.raw")
    agree(tmp_path, expected, *emulated, "-i", levels[1], "2", "input0.raw", "input1.raw")
    done = subprocess.run([*emulated, "-i", levels[2], "2"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (bits == 32)


def test_flags() -> None:
    gcc, zig = ("aarch64-linux-gnu-gcc",), (sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-gnu")
    arm = Platform("aarch64-linux-gnu", "neoverse-v1")
    assert arm.flags(gcc) == ("-mcpu=neoverse-v1", "-msve-vector-bits=256")
    assert arm.flags(zig) == ("-mcpu=neoverse_v1", "-msve-vector-bits=256")
    old = Platform("aarch64-linux-gnu", march="armv8.2-a+dotprod")
    assert old.flags(gcc) == ("-march=armv8.2-a+dotprod",)
    assert old.flags(zig) == ("-mcpu=generic+v8_2a+dotprod",)
    assert Platform(march="x86-64-v3").flags(zig) == ("-mcpu=x86_64_v3",)
    assert Platform("x86_64-linux-gnu", "znver3").flags(("x86_64-linux-gnu-gcc",)) == ("-march=znver3",)
    assert Platform("wasm32-wasi").flags(zig) == ("-mcpu=generic+simd128",)


class TestRefused:
    def test_no_compiler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("relay2relax.backends.c.platforms.importlib.util.find_spec", lambda name: None)
        with pytest.raises(CompilerError, match="no C compiler for 'sparc64-linux-gnu'"):
            find_compiler(target="sparc64-linux-gnu")

    @pytest.mark.skipif(shutil.which(ARM) is None, reason=f"no {ARM}")
    def test_processor(self, tmp_path: Path) -> None:
        with pytest.raises(CompilerError, match="no processor 'z80'"):
            exported(tmp_path, "aarch64", "z80")

    def test_list(self, tmp_path: Path) -> None:
        with pytest.raises(UnsupportedError, match=r"made of armv8-a, .*; found 'x86-64-v2'"):
            exported(tmp_path, "aarch64", march="armv8-a,x86-64-v2")
