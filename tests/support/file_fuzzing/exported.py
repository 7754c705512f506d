"""Weights of exported C libraries: read, and run with, under the compiler's sanitizers."""

from __future__ import annotations

import random
import subprocess
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from file_fuzzing.format import Format, damage_bytes
from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.toolchain import find_compiler

MARK_BYTES = 64
_SANITIZERS = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Indices and conditions are weights here, so that damage says where it is read.
_MODEL = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 6), float32], %w: Tensor[(5, 6), float32], %i: Tensor[(3), int64], %j: Tensor[(2, 5), int32],
          %mask: Tensor[(2, 5), bool]) {
  %0 = nn.dense(%x, %w, units=5);
  %1 = where(%mask, %0, nn.relu(%0));
  (take(%1, %i, axis=1), gather(%1, %j, axis=1), sum(cast(%mask, dtype="float32")))
}
"""
_DRIVER = r"""
#include "m.h"

#include <stdio.h>
#include <string.h>

static float x[12], a[6], b[10], c[1];

int main(void) {
  char path[4096];
  while (fgets(path, sizeof path, stdin)) {
    path[strcspn(path, "\n")] = 0;
    m_model* model = m_load(path);
    puts(!model ? "refused" : m_run(model, x, a, b, c) ? "failed" : "ran");
    fflush(stdout);
    m_free(model);
  }
  return 0;
}
"""


@dataclass(slots=True)
class _Program:
    """The program that reads weights, and what it is told by."""

    folder: Path
    process: subprocess.Popen[str] | None = None

    def answer(self, path: Path) -> str:
        """Return what the program says of the file ``path``; it is started where it is not running.

        Raises AssertionError with the sanitizers' report where it dies.
        """
        if self.process is None:
            self.process = subprocess.Popen(
                # Sanitizers ask for more addresses than a campaign allows.
                ["sh", "-c", f"ulimit -S -v unlimited; exec {self.folder / 'driver'}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().strip()
        if not said:
            report = self.process.communicate()[1]
            self.process = None
            raise AssertionError(report[:2000])
        return said


@lru_cache(maxsize=1)
def _program() -> _Program:
    """Return the program, built when it is first asked for."""
    root = Path(tempfile.mkdtemp())
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((5, 6)).astype(np.float32),
        "i": np.array([0, 4, 2]),
        "j": np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]], np.int32),
        "mask": np.array([[True, False, True, False, True]] * 2),
    }
    mod = relay_ir.infer_type(relay_ir.parse(_MODEL))
    backends.export_c(translator.via_graph(mod, weights), root / "library", "m")
    (root / "driver.c").write_text(_DRIVER)
    sources = [str(one) for one in sorted((root / "library").glob("*.c")) if one.name != "main.c"]
    command = [*find_compiler().command, *_SANITIZERS, "-pthread", "-march=native", "-std=c11", "-D_GNU_SOURCE"]
    command += ["-I", str(root / "library"), str(root / "driver.c"), *sources, "-lm", "-o", str(root / "driver")]
    subprocess.run(command, check=True, capture_output=True)
    return _Program(root)


def _seeds() -> list[bytes]:
    return [(_program().folder / "library" / "m_weights.bin").read_bytes()]


def _damage(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Damage the weights behind a mark that fits; now and then the mark as well."""
    if rng.randrange(4) == 0:
        return damage_bytes(rng, data, others)
    rest = bytearray(data[MARK_BYTES:])
    for _ in range(rng.randint(1, 12)):
        at = rng.randrange(0, max(1, len(rest) - 8), rng.choice((1, 4, 8)))
        number = rng.choice((0, 1, 2, 5, 255, -1, -(2**31), 2**31, 2**40, -(2**63), 2**63 - 1, rng.getrandbits(62)))
        size = rng.choice((1, 4, 8))
        rest[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")
    return data[:MARK_BYTES] + bytes(rest)


def _check(data: bytes) -> bool:
    program = _program()
    path = program.folder / "weights"
    path.write_bytes(data)
    said = program.answer(path)
    assert said in ("ran", "refused"), said
    return said == "ran"


EXPORTED = Format("exported", _seeds, _damage, _check)
