"""Files of the cache that are damaged, swapped or planted: what is built is right all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sweep

from relay2relax import backends, relay_ir, translator
from relay2relax.backends import cache
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.backends.cache import store as stores

pytestmark = pytest.mark.compiler
PLACES = 200
# The rows are worth threads: the pool is an entry as well.
ROWS = 2048
MODEL = f"""#[version = "0.0.5"]
def @main(%x: Tensor[({ROWS}, 64), float32], %w: Tensor[(64, 64), float32]) {{
  nn.relu(nn.dense(%x, %w, units=64))
}}
"""
RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((ROWS, 64)).astype(np.float32)
W = RANDOM.standard_normal((64, 64)).astype(np.float32)
EXPECTED = np.maximum(X.astype(np.float64) @ W.T.astype(np.float64), 0)


def run() -> backends.Executable:
    """Build the model and see that its result is right."""
    executable = backends.build(translator.via_graph(relay_ir.parse(MODEL), {"w": W}), target="c")
    assert isinstance(executable, backends.Executable)
    result = backends.VirtualMachine(executable)["main"](X)
    np.testing.assert_allclose(result, EXPECTED, rtol=1e-4, atol=1e-4)
    return executable


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("RELAY2RELAX_THREADS", "2")
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path / "cache"))
    run()
    assert run().complete is not None
    return tmp_path / "cache"


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :]


def cut(content: bytes, place: int) -> bytes:
    return content[:place]


def emptied(content: bytes, place: int) -> bytes:
    return content[:place] + bytes(min(512, len(content) - place) or 1) + content[place + 512 :]


def longer(content: bytes, place: int) -> bytes:
    return content[:place] + b"\x90" + content[place:]


DAMAGES: tuple[Callable[[bytes, int], bytes], ...] = (flipped, cut, emptied, longer)


def places(content: bytes) -> list[int]:
    return [number * (len(content) - 1) // (PLACES - 1) for number in range(PLACES)]


def test_no_damage_is_read(folder: Path) -> None:
    store = cache.open_store()
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        for place in places(content):
            for damage in DAMAGES:
                changed = damage(content, place)
                if changed != content:
                    path.write_bytes(changed)
                    assert store.read(path.name) is None, (path.name, damage.__name__, place)
        path.write_bytes(content)
        assert store.read(path.name) is not None


def test_a_damaged_entry_is_built_anew(folder: Path) -> None:
    """Each entry is damaged at 200 places, while the object of the last build is still loaded."""
    kept: Any = None
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        for number, place in enumerate(sweep.sampled(places(content), 5 if path.suffix == ".so" else 2)):
            # In place: whoever has mapped the file sees it.
            path.write_bytes(DAMAGES[number % len(DAMAGES)](content, place))
            kept = run()
            # The pool was loaded long ago.
            assert run().complete is not None
        path.write_bytes(content)
    assert kept is not None


def test_entries_that_are_swapped_do_not_fit(folder: Path) -> None:
    for suffix in (".so", ".build"):
        first = next(path for path in folder.iterdir() if path.suffix == suffix)
        content = first.read_bytes()
        other = first.with_name(f"{'0' * 40}{suffix}")
        cache.open_store().write(other.name, b"another program")
        assert cache.open_store().read(other.name) == b"another program"
        first.write_bytes(other.read_bytes())
        other.write_bytes(content)
        assert cache.open_store().read(other.name) is None
        run()
        assert run().complete is not None


def planted(folder: Path) -> tuple[bytes, Path]:
    """Return an object that leaves a trace where it is loaded, and the trace."""
    trace = folder.parent / "trace"
    source = folder.parent / "planted.c"
    source.write_text(
        "#include <fcntl.h>\n#include <unistd.h>\n__attribute__((constructor)) static void begin(void) "
        f'{{ close(open("{trace}", O_CREAT | O_WRONLY, 0600)); }}\n'
    )
    product = folder.parent / "planted.so"
    subprocess.run([*find_compiler().command, "-shared", "-fPIC", str(source), "-o", str(product)], check=True)
    return product.read_bytes(), trace


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system has no owners of files")
def test_planted_objects_are_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, trace = planted(folder)
    objects = [path for path in folder.iterdir() if path.suffix == ".so"]
    for path in objects:
        path.write_bytes(code)
    run()
    assert not trace.exists()
    # A seal that fits says who could write to the folder: nobody else.
    for path in objects:
        cache.open_store().write(path.name, code)
    folder.chmod(0o777)
    stores._store.cache_clear()
    stores._say.cache_clear()
    with pytest.warns(RuntimeWarning, match="chmod go-w"):
        run()
    assert not trace.exists()
    # The witness can speak.
    program = f"import ctypes; ctypes.CDLL({str(folder.parent / 'planted.so')!r})"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert trace.exists()
