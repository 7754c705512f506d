"""Exported C libraries build without a warning, run without Python, and compute what the program
does.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.core.errors import CompilerError, FileError, UnsupportedError

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(shutil.which("make") is None, reason="no make"),
]
# The compiler for another processor.
ARM = "aarch64-linux-gnu-gcc"
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def relay(text: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{text}'))


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def make(folder: Path, *arguments: str) -> None:
    built = subprocess.run(["make", "-s", "-j2", "-C", folder, *arguments], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:3000]
    assert built.stderr == ""


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What make is told so that sanitizers watch; skips the test where the compiler has none."""
    probe = tmp_path_factory.mktemp("probe") / "probe.c"
    probe.write_text("int main(void) { return 0; }")
    command = [*find_compiler().command, *SANITIZERS, str(probe), "-o", str(probe.with_suffix(""))]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("the compiler has no sanitizers")
    return f"CFLAGS=-O1 {' '.join(SANITIZERS)}"


def execute(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([f"./{name}", *arguments], cwd=folder, capture_output=True, text=True, check=False)


def outputs(
    folder: Path,
    name: str,
    extents: Sequence[int],
    inputs: Sequence[np.ndarray],
    like: Sequence[np.ndarray],
    *flags: str,
) -> list[np.ndarray]:
    """Run the command on raw files; return its outputs in the shapes of ``like``."""
    files = []
    for number, array in enumerate(inputs):
        files.append(f"input{number}.raw")
        array.tofile(folder / files[-1])
    done = execute(folder, name, "-t", "2", "-o", "out", *flags, *map(str, extents), *files)
    assert done.returncode == 0, done.stderr[:3000]
    assert done.stdout == ""
    return [np.fromfile(folder / f"out{i}.raw", one.dtype).reshape(one.shape) for i, one in enumerate(like)]


def check(
    program: Any, folder: Path, name: str, inputs: Sequence[np.ndarray], extents: Sequence[int] = (), *flags: str
) -> None:
    """Export, build and run ``program``; its results are those of the virtual machine on numpy."""
    backends.export_c(program, folder, name)
    make(folder, *flags)
    expected: list[np.ndarray] = translator.flatten(backends.VirtualMachine(backends.build(program))["main"](*inputs))
    found = outputs(folder, name, extents, inputs, expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


DYNAMIC = """
def @main(%data: Tensor[(?, 20), float32], %w: Tensor[(7, 20), float32]) {
  %0 = nn.relu(nn.dense(%data, %w, units=7));
  (nn.softmax(%0), concatenate((%0, %0), axis=0))
}"""
CONSTANTS = """
def @main(%x: Tensor[(1, 3, 9, 8), float32], %i: Tensor[(4), int64], %w: Tensor[(16, 3, 3, 3), float32],
          %s: Tensor[(16), float32], %table: Tensor[(5, 6), int32]) {
  %0 = nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1, 1, 1]), %s));
  (nn.global_avg_pool2d(%0), multiply(take(%table, %i, axis=0, mode="clip"), 3), %i, %s)
}"""


@pytest.fixture(params=["fast", "sanitizers"])
def flags(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """What make is told: nothing, or to build with sanitizers."""
    return (request.getfixturevalue("sanitized"),) if request.param == "sanitizers" else ()


class TestPrograms:
    def test_symbolic_batch(self, tmp_path: Path, flags: tuple[str, ...]) -> None:
        program = translator.via_graph(relay(DYNAMIC), dims={"data": ("batch", None)})
        check(program, tmp_path, "dynamic", [numbers(5, 20), numbers(7, 20, seed=1)], [5], *flags)
        assert "int64_t batch, const float* data, const float* w" in (tmp_path / "dynamic.h").read_text()
        assert not (tmp_path / "dynamic_weights.bin").exists()

    def test_constants_and_several_results(self, tmp_path: Path, flags: tuple[str, ...]) -> None:
        module = relay(CONSTANTS)
        params = {
            "w": numbers(16, 3, 3, 3),
            "s": numbers(16, seed=1),
            "table": np.arange(30, dtype=np.int32).reshape(5, 6),
        }
        program = translator.lower_to_tir(module, params)
        check(program, tmp_path, "images", [numbers(1, 3, 9, 8, seed=2), np.array([3, 0, 9, 1])], (), *flags)

    def test_small_dtypes(self, tmp_path: Path, flags: tuple[str, ...]) -> None:
        module = relay("""
def @main(%x: Tensor[(6, 9), int8], %y: Tensor[(6, 9), float16], %b: Tensor[(6, 9), bool]) {
  (sum(cast(%x, dtype="int32"), axis=[1]), where(%b, %y, multiply(%y, %y)), logical_not(%b))
}""")
        given: list[np.ndarray] = [
            np.arange(-27, 27, dtype=np.int8).reshape(6, 9),
            numbers(6, 9).astype(np.float16),
            numbers(6, 9, seed=3) > 0,
        ]
        check(translator.via_graph(module), tmp_path, "small", given, (), *flags)


def test_extents_and_tiles_that_no_kernel_needs(tmp_path: Path) -> None:
    module = relay("""
def @main(%x: Tensor[(?), int64], %y: Tensor[(?, ?), float32], %i: Tensor[(1, 4, 7, 6), float32],
          %w: Tensor[(8, 1, 3, 3), float32]) {
  %0 = nn.conv2d(%i, %w, strides=[2, 1], padding=[1, 2, 1, 2], groups=4, channels=8, kernel_size=[3, 3]);
  (take(%y, where(False, take(%x, 1), 4i64), axis=1), %0)
}""")
    given = [np.array([5, 2, 3]), numbers(4, 6), numbers(1, 4, 7, 6, seed=1), numbers(8, 1, 3, 3, seed=2)]
    check(translator.via_graph(module), tmp_path, "unused", given, [3, 4, 6])


def test_nothing_is_computed(tmp_path: Path) -> None:
    module = relay("def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2), int64]) { (%y, %x, %y) }")
    check(translator.via_graph(module), tmp_path, "same", [numbers(2, 3), np.array([4, -5])])


@pytest.mark.parametrize(
    ("name", "bound"), [("mlp", False), pytest.param("resnet18_onnx_small", True, marks=pytest.mark.sweep(every=2))]
)
def test_recorded_models(name: str, bound: bool, sanitized: str, get_model_case: Any, tmp_path: Path) -> None:
    case = get_model_case(name)
    module = relay_ir.infer_type(relay_ir.parse(case.text))
    arguments = case.arguments()
    names = [param.name for param in module["main"].params]
    params: Mapping[str, np.ndarray] = dict(zip(names[1:], arguments[1:], strict=True)) if bound else {}
    backends.export_c(translator.via_graph(module, params), tmp_path, name)
    make(tmp_path, sanitized)
    expected = case.expected()
    found = outputs(tmp_path, name, (), arguments[:1] if bound else arguments, expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_command_line(tmp_path: Path) -> None:
    module = relay("def @main(%x: Tensor[(?, 2), float32], %w: Tensor[(3, 2), float32]) { nn.dense(%x, %w, units=3) }")
    backends.export_c(translator.via_graph(module, {"w": numbers(3, 2)}), tmp_path, "linear")
    make(tmp_path)
    zeros = execute(tmp_path, "linear", "2")
    assert (zeros.returncode, zeros.stdout) == (0, "result float32[6]: 0 0 0 0 0 0\n")
    assert execute(tmp_path, "linear").returncode == 2
    assert execute(tmp_path, "linear", "-x", "1").returncode == 2
    assert execute(tmp_path, "linear", "-1").returncode == 2
    assert "is no extent" in execute(tmp_path, "linear", "two").stderr
    (tmp_path / "short.raw").write_bytes(b"1234")
    assert "does not have 16 bytes" in execute(tmp_path, "linear", "2", "short.raw").stderr
    weights = (tmp_path / "linear_weights.bin").read_bytes()
    for wrong in (weights[:-1], weights + b"0", b"x" + weights[1:], b""):
        (tmp_path / "wrong.bin").write_bytes(wrong)
        done = execute(tmp_path, "linear", "-w", "wrong.bin", "2")
        assert (done.returncode, done.stdout) == (1, "")
        assert "not the file of this program's weights" in done.stderr


def test_two_libraries_in_one_program(tmp_path: Path) -> None:
    for name, value in (("first", 2.0), ("second", 3.0)):
        module = relay(f"def @main(%x: Tensor[(4), float32]) {{ multiply(%x, {value}f) }}")
        backends.export_c(translator.via_graph(module), tmp_path / name, name)
        make(tmp_path / name)
    (tmp_path / "both.c").write_text("""
#include "first/first.h"
#include "second/second.h"
int main(void) {
  const float x[4] = {1, 2, 3, 4};
  float y[4], z[4];
  first_model* one = first_load();
  second_model* other = second_load();
  int wrong = !one || !other || first_run(one, x, y) || second_run(other, y, z) || z[3] != 24;
  first_free(one);
  second_free(other);
  return wrong;
}
""")
    compiler = [*find_compiler().command, "-std=c11", "-Wall", "-Wextra", "-Werror", "both.c"]
    subprocess.run(
        [*compiler, "first/libfirst.a", "second/libsecond.a", "-lm", "-pthread", "-o", "both"], cwd=tmp_path, check=True
    )
    assert subprocess.run([tmp_path / "both"], check=False).returncode == 0


def test_names_that_mean_something_in_c(tmp_path: Path) -> None:
    names = ("float", "free", "model", "a*/b", "__x", "r2r_a", "main_run", "9", "result")
    params = ", ".join(f"%p{number}: Tensor[(2), float32]" for number in range(len(names)))
    total = " + ".join(f"%p{number}" for number in range(len(names)))
    program = translator.via_graph(relay(f"def @main({params}) {{ {total} }}"))
    (main,) = (func for func in program.functions.values() if isinstance(func, relax_ir.Function))
    for param, name in zip(main.params, names, strict=True):
        object.__setattr__(param, "name", name)
    written = backends.export_c(program, tmp_path, "main")
    assert "main_.c" in [path.name for path in written]
    make(tmp_path)
    given = [np.full(2, 2.0**number, np.float32) for number in range(len(names))]
    (found,) = outputs(tmp_path, "main_", (), given, given[:1])
    np.testing.assert_array_equal(found, [511, 511])


def test_instruction_set(tmp_path: Path) -> None:
    program = translator.via_graph(relay(DYNAMIC))
    with pytest.raises(CompilerError, match="pdp11"):
        backends.export_c(program, tmp_path / "out", "dynamic", march="pdp11")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not all(map(shutil.which, (ARM, "qemu-aarch64"))), reason=f"no {ARM} or no qemu-aarch64")
def test_library_for_another_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for AArch64, run by an emulator, gives the numbers of the virtual machine."""
    params = {"w": numbers(16, 3, 3, 3), "s": numbers(16, seed=1), "table": np.arange(30, dtype=np.int32).reshape(5, 6)}
    program = translator.via_graph(relay(CONSTANTS), params)
    given = [numbers(1, 3, 9, 8, seed=2), np.array([3, 0, 9, 1])]
    expected: list[np.ndarray] = translator.flatten(backends.VirtualMachine(backends.build(program))["main"](*given))
    monkeypatch.setenv("CC", ARM)
    backends.export_c(program, tmp_path, "images", march="armv8.2-a")
    make(tmp_path, f"CC={ARM} -static")
    (tmp_path / "images").rename(tmp_path / "images.arm")
    (tmp_path / "images").write_text('#!/bin/sh\nexec qemu-aarch64 ./images.arm "$@"\n')
    (tmp_path / "images").chmod(0o755)
    for one, other in zip(outputs(tmp_path, "images", (), given, expected), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not all(map(shutil.which, (ARM, "qemu-aarch64"))), reason=f"no {ARM} or no qemu-aarch64")
def test_bytes_on_another_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AArch64 multiplies signed bytes by ``sdot``, to the bit."""
    draw = np.random.default_rng(3)
    x, w = draw.integers(0, 256, (9, 70), dtype=np.uint8), draw.integers(-128, 128, (33, 70), dtype=np.int8)
    x[0], w[0], w[1] = 255, -128, 127
    text = """def @main(%x: Tensor[(9, 70), uint8], %w: Tensor[(33, 70), int8]) {
      nn.dense(subtract(cast(%x, dtype="int32"), 7), cast(%w, dtype="int32"), units=33)
    }"""
    monkeypatch.setenv("CC", ARM)
    backends.export_c(translator.via_graph(relay(text), {"w": w}), tmp_path, "dense", march="armv8.2-a+dotprod")
    assert any("r2r_dot4_signed_int32_tx4(r" in path.read_text() for path in tmp_path.glob("*.c"))
    make(tmp_path, f"CC={ARM} -static")
    (tmp_path / "dense").rename(tmp_path / "dense.arm")
    (tmp_path / "dense").write_text('#!/bin/sh\nexec qemu-aarch64 -cpu max ./dense.arm "$@"\n')
    (tmp_path / "dense").chmod(0o755)
    right = (x.astype(np.int32) - 7) @ w.astype(np.int32).T
    (found,) = outputs(tmp_path, "dense", (), [x], [right])
    np.testing.assert_array_equal(found, right)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="not x86-64")
@pytest.mark.sweep(every=2)
def test_several_instruction_sets(tmp_path: Path) -> None:
    """Each set that the processor has, forced, gives the numbers of the virtual machine.

    So does the best, chosen.
    """
    params = {"w": numbers(16, 3, 3, 3), "s": numbers(16, seed=1), "table": np.arange(30, dtype=np.int32).reshape(5, 6)}
    program = translator.via_graph(relay(CONSTANTS), params)
    given = [numbers(1, 3, 9, 8, seed=2), np.array([3, 0, 9, 1])]
    backends.export_c(program, tmp_path, "images", march="x86-64-v4, x86-64-v2,x86-64-v3")
    make(tmp_path)
    expected: list[np.ndarray] = translator.flatten(backends.VirtualMachine(backends.build(program))["main"](*given))
    ran = []
    for chosen in (None, "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"):
        flags = () if chosen is None else ("-i", chosen)
        if chosen is not None and execute(tmp_path, "images", *flags).returncode:
            continue
        ran.append(chosen)
        for one, other in zip(outputs(tmp_path, "images", (), given, expected, *flags), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert ran[:2] == [None, "x86-64"]
    assert "is no instruction set" in execute(tmp_path, "images", "-i", "x86-64-v5").stderr
    with pytest.raises(UnsupportedError, match="'native'"):
        backends.export_c(program, tmp_path, "images", march="native,x86-64-v2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def @main(%c: bool, %x: Tensor[(2), float32]) { if (%c) { %x } else { exp(%x) } }", "result of a branch"),
        ("def @main(%x: Tensor[(3, 3), float32]) { argwhere(%x) }", "only when the program runs"),
        ("def @main(%x: (Tensor[(3), float32], Tensor[(3), float32])) { add(%x.0, %x.1) }", "parameter 'x'"),
    ],
)
def test_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=said):
        backends.export_c(translator.via_graph(relay(text)), tmp_path / "out", "refused")
    assert not (tmp_path / "out").exists()


def test_all_files_or_none(tmp_path: Path) -> None:
    (tmp_path / "Makefile").mkdir()
    with pytest.raises(FileError, match="Makefile"):
        backends.export_c(translator.via_graph(relay(DYNAMIC)), tmp_path, "dynamic")
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]
