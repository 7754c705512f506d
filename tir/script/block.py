"""Blocks out of TVMScript: axes, regions, predicates, parts of buffers, and the function's own
block.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from relay2relax.core.errors.table import script
from relay2relax.core.script_source import counted
from relay2relax.tir.analysis.regions import block_regions, whole
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Binary, IntImm, PrimExpr, Var, binary, cast
from relay2relax.tir.ir.stmt import (
    Block,
    BlockRealize,
    BufferRegion,
    IterKind,
    IterVar,
    MatchBuffer,
    Range,
    Stmt,
)
from relay2relax.tir.script.attributes import AttributeReader
from relay2relax.tir.script.buffer import BufferReader
from relay2relax.tir.script.context import ReadContext
from relay2relax.tir.script.dialect import DIALECTS
from relay2relax.tir.script.expr import ExpressionReader
from relay2relax.tir.script.scope import BlockFrame, Frames, Item, ProgramNames

# The words for a block, and for what is said of one.
BLOCKS = frozenset(dialect.block for dialect in DIALECTS.values())
BLOCK_ATTRIBUTES = frozenset(dialect.block_attributes for dialect in DIALECTS.values())
_AXES = {
    "spatial": IterKind.SPATIAL, "S": IterKind.SPATIAL, "reduce": IterKind.REDUCE, "R": IterKind.REDUCE,
    "scan": IterKind.SCAN, "opaque": IterKind.OPAQUE,
}  # fmt: skip


class BlockReader:
    """Reads blocks and the statements that stand in blocks only.

    ``statements`` reads what stands in a block.
    """

    def __init__(
        self,
        context: ReadContext,
        names: ProgramNames,
        exprs: ExpressionReader,
        attributes: AttributeReader,
        buffers: BufferReader,
        frames: Frames,
        statements: Callable[[Sequence[ast.stmt]], Stmt],
    ) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.names = names
        self.exprs = exprs
        self.attributes = attributes
        self.buffers = buffers
        self.frames = frames
        self.statements = statements

    def say_once(self, frame: BlockFrame, field: str, value: object, node: ast.AST, what: str) -> None:
        """Let a block have ``value``; raises ScriptProblem where it has one already."""
        if getattr(frame, field) is not None:
            raise self.source.problem(node, f"the block has {what} already", "given before")
        setattr(frame, field, value)

    def block(self, call: ast.Call, body: list[ast.stmt]) -> list[Item]:
        given = self.source.arguments(call, ("name", "no_realize"))
        name = self.source.string(given["name"], "a block's name") if "name" in given else ""
        if name == "root" and not self.frames.inner and not any(map(self.is_own, body)):
            # The function's own block; TVM prints it where it owns something. What it reads and
            # writes follows.
            self.frames.rooted = True
            own = []
            for node in body:
                called = self.called_alone(node)
                if called in BLOCK_ATTRIBUTES and isinstance(node, ast.Expr):
                    assert isinstance(node.value, ast.Call)
                    self.frames.root.annotations.update(self.attributes.noted(node.value, called))
                elif called not in ("T.reads", "T.writes"):
                    own.append(node)
            return [self.statements(own)]
        frame = BlockFrame()
        self.frames.inner.append(frame)
        try:
            with self.scopes.inner():
                inner = self.statements(body)
        finally:
            self.frames.inner.pop()
        block = Block(
            name, tuple(frame.axes), frame.reads or (), frame.writes or (), inner, frame.init, tuple(frame.buffers),
            frame.annotations, tuple(frame.matches),
        )  # fmt: skip
        if frame.reads is None or frame.writes is None:
            reads, writes = block_regions(block)
            block = replace(
                block,
                reads=reads if frame.reads is None else frame.reads,
                writes=writes if frame.writes is None else frame.writes,
            )
        return [BlockRealize(tuple(frame.values), block, frame.predicate)]

    def called_alone(self, node: ast.stmt) -> str | None:
        return self.source.called(node.value) if isinstance(node, ast.Expr) else None

    def is_own(self, node: ast.stmt) -> bool:
        """Whether ``node`` is something that only a block has: an axis, or a part of a buffer."""
        called = self.source.called(node.value) or "" if isinstance(node, ast.Assign) else ""
        return called.startswith("T.axis.") or called == "T.match_buffer"

    def frame(self, node: ast.AST, what: str) -> BlockFrame:
        if not self.frames.inner:
            raise self.source.problem(node, f"{what} stands in a block", "not in a block")
        return self.frames.inner[-1]

    def attributes_of_block(self, node: ast.Call, called: str) -> None:
        """Read ``T.sblock_attr``."""
        notes = self.attributes.noted(node, called)
        self.source.once(self.frames.current.annotations, notes, node)

    def match_region(self, name: str, node: ast.Call) -> None:
        """Read ``T.match_buffer`` of a part of a buffer."""
        frame = self.frame(node, "T.match_buffer of a region")
        region = self.region(node.args[0])
        buffer = self.buffers.buffer_of(name, node, skip=1)
        if "scope" not in {keyword.arg for keyword in node.keywords} and len(node.args) < 7:
            buffer = replace(buffer, scope=region.buffer.scope)
        frame.matches.append(MatchBuffer(buffer, region))
        self.scopes.define(name, buffer)

    # Axes.

    def remap(self, targets: Sequence[ast.expr], call: ast.Call) -> None:
        frame = self.frame(call, "T.axis.remap")
        if len(call.args) != 2 or not isinstance(call.args[1], (ast.List, ast.Tuple)):
            raise self.source.problem(
                call,
                "T.axis.remap takes kinds and loop variables",
                'expected ("SSR", [i, j, k])',
                kind=script.ARGUMENTS,
            )
        kinds = self.source.string(call.args[0], "the kinds of axes")
        loops = call.args[1].elts
        if not len(kinds) == len(loops) == len(targets):
            numbers = zip((targets, kinds, loops), ("name", "kind", "loop"), strict=True)
            given = ", ".join(counted(len(items), what) for items, what in numbers)
            raise self.source.problem(call, "T.axis.remap is given different numbers of things", given)
        for target, kind, loop in zip(targets, kinds, loops, strict=True):
            value = self.exprs.expr(loop)
            if not isinstance(value, Var) or value not in self.names.ranges:
                raise self.source.problem(loop, "this is no loop variable", "expected the variable of a loop around")
            if kind not in _AXES or not isinstance(target, ast.Name):
                raise self.source.problem(call, f"there is no kind of axis {kind!r}", 'expected "S" or "R"')
            begin, extent = self.names.ranges[value]
            self.add_axis(frame, target, _AXES[kind], extent, value, begin)

    def axis(self, target: ast.Name, kind: str, call: ast.Call) -> None:
        frame = self.frame(call, "an axis")
        if kind not in _AXES or len(call.args) != 2:
            raise self.source.problem(
                call, f"T.axis.{kind} has no form here", "expected T.axis.spatial or T.axis.reduce of (extent, value)"
            )
        bounds = call.args[0]
        value = self.exprs.value(call.args[1])
        dtype = value.dtype if isinstance(value, PrimExpr) else ""
        begin: PrimExpr | None = None
        if isinstance(bounds, (ast.Tuple, ast.List)) and len(bounds.elts) == 2:
            begin, end = (self.as_counter(self.exprs.expr(part, dtype), dtype) for part in bounds.elts)
            begin, extent = bounds_of(begin, end)
        else:
            extent = self.as_counter(self.exprs.expr(bounds, dtype), dtype)
        self.add_axis(
            frame, target, _AXES[kind], extent, self.exprs.operators.typed(value, call.args[1], extent.dtype), begin
        )

    def as_counter(self, bound: PrimExpr, dtype: str) -> PrimExpr:
        """Return a bound of an axis in the dtype of its value, where that is known and the bound is
        a number.
        """
        return cast(dtype, bound) if dtype and isinstance(bound, IntImm) else bound

    def add_axis(
        self,
        frame: BlockFrame,
        target: ast.Name,
        kind: IterKind,
        extent: PrimExpr,
        value: PrimExpr,
        begin: PrimExpr | None,
    ) -> None:
        name = target.id
        if any(axis.var.name == name for axis in frame.axes):
            raise self.source.problem(target, f"the block has an axis `{name}` already", "bound twice")
        var = Var(name, extent.dtype)
        frame.axes.append(IterVar(var, extent, kind, begin))
        frame.values.append(value)
        self.scopes.define(name, var)

    # Regions.

    def regions(self, node: ast.Call) -> tuple[BufferRegion, ...]:
        parts = list(node.args)
        if len(parts) == 1 and isinstance(parts[0], (ast.List, ast.Tuple)):
            parts = list(parts[0].elts)
        return tuple(self.region(part) for part in parts)

    def region(self, node: ast.expr) -> BufferRegion:
        if isinstance(node, ast.Name):
            return whole(self.exprs.elements.buffer(node))
        if not isinstance(node, ast.Subscript):
            raise self.source.problem(
                node, script.MALFORMED.message(what="region"), "expected buffer[index, begin:end, …]"
            )
        buffer = self.exprs.elements.buffer(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        self.exprs.elements.check_count(buffer, parts, node)
        return BufferRegion(buffer, tuple(map(self.range, parts)))

    def range(self, node: ast.expr) -> Range:
        if not isinstance(node, ast.Slice):
            point = self.exprs.expr(node)
            return Range(point, IntImm(1, point.dtype))
        if node.lower is None or node.upper is None or node.step is not None:
            raise self.source.problem(node, "a region has a begin and an end", "expected begin:end")
        begin, end = self.exprs.expr(node.lower), self.exprs.expr(node.upper)
        return Range(begin, extent_between(begin, end))


def extent_between(begin: PrimExpr, end: PrimExpr) -> PrimExpr:
    """Return how far it is from ``begin`` to ``end``, which is often written as ``begin`` plus
    that.
    """
    match end:
        case Binary("+", first, extent) if first == begin:
            return extent
    difference = binary("-", end, begin)
    return difference if isinstance(begin, IntImm) else simplify(difference)


def bounds_of(begin: PrimExpr, end: PrimExpr) -> tuple[PrimExpr | None, PrimExpr]:
    """Return where a loop or an axis from ``begin`` to ``end`` begins, None at 0, and how far it
    goes.
    """
    if isinstance(begin, IntImm) and begin.value == 0:
        return None, end
    return begin, extent_between(begin, end)
