"""The page of environment variables has those that the source looks at, and no other."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator

from doc_pages import ROOT

PAGE = ROOT / "docs" / "reference" / "environment.md"
FOLDERS = ("core", "tir", "ops", "relay_ir", "relax_ir", "graph", "backends", "translator", "cli", "relay2relax")


def looked_up(node: ast.AST) -> ast.expr | None:
    """Return the name that an expression looks up in the environment, None where it is no such."""
    match node:
        case ast.Subscript(ast.Attribute(ast.Name("os"), "environ"), name):
            return name
        case ast.Call(ast.Attribute(ast.Attribute(ast.Name("os"), "environ")), [name, *_]):
            return name
        case ast.Call(ast.Attribute(ast.Name("os"), "getenv" | "putenv" | "unsetenv"), [name, *_]):
            return name
    return None


def source_names() -> Iterator[str]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text()
            if "environ" not in text and "env(" not in text:
                continue
            tree = ast.parse(text)
            found = [name for node in ast.walk(tree) if (name := looked_up(node)) is not None]
            # Every mention is one that is understood.
            mentions = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and "environ" in node.attr]
            assert len(mentions) <= len(found), path
            module = importlib.import_module(".".join(["relay2relax", *path.relative_to(ROOT).with_suffix("").parts]))
            for name in found:
                yield str(name.value if isinstance(name, ast.Constant) else getattr(module, ast.unparse(name)))


def test_every_variable_is_on_the_page() -> None:
    table = PAGE.read_text().partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == sorted(set(source_names()))


def test_exported_libraries_look_at_none() -> None:
    for path in (ROOT / "backends" / "c").rglob("*.py"):
        assert "getenv" not in path.read_text(), path
