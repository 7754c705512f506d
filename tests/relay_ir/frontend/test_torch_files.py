"""Files of PyTorch's programs: nothing of them is run, whatever they ask for."""

from __future__ import annotations

import importlib
import io
import json
import pickle
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import ParseError
from relay2relax.relay_ir.frontend import from_pytorch

torch = pytest.importorskip("torch")

Parts = dict[str, bytes]


class Evil:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def open_program() -> Any:
    """Return a program with an extent that is open."""
    layer = torch.nn.Linear(4, 3)
    rows = torch.export.Dim("rows", min=2, max=64)
    return torch.export.export(layer, (torch.ones(5, 4),), dynamic_shapes=({0: rows},))


def parts() -> Parts:
    """Return the files of a program, by what they are below its folder."""
    file = io.BytesIO()
    torch.export.save(open_program(), file)
    archive = zipfile.ZipFile(file)
    return {one.partition("/")[2]: archive.read(one) for one in archive.namelist()}


def packed(found: Parts) -> bytes:
    """Return an archive as PyTorch would write it."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for name, content in found.items():
            archive.writestr(f"archive/{name}", content)
    return file.getvalue()


def model_name(found: Parts) -> str:
    return next(one for one in found if one.startswith("models/"))


def graph_changed(change: Callable[[Any], None]) -> Callable[[Parts, Path], None]:
    """Return what changes the program's document."""

    def changed(found: Parts, _: Path) -> None:
        name = model_name(found)
        document = json.loads(found[name])
        change(document)
        found[name] = json.dumps(document).encode()

    return changed


def calling(target: str) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        document["graph_module"]["graph"]["nodes"][0]["target"] = target

    return change


def extent(text: str) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        values = document["graph_module"]["graph"]["tensor_values"]
        for one in values.values():
            for size in one["sizes"]:
                if "as_expr" in size:
                    size["as_expr"]["expr_str"] = text

    return change


def container(document: Any) -> None:
    for call in document["graph_module"]["module_call_graph"]:
        if call["signature"]:
            call["signature"]["in_spec"] = call["signature"]["in_spec"].replace("builtins.tuple", "os.path")


def pickled_weights(found: Parts, mark: Path) -> None:
    name = next(one for one in found if one.endswith("weights_config.json"))
    config = json.loads(found[name])
    for one in config["config"].values():
        one["use_pickle"] = True
    found[name] = json.dumps(config).encode()
    found["data/weights/weight_0"] = pickle.dumps(Evil(mark))


def pickled_inputs(found: Parts, mark: Path) -> None:
    name = next(one for one in found if "sample_inputs" in one)
    file = io.BytesIO()
    torch.save(Evil(mark), file)
    found[name] = file.getvalue()


def opaque_constant(found: Parts, mark: Path) -> None:
    name = next(one for one in found if one.endswith("constants_config.json"))
    found[name] = json.dumps({"config": {"c": {"path_name": "opaque_obj_0", "is_param": False}}}).encode()
    found["data/constants/opaque_obj_0"] = pickle.dumps(Evil(mark))


def compiled(found: Parts, _: Path) -> None:
    found["data/aotinductor/model/model.so"] = b"\x7fELF"


def two_programs(found: Parts, _: Path) -> None:
    found["models/other.json"] = found[model_name(found)]


def one_name_twice(found: Parts, _: Path) -> None:
    found[model_name(found).upper()] = b"{}"


def no_json(found: Parts, _: Path) -> None:
    found[model_name(found)] = b"{" * 100_000


HOSTILE: dict[str, tuple[Callable[[Parts, Path], None], str]] = {
    "pickled weights": (pickled_weights, "as a pickle"),
    "pickled inputs": (pickled_inputs, "sample inputs are a pickle"),
    "an opaque constant": (opaque_constant, "opaque_obj_0"),
    "compiled code": (compiled, "model.so"),
    "two programs": (two_programs, "holds 2 programs"),
    "one name twice": (one_name_twice, "two of its files have one name"),
    "no document": (no_json, "is no JSON"),
    "a function of the system": (graph_changed(calling("torch.os.system")), "torch.os.system"),
    "a loader of libraries": (graph_changed(calling("torch.ops.load_library")), "torch.ops.load_library"),
    "a method of an operator": (graph_changed(calling("torch.ops.aten.add.__globals__")), "__globals__"),
    "a file as a tensor": (graph_changed(calling("torch.ops.aten.from_file.default")), "from_file"),
    "an extent that is a call": (graph_changed(extent("__import__('os').getpid()")), "is no arithmetic"),
    "an extent that asks for more": (graph_changed(extent("s0.__class__")), "is no arithmetic"),
    "an extent without end": (graph_changed(extent("9**9**9**9")), "is no arithmetic"),
    "a large extent": (graph_changed(extent("Pow(Integer(99999999), Integer(99999999))")), "is no arithmetic"),
    "a power of a power": (graph_changed(extent("Pow(Integer(9), Pow(Integer(9), Integer(9)))")), "is no arithmetic"),
    "a container that is a module": (graph_changed(container), "os.path"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_would_be_run_is_refused(kind: str, tmp_path: Path) -> None:
    change, said = HOSTILE[kind]
    mark = tmp_path / "was run"
    found = parts()
    change(found, mark)
    with pytest.raises(ParseError, match=said) as caught:
        from_pytorch(packed(found))
    assert caught.value.code == "R2R-0567"
    assert not mark.exists()


def test_what_is_packed_anew_is_read() -> None:
    mod, params = from_pytorch(packed(parts()))
    assert set(params) == {"weight", "bias"}
    (names,) = mod.dims.values()
    assert names[1] is None
    assert isinstance(names[0], str)


@pytest.mark.parametrize("kept", [0, 1, 100, 1000, -1])
def test_damaged_files_are_refused(kept: int) -> None:
    with pytest.raises(ParseError):
        from_pytorch(packed(parts())[:kept])


# TorchScript knows no annotations that are text.
LOADER = """
import torch
from typing import Tuple


class Loader(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @torch.jit.export
    def __getstate__(self) -> Tuple[torch.Tensor, bool]:
        return torch.zeros(1), self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[torch.Tensor, bool]) -> None:
        torch.save(state[0], "was_run")
        self.training = state[1]
"""


def test_torchscript_that_runs_when_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "running_loader.py").write_text(LOADER)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(importlib.import_module("running_loader").Loader()), file)
    with pytest.raises(ParseError, match="__setstate__"):
        from_pytorch(file.getvalue(), [("x", [2])])
    assert not (tmp_path / "was_run").exists()


def test_a_path_is_read_like_its_content(tmp_path: Path) -> None:
    path = tmp_path / "net.pt2"
    path.write_bytes(packed(parts()))
    mod, params = from_pytorch(path)
    assert relay_ir.infer_type(mod)["main"].ret_type == relay_ir.infer_type(from_pytorch(str(path))[0])["main"].ret_type
    assert params["weight"].dtype == np.float32
