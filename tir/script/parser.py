"""PrimFuncs out of TVMScript: ``signature.py`` reads the head, ``stmt.py`` the body.

    func = read_prim_func(context, node)         # node: the function's syntax tree

All of ``T.Buffer(…)``, ``T.Buffer[…]``, ``T.handle`` with ``T.match_buffer``, and scalars are read.
What the script leaves out is found: ``T.reads`` and ``T.writes`` from the statements, the outputs
as the last buffers that are written.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import partial

from relay2relax.core.script_source import Poison, ScriptSource
from relay2relax.tir.ir.expr import IntImm
from relay2relax.tir.ir.stmt import NO_ALIAS, BlockRealize, Evaluate, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import statements, written_buffers
from relay2relax.tir.script.attributes import AttributeReader
from relay2relax.tir.script.buffer import BufferReader
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.expr import ExpressionReader
from relay2relax.tir.script.scope import Frames, ProgramNames
from relay2relax.tir.script.signature import SignatureReader
from relay2relax.tir.script.stmt import StatementReader
from relay2relax.tir.script.types import is_dtype

_OPTIONS = ("private", "check_well_formed", "s_tir", "is_stir")


def is_prim_func(source: ScriptSource, node: ast.FunctionDef) -> bool:
    """Whether ``node`` is decorated as a PrimFunc."""
    return any(_decorator(source, one) == "T.prim_func" for one in node.decorator_list)


def _decorator(source: ScriptSource, node: ast.expr) -> str | None:
    return source.dotted(node.func if isinstance(node, ast.Call) else node)


def read_prim_func(context: ReadContext, node: ast.FunctionDef) -> PrimFunc | None:
    """Return the PrimFunc that ``node`` defines.

    ``context`` has no names yet, and is this function's alone. None where mistakes, put into the
    source's ``problems``, prevent that.
    """
    before = len(context.source.problems)
    func = context.source.attempt(lambda: _PrimFuncReader(context, node).read())
    return func if len(context.source.problems) == before else None


class _PrimFuncReader:
    """One function: makes the readers of its parts, and puts together what they find."""

    def __init__(self, context: ReadContext, node: ast.FunctionDef) -> None:
        self.context = context
        self.source = context.source
        self.node = node
        self.frames = Frames()
        names = ProgramNames(context, node)
        exprs = ExpressionReader(context, names.scalar, "int32")
        attributes = AttributeReader(context, exprs)
        buffers = BufferReader(context, names, exprs, attributes, self.frames)
        self.signature = SignatureReader(context, attributes, buffers)
        self.body = StatementReader(context, names, exprs, attributes, buffers, self.frames, self.signature)

    def read(self) -> PrimFunc:
        """Return the function; mistakes in its statements are put down."""
        for argument in self.source.plain_parameters(self.node, "a PrimFunc"):
            before = len(self.source.problems)
            self.source.within_limits(
                argument, partial(self.source.attempt, partial(self.signature.parameter, argument))
            )
            if len(self.source.problems) > before:
                self.context.scopes.define(argument.arg, Poison())
        body = self.body.statements(self.node.body)
        if _is_nothing(body):
            body = Seq(())
        signature, root = self.signature, self.frames.root
        attrs = {name: value for name, value in signature.attrs.items() if name != NO_ALIAS}
        if attrs.get("global_symbol") == self.node.name:
            del attrs["global_symbol"]
        func = PrimFunc(
            self.node.name,
            tuple(signature.params),
            signature.buffer_map,
            body,
            tuple(root.buffers),
            attrs=attrs,
            private=self.option("private"),
            checked=self.option("check_well_formed", True),
            result=self.result(),
            scheduled=self.is_scheduled(body),
            rooted=self.frames.rooted,
            no_alias=bool(signature.attrs.get(NO_ALIAS)),
            root_annotations=root.annotations,
        )
        return replace(func, num_outputs=written_outputs(func))

    def result(self) -> str:
        """Return the dtype of what the function returns."""
        node = self.node.returns
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return "void"
        name = self.source.dotted(node) or self.source.called(node) or ""
        if not name.startswith("T.") or not is_dtype(name[2:]):
            raise self.source.problem(node, "this is no type of a result", "expected a scalar type")
        return name[2:]

    def is_scheduled(self, body: Stmt) -> bool:
        """Whether the program is one of blocks; classic scripts do not say so."""
        given = [self.option(name) for name in ("s_tir", "is_stir")]
        return (
            any(given)
            or not self.context.dialect.today
            or any(isinstance(one, BlockRealize) for one in statements(body))
        )

    def option(self, name: str, found: bool = False) -> bool:
        """Return what the decorator says under ``name``, ``found`` where it says nothing."""
        return self.source.options(self.node, "T.prim_func", _OPTIONS).get(name, found)


def _is_nothing(body: Stmt) -> bool:
    """Whether ``body`` is what stands for no statement at all."""
    return isinstance(body, Evaluate) and body.value == IntImm(0, "int32")


def written_outputs(func: PrimFunc) -> int:
    """Return how many of the last parameters of ``func`` are buffers that its body writes."""
    written = written_buffers(func.body)
    count = 0
    for param in reversed(func.params):
        if func.buffer_map.get(param) not in written:
            break
        count += 1
    return count
