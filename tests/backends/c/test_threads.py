"""Threads and objects of compiled modules: one pool for a process, and nothing stays behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from relay2relax.backends.c import CompiledModule, compile_prim_funcs
from relay2relax.tir import te

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not show threads as files"),
]
ROWS = 4096


def built(number: int) -> CompiledModule:
    """A module of its own, whose loop is worth several threads."""
    a = te.placeholder((ROWS, 256), "float32", "A")
    return compile_prim_funcs([te.create_prim_func([a], [te.compute((ROWS, 256), lambda i, j: a[i, j] + number)])])


def right(module: CompiledModule, number: int) -> bool:
    x, y = np.full((ROWS, 256), 2, np.float32), np.zeros((ROWS, 256), np.float32)
    (name,) = module.entries
    module.kernel(name)(x, y)
    return bool((y == 2 + number).all())


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def loaded() -> int:
    """How many objects of ours are mapped."""
    gc.collect()
    maps = Path("/proc/self/maps").read_text().splitlines()
    return len({line.split()[4] for line in maps if ".so" in line and "memfd:" in line})


@pytest.mark.sweep(every=2)
def test_one_pool_serves_all_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAY2RELAX_THREADS", "3")
    before = threads()
    modules = [built(number) for number in range(8)]
    assert all(right(module, number) for number, module in enumerate(modules))
    assert threads() - before <= 2
    monkeypatch.setenv("RELAY2RELAX_THREADS", "1")
    assert right(built(8), 8)
    assert threads() - before <= 2


def test_objects_are_unloaded_with_their_modules() -> None:
    modules = [built(number) for number in range(20, 24)]
    kernel = modules[0].kernel(next(iter(modules[0].entries)))
    many = loaded()
    del modules[1:]
    assert loaded() == many - 3
    del modules
    x, y = np.ones((ROWS, 256), np.float32), np.zeros((ROWS, 256), np.float32)
    kernel(x, y)
    assert (y == 21).all()
    assert loaded() == many - 3
    del kernel
    assert loaded() == many - 4


def test_one_object_is_loaded_once() -> None:
    first = built(30)
    many = loaded()
    second = built(30)
    assert loaded() == many
    del first
    gc.collect()
    assert right(second, 30)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_child_process_has_threads_of_its_own(tmp_path: Path) -> None:
    program = """
import os
import numpy as np
from relay2relax.backends.c import compile_prim_funcs
from relay2relax.tir import te

a = te.placeholder((4096, 256), "float32", "A")
module = compile_prim_funcs([te.create_prim_func([a], [te.compute((4096, 256), lambda i, j: a[i, j] + 1)], name="f")])
kernel, x, y = module.kernel("f"), np.ones((4096, 256), np.float32), np.zeros((4096, 256), np.float32)
for _ in range(3):
    kernel(x, y)
for _ in range(5):
    child = os.fork()
    if not child:
        y[...] = 0
        kernel(x, y)
        os._exit(0 if (y == 2).all() and len(os.listdir("/proc/self/task")) == 2 else 1)
    kernel(x, y)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("the child failed")
"""
    environment = {**os.environ, "RELAY2RELAX_THREADS": "2", "RELAY2RELAX_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=environment, check=True, timeout=60)
