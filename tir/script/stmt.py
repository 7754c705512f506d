"""Statements of tensor programs out of TVMScript.

A mistake is put down with its place, and reading goes on with the next statement. A local is a
buffer of one element where the script is of today and does not say `T.let`; in the classic dialect
every assignment is a new, immutable one. What holds for all statements after it (a local, memory,
an attribute) becomes a statement around them.
"""

from __future__ import annotations

import ast
import builtins
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from relay2relax.core import dtype as dt
from relay2relax.core.script_source import counted, statement_word
from relay2relax.tir.ir.builtins import FOREIGN
from relay2relax.tir.ir.expr import (
    Buffer,
    Call,
    IntImm,
    Pointer,
    PrimExpr,
    StringImm,
    Var,
    accessed_dtype,
    cast,
    const,
)
from relay2relax.tir.ir.stmt import (
    THREAD_KEYS,
    Assert,
    Attribute,
    BufferStore,
    Evaluate,
    For,
    If,
    Let,
    LoopKind,
    Seq,
    Stmt,
    ThreadAxis,
    While,
)
from relay2relax.tir.script.block import BlockReader, bounds_of
from relay2relax.tir.script.buffer import BLOCK_BUFFERS, is_memory, pointer_type, variable
from relay2relax.tir.script.expr import is_dtype
from relay2relax.tir.script.scope import Item, Local, Memory, Opened

# What ``with`` gives no name to.
_WITHOUT_NAME = frozenset({"T.sblock", "T.block", "T.init"})
_KINDS = {"T.serial": LoopKind.SERIAL, "range": LoopKind.SERIAL, "T.parallel": LoopKind.PARALLEL,
          "T.vectorized": LoopKind.VECTORIZED, "T.unroll": LoopKind.UNROLLED,
          "T.thread_binding": LoopKind.THREAD}  # fmt: skip
# What `unroll=` of a loop says, as annotations.
_UNROLL = {False: {"disable_unroll": True}, True: {"pragma_unroll": True}}


