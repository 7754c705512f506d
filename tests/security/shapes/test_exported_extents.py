"""Exported libraries look at extents before anything is read, under sanitizers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from relay2relax import relay_ir, translator
from relay2relax.backends.c.export.export import export_c
from relay2relax.core.errors import UnsupportedError

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(shutil.which("make") is None, reason="no make"),
]
SANITIZED = "CFLAGS=-O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
LARGE, LARGEST = 1 << 62, (1 << 63) - 1

# Programs, extents that fit, and extents that do not, in the order of the parameters.
PROGRAMS: dict[str, tuple[str, list[tuple[int, ...]], list[tuple[int, ...]]]] = {
    "rows": (
        "def @main(%a: Tensor[(?, 16), float32], %b: Tensor[(?, 16), float32]) { add(%a, %b) }",
        [(3, 3), (1, 5), (5, 1), (0, 0)],
        [(3, 5), (5, 3), (2, 0), (LARGE, LARGE), (LARGEST, LARGEST), (LARGEST, 1)],
    ),
    "product": (
        "def @main(%a: Tensor[(?, ?), float32], %b: Tensor[(?, ?), float32]) { nn.dense(%a, %b, units=None) }",
        [(2, 3, 4, 3), (0, 3, 4, 3), ((1 << 31) - 1, 0, 0, 0)],
        [(2, 5, 4, 3), (1 << 31, 1 << 31, 1, 1 << 31), (1 << 40, 1, 1 << 40, 1), (1 << 31, 0, 0, 0)],
    ),
    "taken": (
        "def @main(%a: Tensor[(?, 4), float32], %i: Tensor[(?), int32]) { take(%a, %i, axis=0) }",
        [(3, 2), (1, 7), (0, 0)],
        [(0, 1), (LARGE, 1), (1, LARGE)],
    ),
    "taken_around": (
        'def @main(%a: Tensor[(?, 4), float32], %i: Tensor[(?), int32]) { take(%a, %i, axis=0, mode="wrap") }',
        [(3, 2), (0, 0)],
        [(0, 1)],
    ),
    "window": (
        "def @main(%a: Tensor[(1, 1, ?, ?), float32]) { nn.max_pool2d(%a, pool_size=[3, 3]) }",
        [(3, 3), (5, 4)],
        [(0, 3), (1, 1), (3, LARGE)],
    ),
    "padded window": (
        "def @main(%a: Tensor[(1, 1, ?, ?), float32]) "
        f"{{ nn.max_pool2d(%a, pool_size=[2, 2], padding=[{LARGE - 1}, {LARGE}, {LARGE + 5}, {LARGEST}]) }}",
        [],
        [(4, 4), (0, 0), (3, LARGE)],
    ),
}


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_extents_are_looked_at(name: str, tmp_path: Path) -> None:
    text, fitting, others = PROGRAMS[name]
    module = relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{text}'))
    export_c(translator.lower_to_tir(module), tmp_path, "net")
    built = subprocess.run(["make", "-s", "-C", tmp_path, SANITIZED], capture_output=True, text=True, check=False)
    if "sanitize" in built.stderr:
        pytest.skip("the compiler has no sanitizers")
    assert built.returncode == 0, built.stderr
    for extents, fits in (*((one, True) for one in fitting), *((one, False) for one in others)):
        command = [str(tmp_path / "net"), *map(str, extents)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = "" if fits else "net: the extents do not fit\n"
        assert (done.returncode, done.stderr) == (int(not fits), said), extents


def test_tensors_beyond_any_machine(tmp_path: Path) -> None:
    text = f"def @main(%a: Tensor[(?, 4), float32]) {{ nn.pad(%a, 0f, pad_width=[[0, 0], [0, {LARGE}]]) }}"
    module = relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{text}'))
    with pytest.raises(
        UnsupportedError, match=f"C has no memory for 'result': it has at least {(LARGE + 4) * 4} bytes"
    ):
        export_c(translator.lower_to_tir(module), tmp_path, "net")


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("extents", [(3, 5), (LARGE, LARGE), (-1, 3)])
def test_run_returns_three(extents: tuple[int, int], tmp_path: Path) -> None:
    """``NAME_run`` called from C, on blocks that hold less than the extents say."""
    text = PROGRAMS["rows"][0]
    module = relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{text}'))
    export_c(translator.lower_to_tir(module), tmp_path, "net")
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n'
        "int main(void) {\n  float block[1] = {0};\n  int64_t bytes[3];\n"
        f"  net_sizes({extents[0]}LL, {extents[1]}LL, bytes);\n"
        "  if (bytes[0] != -1 || bytes[2] != -1) return 9;\n"
        f"  return net_run(net_load(), {extents[0]}LL, {extents[1]}LL, block, block, block);\n}}\n"
    )
    built = subprocess.run(["make", "-s", "-C", tmp_path], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert subprocess.run([tmp_path / "net"], check=False).returncode == 3
