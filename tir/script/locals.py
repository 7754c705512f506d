"""Elements of buffers and locals out of TVMScript: whatever an assignment gives a value to."""

from __future__ import annotations

import ast
from dataclasses import replace

from relay2relax.core import dtype as dt
from relay2relax.tir.ir.expr import Call, IntImm, Pointer, PrimExpr, Var, accessed_dtype, cast
from relay2relax.tir.ir.stmt import BufferStore, Let, Stmt
from relay2relax.tir.script.buffer import BufferReader
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.expr import ExpressionReader
from relay2relax.tir.script.scope import Item, Local, Opened
from relay2relax.tir.script.types import is_dtype, pointer_type, variable


class LocalReader:
    """Reads what is stored, and names for values."""

    def __init__(self, context: ReadContext, exprs: ExpressionReader, buffers: BufferReader) -> None:
        self.source = context.source
        self.dialect = context.dialect
        self.scopes = context.scopes
        self.exprs = exprs
        self.buffers = buffers

    def store(self, target: ast.expr, index: ast.expr, value: ast.expr) -> Stmt:
        buffer = self.exprs.elements.buffer(target)
        indices = self.exprs.elements.indices(buffer, index)
        return BufferStore(buffer, indices, self.converted(value, accessed_dtype(buffer, indices)))

    def converted(self, node: ast.expr, dtype: str) -> PrimExpr:
        value = self.exprs.operators.lanes_alike(self.exprs.operators.typed(self.exprs.value(node), node, dtype), dtype)
        if isinstance(value, Call) and dtype == "handle" and value.name.startswith(("call_packed", "call_cpacked")):
            # What a packed function returns does not stand in the script.
            value = replace(value, dtype=dtype)
        if (dtype == "handle") != (value.dtype == "handle") or dt.lanes_of(dtype) != dt.lanes_of(value.dtype):
            raise self.source.problem(node, f"a value of dtype {value.dtype} is stored as {dtype}", f"expected {dtype}")
        return cast(dtype, value)

    def masked_store(self, node: ast.Call) -> Stmt:
        """``A.vstore([i], value, predicate=mask)``."""
        assert isinstance(node.func, ast.Attribute)
        given = self.source.arguments(node, ("indices", "value", "predicate"))
        self.source.require(node, given, "indices", "value")
        buffer = self.exprs.elements.buffer(node.func.value)
        indices = self.exprs.elements.indices(buffer, given["indices"])
        value = self.converted(given["value"], accessed_dtype(buffer, indices))
        mask = self.exprs.expr(given["predicate"]) if "predicate" in given else None
        return BufferStore(buffer, indices, value, mask)

    def local(self, name: str, value: ast.expr, dtype: str, mutable: bool) -> list[Item]:
        """A name for a value.

        In the scripts of today, a name that is merely assigned is one element of memory.
        """
        found = self.scopes.lookup(name)
        if isinstance(found, Local):
            return [BufferStore(found.buffer, (IntImm(0, "int32"),), self.converted(value, found.buffer.dtype))]
        expr = self.converted(value, dtype) if dtype else self.exprs.expr(value)
        if mutable and self.dialect.today and expr.dtype != "handle":
            return self.buffers.element(name, expr.dtype, expr)
        return [self.bound(variable(name, expr.dtype), expr)]

    def bound(self, var: Var, value: PrimExpr) -> Item:
        self.scopes.define(var.name, var)
        return Opened(lambda body: Let(var, value, body))

    def annotated(self, target: ast.Name, annotation: ast.expr, value: ast.expr | None) -> list[Item]:
        inner = annotation
        is_let = False
        if isinstance(annotation, ast.Subscript) and self.source.dotted(annotation.value) == "T.let":
            inner, is_let = annotation.slice, True
        dotted = self.source.dotted(inner) or ""
        if dotted == "T.let" and value is not None:
            return self.local(target.id, value, "", mutable=False)
        pointer = pointer_type(self.source, inner)
        if pointer is not None and value is not None:
            return [self.bound(Pointer(target.id, "handle", *pointer), self.converted(value, "handle"))]
        if not dotted.startswith("T.") or not is_dtype(dotted[2:]) or (value is None and is_let):
            raise self.source.problem(annotation, "this is no type of a local", "expected T.let[…] or a scalar type")
        if value is None:
            return self.buffers.element(target.id, dotted[2:])
        return self.local(target.id, value, dotted[2:], mutable=not is_let)
