"""Data of ONNX models that lie in files: what is wrong is refused, and nothing outside of the
model's folder is opened.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax.core.errors import ParseError, Relay2RelaxError, UnsupportedError
from relay2relax.relay_ir import frontend

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def external(dims: tuple[int, ...], kind: int = TensorProto.FLOAT, **told: str) -> Any:
    """Return a tensor whose data lie in a file."""
    made = TensorProto(name="w", data_type=kind, data_location=TensorProto.EXTERNAL, dims=dims)
    made.external_data.extend(onnx.StringStringEntryProto(key=key, value=value) for key, value in told.items())
    return made


def model(tensor: Any, nodes: list[Any] | None = None) -> Any:
    """Return a model that adds a weight to its input."""
    graph = helper.make_graph(
        nodes or [helper.make_node("Add", ["x", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [] if nodes or isinstance(tensor, onnx.SparseTensorProto) else [tensor],
    )  # fmt: skip
    if isinstance(tensor, onnx.SparseTensorProto):
        graph.sparse_initializer.append(tensor)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def sparse(shape: tuple[int, ...], places: list[int]) -> Any:
    return onnx.SparseTensorProto(
        values=numpy_helper.from_array(np.ones(len(places), np.float32), "w"),
        indices=numpy_helper.from_array(np.array(places), "i"), dims=shape,
    )  # fmt: skip


# Run once for all models: files that are opened are told by Python itself.
WATCHING = """
import os, sys
from pathlib import Path
import onnx
from relay2relax.core.errors import ParseError, Relay2RelaxError, UnsupportedError
from relay2relax.relay_ir import frontend
outside, opened = os.path.realpath("outside"), []
def watch(event, args):
    if event == "open" and isinstance(args[0], (str, bytes, os.PathLike)):
        opened.append(os.path.realpath(os.fsdecode(args[0])))
sys.addaudithook(watch)
for path in sorted(Path("models").glob("*.onnx")):
    try:
        frontend.from_onnx(path)
        print(path.name, "imported")
    except Relay2RelaxError as error:
        print(path.name, str(error)[6:14])
