"""Files as other tools write them, handed to a command by mistake: each is named."""

from __future__ import annotations

import base64
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.core.errors import ParseError


def torch_module() -> tuple[Any, Any, Any]:
    """torch, a small module, and its input."""
    torch = pytest.importorskip("torch")
    return torch, torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval(), torch.ones(2, 4)


def torchscript(path: Path) -> None:
    torch, module, data = torch_module()
    with warnings.catch_warnings():
        # Scripts are what people hold; that they are old is why.
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(module, data), path)


def exported(path: Path) -> None:
    torch, module, data = torch_module()
    torch.export.save(torch.export.export(module, (data,)), path)


def checkpoint(path: Path) -> None:
    torch, module, _ = torch_module()
    torch.save(module.state_dict(), path)


def old_checkpoint(path: Path) -> None:
    torch, module, _ = torch_module()
    torch.save(module.state_dict(), path, _use_new_zipfile_serialization=False)


def onnx_model(path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", values[:1], values[1:])), path)


def library(path: Path) -> None:
    found = find_compiler()
    source = path.with_suffix(".c")
    source.write_text("int f(void) { return 1; }")
    subprocess.run([*found.command, "-shared", "-o", path, source], check=True)


def today(path: Path) -> None:
    tvm = pytest.importorskip("tvm")
    path.write_text(tvm.ir.save_json(tvm.IRModule({})))


def arrays(path: Path) -> None:
    with path.open("wb") as stream:
        np.savez(stream, w=np.ones(2, np.float32))


def safetensors(path: Path) -> None:
    pytest.importorskip("safetensors.numpy").save_file({"w": np.ones(2, np.float32)}, path)


# One RELU of six numbers, made with the schema of TensorFlow Lite (the packages tflite 2.18 and
# flatbuffers 25.12), which ai-edge-litert 2.3 runs: too much to install for one file.
TFLITE = base64.b64decode(
    "GAAAAFRGTDMAAA4AFAAQAAwACAAAAAQADgAAABAAAAA8AAAAGAAAAAMAAAABAAAACAAAAAQABAAEAAAAAQAAABAAAAAM"
    "AAwACwAAAAAABAAMAAAAEwAAAAAAABMBAAAAEAAAAAwAFAAQAAwACAAEAAwAAAAgAAAADAAAABAAAABEAAAAAQAAAAEA"
    "AAABAAAAAAAAAAEAAAAQAAAAAAAKAAwAAAAIAAQACgAAAAgAAAAMAAAAAQAAAAEAAAABAAAAAAAAAAIAAAAgAAAABAAA"
    "APT///84AAAAHAAAAAwADAAIAAAAAAAEAAwAAAAoAAAAEAAAAAIAAAACAAAAAwAAAAIAAAACAAAAAwAAAAEAAAB5AAAA"
    "AQAAAHgAAAA="
)


def tensorflow_lite(path: Path) -> None:
    path.write_bytes(TFLITE)


WRITERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "net_script.pt": (torchscript, "a TorchScript program; relay_ir.frontend.from_pytorch"),
    "net.pt2": (exported, "a program of torch.export; relay_ir.frontend.from_pytorch"),
    "net.pt": (checkpoint, "a PyTorch checkpoint; --params reads"),
    "net_old.pt": (old_checkpoint, "a PyTorch checkpoint; --params reads"),
    "net.onnx": (onnx_model, "an ONNX model; relay_ir.frontend.from_onnx"),
    "net.tflite": (tensorflow_lite, "a TensorFlow Lite model; import it in a TVM that has the frontend"),
    "model": (tensorflow_lite, "a TensorFlow Lite model; import it in a TVM that has the frontend"),
    "deploy.so": (library, "a library or program (ELF); a compiled model holds no Relay"),
    "today.json": (today, "a document of TVM 0.21 or later, which has no Relay"),
    "weights.npz": (arrays, "an npz file of arrays; weights go behind --params"),
    "weights.safetensors": (safetensors, "a file of weights (safetensors); weights go behind --params"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.compiler) if name == "deploy.so" else name for name in WRITERS]
)
def test_files_of_other_tools_are_named(name: str, tmp_path: Path) -> None:
    write, said = WRITERS[name]
    write(tmp_path / name)
    with pytest.raises(ParseError) as caught:
        relay_ir.load(tmp_path / name)
    assert said in str(caught.value)
