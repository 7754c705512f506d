"""What stands around statements in TVMScript: attributes, threads, memory and names that ``with``
opens, and assertions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from relay2relax.core.errors.table import script
from relay2relax.tir.ir.builtins import FOREIGN
from relay2relax.tir.ir.expr import Pointer, StringImm, Var
from relay2relax.tir.ir.stmt import THREAD_KEYS, Assert, Attribute, Let, Stmt, ThreadAxis
from relay2relax.tir.script.attributes import AttributeReader
from relay2relax.tir.script.buffer import BufferReader, is_memory
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.expr import ExpressionReader
from relay2relax.tir.script.scope import Memory, Opened
from relay2relax.tir.script.types import pointer_type, variable


class AroundReader:
    """Reads what holds for the statements after it, or in it."""

    def __init__(
        self, context: ReadContext, exprs: ExpressionReader, attributes: AttributeReader, buffers: BufferReader
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.exprs = exprs
        self.attributes = attributes
        self.buffers = buffers

    def opened(self, name: str, call: ast.expr, called: str | None) -> Opened:
        """Return what ``with call as name:`` puts around its statements."""
        if isinstance(call, ast.Call) and called is not None:
            if called in ("T.attr", "T.launch_thread"):
                return Opened(self.launch(call, name) if called == "T.launch_thread" else self.said(call))
            if is_memory(called) and name:
                for item in self.buffers.memory(name, called, call):
                    if isinstance(item, Opened):
                        return item
            if called == "T.LetStmt" and call.args:
                return self.let(name, call)
        if called is not None and called[2:] in FOREIGN:
            self.exprs.value(call)
        raise self.source.problem(call, f"`with {called or 'this'}` has no form here",
                                  "expected T.sblock(…), T.block(…) or T.init()")  # fmt: skip

    def let(self, name: str, call: ast.Call) -> Opened:
        """``with T.LetStmt(value) as x``, or ``with T.LetStmt(value, var=x)`` of a variable that
        was declared.
        """
        given = self.source.arguments(call, ("value", "type_annotation", "var"))
        value = self.exprs.expr(given["value"])
        var: object = variable(name, value.dtype)
        if "var" in given and isinstance(given["var"], ast.Name):
            var = self.scopes.lookup(given["var"].id)
        elif (
            "type_annotation" in given and (pointer := pointer_type(self.source, given["type_annotation"])) is not None
        ):
            var = Pointer(name, "handle", *pointer)
        if not isinstance(var, Var):
            raise self.source.problem(call, script.MALFORMED.message(what="variable"), "expected the name of one")
        if name:
            self.scopes.define(name, var)
        return Opened(lambda body: Let(var, value, body))

    def launch(self, call: ast.Call, name: str = "") -> Callable[[Stmt], Stmt]:
        """``T.launch_thread``: so many threads run what follows.

        The first argument is their kind, or their number.
        """
        given = self.source.arguments(call, ("thread", "extent"))
        self.source.require(call, given, "thread", "extent")
        extent = self.exprs.expr(given["extent"])
        thread = given["thread"]
        axis = self.scopes.lookup(thread.id) if isinstance(thread, ast.Name) else None
        if isinstance(axis, Var):
            # TVM prints no kind where an attribute speaks of the variable before.
            axis = ThreadAxis(axis, "")
        if axis is None:
            axis = ThreadAxis(Var(name or "thread", extent.dtype), self.source.string(thread, "a kind of thread"))
        if not isinstance(axis, ThreadAxis):
            raise self.source.problem(thread, "this is no kind of thread", "expected a string, or T.env_thread")
        if name:
            self.scopes.define(name, axis)
        key = "virtual_thread" if axis.tag.startswith(("vthread", "cthread")) else "thread_extent"
        return lambda body: Attribute(axis, key, extent, body)

    def said(self, call: ast.Call) -> Callable[[Stmt], Stmt]:
        """``T.attr``: something is said of a node, or, in a dictionary, of the program."""
        if len(call.args) == 1 and isinstance(call.args[0], ast.Dict):
            pairs = self.attributes.attributes(call.args[0])

            def around(body: Stmt) -> Stmt:
                for key, value in reversed(pairs.items()):
                    body = Attribute(0, key, value, body)
                return body

            return around
        given = self.source.arguments(call, ("node", "attr_key", "value"))
        self.source.require(call, given, "node", "attr_key", "value")
        key = self.source.string(given["attr_key"], "a key")
        node = self.about(given["node"])
        # How many threads there are is a scalar.
        read = self.exprs.expr if key in THREAD_KEYS else self.attributes.attribute
        value = read(given["value"])
        return lambda body: Attribute(node, key, value, body)

    def about(self, node: ast.expr) -> object:
        """Return what an attribute is of."""
        if isinstance(node, ast.Name) and isinstance(found := self.scopes.lookup(node.id), Memory):
            return found.buffer
        if self.source.called(node) == "T.iter_var" and isinstance(node, ast.Call):
            given = self.source.arguments(node, ("var", "dom", "iter_type", "thread_tag"))
            self.source.require(node, given, "var", "thread_tag")
            var = given["var"]
            found = self.scopes.lookup(var.id) if isinstance(var, ast.Name) else None
            if isinstance(found, ThreadAxis):
                return found
            if isinstance(found, Var):
                return ThreadAxis(found, self.source.string(given["thread_tag"], "a kind of thread"))
            raise self.source.problem(var, script.MALFORMED.message(what="variable"), "expected the name of one")
        return self.attributes.attribute(node)

    def assertion(self, test: ast.expr, message: ast.expr | None, node: ast.stmt) -> Stmt:
        """``assert condition, message``, or ``(kind, [parts of the message])`` in today's
        scripts.
        """
        condition = self.exprs.operators.boolean(self.exprs.value(test), test)
        match message:
            case None:
                return Assert(condition, (StringImm(""),))
            case ast.Tuple([kind, ast.List(parts)]):
                given = tuple(self.exprs.expr(part) for part in parts)
                return Assert(condition, given, self.source.string(kind, "a kind of error"))
        return Assert(condition, (self.exprs.expr(message),))
