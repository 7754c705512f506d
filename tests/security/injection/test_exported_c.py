"""Exported C compiles and says the same whatever parameters and the model are called."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import sweep
from injected.payloads import HARMLESS, PAYLOADS

from relay2relax import backends, translator
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.build.build import call_op
from relay2relax.relay_ir.ir.expr import Function, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.tir.extent import ANY

TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|[A-Za-z_]\w*|\d[\w.]*|\S')
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def exported(word: str, folder: Path) -> dict[str, str]:
    """Return the C files of a program whose every name is ``word``, by what they are."""
    param = Var(word, TensorType((ANY, 4), "float32"))
    record = relay_op("nn.relu")
    assert record is not None
    module = IRModule.from_expr(Function((param,), call_op(record, [param], {})))
    program = translator.translate(module, "tir", dims={word: ("rows", None)})
    backends.export_c(program, folder, name=word)
    return {path.suffix if path.name != "main.c" else "main": path.read_text() for path in sorted(folder.iterdir())}


def sense(text: str) -> list[str]:
    """Return the tokens of C text; each of its names is the number of its first place."""
    names: dict[str, str] = {}
    found = TOKEN.findall(COMMENT.sub(" ", text))
    return ["text" if one[0] == '"' else names.setdefault(one, f"name{len(names)}") if one[0].isalpha() else one
            for one in found]  # fmt: skip


@pytest.mark.parametrize("word", list(sweep.sampled(PAYLOADS, 1)), ids=ascii)
def test_c_says_the_same(word: str, tmp_path: Path) -> None:
    texts, expected = exported(word, tmp_path / "word"), exported(HARMLESS, tmp_path / "harmless")
    assert texts.keys() == expected.keys()
    for kind in (".c", ".h", "main"):
        assert sense(texts[kind]) == sense(expected[kind])
        assert all(char.isprintable() or char == "\n" for char in texts[kind])
    sources = sorted(str(path) for path in (tmp_path / "word").glob("*.c"))
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", str(tmp_path / "word")]
    checked = subprocess.run(["gcc", *flags, *sources], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
