"""The examples that are written in TVMScript run and print what they should."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from golden_folder import load_module

from relay2relax import relax_ir as rx

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name: str) -> ModuleType:
    return load_module(f"example_{name}", EXAMPLES / f"{name}.py")


@pytest.mark.parametrize(
    "target",
    ["numpy", pytest.param("c", marks=pytest.mark.compiler), pytest.param("tvm", marks=pytest.mark.tvm)],
)
def test_relax_abstraction(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    load("relax_abstraction").main(target)
    printed = capsys.readouterr().out
    assert "lv = R.call_tir(cls.linear, (x, w0, b0), R.Tensor((n, 256)" in printed
    assert re.findall(r"(\d) x 784 -> \((\d), 10\)", printed) == [("1", "1"), ("3", "3")] * 2
    # Sugar becomes operators, one binding each.
    assert "R.matmul(data, w0)" in printed
    assert "R.add(lv, b0)" in printed


def test_end_to_end_models(capsys: pytest.CaptureFixture[str]) -> None:
    example = load("end_to_end_models")
    example.main()
    printed = capsys.readouterr().out
    predictions = dict(re.findall(r"^(.*) Prediction: (.*)$", printed, re.MULTILINE))
    assert list(predictions) == [
        "NumPy-MLP",
        "Low-level Numpy MLP",
        "Low-level Numpy with CallTIR",
        "MyModule",
        "MyModuleWithExternCall",
        "MyModuleMixture",
        "MyModuleWithParams",
        "TwoBlocks",
    ]
    assert len(set(predictions.values())) == 1
    assert "no function 'env.linear' is registered" in printed
    # Bound parameters leave the signature, and stand in a table that is not shown.
    assert 'def main(x: R.Tensor((1, 784), dtype="float32")) -> ' in printed
    assert (
        'R.call_tir(cls.linear0, (x, metadata["relax.expr.Constant"][0], metadata["relax.expr.Constant"][1])' in printed
    )
    # The sample of the chapter passes a (1, 128) tensor where linear1 takes (10, 128): said with
    # line and caret.
    assert re.search(r"argument 1 of linear1: dimension 0 is 1, expected 10 \(.*end_to_end_models.py:\d+:19\)", printed)


def texts_of(example: ModuleType) -> dict[str, str]:
    """Return the decorated definitions of an example as they stand in its file."""
    text = Path(str(example.__file__)).read_text()
    lines = text.splitlines(keepends=True)
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.decorator_list:
            found[node.name] = "".join(lines[node.decorator_list[0].lineno - 1 : node.end_lineno])
    return found


@pytest.mark.parametrize("name", ["relax_abstraction", "end_to_end_models"])
def test_modules_are_read_from_their_text_as_well(name: str) -> None:
    """What the decorators make of a definition, ``parse`` makes of its text.

    Printed, it is read as the same.
    """
    example = load(name)
    for title, text in texts_of(example).items():
        made = getattr(example, title)
        module = made if isinstance(made, rx.IRModule) else rx.IRModule({rx.GlobalVar(title): made})
        if "MyModule[" not in text:
            read = rx.parse(text.replace("@script.", "@tvm.script."), title)
            assert rx.first_difference(read, module) is None
        for dialect in ("tvm", "tvm-0.18"):
            printed = module.script(dialect)
            assert rx.parse(printed).script(dialect) == printed


def test_end_to_end_models_without_torch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    load("end_to_end_models").main()
    assert "the library is numpy" in capsys.readouterr().out


@pytest.mark.compiler
def test_end_to_end_models_in_c(capsys: pytest.CaptureFixture[str]) -> None:
    load("end_to_end_models").main("c")
    assert "MyModuleWithParams Prediction" in capsys.readouterr().out


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_end_to_end_models_in_tvm(capsys: pytest.CaptureFixture[str]) -> None:
    """TVM's machine calls the functions that are registered here."""
    load("end_to_end_models").main("tvm")
    assert "MyModuleWithParams Prediction" in capsys.readouterr().out


def test_library_functions_write_into_the_memory_they_are_given() -> None:
    torch = pytest.importorskip("torch")
    example = load("end_to_end_models")
    assert example.register_library() == "torch"
    from relay2relax.backends.runtime.registry import find_func

    out = np.zeros((1, 2), np.float32)
    x, w, b = np.ones((1, 3), np.float32), np.ones((2, 3), np.float32), np.zeros(2, np.float32)
    find_func("env.linear")(x, w, b, out)
    np.testing.assert_array_equal(out, [[3, 3]])
    shared: Any = torch.from_dlpack(out)
    shared[0, 0] = 7
    assert out[0, 0] == 7


@pytest.mark.parametrize(
    "target",
    ["numpy", pytest.param("c", marks=pytest.mark.compiler), pytest.param("tvm", marks=pytest.mark.tvm)],
)
@pytest.mark.sweep(every=2)
def test_library_and_programs(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    load("library_and_programs").main(target)
    printed = capsys.readouterr().out
    assert "library and operators: no programs" in printed
    assert "fused: fused_matmul1_add1, fused_matmul_add_relu" in printed
    if target != "tvm":
        assert "the same instructions: True" in printed
