"""Names of a script, and what every reader of tensor programs needs: expressions, attributes,
mistakes.
"""

from __future__ import annotations

import ast
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union

from relay2relax.core.script_scope import Names
from relay2relax.core.script_source import Poison, ScriptProblem, ScriptSource, stored_names
from relay2relax.tir.ir.expr import Buffer, BufferData, BufferLoad, IntImm, PrimExpr, StringImm, Var
from relay2relax.tir.ir.stmt import Stmt, Target, ThreadAxis
from relay2relax.tir.script.assignments import declared_symbols
from relay2relax.tir.script.expr import ExpressionReader


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """A name for one element of memory."""

    buffer: Buffer


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A name for the address of memory, in which other buffers lie."""

    buffer: Buffer


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """Something that holds for the statements after it, as a statement around them."""

    around: Callable[[Stmt], Stmt]


Item = Union[Stmt, Opened]


class ScopeReader(Names, ABC):
    """Reads what is of use to every reader of tensor programs."""

    symbol_dtypes: dict[str, str]

    def __init__(self, source: ScriptSource, node: ast.FunctionDef) -> None:
        super().__init__(source)
        self.exprs = ExpressionReader(source, self.scalar, "int32")
        self.exprs.known = self.names
        # Where the variables of loops begin (None: at 0), and how far they go.
        self.ranges: dict[Var, tuple[PrimExpr | None, PrimExpr]] = {}
        self.alone = node in source.tree.body
        self.symbol_dtypes = declared_symbols(source, node.body)
        within = [one for one in ast.walk(node) if isinstance(one, ast.Assign) and one not in node.body]
        self.later = declared_symbols(source, within)

    def scalar(self, name: str) -> Any:
        match found := self.lookup(name):
            case Local(buffer):
                return BufferLoad(buffer, (IntImm(0, "int32"),))
            case Memory(buffer):
                return BufferData(buffer)
            case ThreadAxis(var):
                return var
            case None if name in self.later:
                # TVM may print a variable before its declaration.
                found = self.scopes[0][name] = Var(name, self.later[name])
        return found

    def checked(self, read: Callable[[], Any]) -> Any:
        """Return what ``read`` returns; a mistake is put down, and None returned."""
        try:
            return read()
        except ScriptProblem as problem:
            self.source.put_down(problem)
            return None

    def forget(self, node: ast.stmt) -> None:
        """Let the names that a mistaken statement assigns be known, so that one mistake is reported
        once.
        """
        for name in stored_names(node):
            if self.find(name) is None:
                self.define(name, Poison())

    # Attributes.

    def attributes(self, node: ast.Dict) -> dict[str, Any]:
        """Return a dictionary of attributes.

        Typed literals become plain numbers, other scalars expressions.
        """
        found: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise self.source.problem(node, "a dictionary is written out", "expected keys and values")
            found[self.source.string(key, "a key")] = self.attribute(value)
        return found

    def attribute(self, node: ast.expr) -> Any:
        match node:
            case ast.Dict():
                return self.attributes(node)
            case ast.List(items) | ast.Tuple(items):
                return [self.attribute(item) for item in items]
            case ast.Constant(None):
                return None
            case ast.Name(name) if isinstance(found := self.lookup(name), (Buffer, ThreadAxis)):
                return found
        called = self.source.called(node)
        if called in ("T.bool", "T.float64") and isinstance(node, ast.Call):
            return self.source.literal(node)
        if called == "T.target" and isinstance(node, ast.Call):
            return self.target(node)
        value = self.exprs.value(node)
        return value.value if isinstance(value, StringImm) else value

    def target(self, node: ast.Call) -> Target:
        """Read ``T.target``: a text, or a table whose values are texts, numbers and lists."""
        given = self.source.arguments(node, ("target_config", "host"))
        if "target_config" not in given:
            raise self.source.problem(node, "`T.target` takes a target", 'expected "llvm" or {"kind": "llvm"}')
        values = {name: self.attribute(value) for name, value in given.items()}
        for name, value in values.items():
            if not isinstance(value, (str, dict, Target)):
                raise self.source.problem(given[name], "this is no target", 'expected "llvm" or {"kind": "llvm"}')
        host = values.get("host")
        return Target(values["target_config"], host.value if isinstance(host, Target) else host)

    def noted(self, node: ast.Call, called: str) -> dict[str, Any]:
        """Return the dictionary that ``called`` is given alone."""
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Dict):
            raise self.source.problem(node, f"{called} takes a dictionary", "expected one dictionary")
        return self.attributes(node.args[0])
