"""Parameter files and binding."""

from __future__ import annotations

import contextlib
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from typed import of_type, present

from relay2relax import relay_ir
from relay2relax.core import FileError, ParseError, Relay2RelaxError
from relay2relax.core.dtype import DTypeError

if TYPE_CHECKING:
    from model_cases import ModelCase

# {"b": bool scalar True, "w": int16 [1, 2]}, the example of the format's description.
EXAMPLE = bytes.fromhex(
    "b79c04054f8de5f7 0000000000000000 0200000000000000"
    "0100000000000000 62   0100000000000000 77   0200000000000000"
    "3fa1b496f0405edd 0000000000000000 01000000 00000000 00000000 01 01 0100            0100000000000000 01"
    "3fa1b496f0405edd 0000000000000000 01000000 00000000 01000000 00 10 0100 0200000000000000 0400000000000000 01000200"
)
EMPTY = bytes.fromhex("b79c04054f8de5f7 0000000000000000 0000000000000000 0000000000000000")


def test_the_example() -> None:
    params = relay_ir.load_params(EXAMPLE)
    assert list(params) == ["b", "w"]
    assert params["b"].dtype == np.bool_
    assert params["b"].shape == ()
    assert params["b"].item() is True
    np.testing.assert_array_equal(params["w"], np.array([1, 2], np.int16))
    assert relay_ir.save_params({"w": params["w"], "b": params["b"]}) == EXAMPLE
    assert relay_ir.load_params(EMPTY) == {}
    assert relay_ir.save_params({}) == EMPTY


@pytest.mark.parametrize("name", ["mlp", "bert_tiny", "unet", "resnet18_onnx_small"])
def test_recorded_files(get_model_case: Callable[[str], ModelCase], name: str) -> None:
    case = get_model_case(name)
    content = present(case.params)
    params = relay_ir.load_params(content)
    expected = {spec["name"]: case.seeded.tensor(spec) for spec in case.specs() if spec["role"] == "param"}
    assert set(params) == set(expected)
    for key, value in expected.items():
        np.testing.assert_array_equal(params[key], value)
        assert params[key].dtype == value.dtype
    written = relay_ir.save_params(params)
    # TVM writes in the order of a hash map, we sort; the tensors are the same bytes.
    assert len(written) == len(content)
    assert list(relay_ir.load_params(written)) == sorted(params)


def test_arrays_are_views(tmp_path: Path) -> None:
    content = relay_ir.save_params({"w": np.arange(6, dtype=np.float32)})
    (array,) = relay_ir.load_params(content).values()
    assert np.shares_memory(array, np.frombuffer(content, np.uint8))
    assert not array.flags.writeable
    path = tmp_path / "w.params"
    path.write_bytes(content)
    for given_path in (path, str(path)):
        (read,) = relay_ir.load_params(given_path).values()
        np.testing.assert_array_equal(read, array)
        assert not read.flags.owndata


def test_other_dtypes() -> None:
    params: dict[str, np.ndarray] = {
        "b16": np.array([1.5, -2], ml_dtypes.bfloat16),
        "big": np.array([1, 2], ">i4"),
        "empty": np.zeros((0, 3), np.float64),
        "f8": np.array([1, 2], ml_dtypes.float8_e4m3fn),
        "strided": np.arange(6).reshape(2, 3).T,
    }
    read = relay_ir.load_params(relay_ir.save_params(params))
    for name, value in params.items():
        np.testing.assert_array_equal(read[name], value)
        assert read[name].dtype == value.dtype.newbyteorder("=")
    with pytest.raises(DTypeError):
        relay_ir.save_params({"c": np.zeros(2, np.complex64)})


@given(
    st.dictionaries(
        st.text(max_size=6),
        npst.arrays(st.sampled_from(["<f4", "<f2", "<i8", "u1", "?"]), npst.array_shapes(min_dims=0, min_side=0)),
        max_size=4,
    )
)
def test_round_trip(params: dict[str, np.ndarray]) -> None:
    content = relay_ir.save_params(params)
    read = relay_ir.load_params(content)
    assert list(read) == sorted(params)
    for name, value in params.items():
        assert read[name].dtype == value.dtype
        assert read[name].tobytes() == value.tobytes()
        assert read[name].shape == value.shape
    assert relay_ir.save_params(read) == content


@given(st.integers(0, len(EXAMPLE)), st.binary(max_size=4), st.booleans())
def test_damaged_files(place: int, patch: bytes, cut: bool) -> None:
    content = EXAMPLE[:place] if cut else EXAMPLE[:place] + patch + EXAMPLE[place + len(patch) :]
    with contextlib.suppress(Relay2RelaxError):
        relay_ir.load_params(content)


