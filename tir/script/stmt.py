"""Statements of tensor programs out of TVMScript.

A mistake is put down with its place, and reading goes on with the next statement. A local is a
buffer of one element where the script is of today and does not say `T.let`; in the classic dialect
every assignment is a new, immutable one. What holds for all statements after it (a local, memory,
an attribute) becomes a statement around them.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from functools import partial

from relay2relax.core import dtype as dt
from relay2relax.core.script_source import statement_word
from relay2relax.tir.ir.expr import Buffer, Call, FunctionCall, PrimExpr, Var
from relay2relax.tir.ir.stmt import Evaluate, If, Seq, Stmt, ThreadAxis, While
from relay2relax.tir.script.around import AroundReader
from relay2relax.tir.script.attributes import AttributeReader
from relay2relax.tir.script.block import BLOCK_ATTRIBUTES, BLOCKS, BlockReader
from relay2relax.tir.script.buffer import BLOCK_BUFFERS, BufferReader, is_memory
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.expr import ExpressionReader
from relay2relax.tir.script.locals import LocalReader
from relay2relax.tir.script.loops import LoopReader
from relay2relax.tir.script.scope import Frames, Item, Opened, ProgramNames
from relay2relax.tir.script.signature import SignatureReader

# What ``with`` gives no name to.
_WITHOUT_NAME = BLOCKS | {"T.init"}


class StatementReader:
    """Reads statements; what only a function says is left to ``signature``."""

    def __init__(
        self,
        context: ReadContext,
        names: ProgramNames,
        exprs: ExpressionReader,
        attributes: AttributeReader,
        buffers: BufferReader,
        frames: Frames,
        signature: SignatureReader,
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.names = names
        self.exprs = exprs
        self.buffers = buffers
        self.frames = frames
        self.signature = signature
        self.locals = LocalReader(context, exprs, buffers)
        self.around = AroundReader(context, exprs, attributes, buffers)
        self.blocks = BlockReader(context, names, exprs, attributes, buffers, frames, self.statements)
        self.loops = LoopReader(context, names, exprs, attributes, self.inner)

    def statements(self, nodes: Sequence[ast.stmt]) -> Stmt:
        """Return ``nodes`` as one statement."""
        items: list[Item] = []
        for node in nodes:
            found = self.source.within_limits(node, partial(self.source.attempt, partial(self.statement, node)))
            if found is None:
                self.names.forget(node)
            else:
                items += found
        result: list[Stmt] = []
        for item in reversed(items):
            if isinstance(item, Opened):
                result = [item.around(_sequence(result))]
            else:
                result.insert(0, item)
        return _sequence(result)

    def inner(self, nodes: Sequence[ast.stmt]) -> Stmt:
        with self.scopes.inner():
            return self.statements(nodes)

    def statement(self, node: ast.stmt) -> list[Item]:
        match node:
            case ast.Assign([target], value):
                return self.assign(target, value, node)
            case ast.AnnAssign(ast.Name() as target, annotation, value):
                return self.locals.annotated(target, annotation, value)
            case ast.AugAssign(target, op, value):
                load = ast.copy_location(_as_load(target), target)
                total = ast.copy_location(ast.BinOp(load, op, value), node)
                return self.assign(target, total, node)
            case ast.Expr(ast.Constant()):
                return []
            case ast.Expr(value):
                return self.expression(value)
            case ast.For():
                return [self.loops.loop(node)]
            case ast.While(test, body, []):
                return [While(self.exprs.operators.boolean(self.exprs.value(test), test), self.inner(body))]
            case ast.If(test, body, orelse):
                return [If(self.choice(test), self.inner(body), self.inner(orelse) if orelse else None)]
            case ast.With(items, body):
                return self.with_(node, items, body)
            case ast.Assert(test, message):
                return [self.around.assertion(test, message, node)]
            case ast.Return(value) if value is not None:
                result = self.exprs.expr(value)
                return [Evaluate(Call("ret", (result,), result.dtype))]
            case ast.Break():
                return [Evaluate(Call("break_loop", (), "int32"))]
            case ast.Continue():
                return [Evaluate(Call("continue_loop", (), "int32"))]
            case ast.Pass():
                return []
        raise self.source.problem(node, f"a tensor program has no `{statement_word(node)}` statement of this form",
                                  "expected an assignment, loop, branch, block or T.evaluate")  # fmt: skip

    def choice(self, test: ast.expr) -> PrimExpr:
        """Return the condition of a branch, which may be an integer."""
        value = self.exprs.value(test)
        if isinstance(value, PrimExpr) and dt.is_int(value.dtype):
            return value
        return self.exprs.operators.boolean(value, test)

    # Assignments.

    def assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> list[Item]:
        match target:
            case ast.Subscript(buffer, index):
                return [self.locals.store(buffer, index, value)]
            case ast.Tuple(targets):
                return self.several(targets, value, node)
            case ast.Name(name):
                return self.name(name, target, value)
        raise self.source.problem(target, "this cannot be assigned to", "expected a name or an element of a buffer")

    def several(self, targets: Sequence[ast.expr], value: ast.expr, node: ast.stmt) -> list[Item]:
        if isinstance(value, ast.Call) and self.source.called(value) == "T.axis.remap":
            self.blocks.remap(targets, value)
            return []
        if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
            return [item for t, v in zip(targets, value.elts, strict=True) for item in self.assign(t, v, node)]
        raise self.source.problem(node, "this does not give several values", "expected as many values as names")

    def name(self, name: str, target: ast.expr, value: ast.expr) -> list[Item]:
        called = self.source.called(value)
        if called is not None and isinstance(value, ast.Call):
            if called == "T.axis.remap":
                self.blocks.remap([target], value)
                return []
            if called.startswith("T.axis."):
                assert isinstance(target, ast.Name)
                self.blocks.axis(target, called.removeprefix("T.axis."), value)
                return []
            if called in BLOCK_BUFFERS or is_memory(called):
                if isinstance(self.scopes.levels[-1].get(name), Buffer):
                    raise self.source.problem(target, f"the buffer `{name}` is there already", "defined twice")
                return self.buffers.memory(name, called, value)
            if called.endswith(".view") and isinstance(
                viewed := self.scopes.lookup(called.removesuffix(".view")), Buffer
            ):
                return self.buffers.view(name, viewed, value)
            if called == "T.match_buffer" and value.args and not self.is_parameter(value.args[0]):
                self.blocks.match_region(name, value)
                return []
            if called == "T.env_thread":
                tag = self.source.string(self.source.only(value, "a kind of thread"), "a kind of thread")
                self.scopes.define(name, ThreadAxis(Var(name, "int32"), tag))
                return []
            if called == "T.launch_thread":
                return [Opened(self.around.launch(value, name))]
            if self.signature.declaration(name, value, called):
                return []
            if called == "T.meta_var" and len(value.args) == 1:
                self.scopes.define(name, self.exprs.value(value.args[0]))
                return []
        return self.locals.local(name, value, "", mutable=called != "T.bind")

    def is_parameter(self, node: ast.expr) -> bool:
        """Whether ``node`` names something that has no elements of its own."""
        return isinstance(node, ast.Name) and not isinstance(self.scopes.lookup(node.id), Buffer)

    # What stands around statements.

    def with_(self, node: ast.With, items: list[ast.withitem], body: list[ast.stmt]) -> list[Item]:
        if len(items) > 1:
            # `with a, b:` is `with a:` around `with b:`.
            inner = ast.copy_location(ast.With(items[1:], body), node)
            return self.with_(node, items[:1], [inner])
        call = items[0].context_expr
        if items[0].optional_vars is not None and self.source.called(call) in _WITHOUT_NAME:
            raise self.source.problem(items[0].optional_vars, "a block has no name of this kind", "nothing to name")
        name = items[0].optional_vars.id if isinstance(items[0].optional_vars, ast.Name) else ""
        called = self.source.called(call)
        if isinstance(call, ast.Call) and called in BLOCKS:
            return self.blocks.block(call, body)
        if called == "T.init":
            if not self.frames.inner:
                raise self.source.problem(call, "T.init stands in a block", "not in a block")
            self.blocks.say_once(self.frames.inner[-1], "init", self.inner(body), call, called)
            return []
        if called == "T.Assert" and isinstance(call, ast.Call) and len(call.args) == 2:
            return [self.around.assertion(call.args[0], call.args[1], node), self.inner(body)]
        with self.scopes.inner():
            opened = self.around.opened(name, call, called)
            return [opened.around(self.statements(body))]

    # Expressions that stand alone.

    def expression(self, node: ast.expr) -> list[Item]:
        called = self.source.called(node)
        if not isinstance(node, ast.Call) or called is None:
            raise self.source.problem(
                node, "an expression that is not a call does nothing", "expected an assignment or a call"
            )
        match called:
            case "T.reads":
                self.blocks.say_once(self.blocks.frame(node, called), "reads", self.blocks.regions(node), node, called)
            case "T.writes":
                self.blocks.say_once(self.blocks.frame(node, called), "writes", self.blocks.regions(node), node, called)
            case "T.where":
                condition = self.exprs.expr(self.source.only(node, "a condition"))
                self.blocks.say_once(self.blocks.frame(node, called), "predicate", condition, node, called)
            case _ if called in BLOCK_ATTRIBUTES:
                self.blocks.attributes_of_block(node, called)
            case "T.func_attr":
                self.signature.function_attributes(node)
            case "T.attr":
                return [Opened(self.around.said(node))]
            case "T.launch_thread":
                return [Opened(self.around.launch(node))]
            case "T.evaluate":
                return [Evaluate(self.exprs.expr(self.source.only(node, "a value")))]
            case _ if called.endswith(".vstore"):
                return [self.locals.masked_store(node)]
            case _ if self.names.alone and called.isidentifier() and not hasattr(builtins, called):
                # TVM prints a function alone without the module whose other functions it calls.
                operands = tuple(self.exprs.expr(arg) for arg in node.args)
                return [Evaluate(FunctionCall(called, operands, "int32"))]
            case _:
                return [Evaluate(self.exprs.expr(node))]
        return []


def _sequence(stmts: list[Stmt]) -> Stmt:
    return stmts[0] if len(stmts) == 1 else Seq(tuple(stmts))


def _as_load(node: ast.expr) -> ast.expr:
    match node:
        case ast.Name(name):
            return ast.Name(name, ast.Load())
        case ast.Subscript(value, index):
            return ast.Subscript(value, index, ast.Load())
    return node
