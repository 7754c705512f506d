"""What the names of the Python around a script mean in it.

TVM's parser evaluates every expression of a script as Python. Here only those of live functions are
that consist of names from outside the script and of Python's own: ``width * 2``, ``config.dtype``,
``len(shape)``, ``weight.T``. What they are is put where they stand, as literals, or as names of
arrays; everything else is read as it is written. Names in quotes, as the extents of a signature
are, always mean dimensions.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.script_source import ScriptSource, is_plain, stored_names
from relay2relax.relax_ir.ir.expr import Constant, Function
from relay2relax.tir.ir.expr import PrimExpr
from relay2relax.tir.ir.stmt import PrimFunc

# Words of scripts, whatever they mean around one.
_WORDS = frozenset({"I", "R", "T", "Tx", "tvm", "metadata", "meta", "Tensor", "Shape", "Object", "Tuple", "Callable",
                    "Prim", "Buffer"})  # fmt: skip
_PYTHON = {name: getattr(builtins, name) for name in dir(builtins) if not name.startswith("_")}


class Words:
    """A value that stands for words of a script: its ``repr`` is what it means."""


@dataclass(frozen=True, slots=True)
class Captured:
    """What names of a script stand for: arrays and functions, and scalars."""

    found: Mapping[str, object]
    scalars: Mapping[str, PrimExpr]


def fill_in(source: ScriptSource, outside: Mapping[str, object], live: bool) -> Captured:
    """Put what ``outside`` says into the tree of ``source``; return what cannot stand there, by
    the names for it.

    Expressions are evaluated where the script is ``live``, code of the running program; of a text
    only names are looked up. Raises ScriptProblem, at its place, for an expression that Python
    cannot evaluate.
    """
    filler = _FillIn(source, outside, live)
    if outside.keys() - _WORDS:
        filler.visit(source.tree)
    return Captured(filler.found, filler.scalars)


class _FillIn(ast.NodeTransformer):
    """Walks the tree, knowing which names are the script's own where it is."""

    def __init__(self, source: ScriptSource, outside: Mapping[str, object], live: bool) -> None:
        self.source = source
        self.live = live
        self.outside = outside
        self.own: frozenset[str] = _WORDS | {*source.aliases, *_defined(source.tree.body)}
        self.found: dict[str, object] = {}
        self.scalars: dict[str, PrimExpr] = {}

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.ClassDef(body=body):
                return self.within(node, _defined(body))
            case ast.FunctionDef():
                arguments = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
                return self.within(node, {*stored_names(node), *arguments})
            case ast.Name(ctx=ast.Load()):
                pass
            case ast.expr() if self.live and not isinstance(node, (ast.Constant, ast.Name, ast.Starred, ast.Lambda)):
                pass
            case _:
                return self.generic_visit(node)
        filled = self.filled(node) if self.is_outside(node) else None
        return self.generic_visit(node) if filled is None else filled

    def within(self, node: ast.AST, names: Iterable[str]) -> ast.AST:
        before, self.own = self.own, self.own | {*names}
        try:
            return self.generic_visit(node)
        finally:
            self.own = before

    def is_outside(self, node: ast.AST) -> bool:
        """Whether ``node`` speaks of nothing but names from outside, at least one, and of
        Python's.
        """
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return False
        bound = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        free = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - bound
        given = {name for name in free if name in self.outside}
        return bool(given) and not free & self.own and free - given <= _PYTHON.keys()

    def filled(self, node: ast.AST) -> ast.AST | None:
        """Return what stands for the value of ``node``; None where no script can hold it."""
        assert isinstance(node, ast.expr)
        if isinstance(node, ast.Name):
            value = self.outside[node.id]
        else:
            try:
                value = eval(compile(ast.Expression(node), self.source.text.name, "eval"), {**self.outside})  # noqa: S307
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
                raise self.source.problem(node, "Python cannot evaluate this", said) from error
        replacement = self.written(value, node)
        for one in ast.walk(replacement) if replacement is not None else ():
            ast.copy_location(one, node)
        return replacement

    def written(self, value: object, node: ast.expr) -> ast.expr | None:
        if isinstance(value, (np.integer, np.bool_)):
            value = value.item()
        if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
            value = np.dtype(value).name
        if isinstance(value, Constant):
            value = value.data
        if isinstance(value, Words):
            return ast.parse(repr(value), mode="eval").body
        if is_plain(value):
            return _literal(value)
        if isinstance(value, PrimExpr):
            return self.named(value, node, self.scalars)
        if isinstance(value, (PrimFunc, Function)) or (hasattr(value, "__array__") and not isinstance(value, type)):
            return self.named(value, node, self.found)
        return None

    def named(self, value: object, node: ast.expr, table: dict[str, Any]) -> ast.Name:
        name = node.id if isinstance(node, ast.Name) else f"outside{len(table)}"
        while not isinstance(node, ast.Name) and (name in self.outside or name in self.own or name in table):
            name += "_"
        table[name] = value
        return ast.Name(name, ast.Load())


def _defined(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements define, not looking into functions and classes."""
    found: set[str] = set()
    for node in body:
        match node:
            case ast.FunctionDef(name) | ast.ClassDef(name):
                found.add(name)
            case ast.Assign(targets):
                found |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return found


def _literal(value: Any) -> ast.expr:
    """Return the expression that a plain value is written as."""
    match value:
        case float() if not math.isfinite(value):
            return ast.Call(ast.Name("float", ast.Load()), [ast.Constant(str(value))], [])
        case int() | float() if not isinstance(value, bool) and (value < 0 or math.copysign(1, value) < 0):
            return ast.UnaryOp(ast.USub(), ast.Constant(-value))
        case list():
            return ast.List([_literal(one) for one in value], ast.Load())
        case tuple():
            return ast.Tuple([_literal(one) for one in value], ast.Load())
        case dict():
            return ast.Dict([ast.Constant(key) for key in value], [_literal(one) for one in value.values()])
    return ast.Constant(value)
