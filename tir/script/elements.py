"""Buffers and their elements in expressions of TVMScript."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from relay2relax.core import dtype as dt
from relay2relax.core.errors.table import script
from relay2relax.core.script_source import counted
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    IntImm,
    OperandError,
    PrimExpr,
    Ramp,
    binary,
    cast,
    const,
    vector_dtype,
)
from relay2relax.tir.script.context import ReadContext, Scalars
from relay2relax.tir.script.operators import Operators


class ElementReader:
    """Reads buffers by name, their elements, and slices that stand for lanes of vectors."""

    def __init__(
        self, context: ReadContext, lookup: Callable[[str], object], operators: Operators, exprs: Scalars
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.lookup = lookup
        self.operators = operators
        self.exprs = exprs

    def buffer(self, node: ast.AST) -> Buffer:
        """Return the buffer that ``node`` names."""
        if not isinstance(node, ast.Name):
            raise self.source.problem(node, "this is no buffer", "expected the name of a buffer")
        found = self.lookup(node.id)
        if found is None:
            raise self.source.undefined(node, node.id, self.scopes.names(), "buffer")
        if not isinstance(found, Buffer):
            raise self.source.problem(node, f"`{node.id}` is no buffer", "expected the name of a buffer")
        return found

    def load(self, target: ast.AST, index: ast.AST) -> PrimExpr:
        buffer = self.buffer(target)
        return BufferLoad(buffer, self.indices(buffer, index))

    def check_count(self, buffer: Buffer, parts: Sequence[ast.AST], node: ast.AST) -> None:
        """Raise where there are more or fewer indices than dimensions."""
        if len(parts) != len(buffer.shape):
            title = f"the buffer `{buffer.name}` has {counted(len(buffer.shape), 'dimension')}"
            label = f"{len(parts)} given, expected {len(buffer.shape)}"
            raise self.source.problem(node, title, label, kind=script.ARGUMENTS)

    def indices(self, buffer: Buffer, index: ast.AST) -> tuple[PrimExpr, ...]:
        """Return the indices of an element of ``buffer``; a slice stands for the lanes of a
        vector.
        """
        parts = index.elts if isinstance(index, (ast.Tuple, ast.List)) else [index]
        self.check_count(buffer, parts, index)
        found = tuple(self.ramp(part) if isinstance(part, ast.Slice) else self.exprs.expr(part) for part in parts)
        for expr, part in zip(found, parts, strict=True):
            if not dt.is_int(expr.dtype):
                raise self.source.problem(part, f"an index has dtype {expr.dtype}", "expected an integer")
        return found

    def ramp(self, node: ast.Slice) -> PrimExpr:
        """Return ``begin:end:step`` as an index."""
        if node.lower is None or node.upper is None:
            raise self.source.problem(node, "a slice of lanes has a begin and an end", "expected begin:end")
        begin, end = self.exprs.value(node.lower), self.exprs.value(node.upper)
        dtype = next((part.dtype for part in (begin, end) if isinstance(part, PrimExpr)), self.operators.int_dtype)
        first, last = (
            cast(dtype, self.operators.typed(begin, node, dtype)),
            cast(dtype, self.operators.typed(end, node, dtype)),
        )
        step = self.exprs.expr(node.step, dtype) if node.step is not None else const(1, dtype)
        length = simplify(binary("-", last, first))
        if step != IntImm(1, dtype) and not isinstance(length, IntImm):
            return Ramp(first, step, self.lanes(simplify(binary("//", length, step)), node))
        if isinstance(length, IntImm) and isinstance(step, IntImm) and step.value:
            count: PrimExpr = IntImm(length.value // step.value, "int32")
            if length.value // step.value < 1:
                raise self.source.problem(node, "a slice of lanes has at least one lane", "expected begin < end")
            return first if length.value == step.value else Ramp(first, step, count)
        match last:
            case Binary("+", start, count) if start == first and step == IntImm(1, dtype):
                return Ramp(first, step, self.lanes(count, node))
        return Ramp(first, step, self.lanes(length, node))

    def lanes(self, count: PrimExpr, node: ast.AST) -> PrimExpr:
        """Return ``count`` where vectors can have so many lanes."""
        try:
            vector_dtype("int32", count)
        except OperandError:
            raise self.source.problem(node, "how many lanes there are is not known", "expected a number") from None
        return count
