"""What a PrimFunc says of itself in TVMScript: parameters, their buffers, symbols, attributes."""

from __future__ import annotations

import ast

from relay2relax.core.errors.table import script
from relay2relax.tir.ir.expr import Buffer, Pointer, Var
from relay2relax.tir.script.attributes import AttributeReader
from relay2relax.tir.script.buffer import BufferReader
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.dialect import TODAY
from relay2relax.tir.script.types import is_dtype, pointer_type


class SignatureReader:
    """Reads parameters, and the statements that speak of them or of the whole function."""

    def __init__(self, context: ReadContext, attributes: AttributeReader, buffers: BufferReader) -> None:
        self.source = context.source
        self.dialect = context.dialect
        self.scopes = context.scopes
        self.attributes = attributes
        self.buffers = buffers
        self.params: list[Var] = []
        self.buffer_map: dict[Var, Buffer] = {}
        self.matched: set[Var] = set()
        self.attrs: dict[str, object] = {}

    def parameter(self, argument: ast.arg) -> None:
        """Read one parameter."""
        annotation = argument.annotation and self.source.quoted(argument.annotation, "type of a parameter")
        if annotation is None:
            raise self.source.problem(
                argument,
                f"the parameter `{argument.arg}` has no type",
                "expected T.Buffer(…), T.handle or a scalar type",
                kind=script.ARGUMENTS,
            )
        called = annotation.func if isinstance(annotation, ast.Call) else annotation
        if isinstance(annotation, ast.Subscript):
            called = annotation.value
        name = self.source.dotted(called) or ""
        if name in ("T.Buffer", "Buffer"):
            var = Var(f"{argument.arg}_handle", "handle")
            self.buffer_map[var] = self.buffers.buffer_of(argument.arg, annotation, signature=True)
            self.params.append(var)
            self.scopes.define(argument.arg, self.buffer_map[var])
            return
        pointer = pointer_type(self.source, annotation)
        if pointer is not None:
            var = Pointer(argument.arg, "handle", *pointer)
            self.params.append(var)
            self.scopes.define(argument.arg, var)
            return
        short = name.removeprefix("T.")
        if not name.startswith("T.") or not is_dtype(short):
            raise self.source.problem(
                annotation,
                "this is no type of a parameter",
                "expected T.Buffer(…), T.handle or a scalar type",
                kind=script.ARGUMENTS,
            )
        known = self.scopes.lookup(argument.arg)
        # An extent of a buffer before it may have named it.
        dtype = "bool" if short == "boolean" else short
        var = known if isinstance(known, Var) and known.dtype == dtype else Var(argument.arg, dtype)
        self.params.append(var)
        self.scopes.define(argument.arg, var)

    def declaration(self, name: str, node: ast.Call, called: str) -> bool:
        """Read a statement that declares a parameter's buffer or a symbol.

        Return whether it is one.
        """
        if called == "T.match_buffer":
            handle = self.scopes.lookup(node.args[0].id) if node.args and isinstance(node.args[0], ast.Name) else None
            if not isinstance(handle, Var) or handle not in self.params or handle.dtype != "handle":
                raise self.source.problem(node, "T.match_buffer is of a parameter of type T.handle",
                                          "expected the name of one first", kind=script.ARGUMENTS)  # fmt: skip
            if handle in self.matched:
                raise self.source.problem(node, f"`{handle.name}` has a buffer already", "matched twice")
            self.matched.add(handle)
            self.buffer_map[handle] = self.buffers.buffer_of(name, node, skip=1)
            self.scopes.define(name, self.buffer_map[handle])
            return True
        symbol = self.buffers.symbol(name, node)
        if symbol is not None:
            if not isinstance(self.scopes.lookup(name), Var):
                self.scopes.define(name, symbol)
            return True
        return False

    def function_attributes(self, node: ast.Call) -> None:
        """Read ``T.func_attr``."""
        found: dict[str, object] = {}
        for name, value in self.attributes.noted(node, "T.func_attr").items():
            # Classic scripts call by other names what is kept under the names of today.
            is_ours = name.startswith(self.dialect.attributes)
            found[TODAY.attributes + name.removeprefix(self.dialect.attributes) if is_ours else name] = value
        self.source.once(self.attrs, found, node)