print([one for one in opened if one.startswith(outside)], any(one.endswith("w.bin") for one in opened))
"""


def test_nothing_outside_of_the_models_folder_is_opened(tmp_path: Path) -> None:
    folder, outside = tmp_path / "models", tmp_path / "outside"
    (folder / "below").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_bytes(bytes(64))
    (folder / "w.bin").write_bytes(bytes(64))
    for name, target in (
        ("file", f"{outside}/secret"),
        ("folder", f"{outside}"),
        ("loop", "loop"),
        ("inside", "w.bin"),
    ):
        os.symlink(target, folder / name)
    os.mkfifo(folder / "pipe")
    places = [
        "../outside/secret", "below/../../outside/secret", str(outside / "secret"), "file", "folder/secret", "loop",
        "pipe", "below", "absent", "", "a\0b", "x" * 5000, "w.bin", "inside", "below/../w.bin",
    ]  # fmt: skip
    for number, place in enumerate(places):
        found = model(external((4,), location=place))
        (folder / f"{number:02}a.onnx").write_bytes(found.SerializeToString())
        held = [
            helper.make_node("Constant", [], ["w"], value=external((4,), location=place)),
            helper.make_node("Add", ["x", "w"], ["y"]),
        ]
        (folder / f"{number:02}b.onnx").write_bytes(model(None, held).SerializeToString())
    done = subprocess.run([sys.executable, "-c", WATCHING], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *lines, opened = done.stdout.splitlines()
    # What is inside is opened, and seen by the watch.
    assert opened == "[] True"
    good = range(len(places) - 3, len(places))
    wanted = [
        f"{number:02}{kind}.onnx {'imported' if number in good else 'R2R-0563'}"
        for number in range(len(places)) for kind in "ab"
    ]  # fmt: skip
    assert lines == wanted


BAD: dict[str, tuple[Any, str]] = {
    "offset below 0": (external((4,), location="w.bin", offset="-4"), "cannot be mapped"),
    "offset far away": (external((4,), location="w.bin", offset="9" * 30), "are not there"),
    "offset near the end": (external((4,), location="w.bin", offset="60"), "cannot be mapped"),
    "no number": (external((4,), location="w.bin", offset="four"), "cannot be mapped"),
    "other length": (external((4,), location="w.bin", length="8"), "are 16 bytes, not the 8"),
    "below 0": (external((-4,), location="w.bin"), "cannot be mapped"),
    "huge": (external((1 << 62, 4), location="w.bin"), "cannot be mapped"),
    "no such elements": (external((4,), 99, location="w.bin"), "no elements of the kind 99"),
    "strings": (helper.make_tensor("w", TensorProto.STRING, [1], [b"a"]), "Relay has none"),
    "sparse, beyond": (sparse((4,), [0, 9]), "do not fit its shape"),
    "sparse, below 0": (sparse((4,), [-1]), "do not fit its shape"),
    "sparse, huge": (sparse((1 << 40,), [0]), "too many zeros"),
}


@pytest.mark.parametrize("name", BAD)
def test_data_that_make_no_sense_are_refused(name: str, tmp_path: Path) -> None:
    tensor, said = BAD[name]
    (tmp_path / "w.bin").write_bytes(bytes(64))
    (tmp_path / "net.onnx").write_bytes(model(tensor).SerializeToString())
    with pytest.raises(Relay2RelaxError, match=said):
        frontend.from_onnx(tmp_path / "net.onnx")


def test_elements_of_half_a_byte_are_unpacked_from_a_file(tmp_path: Path) -> None:
    # Two's complement in four bits, the first in the lower half.
    (tmp_path / "w.bin").write_bytes(bytes([0, 0x71, 0xF8]))
    nodes = [
        helper.make_node("Constant", [], ["w"], value=external((4,), TensorProto.INT4, location="w.bin", offset="1")),
        helper.make_node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), helper.make_node("Add", ["x", "f"], ["y"]),
    ]  # fmt: skip
    found = model(None, nodes)
    found.opset_import[0].version = 21
    (tmp_path / "net.onnx").write_bytes(found.SerializeToString())
    mod, _ = frontend.from_onnx(tmp_path / "net.onnx")
    made = backends.create_executor("graph", mod).evaluate()(np.zeros(4, np.float32))
    assert np.asarray(made).tolist() == [1, 7, -8, -1]


def test_functions_that_double_are_not_written_out_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relay2relax.relay_ir.frontend.onnx.importer._MOST_NODES", 1000)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]

    def body(level: int) -> list[Any]:
        if level == 40:
            return [helper.make_node("Abs", ["a"], ["b"])]
        return [helper.make_node(f"F{level + 1}", [one], [two], domain="my") for one, two in (("a", "c"), ("c", "b"))]

    functions = [helper.make_function("my", f"F{level}", ["a"], ["b"], body(level), opsets) for level in range(41)]
    found = model(None, [helper.make_node("F0", ["x"], ["y"], domain="my")])
    found.opset_import.append(opsets[1])
    found.functions.extend(functions)
    with pytest.raises(Relay2RelaxError, match="written out"):
        frontend.from_onnx(found)


def one_node(operator: str, **attributes: Any) -> Any:
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"], **attributes)], "g", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    "stated",
    [{"shape": {"x": None}}, {"shape": [2, 3]}, {"dtype": 3}, {"opset": "x"}, {"opset": -3}],
    ids=str,
)
def test_what_is_stated_of_a_model_is_looked_at(stated: Any) -> None:
    with pytest.raises(UnsupportedError, match="R2R-0562"):
        frontend.from_onnx(one_node("Relu"), **stated)


def test_axes_that_there_are_not_and_values_made_twice_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="its axis is 9, and there are 2 axes"):
        frontend.from_onnx(one_node("Softmax", axis=9))
    found = one_node("Relu")
    found.graph.node.append(helper.make_node("Neg", ["x"], ["y"]))
    with pytest.raises(ParseError, match="'y' is made by several nodes"):
        frontend.from_onnx(found)
