"""Built programs in files: shared objects that any program loads, and the facade reads again."""

from __future__ import annotations

import ctypes
import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from relay2relax import compat
from relay2relax.backends.c.export.shared import SECTION, read_linked, shared_objects, write_linked
from relay2relax.core.errors import CompilerError, FileError, ParseError, UnsupportedError

pytestmark = pytest.mark.compiler
DATA, WEIGHT = np.array([[1, -2, 3], [4, 5, -6]], "float32"), np.arange(12, dtype="float32").reshape(4, 3)
EXPECTED = np.maximum(DATA @ WEIGHT.T - 1, 0)


def built(shape: tuple[object, ...] = (2, 3)) -> object:
    """A layer whose weights are bound, built as a script does it."""
    import tvm
    from tvm import relay

    x, w = relay.var("x", shape=shape), relay.var("w", shape=(4, 3))
    function = relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w) - relay.const(1.0)))
    target = {tvm.cpu(): "llvm"} if shape == (2, 3) else "llvm"
    return relay.build(tvm.IRModule.from_expr(function), target=target, params={"w": tvm.nd.array(WEIGHT)})


def run(library: object) -> np.ndarray:
    from tvm.contrib import graph_executor

    module = graph_executor.GraphModule(library["default"]())  # type: ignore[index]
    module.run(x=DATA)
    found: np.ndarray = module.get_output(0).numpy()
    return found


@pytest.mark.parametrize("name", ["net.so", "net.tar", "net.o"])
def test_an_exported_library_is_loaded_again(name: str, tmp_path: Path) -> None:
    with compat.installed():
        import tvm

        built().export_library(str(tmp_path / name))  # type: ignore[attr-defined]
        # It is what it was when it was loaded, whatever becomes of the file.
        loaded = tvm.runtime.load_module(str(tmp_path / name))
        (tmp_path / name).write_bytes(b"")
        np.testing.assert_array_equal(run(loaded), EXPECTED)
        with pytest.raises(UnsupportedError, match="a loaded one is a file"):
            loaded.export_library(str(tmp_path / "again.so"))


def test_a_library_is_a_shared_object_with_its_weights(tmp_path: Path) -> None:
    with compat.installed():
        built().export_library(str(tmp_path / "net.so"))  # type: ignore[attr-defined]
    # As any program does it, without a word of this package.
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    library.default__load.restype = ctypes.c_void_p
    model, found = ctypes.c_void_p(library.default__load()), np.empty((2, 4), "float32")
    assert library.default__run(model, ctypes.c_void_p(DATA.ctypes.data), ctypes.c_void_p(found.ctypes.data)) == 0
    np.testing.assert_array_equal(found, EXPECTED)
    # Not in place: the file is mapped.
    subprocess.run(["strip", "-o", tmp_path / "stripped.so", tmp_path / "net.so"], check=True)
    with compat.installed():
        import tvm

        np.testing.assert_array_equal(run(tvm.runtime.load_module(str(tmp_path / "stripped.so"))), EXPECTED)


def test_programs_of_open_shapes_are_kept_whole(tmp_path: Path) -> None:
    with compat.installed():
        import tvm
        from tvm import relay

        built((relay.Any(), 3)).export_library(str(tmp_path / "net.so"))  # type: ignore[attr-defined]
        np.testing.assert_array_equal(run(tvm.runtime.load_module(str(tmp_path / "net.so"))), EXPECTED)


def test_scripts_link_themselves(tmp_path: Path) -> None:
    with compat.installed():
        import tvm
        from tvm.contrib import cc

        library = built()
        library.export_library(tmp_path / "net.so", fcompile=cc.create_shared, options=["-Wl,-soname,mine"])  # type: ignore[attr-defined]
        assert b"mine\0" in (tmp_path / "net.so").read_bytes()
        np.testing.assert_array_equal(run(tvm.runtime.load_module(tmp_path / "net.so")), EXPECTED)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_what_is_not_ours_is_never_loaded(tmp_path: Path) -> None:
    # A library whose constructor writes a file: to look at it must not run it.
    (tmp_path / "bad.c").write_text(
        f'#include <stdio.h>\n__attribute__((constructor)) void f(void) {{ fclose(fopen("{tmp_path}/ran", "w")); }}\n'
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "bad.so", tmp_path / "bad.c"], check=True)
    with compat.installed():
        import tvm

        built().export_library(str(tmp_path / "net.so"))  # type: ignore[attr-defined]
        good = (tmp_path / "net.so").read_bytes()
        (tmp_path / "cut.so").write_bytes(good[: len(good) // 2])
        (tmp_path / "text.so").write_bytes(b"not a library")
        (tmp_path / "named.so").write_bytes(good.replace(SECTION.encode() + b"\0", b"relay2reIax\0"))
        # Objects beside which there are commands for the linker; data that unpack to much more.
        built().export_library(str(tmp_path / "net.tar"))  # type: ignore[attr-defined]
        (tmp_path / "lib9.o").write_text("INPUT(/etc/passwd)")
        with tarfile.open(tmp_path / "net.tar", "a") as archive:
            archive.add(tmp_path / "lib9.o", "lib9.o")
        bomb = io.BytesIO()
        with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("about.json", bytes(1 << 26))
        write_linked(shared_objects({}, bomb.getvalue(), made(tmp_path / "bomb")), tmp_path / "bomb.so")
        for name in ("bad.so", "cut.so", "text.so", "named.so", "net.tar", "bomb.so"):
            with pytest.raises(ParseError, match="no library that export_library"):
                tvm.runtime.load_module(str(tmp_path / name))
        with pytest.raises(FileError):
            tvm.runtime.load_module(str(tmp_path / "none.so"))
    assert not (tmp_path / "ran").exists()


def test_damaged_headers_are_no_library(tmp_path: Path) -> None:
    with compat.installed():
        built().export_library(str(tmp_path / "net.so"))  # type: ignore[attr-defined]
    good = (tmp_path / "net.so").read_bytes()
    path = tmp_path / "damaged.so"
    draw = np.random.default_rng(0)
    for _ in range(100):
        damaged = bytearray(good)
        damaged[int(draw.integers(64))] = int(draw.integers(256))
        path.write_bytes(damaged)
        try:
            assert b"about.json" in read_linked(path)[1]
        except (ParseError, CompilerError):
            continue
