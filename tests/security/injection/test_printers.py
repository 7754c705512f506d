"""What the printers of scripts hand to ``Code`` is their own text, names, and quoted text.

mypy refuses an f-string where Code is expected; that templates are constants, and that nobody else
makes Code of text, only a look at the sources says.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
WORDS = "core/words.py"
# Functions whose first, or last, argument becomes part of a program as it is.
TEMPLATES = {"code": 0, "comma": 1}
MAKERS = {"Code", "Quoted", "Identifier"}


def sources() -> Iterator[Path]:
    """Yield the files that import from ``core/words.py``."""
    folders = ("core", "tir", "ops", "relay_ir", "relax_ir", "graph", "backends", "translator", "cli")
    for path in sorted(one for folder in folders for one in (ROOT / folder).rglob("*.py")):
        if "relay2relax.core.words import" in path.read_text() and str(path.relative_to(ROOT)) != WORDS:
            yield path


def is_constant(node: ast.expr) -> bool:
    """Whether ``node`` is text that the source has."""
    if isinstance(node, ast.IfExp):
        return is_constant(node.body) and is_constant(node.orelse)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@pytest.mark.parametrize("path", list(sources()), ids=lambda path: str(path.relative_to(ROOT)))
def test_templates_are_constants(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        place = TEMPLATES.get(node.func.id)
        if place is not None and len(node.args) > place:
            assert is_constant(node.args[place]), f"{path}:{node.lineno} fills a template that is not constant"
        assert node.func.id not in MAKERS, f"{path}:{node.lineno} calls text Code"


def test_printers_are_looked_at() -> None:
    found = {str(path.relative_to(ROOT)) for path in sources()}
    assert found >= {"tir/script/printer.py", "tir/script/expr_printer.py", "relax_ir/script/printer.py",
                     "relax_ir/ir/text.py", "relax_ir/ir/mesh.py"}  # fmt: skip
