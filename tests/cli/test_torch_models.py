"""Programs of PyTorch's behind the same commands as Relay: told by their content, with their own
weights.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_here

torch = pytest.importorskip("torch")

LAYER = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()).eval()
X = torch.arange(8, dtype=torch.float32).reshape(2, 4) - 3


def exported() -> bytes:
    file = io.BytesIO()
    torch.export.save(torch.export.export(LAYER, (X,)), file)
    return file.getvalue()


def script(module: Any) -> bytes:
    file = io.BytesIO()
    torch.jit.save(module, file)
    return file.getvalue()


WRITERS: dict[str, tuple[Callable[[], bytes], tuple[str, ...]]] = {
    "net.pt2": (exported, ()),
    "traced.pt": (lambda: script(torch.jit.trace(LAYER, X)), ()),
    "scripted.pt": (lambda: script(torch.jit.script(LAYER)), ("--dims", "input=2,4")),
}


@pytest.mark.parametrize("name", WRITERS)
def test_run_gives_what_pytorch_computes(name: str, tmp_path: Path) -> None:
    write, options = WRITERS[name]
    (tmp_path / name).write_bytes(write())
    np.savez(tmp_path / "in.npz", input=X.numpy())
    line: tuple[str | Path, ...] = (
        "run",
        tmp_path / name,
        *options,
        "--inputs",
        tmp_path / "in.npz",
        "-o",
        tmp_path / "out.npz",
    )
    done = run_here(line, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_allclose(found[found.files[0]], LAYER(X).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_convert_takes_the_weights_along(tmp_path: Path) -> None:
    (tmp_path / "net.pt2").write_bytes(exported())
    done = run_here(("convert", "net.pt2", "--json", "--no-check"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["weights"], summary["inputs"]) == (["0.weight", "0.bias"], ["input"])


def test_a_script_without_shapes_says_how_to_state_them(tmp_path: Path) -> None:
    (tmp_path / "net.pt").write_bytes(script(torch.jit.script(LAYER)))
    done = run_here(("inspect", "net.pt"), cwd=tmp_path)
    assert done.returncode != 0
    assert "--dims input=1,3" in done.stderr


def test_a_pickled_module_is_refused(tmp_path: Path) -> None:
    torch.save(LAYER, tmp_path / "net.pt")
    done = run_here(("inspect", "net.pt"), cwd=tmp_path)
    assert done.returncode != 0
    assert "a whole module is read as torch.export.save writes it" in done.stderr
