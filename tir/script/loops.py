"""Loops out of TVMScript: ``range``, ``T.grid``, ``T.serial`` and their like."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from relay2relax.core.errors.table import script
from relay2relax.core.script_source import counted
from relay2relax.tir.ir.expr import PrimExpr, Var, cast, const
from relay2relax.tir.ir.stmt import For, LoopKind, Seq, Stmt
from relay2relax.tir.script.attributes import AttributeReader
from relay2relax.tir.script.block import bounds_of
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.expr import ExpressionReader
from relay2relax.tir.script.scope import ProgramNames

_KINDS = {"T.serial": LoopKind.SERIAL, "range": LoopKind.SERIAL, "T.parallel": LoopKind.PARALLEL,
          "T.vectorized": LoopKind.VECTORIZED, "T.unroll": LoopKind.UNROLLED,
          "T.thread_binding": LoopKind.THREAD}  # fmt: skip
# What `unroll=` of a loop says, as annotations.
_UNROLL = {False: {"disable_unroll": True}, True: {"pragma_unroll": True}}


class LoopReader:
    """Reads loops; ``inner`` reads their bodies, each in a scope of its own."""

    def __init__(
        self,
        context: ReadContext,
        names: ProgramNames,
        exprs: ExpressionReader,
        attributes: AttributeReader,
        inner: Callable[[Sequence[ast.stmt]], Stmt],
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.names = names
        self.exprs = exprs
        self.attributes = attributes
        self.inner = inner

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
            raise self.source.problem(call.func, f"`{called}` is no kind of loop",
                                      f"expected T.grid, {', '.join(_KINDS)}")  # fmt: skip
        return self.single(called, names[0], call, node.body)

    def single(self, called: str, name: str, call: ast.Call, body: list[ast.stmt]) -> Stmt:
        notes: dict[str, object] = {}
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
                    notes = self.attributes.attributes(given)
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
                        keyword,
                        f"`{called}` has no argument `{keyword.arg}`",
                        "expected annotations={…}",
                        kind=script.ARGUMENTS,
                    )
        if called == "T.thread_binding" and not thread:
            raise self.source.problem(call, "T.thread_binding names a kind of thread", 'expected thread="threadIdx.x"')
        if not 1 <= len(parts) <= 3:
            raise self.source.problem(
                call, f"`{called}` takes an extent", "expected 1 to 3 arguments", kind=script.ARGUMENTS
            )
        values = [self.exprs.value(arg) for arg in parts]
        dtype = next((value.dtype for value in values if isinstance(value, PrimExpr)), "int32")
        exprs = [cast(dtype, self.exprs.operators.typed(value, call, dtype)) for value in values]
        begin, extent = (None, exprs[0]) if len(exprs) == 1 else bounds_of(exprs[0], exprs[1])
        step = exprs[2] if len(exprs) == 3 and exprs[2] != const(1, dtype) else None
        loop = For(Var(name, dtype), extent, Seq(()), _KINDS[called], notes, thread, begin, step)
        return self.nest([loop], body)

    def nest(self, loops: Sequence[For], body: list[ast.stmt]) -> Stmt:
        """Return ``loops``, each in the one before, around ``body``."""
        with self.scopes.inner():
            for loop in loops:
                self.scopes.define(loop.var.name, loop.var)
                self.names.ranges[loop.var] = (loop.begin, loop.extent)
            result = self.inner(body)
        for loop in reversed(loops):
            result = replace(loop, body=result)
        return result