def blob_of(shape: tuple[int, ...]) -> bytes:
    """Return a file of one tensor without elements, of int16 and that shape."""
    head = EXAMPLE[:16] + struct.pack("<QQ", 1, 1) + b"w" + struct.pack("<Q", 1)
    mark = bytes.fromhex("3fa1b496f0405edd")
    return head + mark + struct.pack(f"<QiiiBBH{len(shape)}qq", 0, 1, 0, len(shape), 0, 16, 1, *shape, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a parameter file"),
        (b"x" * 64, "not a parameter file"),
        (EXAMPLE[:30], "name 0 of 2|inside a count"),
        (EXAMPLE[:-1], r"parameter 'w': .*expected 4 bytes of elements, found 3"),
        (EXAMPLE[:16] + b"\xff" * 8 + EXAMPLE[24:], "name|inside a count"),
        (EXAMPLE[:42] + b"\x03" + EXAMPLE[43:], "2 names and 3 tensors"),
        (EXAMPLE.replace(b"w", b"b"), "the file has two tensors 'b'"),
        (blob_of((0, 2**62)), "parameter 'w': tensor at byte 41: no array has the shape"),
        (blob_of((-1,)), r"parameter 'w': tensor at byte 41: shape \(-1,\) has a negative extent"),
        (blob_of((2**62, 2**62)), "bytes, stated are 0"),
        (blob_of((1,) * 65), "expected a rank of 0 to 64, found 65"),
    ],
)
def test_what_is_wrong_is_said(content: bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        relay_ir.load_params(content)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"absent\.params"):
        relay_ir.load_params(tmp_path / "absent.params")


# --- binding ---


def function(*names: str) -> relay_ir.IRModule:
    params = [relay_ir.var(name, shape=(2, 3)) for name in names]
    body: relay_ir.Expr = params[0]
    for param in params[1:]:
        body = body + param
    return relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function(tuple(params), body)})


def test_bound_parameters_become_constants() -> None:
    weight = np.ones((2, 3), np.float32)
    mod = relay_ir.bind_params(function("x", "w"), {"w": weight, "unused": weight})
    assert [param.name for param in mod["main"].params] == ["x"]
    constant = of_type(mod["main"].body, relay_ir.Call).args[1]
    assert isinstance(constant, relay_ir.Constant)
    assert constant.data is weight


def test_what_does_not_fit_is_listed() -> None:
    mod = function("x", "w", "b")
    wrong: dict[str, np.ndarray] = {"w": np.ones((3, 2), np.float32), "b": np.ones((2, 3), np.float64)}
    with pytest.raises(Relay2RelaxError) as caught:
        relay_ir.bind_params(mod, wrong)
    assert "%w: expected (2, 3) of float32, given (3, 2) of float32" in str(caught.value)
    assert "%b: expected (2, 3) of float32, given (2, 3) of float64" in str(caught.value)


def test_a_name_that_two_parameters_share() -> None:
    with pytest.raises(Relay2RelaxError, match="several parameters of @main are named %w"):
        relay_ir.bind_params(function("x", "w", "w"), {"w": np.ones((2, 3), np.float32)})


def test_unknown_extents_fit_any() -> None:
    x = relay_ir.var("x", shape=(relay_ir.Any(), 3))
    mod = relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((x,), x)})
    assert relay_ir.bind_params(mod, {"x": np.ones((7, 3), np.float32)})["main"].params == ()
    with pytest.raises(Relay2RelaxError, match=r"expected \(\?, 3\) of float32, given \(7, 4\) of float32"):
        relay_ir.bind_params(mod, {"x": np.ones((7, 4), np.float32)})


_SAVE_OVER = """
import sys
import numpy as np
from relay2relax import relay_ir
from relay2relax.core.npz import npz_bytes
from relay2relax.core.weight_files import safetensors_parts
path, form = sys.argv[1:]
save = {
    "params": relay_ir.save_params,
    "safetensors": lambda arrays: b"".join(safetensors_parts(arrays, {})),
    "npz": npz_bytes,
}[form]
open(path, "wb").write(save({"w": np.arange(100_000.0)}))
params = relay_ir.load_params(path)
with open(path, "wb") as file:  # as TVM's tutorials write it: the file is empty before the first weight is looked at
    file.write(save(params))
assert (relay_ir.load_params(path)["w"] == np.arange(100_000.0)).all()
open(path, "wb").write(bytes(1_000_000))
assert (params["w"] == np.arange(100_000.0)).all()
"""


@pytest.mark.parametrize("form", ["params", "safetensors", "npz"])
def test_params_are_saved_over_the_file_they_come_from(tmp_path: Path, form: str) -> None:
    # In a process of its own: where it goes wrong, it dies.
    call = [sys.executable, "-c", _SAVE_OVER, str(tmp_path / "weights"), form]
    done = subprocess.run(call, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
