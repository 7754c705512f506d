"""Attributes of functions, loops, blocks and memory out of TVMScript."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from relay2relax.core.errors.table import script
from relay2relax.tir.ir.expr import Buffer, StringImm
from relay2relax.tir.ir.stmt import Target, ThreadAxis
from relay2relax.tir.script.context import ReadContext, Scalars


class AttributeReader:
    """Reads dictionaries of attributes, and what may be a value in them."""

    def __init__(self, context: ReadContext, exprs: Scalars) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.exprs = exprs

    def attributes(self, node: ast.Dict) -> dict[str, object]:
        """Return a dictionary of attributes.

        Typed literals become plain numbers, other scalars expressions.
        """
        found: dict[str, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise self.source.problem(node, "a dictionary is written out", "expected keys and values")
            found[self.source.string(key, "a key")] = self.attribute(value)
        return found

    def attribute(self, node: ast.expr) -> object:
        """Return one value: plain, or of plain values, or an expression, a buffer, a thread, a
        target.
        """
        match node:
            case ast.Dict():
                return self.attributes(node)
            case ast.List(items) | ast.Tuple(items):
                return [self.attribute(item) for item in items]
            case ast.Constant(None):
                return None
            case ast.Name(name) if isinstance(found := self.scopes.lookup(name), (Buffer, ThreadAxis)):
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
            raise self.source.problem(
                node, "`T.target` takes a target", 'expected "llvm" or {"kind": "llvm"}', kind=script.OPERATOR
            )
        told = self.machine(given["target_config"])
        return Target(told, self.machine(given["host"]) if "host" in given else None)

    def machine(self, node: ast.expr) -> str | Mapping[str, object]:
        """Return the text or the table that describes a target, that of a ``T.target`` also."""
        value = self.attribute(node)
        if isinstance(value, Target):
            value = value.value
        if not isinstance(value, (str, dict)):
            raise self.source.problem(node, "this is no target", 'expected "llvm" or {"kind": "llvm"}')
        return value

    def noted(self, node: ast.Call, called: str) -> dict[str, object]:
        """Return the dictionary that ``called`` is given alone."""
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Dict):
            raise self.source.problem(
                node, f"{called} takes a dictionary", "expected one dictionary", kind=script.ARGUMENTS
            )
        return self.attributes(node.args[0])
