"""Peak memory of a model while it runs in C, in a process that holds nothing but the exported
library and its tensors.

The bound is the model's weights and 1.2 times the largest set of temporaries that are alive
together, as the plan has them; inputs and outputs belong to the caller. Code is not counted: only
memory that no file stands behind.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import Case
from peers import Model
from threads import THREADS

from relay2relax import backends, translator
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.tir.ir.expr import Buffer, Var

_NAME = "measured"
# Loads the library, touches inputs and outputs, and runs three times. The peak is set back after
# loading, which for a moment holds weights twice: as the file has them, and packed.
_CHILD = """
import ctypes, json, sys
library, weights, threads, extents, sizes = json.loads(sys.argv[1])

def anonymous(what):
    status = dict(line.split(":") for line in open("/proc/self/status"))
    held = lambda name: int(status[name].split()[0]) * 1024
    return held(what) - held("RssFile") - held("RssShmem")

loaded = ctypes.CDLL(library)
loaded.measured_load.restype = ctypes.c_void_p
loaded.measured_set_threads(ctypes.c_int64(threads))
tensors = [ctypes.create_string_buffer(b"\\0" * size, size) for size in sizes]
given = [ctypes.c_int64(one) for one in extents] + tensors
before = anonymous("VmRSS")
model = ctypes.c_void_p(loaded.measured_load(weights.encode()))
loading = anonymous("VmHWM")
open("/proc/self/clear_refs", "w").write("5")
assert model.value and not any(loaded.measured_run(model, *given) for _ in range(3))
print(json.dumps({"loading": loading - before, "peak": anonymous("VmHWM") - before}))
"""


def measure(case: Case) -> dict[str, Any]:
    """Return bytes: weights, most temporaries alive at one time, arena, peak while running, and
    their bound.
    """
    if not Path("/proc/self/clear_refs").exists():
        return {"failed": "the peak of a process cannot be set back on this system"}
    model = Model(case)
    relax = model.relax()
    executable = backends.build(relax, target="c")
    assert executable.native is not None
    entries = executable.native.entries.values()
    values = [_extents(one.func.buffers, model.given) for one in entries]
    alive = max((one.arena.most_alive(v) for one, v in zip(entries, values, strict=True)), default=0)
    weights = sum(array.nbytes for array in model.weights.values())
    results = translator.flatten(backends.VirtualMachine(executable)["main"](*model.given))
    extents = list(dict.fromkeys(value for one in values for value in one.values()))
    with tempfile.TemporaryDirectory() as folder:
        library = _library(Path(folder), relax)
        sizes = [array.nbytes for array in (*model.given, *results)]
        given = json.dumps([library, str(Path(folder) / f"{_NAME}_weights.bin"), THREADS, extents, sizes])
        environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
        child = [sys.executable, "-I", "-c", _CHILD, given]
        done = subprocess.run(child, env=environment, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
    found = json.loads(done.stdout)
    return {"weights": weights, "alive": alive, **found, "bound": weights + 1.2 * alive}


def _extents(buffers: Sequence[Buffer], given: Sequence[np.ndarray]) -> dict[Var, int]:
    """Return the symbolic extents of the arguments, which come first among ``buffers``."""
    pairs = [
        (e, n) for b, array in zip(buffers, given, strict=False) for e, n in zip(b.shape, array.shape, strict=True)
    ]
    return {extent: size for extent, size in pairs if isinstance(extent, Var)}


def _library(folder: Path, relax: Any) -> str:
    """Return the path of the shared object of an exported library, compiled in little time: it is
    not measured.
    """
    backends.export_c(relax, folder, _NAME)
    compiler = find_compiler()
    sources = [str(path) for path in folder.glob("*.c") if path.name != "main.c"]
    flags = [flag for flag in compiler.flags if flag != "-fvisibility=hidden"]
    product = folder / f"lib{_NAME}.so"
    command = [*compiler.command, *flags, "-O1", "-shared", "-pthread", *sources, "-o", str(product), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    return str(product)
