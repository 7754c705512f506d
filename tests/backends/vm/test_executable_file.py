"""Executables in files: what is loaded is what was saved, and nothing else is accepted."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_fuzzing.programs import BRANCHES
from typed import of_type

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm.bytecode import Kernel
from relay2relax.core.errors import FileError, ParseError
from relay2relax.ops.registry.lower import Origin
from relay2relax.relax_ir.transform import BindParams, FuseOps, FuseTIR, LegalizeOps

RANDOM = np.random.default_rng(17)
TARGETS = ["numpy", pytest.param("c", marks=pytest.mark.compiler)]

# A number that float32 rounds, and a function that only this process knows.
PROGRAM = BRANCHES.replace("T.float32(0.5)", "T.float32(0.10000000149011612)").replace(
    "R.exp(b)", 'R.call_dps_packed("test_file.negate", (b,), R.Tensor((n, 3), dtype="float32"))'
)


@pytest.fixture(scope="module", autouse=True)
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache folder of our own, and the function that the program calls."""
    patch = pytest.MonkeyPatch()
    patch.setenv("RELAY2RELAX_CACHE", str(tmp_path_factory.mktemp("cache")))

    @backends.register_func("test_file.negate", override=True)
    def _(source: np.ndarray, target: np.ndarray) -> None:
        np.negative(source, out=target)

    yield
    patch.undo()


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def expected(x: np.ndarray, w: np.ndarray, flag: bool, m: int) -> tuple[Any, ...]:
    b = (x @ w.T) * np.float32(2 * len(x)) + np.float32(0.1)
    return b, (b - b if flag else np.maximum(-b, 0)).ravel(), (len(x) * m, m + 1)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_loaded_is_what_was_saved(target: str, tmp_path: Path) -> None:
    weight = normal(3, 4)
    free = rx.parse(PROGRAM)
    for mod, weights in ((free, (weight,)), (BindParams("main", {"w": weight})(free), ())):
        executable = backends.build(mod, target=target)
        executable.save(tmp_path / "model.exe")
        loaded = backends.Executable.load(tmp_path / "model.exe")
        assert loaded.target == target
        assert loaded.stats() == executable.stats()
        assert loaded.as_text() == executable.as_text()
        first, second = (backends.VirtualMachine(one)["main"] for one in (executable, loaded))
        for rows, flag in ((1, True), (5, False)):
            args = (normal(rows, 4), *weights, np.array(flag), ShapeTuple((7,)))
            result, again = first(*args), second(*args)
            for one, other, third in zip(result, again, expected(args[0], weight, flag, 7), strict=True):
                np.testing.assert_array_equal(one, other)
                np.testing.assert_allclose(other, third, rtol=1e-4, atol=1e-4)


def test_operators_stay_operators(tmp_path: Path) -> None:
    """A kernel that is an operator's own definition comes back as that operator, with its numpy
    kernel.
    """
    executable = backends.build(LegalizeOps()(rx.parse(PROGRAM)))
    executable.save(tmp_path / "model.exe")
    loaded = backends.Executable.load(tmp_path / "model.exe")
    kernels = {entry.name: entry.func.origin for entry in loaded.functions if isinstance(entry, Kernel)}
    assert kernels["scale"] is None
    assert of_type(kernels["matmul"], Origin).op.name == "matmul"
    assert of_type(kernels["add"], Origin).op.name == "add"


@pytest.mark.parametrize("target", TARGETS)
def test_fused_programs_are_kept_as_programs(target: str, tmp_path: Path) -> None:
    mod = rx.parse("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.multiply(a, R.const([[0.1], [-3.5e-5]], "float32"))
            c = R.nn.relu(b)
            R.output(c)
        return c
""")
    executable = backends.build(FuseTIR()(FuseOps()(LegalizeOps()(mod))), target=target)
    executable.save(tmp_path / "model.exe")
    x = normal(2, 3)
    loaded = backends.VirtualMachine(backends.Executable.load(tmp_path / "model.exe"))["main"](x)
    np.testing.assert_array_equal(loaded, backends.VirtualMachine(executable)["main"](x))
    scale = np.array([[0.1], [-3.5e-5]], np.float32)
    np.testing.assert_allclose(loaded, np.maximum(np.exp(x) * scale, 0), rtol=1e-5)


def rewritten(content: bytes, change: Any) -> bytes:
    """The file with ``change`` applied to its header, and a checksum that fits."""
    (size,) = struct.unpack_from("<Q", content, 40)
    header = json.loads(content[48 : 48 + size])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-(48 + len(text)) % 64)
    rest = struct.pack("<Q", len(text)) + text + content[48 + size :]
    return content[:8] + hashlib.sha256(rest).digest() + rest


def _function(header: Any) -> Any:
    return next(one for one in header["functions"] if one["kind"] == "function")


def _operator(header: Any) -> Any:
    return next(one["operator"] for one in header["functions"] if one["kind"] == "operator")


# What a file may not say, and what is said of it.
WRONG: dict[str, Any] = {
    r"'gpu' is none of the values allowed at $.target": lambda h: h.update(target="gpu"),
    r"'python' is none of the values allowed at $.functions[0].kind": lambda h: h["functions"][0].update(kind="python"),
    "expected a function below": lambda h: _function(h)["code"][0].__setitem__(2, 10_000),
    "expected a register below": lambda h: _function(h)["code"][0].__setitem__(1, 10_000),
    "registers are not what the code": lambda h: _function(h).update(registers=1 << 30),
    "has no end": lambda h: _function(h)["code"].__setitem__(-1, ["call", -1, 0, []]),
    "'exec' is none of the values allowed at $.functions[0].code[0][0]": lambda h: _function(h)["code"].__setitem__(
        0, ["exec", "import os"]
    ),
    "'pickle' is none of the values allowed at $.constants[0][0]": lambda h: h["constants"].__setitem__(
        0, ["pickle", ""]
    ),
    "there is no operator 'os.system'": lambda h: _operator(h).update(name="os.system"),
    "the text has no module": lambda h: h.update(script="import os"),
    "the key 'variables' is missing": lambda h: h.pop("variables"),
    "has version 1, expected 2: build the module again": lambda h: h.update(version=1),
}


@pytest.mark.parametrize("problem", WRONG)
def test_files_that_say_what_cannot_be_are_refused(problem: str, tmp_path: Path) -> None:
    path = tmp_path / "model.exe"
    backends.build(rx.parse(PROGRAM)).save(path)
    path.write_bytes(rewritten(path.read_bytes(), WRONG[problem]))
    with pytest.raises(ParseError, match=re.escape(problem)):
        backends.Executable.load(path)


def test_damaged_and_missing_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.exe"
    backends.build(rx.parse(PROGRAM)).save(path)
    content = path.read_bytes()
    for place in (3, 20, 60, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(ParseError, match=r"no executable|checksum"):
            backends.Executable.load(path)
    path.write_bytes(content[:-1])
    with pytest.raises(ParseError, match="checksum"):
        backends.Executable.load(path)
    with pytest.raises(FileError, match="cannot read"):
        backends.Executable.load(tmp_path / "other.exe")
    with pytest.raises(FileError, match="cannot write"):
        backends.build(rx.parse(PROGRAM)).save(tmp_path / "missing" / "model.exe")
    assert [one.name for one in tmp_path.iterdir()] == ["model.exe"]