class StatementReader(BlockReader):
    """Reads statements; what only a function says is asked of the subclass."""

    @abstractmethod
    def declaration(self, name: str, node: ast.Call, called: str, target: ast.expr) -> bool:
        """Read a statement that declares a parameter's buffer or a symbol.

        Return whether it is one.
        """

    @abstractmethod
    def function_attributes(self, node: ast.Call) -> None:
        """Read ``T.func_attr``."""

    def statements(self, nodes: Sequence[ast.stmt]) -> Stmt:
        """Return ``nodes`` as one statement."""
        items: list[Item] = []
        for node in nodes:
            found = self.checked(partial(self.statement, node))
            if found is None:
                self.forget(node)
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
        with self.scope():
            return self.statements(nodes)

    def statement(self, node: ast.stmt) -> list[Item]:
        match node:
            case ast.Assign([target], value):
                return self.assign(target, value, node)
            case ast.AnnAssign(ast.Name() as target, annotation, value):
                return self.annotated(target, annotation, value)
            case ast.AugAssign(target, op, value):
                load = ast.copy_location(_as_load(target), target)
                total = ast.copy_location(ast.BinOp(load, op, value), node)
                return self.assign(target, total, node)
            case ast.Expr(ast.Constant()):
                return []
            case ast.Expr(value):
                return self.expression(value)
            case ast.For():
                return [self.loop(node)]
            case ast.While(test, body, []):
                return [While(self.exprs.boolean(self.exprs.value(test), test), self.inner(body))]
            case ast.If(test, body, orelse):
                return [If(self.choice(test), self.inner(body), self.inner(orelse) if orelse else None)]
            case ast.With(items, body):
                return self.with_(node, items, body)
            case ast.Assert(test, message):
                return [self.assertion(test, message, node)]
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
        return self.exprs.boolean(value, test)

    # Assignments.

    def assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> list[Item]:
        match target:
            case ast.Subscript(buffer, index):
                return [self.store(buffer, index, value)]
            case ast.Tuple(targets):
                return self.several(targets, value, node)
            case ast.Name(name):
                return self.name(name, target, value)
        raise self.source.problem(target, "this cannot be assigned to", "expected a name or an element of a buffer")

    def store(self, target: ast.expr, index: ast.expr, value: ast.expr) -> Stmt:
        buffer = self.exprs.buffer(target)
        indices = self.exprs.indices(buffer, index)
        return BufferStore(buffer, indices, self.converted(value, accessed_dtype(buffer, indices)))

    def converted(self, node: ast.expr, dtype: str) -> PrimExpr:
        value = self.exprs.lanes_alike(self.exprs.typed(self.exprs.value(node), node, dtype), dtype)
        if isinstance(value, Call) and dtype == "handle" and value.name.startswith(("call_packed", "call_cpacked")):
            # What a packed function returns does not stand in the script.
            value = replace(value, dtype=dtype)
        if (dtype == "handle") != (value.dtype == "handle") or dt.lanes_of(dtype) != dt.lanes_of(value.dtype):
            raise self.source.problem(node, f"a value of dtype {value.dtype} is stored as {dtype}", f"expected {dtype}")
        return cast(dtype, value)

    def several(self, targets: Sequence[ast.expr], value: ast.expr, node: ast.stmt) -> list[Item]:
        if isinstance(value, ast.Call) and self.source.called(value) == "T.axis.remap":
            self.remap(targets, value)
            return []
        if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
            return [item for t, v in zip(targets, value.elts, strict=True) for item in self.assign(t, v, node)]
        raise self.source.problem(node, "this does not give several values", "expected as many values as names")

    def name(self, name: str, target: ast.expr, value: ast.expr) -> list[Item]:
        called = self.source.called(value)
        if called is not None and isinstance(value, ast.Call):
            if called == "T.axis.remap":
                self.remap([target], value)
                return []
            if called.startswith("T.axis."):
                assert isinstance(target, ast.Name)
                self.axis(target, called.removeprefix("T.axis."), value)
                return []
            if called in BLOCK_BUFFERS or is_memory(called):
                if isinstance(self.scopes[-1].get(name), Buffer):
                    raise self.source.problem(target, f"the buffer `{name}` is there already", "defined twice")
                return self.memory(name, called, value)
            if called.endswith(".view") and isinstance(viewed := self.lookup(called.removesuffix(".view")), Buffer):
                return self.view(name, viewed, value)
            if called == "T.match_buffer" and value.args and not self.is_parameter(value.args[0]):
                self.match_region(name, value)
                return []
            if called == "T.env_thread":
                tag = self.source.string(self.exprs.only(value, "a kind of thread"), "a kind of thread")
                self.define(name, ThreadAxis(Var(name, "int32"), tag))
                return []
            if called == "T.launch_thread":
                return [Opened(self.launch(value, name))]
            if self.declaration(name, value, called, target):
                return []
            if called == "T.meta_var" and len(value.args) == 1:
                self.define(name, self.exprs.value(value.args[0]))
                return []
        return self.local(name, value, "", mutable=called != "T.bind")

    def is_parameter(self, node: ast.expr) -> bool:
        """Whether ``node`` names something that has no elements of its own."""
        return isinstance(node, ast.Name) and not isinstance(self.lookup(node.id), Buffer)

    def local(self, name: str, value: ast.expr, dtype: str, mutable: bool) -> list[Item]:
        """A name for a value.

        In the scripts of today, a name that is merely assigned is one element of memory.
        """
        found = self.lookup(name)
        if isinstance(found, Local):
            return [BufferStore(found.buffer, (IntImm(0, "int32"),), self.converted(value, found.buffer.dtype))]
        expr = self.converted(value, dtype) if dtype else self.exprs.expr(value)
        if mutable and not self.source.classic and expr.dtype != "handle":
            return self.element(name, expr.dtype, expr)
        return [self.bound(variable(name, expr.dtype), expr)]

    def bound(self, var: Var, value: PrimExpr) -> Item:
        self.define(var.name, var)
        return Opened(lambda body: Let(var, value, body))

    def annotated(self, target: ast.Name, annotation: ast.expr, value: ast.expr | None) -> list[Item]:
        inner = annotation
        is_let = False
        if isinstance(annotation, ast.Subscript) and self.source.dotted(annotation.value) == "T.let":
            inner, is_let = annotation.slice, True
        dotted = self.source.dotted(inner) or ""
        if dotted == "T.let" and value is not None:
            return self.local(target.id, value, "", mutable=False)
        pointer = pointer_type(self, inner)
        if pointer is not None and value is not None:
            return [self.bound(Pointer(target.id, "handle", *pointer), self.converted(value, "handle"))]
        if not dotted.startswith("T.") or not is_dtype(dotted[2:]) or (value is None and is_let):
            raise self.source.problem(annotation, "this is no type of a local", "expected T.let[…] or a scalar type")
        if value is None:
            return self.element(target.id, dotted[2:])
        return self.local(target.id, value, dotted[2:], mutable=not is_let)

    # Loops.

    def loop(self, node: ast.For) -> Stmt:
        call = node.iter
        called = self.source.called(call)
        if node.orelse:
            raise self.source.problem(node.orelse[0], "a loop has no `else`", "expected nothing after the loop")
        if not isinstance(call, ast.Call) or called is None:
            raise self.source.problem(
                node.iter, "this is no loop of a tensor program", "expected range, T.grid, T.serial …"
            )
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if isinstance(node.target, ast.Tuple) and called != "T.grid":
            raise self.source.problem(node.target, f"{called} has one variable", "expected one name")
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(names) != len(targets):
            raise self.source.problem(node.target, "a loop variable is a name", "expected a name")
        if len(set(names)) != len(names):
            raise self.source.problem(node.target, "two loops have one variable", "expected different names")
        if called == "T.grid":
            extents = [self.exprs.expr(arg) for arg in call.args]
            if len(extents) != len(names):
                given = f"{counted(len(names), 'name')} for {counted(len(extents), 'extent')}"
                raise self.source.problem(node.target, "T.grid is given another number of names than extents", given)
            loops = [For(Var(name, e.dtype), e, Seq(())) for name, e in zip(names, extents, strict=True)]
            return self.nest(loops, node.body)
        if called not in _KINDS:
            raise self.source.problem(call.func, f"`{called}` has no form here",
                                      f"expected T.grid, {', '.join(_KINDS)}")  # fmt: skip
        return self.single(called, names[0], call, node.body)

    def single(self, called: str, name: str, call: ast.Call, body: list[ast.stmt]) -> Stmt:
        notes: dict[str, Any] = {}
        thread = ""
        parts = list(call.args)
        if called == "T.thread_binding" and parts and isinstance(parts[-1], ast.Constant):
            last = parts[-1].value
            if isinstance(last, str):
                thread = last
                parts.pop()
        for keyword in call.keywords:
            match keyword.arg, keyword.value:
                case "annotations", ast.Dict() as given:
                    notes = self.attributes(given)
                case "unroll", ast.Constant(bool() as unrolled):
                    notes = dict(_UNROLL[unrolled])
                case "thread", given if called == "T.thread_binding":
                    thread = self.source.string(given, "a kind of thread")
                case "step", given:
                    if len(parts) == 1:
                        parts.insert(0, ast.copy_location(ast.Constant(0), given))
                    parts.append(given)
                case _:
                    raise self.source.problem(
                        keyword, f"`{called}` has no argument `{keyword.arg}`", "expected annotations={…}"
                    )
        if called == "T.thread_binding" and not thread:
            raise self.source.problem(call, "T.thread_binding names a kind of thread", 'expected thread="threadIdx.x"')
        if not 1 <= len(parts) <= 3:
            raise self.source.problem(call, f"`{called}` takes an extent", "expected 1 to 3 arguments")
        values = [self.exprs.value(arg) for arg in parts]
        dtype = next((value.dtype for value in values if isinstance(value, PrimExpr)), "int32")
        exprs = [cast(dtype, self.exprs.typed(value, call, dtype)) for value in values]
        begin, extent = (None, exprs[0]) if len(exprs) == 1 else bounds_of(exprs[0], exprs[1])
        step = exprs[2] if len(exprs) == 3 and exprs[2] != const(1, dtype) else None
        loop = For(Var(name, dtype), extent, Seq(()), _KINDS[called], notes, thread, begin, step)
        return self.nest([loop], body)

    def nest(self, loops: Sequence[For], body: list[ast.stmt]) -> Stmt:
        """Return ``loops``, each in the one before, around ``body``."""
        with self.scope():
            for loop in loops:
                self.define(loop.var.name, loop.var)
                self.ranges[loop.var] = (loop.begin, loop.extent)
            result = self.inner(body)
        for loop in reversed(loops):
            result = replace(loop, body=result)
        return result

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
        if isinstance(call, ast.Call) and called in ("T.sblock", "T.block"):
            return self.block(call, body)
        if called == "T.init":
            if not self.frames:
                raise self.source.problem(call, "T.init stands in a block", "not in a block")
            self.say_once(self.frames[-1], "init", self.inner(body), call, called)
            return []
        if called == "T.Assert" and isinstance(call, ast.Call) and len(call.args) == 2:
            return [self.assertion(call.args[0], call.args[1], node), self.inner(body)]
        with self.scope():
            opened = self.opened(name, call, called)
            return [opened.around(self.statements(body))]

    def opened(self, name: str, call: ast.expr, called: str | None) -> Opened:
        """Return what ``with call as name:`` puts around its statements."""
        if isinstance(call, ast.Call) and called is not None:
            if called in ("T.attr", "T.launch_thread"):
                return Opened(self.launch(call, name) if called == "T.launch_thread" else self.said(call))
            if is_memory(called) and name:
                for item in self.memory(name, called, call):
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
        var = variable(name, value.dtype)
        if "var" in given and isinstance(given["var"], ast.Name):
            var = self.lookup(given["var"].id)
        elif "type_annotation" in given and (pointer := pointer_type(self, given["type_annotation"])) is not None:
            var = Pointer(name, "handle", *pointer)
        if not isinstance(var, Var):
            raise self.source.problem(call, "this is no variable", "expected the name of one")
        if name:
            self.define(name, var)
        return Opened(lambda body: Let(var, value, body))

    def launch(self, call: ast.Call, name: str = "") -> Callable[[Stmt], Stmt]:
        """``T.launch_thread``: so many threads run what follows.

        The first argument is their kind, or their number.
        """
        given = self.source.arguments(call, ("thread", "extent"))
        self.exprs.require(call, given, "thread", "extent")
        extent = self.exprs.expr(given["extent"])
        thread = given["thread"]
        axis = self.lookup(thread.id) if isinstance(thread, ast.Name) else None
        if isinstance(axis, Var):
            # TVM prints no kind where an attribute speaks of the variable before.
            axis = ThreadAxis(axis, "")
        if axis is None:
            axis = ThreadAxis(Var(name or "thread", extent.dtype), self.source.string(thread, "a kind of thread"))
        if not isinstance(axis, ThreadAxis):
            raise self.source.problem(thread, "this is no kind of thread", "expected a string, or T.env_thread")
        if name:
            self.define(name, axis)
        key = "virtual_thread" if axis.tag.startswith(("vthread", "cthread")) else "thread_extent"
        return lambda body: Attribute(axis, key, extent, body)

    def said(self, call: ast.Call) -> Callable[[Stmt], Stmt]:
        """``T.attr``: something is said of a node, or, in a dictionary, of the program."""
        if len(call.args) == 1 and isinstance(call.args[0], ast.Dict):
            pairs = self.attributes(call.args[0])

            def around(body: Stmt) -> Stmt:
                for key, value in reversed(pairs.items()):
                    body = Attribute(0, key, value, body)
                return body

            return around
        given = self.source.arguments(call, ("node", "attr_key", "value"))
        self.exprs.require(call, given, "node", "attr_key", "value")
        key = self.source.string(given["attr_key"], "a key")
        node, value = self.about(given["node"]), self.attribute(given["value"])
        if key in THREAD_KEYS:
            value = self.exprs.typed(value, given["value"])
        return lambda body: Attribute(node, key, value, body)

    def about(self, node: ast.expr) -> Any:
        """Return what an attribute is of."""
        if isinstance(node, ast.Name) and isinstance(found := self.lookup(node.id), Memory):
            return found.buffer
        if self.source.called(node) == "T.iter_var" and isinstance(node, ast.Call):
            given = self.source.arguments(node, ("var", "dom", "iter_type", "thread_tag"))
            self.exprs.require(node, given, "var", "thread_tag")
            var = given["var"]
            found = self.lookup(var.id) if isinstance(var, ast.Name) else None
            if isinstance(found, ThreadAxis):
                return found
            if isinstance(found, Var):
                return ThreadAxis(found, self.source.string(given["thread_tag"], "a kind of thread"))
            raise self.source.problem(var, "this is no variable", "expected the name of one")
        return self.attribute(node)

    def assertion(self, test: ast.expr, message: ast.expr | None, node: ast.stmt) -> Stmt:
        """``assert condition, message``, or ``(kind, [parts of the message])`` in today's
        scripts.
        """
        condition = self.exprs.boolean(self.exprs.value(test), test)
        match message:
            case None:
                return Assert(condition, (StringImm(""),))
            case ast.Tuple([kind, ast.List(parts)]):
                given = tuple(self.exprs.expr(part) for part in parts)
                return Assert(condition, given, self.source.string(kind, "a kind of error"))
        return Assert(condition, (self.exprs.expr(message),))

    # Expressions that stand alone.

    def expression(self, node: ast.expr) -> list[Item]:
        called = self.source.called(node)
        if not isinstance(node, ast.Call) or called is None:
            raise self.source.problem(node, "an expression alone does nothing", "expected an assignment or a call")
        match called:
            case "T.reads":
                self.say_once(self.frame(node, called), "reads", self.regions(node), node, called)
            case "T.writes":
                self.say_once(self.frame(node, called), "writes", self.regions(node), node, called)
            case "T.where":
                condition = self.exprs.expr(self.exprs.only(node, "a condition"))
                self.say_once(self.frame(node, called), "predicate", condition, node, called)
            case "T.sblock_attr" | "T.block_attr":
                self.attributes_of_block(node, called)
            case "T.func_attr":
                self.function_attributes(node)
            case "T.attr":
                return [Opened(self.said(node))]
            case "T.launch_thread":
                return [Opened(self.launch(node))]
            case "T.evaluate":
                return [Evaluate(self.exprs.expr(self.exprs.only(node, "a value")))]
            case _ if called.endswith(".vstore"):
                return [self.masked_store(node)]
            case _ if self.alone and called.isidentifier() and not hasattr(builtins, called):
                # TVM prints a function alone without the module whose other functions it calls.
                operands = tuple(self.exprs.expr(arg) for arg in node.args)
                return [Evaluate(Call(f"Module.{called}", operands, "int32"))]
            case _:
                return [Evaluate(self.exprs.expr(node))]
        return []

    def masked_store(self, node: ast.Call) -> Stmt:
        """``A.vstore([i], value, predicate=mask)``."""
        assert isinstance(node.func, ast.Attribute)
        given = self.source.arguments(node, ("indices", "value", "predicate"))
        self.exprs.require(node, given, "indices", "value")
        buffer = self.exprs.buffer(node.func.value)
        indices = self.exprs.indices(buffer, given["indices"])
        value = self.converted(given["value"], accessed_dtype(buffer, indices))
        mask = self.exprs.expr(given["predicate"]) if "predicate" in given else None
        return BufferStore(buffer, indices, value, mask)


def _sequence(stmts: list[Stmt]) -> Stmt:
    return stmts[0] if len(stmts) == 1 else Seq(tuple(stmts))


def _as_load(node: ast.expr) -> ast.expr:
    match node:
        case ast.Name(name):
            return ast.Name(name, ast.Load())
        case ast.Subscript(value, index):
            return ast.Subscript(value, index, ast.Load())
    return node
