"""What messages of errors say, and where: no sentence stands at two places.

A sentence that two places need is the template of a kind of errors (``core/errors/table``), or a
check that both call. ``house.py`` counts what this module finds.
"""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

TABLE = Path("core", "errors", "table")
# What takes a message first, besides exceptions.
TAKERS = frozenset({"Diagnostic", "error", "fail", "foreign", "problem", "refuse", "refused", "report"})


@dataclass
class Sentences:
    """What was found: places by sentence, fields where holes are; templates by ``area.KIND``."""

    places: dict[str, list[str]] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    unlike: list[str] = field(default_factory=list)

    @property
    def bare(self) -> list[str]:
        """The kinds of errors without a template."""
        return [kind for kind, template in self.templates.items() if not template]

    @property
    def twice(self) -> list[str]:
        """The sentences that stand at several places, with these."""
        return [f"{text!r}: {', '.join(at)}" for text, at in self.places.items() if len(at) > 1]


@cache
def nodes_of(tree: ast.Module) -> list[ast.AST]:
    """Return all nodes of a module. Walking it is most of what counting takes: it is done once."""
    return list(ast.walk(tree))


def find_sentences(trees: Mapping[Path, ast.Module]) -> Sentences:
    """Return the sentences of modules, by their paths from the root."""
    found = Sentences()
    for path, tree in trees.items():
        if path.parent == TABLE:
            found.templates |= {f"{path.stem}.{name}": template for name, template in _kinds(tree)}
    for path, tree in trees.items():
        for call in (node for node in nodes_of(tree) if isinstance(node, ast.Call)):
            text = _said(call)
            if text is not None and text.strip("{} :,.$[]"):
                found.places.setdefault(text, []).append(f"{path.as_posix()}:{call.lineno}")
        found.unlike += (f"{path.as_posix()}:{line}" for line in _unlike(tree, found.templates))
    for kind, template in found.templates.items():
        if template:
            holes = "".join(text + ("{}" if name is not None else "") for text, name, _, _ in _parsed(template))
            found.places.setdefault(holes, []).append(kind)
    return found


def skeleton(node: ast.expr) -> str | None:
    """Return a text with ``{}`` for what is filled in, None for an expression that is none."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in values)
    return None


def _said(call: ast.Call) -> str | None:
    """Return the message that a call is given, if it makes an error or a diagnostic."""
    name = ast.unparse(call.func).rpartition(".")[2].lstrip("_")
    if not call.args or not (name in TAKERS or name.endswith("Error")):
        return None
    # A script's reader is told the node at fault first.
    return next((text for text in map(skeleton, call.args[:2]) if text is not None), None)


def _kinds(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the kinds that a module of the table defines, with their templates."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="ErrorKind"), keywords=given)):
                templates = [ast.literal_eval(one.value) for one in given if one.arg == "template"]
                yield name, templates[0] if templates else ""


def _unlike(tree: ast.Module, templates: Mapping[str, str]) -> Iterator[int]:
    """Yield the lines where a kind's message is not given the fields of its template."""
    areas = {
        one.asname or one.name: one.name
        for node in nodes_of(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("core.errors.table")
        for one in node.names
    }
    for node in nodes_of(tree):
        match node:
            case ast.Call(func=ast.Name(id="mistake"), args=[ast.Attribute(value=ast.Name(id=area), attr=kind), *_]):
                given = {one.arg for one in node.keywords} - {"where", "label"}
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=area), attr=kind), attr="message")):
                given = {one.arg for one in node.keywords}
            case _:
                continue
        template = templates.get(f"{areas.get(area)}.{kind}", "")
        if not template or given != {name for _, name, _, _ in _parsed(template) if name}:
            yield node.lineno


def _parsed(template: str) -> Iterator[tuple[str, str | None, str | None, str | None]]:
    return iter(string.Formatter().parse(template))
