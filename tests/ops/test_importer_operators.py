"""Every operator that the importers of the installed TVM emit has a record, or a reason why it has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from relay2relax.ops import relax_op
from relay2relax.relax_ir.tvm_operators import foreign_op, operator_names, signature

# Operators that importers emit and that have no record.
WITHOUT_RECORD = {
    "assert_op": "it has an effect and no value: the machine calls relax.run.assert_op",
    "null_value": "it stands for an argument that is left out, which no tensor is",
}


def emitted() -> set[str]:
    """Return the names after ``relax.op.`` in the sources of the ONNX and PyTorch importers."""
    frontend = pytest.importorskip("tvm.relax.frontend")
    root = Path(frontend.__file__).parent
    files = [path for folder in ("onnx", "torch") for path in sorted((root / folder).glob("*.py"))]
    assert len(files) > 4
    return {name for path in files for node in ast.walk(ast.parse(path.read_text())) for name in _operator(node)}


def _operator(node: ast.AST) -> Iterator[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name) and [node.id, *parts[:1]] == ["relax", "op"] and parts[1:]:
        yield ".".join(parts[1:])


def registered() -> set[str]:
    """Return the names of the operators that the installed TVM registers, without ``relax.``."""
    import tvm

    return {str(name)[6:] for name in tvm.ir.Op.list_op_names() if str(name).startswith("relax.")}


@pytest.mark.tvm
def test_every_operator_of_the_importers_has_a_record_or_a_reason() -> None:
    names = emitted() & registered()
    assert len(names) > 130
    assert {name for name in names if relax_op(name) is None} == set(WITHOUT_RECORD)


@pytest.mark.tvm
def test_every_operator_of_the_installed_tvm_is_known_by_name() -> None:
    known = set(operator_names())
    # Those that scripts cannot write are calls of other things, or one operator with another.
    unsaid = {
        name for name in registered() - known if relax_op(name) is None and not name.startswith(("builtin.", "vm."))
    }
    assert unsaid <= {"nn.attention_bias", "invoke_closure"}, unsaid


@pytest.mark.parametrize("name", operator_names())
def test_names_are_read_or_kept(name: str) -> None:
    assert signature(name) is not None
    found: Any = relax_op(name) or foreign_op(name)
    assert found is not None
