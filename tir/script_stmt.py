"""Statements of tensor programs out of TVMScript.

A mistake is put down with its place, and reading goes on with the next statement. A local that is assigned again is a
buffer of one element where the script is of today; in the classic dialect every assignment is a new, immutable one.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Union

from relay2relax.core.script_source import Poison, ScriptProblem, ScriptSource, counted, stored_names
from relay2relax.tir.arith import simplify
from relay2relax.tir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    FloatImm,
    IntImm,
    PrimExpr,
    Var,
    binary,
    cast,
)
from relay2relax.tir.regions import block_regions, whole
from relay2relax.tir.script_expr import ExpressionReader, is_dtype
from relay2relax.tir.script_names import assigned_counts, declared_symbols
from relay2relax.tir.stmt import (
    Allocate,
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    Evaluate,
    For,
    If,
    IterKind,
    IterVar,
    Let,
    LoopKind,
    Range,
    Seq,
    Stmt,
    While,
)

_KINDS = {"T.serial": LoopKind.SERIAL, "range": LoopKind.SERIAL, "T.parallel": LoopKind.PARALLEL,
          "T.vectorized": LoopKind.VECTORIZED, "T.unroll": LoopKind.UNROLLED}  # fmt: skip
_AXES = {"spatial": IterKind.SPATIAL, "S": IterKind.SPATIAL, "reduce": IterKind.REDUCE, "R": IterKind.REDUCE}
_BLOCK_BUFFERS = frozenset({"T.sblock_alloc_buffer"})
# The scope of what they allocate, where the name alone says it.
_BUFFERS = {"T.alloc_buffer": "", "T.decl_buffer": "", "T.alloc_local": "local"}


@dataclass(slots=True)
class _BlockFrame:
    """The block that is being read."""

    axes: list[IterVar] = field(default_factory=list)
    values: list[PrimExpr] = field(default_factory=list)
    reads: tuple[BufferRegion, ...] | None = None
    writes: tuple[BufferRegion, ...] | None = None
    predicate: PrimExpr | None = None
    init: Stmt | None = None
    buffers: list[Buffer] = field(default_factory=list)
    annotations: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class _Local:
    """A name for one element of memory."""

    buffer: Buffer


@dataclass(frozen=True, slots=True, eq=False)
class _Memory:
    """A buffer that exists from here on, and the one whose memory it is."""

    buffer: Buffer
    of: Buffer | None


# A statement, or something that holds for the statements after it.
_Item = Union[Stmt, tuple[Var, PrimExpr], _Memory]


class StatementReader(ABC):
    """Reads statements; what only a function says is asked of the subclass."""

    symbol_dtypes: dict[str, str]

    def __init__(self, source: ScriptSource, node: ast.FunctionDef) -> None:
        self.source = source
        self.scopes: list[dict[str, Any]] = [{}]
        self.exprs = ExpressionReader(source, self.scalar, "int32")
        self.exprs.known = self.names
        self.extents: dict[Var, PrimExpr] = {}
        self.frames: list[_BlockFrame] = []
        self.root_buffers: list[Buffer] = []
        self.assigned = assigned_counts(node)
        self.symbol_dtypes = declared_symbols(source, node)

    # What a function knows besides.

    @abstractmethod
    def declaration(self, name: str, node: ast.Call, called: str, target: ast.expr) -> bool:
        """Read a statement that declares a parameter's buffer or a symbol; return whether it is one."""

    @abstractmethod
    def function_attributes(self, node: ast.Call) -> None:
        """Read ``T.func_attr``."""

    @abstractmethod
    def buffer_of(self, name: str, node: ast.expr, signature: bool = False, skip: int = 0) -> Buffer:
        """Return the buffer that a declaration describes."""

    # Names.

    def define(self, name: str, item: Any) -> None:
        self.scopes[-1][name] = item

    def lookup(self, name: str) -> Any:
        found = self.find(name)
        if isinstance(found, Poison):
            raise self.source.follows(name)
        return found

    def find(self, name: str) -> Any:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return self.source.values.get(name)

    def scalar(self, name: str) -> Any:
        found = self.lookup(name)
        return BufferLoad(found.buffer, (IntImm(0, "int32"),)) if isinstance(found, _Local) else found

    def names(self) -> list[str]:
        return [name for scope in self.scopes for name in scope]

    @contextmanager
    def scope(self) -> Iterator[None]:
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

    def checked(self, read: Callable[[], Any]) -> Any:
        """Return what ``read`` returns; a mistake is put down, and None returned."""
        try:
            return read()
        except ScriptProblem as problem:
            self.source.put_down(problem)
            return None

    # Statements.

    def statements(self, nodes: Sequence[ast.stmt]) -> Stmt:
        """Return ``nodes`` as one statement."""
        items: list[_Item] = []
        for node in nodes:
            found = self.checked(partial(self.statement, node))
            if found is None:
                self.forget(node)
            else:
                items += found
        result: list[Stmt] = []
        for item in reversed(items):
            match item:
                case (var, value):
                    result = [Let(var, value, _sequence(result))]
                case _Memory(buffer, of):
                    result = [Allocate(buffer, _sequence(result), of)]
                case _:
                    result.insert(0, item)
        return _sequence(result)

    def forget(self, node: ast.stmt) -> None:
        """Let the names that a mistaken statement assigns be known, so that one mistake is reported once."""
        for name in stored_names(node):
            if self.find(name) is None:
                self.define(name, Poison())

    def inner(self, nodes: Sequence[ast.stmt]) -> Stmt:
        with self.scope():
            return self.statements(nodes)

    def statement(self, node: ast.stmt) -> list[_Item]:
        match node:
            case ast.Assign([target], value):
                return self.assign(target, value, node)
            case ast.AnnAssign(ast.Name() as target, annotation, value) if value is not None:
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
                condition = self.exprs.boolean(self.exprs.value(test), test)
                return [If(condition, self.inner(body), self.inner(orelse) if orelse else None)]
            case ast.With([item], body):
                return self.with_(node, item, body)
            case ast.Pass():
                return []
        kind = type(node).__name__.lower()
        raise self.source.problem(node, f"a tensor program has no `{kind}` statement of this form",
                                  "expected an assignment, loop, branch, block or T.evaluate")  # fmt: skip

    # Assignments.

    def assign(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> list[_Item]:
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
        return BufferStore(buffer, indices, self.converted(value, buffer.dtype))

    def converted(self, node: ast.expr, dtype: str) -> PrimExpr:
        value = self.exprs.typed(self.exprs.value(node), node, dtype)
        if (dtype == "handle") != (value.dtype == "handle"):
            raise self.source.problem(node, f"a value of dtype {value.dtype} is stored as {dtype}", f"expected {dtype}")
        return cast(dtype, value)

    def several(self, targets: Sequence[ast.expr], value: ast.expr, node: ast.stmt) -> list[_Item]:
        if isinstance(value, ast.Call) and self.source.called(value) == "T.axis.remap":
            self.remap(targets, value)
            return []
        if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
            return [item for t, v in zip(targets, value.elts, strict=True) for item in self.assign(t, v, node)]
        raise self.source.problem(node, "this does not give several values", "expected as many values as names")

    def name(self, name: str, target: ast.expr, value: ast.expr) -> list[_Item]:
        called = self.source.called(value)
        if called is not None and isinstance(value, ast.Call):
            if called == "T.axis.remap":
                self.remap([target], value)
                return []
            if called.startswith("T.axis."):
                self.axis(name, called.removeprefix("T.axis."), value)
                return []
            if called in _BLOCK_BUFFERS or called in _BUFFERS:
                return self.buffer(name, called, value)
            if called.endswith(".view") and isinstance(viewed := self.lookup(called.removesuffix(".view")), Buffer):
                return self.view(name, viewed, value)
            if self.declaration(name, value, called, target):
                return []
            if called == "T.meta_var" and len(value.args) == 1:
                self.define(name, self.exprs.value(value.args[0]))
                return []
        return self.local(name, value, "", mutable=called != "T.bind")

    def local(self, name: str, value: ast.expr, dtype: str, mutable: bool) -> list[_Item]:
        """A name for a value, or for one element of memory where it is assigned again."""
        found = self.lookup(name)
        if isinstance(found, _Local):
            return [BufferStore(found.buffer, (IntImm(0, "int32"),), self.converted(value, found.buffer.dtype))]
        expr = self.converted(value, dtype) if dtype else self.exprs.expr(value)
        if mutable and not self.source.classic and self.assigned[name] > 1:
            buffer = Buffer(name, (IntImm(1, "int32"),), expr.dtype, "local")
            self.define(name, _Local(buffer))
            return [_Memory(buffer, None), BufferStore(buffer, (IntImm(0, "int32"),), expr)]
        var = Var(name, expr.dtype)
        self.define(name, var)
        return [(var, expr)]

    def annotated(self, target: ast.Name, annotation: ast.expr, value: ast.expr) -> list[_Item]:
        inner = annotation
        is_let = False
        if isinstance(annotation, ast.Subscript) and self.source.dotted(annotation.value) == "T.let":
            inner, is_let = annotation.slice, True
        dotted = self.source.dotted(inner) or ""
        if dotted == "T.let":
            return self.local(target.id, value, "", mutable=False)
        if not dotted.startswith("T.") or not is_dtype(dotted[2:]):
            raise self.source.problem(annotation, "this is no type of a local", "expected T.let[…] or a scalar type")
        return self.local(target.id, value, dotted[2:], mutable=not is_let)

    def buffer(self, name: str, called: str, value: ast.Call) -> list[_Item]:
        buffer = self.buffer_of(name, value)
        buffer = replace(buffer, scope=_BUFFERS.get(called) or buffer.scope)
        self.define(name, buffer)
        if called in _BLOCK_BUFFERS or (self.source.classic and called == "T.alloc_buffer"):
            (self.frames[-1].buffers if self.frames else self.root_buffers).append(buffer)
            return []
        return [_Memory(buffer, self.memory_of(value) if called == "T.decl_buffer" else None)]

    def view(self, name: str, of: Buffer, call: ast.Call) -> list[_Item]:
        """``of.view(4, 4)``: the same memory in another shape."""
        for keyword in call.keywords:
            if keyword.arg != "dtype" or self.exprs.dtype(keyword.value) != of.dtype:
                raise self.source.problem(keyword, "a view has another shape only", f"expected dtype {of.dtype}")
        buffer = Buffer(name, tuple(self.exprs.expr(one) for one in call.args), of.dtype, of.scope)
        self.define(name, buffer)
        return [_Memory(buffer, of)]

    def memory_of(self, value: ast.Call) -> Buffer | None:
        """Return the buffer ``X`` of an argument ``data=X.data``, None where the memory is new."""
        data = next((one.value for one in value.keywords if one.arg == "data"), None)
        if data is None:
            return None
        match data:
            case ast.Attribute(ast.Name(name), "data"):
                of = self.lookup(name)
            case _:
                of = None
        if not isinstance(of, Buffer):
            raise self.source.problem(data, "this is no buffer's memory", "expected X.data of a buffer X")
        return of

    # Loops.

    def loop(self, node: ast.For) -> Stmt:
        call = node.iter
        called = self.source.called(call)
        if not isinstance(call, ast.Call) or called is None or node.orelse:
            raise self.source.problem(
                node.iter, "this is no loop of a tensor program", "expected range, T.grid, T.serial …"
            )
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(names) != len(targets):
            raise self.source.problem(node.target, "a loop variable is a name", "expected a name")
        if called == "T.grid":
            extents = [self.exprs.expr(arg) for arg in call.args]
            if len(extents) != len(names):
                given = f"{counted(len(names), 'name')} for {counted(len(extents), 'extent')}"
                raise self.source.problem(node.target, "T.grid is given another number of names than extents", given)
            loops = [(name, Var(name, e.dtype), e) for name, e in zip(names, extents, strict=True)]
            return self.nest(loops, {}, LoopKind.SERIAL, {}, node.body)
        if called == "T.thread_binding":
            raise self.source.problem(
                call.func, "loops over the threads of a GPU cannot be run here", "expected a loop of the CPU",
                help="take a schedule for the CPU, with T.parallel or T.serial",
            )  # fmt: skip
        if called not in _KINDS:
            raise self.source.problem(call.func, f"`{called}` has no form here",
                                      f"expected T.grid, {', '.join(_KINDS)}")  # fmt: skip
        if len(names) != 1:
            raise self.source.problem(node.target, f"{called} has one variable", "expected one name")
        return self.single(called, names[0], call, node.body)

    def single(self, called: str, name: str, call: ast.Call, body: list[ast.stmt]) -> Stmt:
        notes: dict[str, Any] = {}
        for keyword in call.keywords:
            if keyword.arg != "annotations" or not isinstance(keyword.value, ast.Dict):
                raise self.source.problem(
                    keyword, f"`{called}` has no argument `{keyword.arg}`", "expected annotations={…}"
                )
            notes = self.attributes(keyword.value)
        if not 1 <= len(call.args) <= 3:
            raise self.source.problem(call, f"`{called}` takes an extent", "expected 1 to 3 arguments")
        values = [self.exprs.value(arg) for arg in call.args]
        dtype = next((value.dtype for value in values if isinstance(value, PrimExpr)), "int32")
        exprs = [cast(dtype, self.exprs.typed(value, call, dtype)) for value in values]
        if len(exprs) == 1:
            var = Var(name, dtype)
            return self.nest([(name, var, exprs[0])], {}, _KINDS[called], notes, body)
        begin, end = exprs[0], exprs[1]
        extent = binary("-", end, begin)
        var = Var(name, dtype)
        value: PrimExpr = var
        if len(exprs) == 3:
            step = exprs[2]
            extent = binary("//", binary("-", binary("+", extent, step), 1), step)
            value = binary("*", var, step)
        return self.nest([(name, var, extent)], {name: binary("+", begin, value)}, _KINDS[called], notes, body)

    def nest(
        self,
        loops: Sequence[tuple[str, Var, PrimExpr]],
        values: Mapping[str, PrimExpr],
        kind: LoopKind,
        notes: Mapping[str, Any],
        body: list[ast.stmt],
    ) -> Stmt:
        with self.scope():
            for name, var, extent in loops:
                self.define(name, values.get(name, var))
                self.extents[var] = extent
            result = self.inner(body)
        for _, var, extent in reversed(loops):
            result = For(var, extent, result, kind, notes)
        return result

    # Blocks.

    def with_(self, node: ast.With, item: ast.withitem, body: list[ast.stmt]) -> list[_Item]:
        call = item.context_expr
        called = self.source.called(call)
        assert called is None or isinstance(call, ast.Call)
        if called in ("T.sblock", "T.block"):
            return self.block(call, body)  # type: ignore[arg-type]
        if called == "T.init":
            if not self.frames:
                raise self.source.problem(call, "T.init stands in a block", "not in a block")
            self.frames[-1].init = self.inner(body)
            return []
        if called == "T.LetStmt" and isinstance(call, ast.Call) and isinstance(item.optional_vars, ast.Name):
            value = self.exprs.expr(call.args[0])
            var = Var(item.optional_vars.id, value.dtype)
            with self.scope():
                self.define(var.name, var)
                return [Let(var, value, self.statements(body))]
        raise self.source.problem(call, f"`with {called or 'this'}` has no form here",
                                  "expected T.sblock(…), T.block(…) or T.init()")  # fmt: skip

    def block(self, call: ast.Call, body: list[ast.stmt]) -> list[_Item]:
        name = self.source.string(call.args[0], "a block's name") if call.args else ""
        if name == "root" and not self.frames and not any(map(self.is_axis, body)):
            # The function's own block; TVM prints it where it owns something. What it reads and writes follows.
            own = [node for node in body if self.called_alone(node) not in ("T.reads", "T.writes")]
            return [self.statements(own)]
        frame = _BlockFrame()
        self.frames.append(frame)
        try:
            with self.scope():
                inner = self.statements(body)
        finally:
            self.frames.pop()
        if frame.init is not None and all(axis.kind is IterKind.SPATIAL for axis in frame.axes):
            # Nothing is accumulated: what there is to begin with is there at every point.
            inner, frame.init = Seq((frame.init, inner)), None
        block = Block(
            name, tuple(frame.axes), frame.reads or (), frame.writes or (), inner, frame.init, tuple(frame.buffers),
            frame.annotations,
        )  # fmt: skip
        if not frame.reads and not frame.writes:
            # Blocks of extern tensors are printed with empty regions; what they access is found as if left out.
            frame.reads = frame.writes = None
        if frame.reads is None or frame.writes is None:
            reads, writes = block_regions(block)
            block = Block(
                name, block.iter_vars, reads if frame.reads is None else frame.reads,
                writes if frame.writes is None else frame.writes, inner, frame.init, block.alloc_buffers,
                frame.annotations,
            )  # fmt: skip
        return [BlockRealize(tuple(frame.values), block, frame.predicate)]

    def called_alone(self, node: ast.stmt) -> str | None:
        return self.source.called(node.value) if isinstance(node, ast.Expr) else None

    def is_axis(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.Assign) and (self.source.called(node.value) or "").startswith("T.axis.")

    def frame(self, node: ast.AST, what: str) -> _BlockFrame:
        if not self.frames:
            raise self.source.problem(node, f"{what} stands in a block", "not in a block")
        return self.frames[-1]

    def remap(self, targets: Sequence[ast.expr], call: ast.Call) -> None:
        frame = self.frame(call, "T.axis.remap")
        if len(call.args) != 2 or not isinstance(call.args[1], (ast.List, ast.Tuple)):
            raise self.source.problem(
                call, "T.axis.remap takes kinds and loop variables", 'expected ("SSR", [i, j, k])'
            )
        kinds = self.source.string(call.args[0], "the kinds of axes")
        loops = call.args[1].elts
        if not len(kinds) == len(loops) == len(targets):
            numbers = zip((targets, kinds, loops), ("name", "kind", "loop"), strict=True)
            given = ", ".join(counted(len(items), what) for items, what in numbers)
            raise self.source.problem(call, "T.axis.remap is given different numbers of things", given)
        for target, kind, loop in zip(targets, kinds, loops, strict=True):
            value = self.exprs.expr(loop)
            if not isinstance(value, Var) or value not in self.extents:
                raise self.source.problem(loop, "this is no loop variable", "expected the variable of a loop around")
            if kind not in _AXES or not isinstance(target, ast.Name):
                raise self.source.problem(call, f"there is no kind of axis {kind!r}", 'expected "S" or "R"')
            self.add_axis(frame, target.id, _AXES[kind], self.extents[value], value)

    def axis(self, name: str, kind: str, call: ast.Call) -> None:
        frame = self.frame(call, "an axis")
        if kind not in _AXES or len(call.args) != 2:
            raise self.source.problem(
                call, f"T.axis.{kind} has no form here", "expected T.axis.spatial or T.axis.reduce of (extent, value)"
            )
        bounds = call.args[0]
        value = self.exprs.value(call.args[1])
        dtype = value.dtype if isinstance(value, PrimExpr) else ""
        if isinstance(bounds, ast.Tuple) and len(bounds.elts) == 2:
            begin = self.exprs.expr(bounds.elts[0], dtype)
            if begin not in (IntImm(0, "int32"), IntImm(0, "int64")):
                # Axes begin at 0 here: the name stands for the axis and its begin together.
                end = self.exprs.expr(bounds.elts[1], begin.dtype)
                point = self.exprs.typed(value, call.args[1], begin.dtype)
                extent = simplify(binary("-", end, begin))
                self.add_axis(frame, name, _AXES[kind], extent, simplify(binary("-", point, begin)))
                self.define(name, binary("+", frame.axes[-1].var, begin))
                return
            bounds = bounds.elts[1]
        extent = self.exprs.expr(bounds, dtype)
        if dtype and extent.dtype != dtype and isinstance(extent, IntImm):
            extent = cast(dtype, extent)
        self.add_axis(frame, name, _AXES[kind], extent, self.exprs.typed(value, call.args[1], extent.dtype))

    def add_axis(self, frame: _BlockFrame, name: str, kind: IterKind, extent: PrimExpr, value: PrimExpr) -> None:
        var = Var(name, extent.dtype)
        frame.axes.append(IterVar(var, extent, kind))
        frame.values.append(value)
        self.define(name, var)

    # Expressions that stand alone.

    def expression(self, node: ast.expr) -> list[_Item]:
        called = self.source.called(node)
        if not isinstance(node, ast.Call) or called is None:
            raise self.source.problem(node, "an expression alone does nothing", "expected an assignment or a call")
        match called:
            case "T.reads":
                self.frame(node, called).reads = self.regions(node)
            case "T.writes":
                self.frame(node, called).writes = self.regions(node)
            case "T.where":
                self.frame(node, called).predicate = self.exprs.expr(self.exprs.only(node, "a condition"))
            case "T.sblock_attr" | "T.block_attr":
                if len(node.args) != 1 or not isinstance(node.args[0], ast.Dict):
                    raise self.source.problem(node, f"{called} takes a dictionary", "expected one dictionary")
                # Which operands a schedule may lay out anew is no business of ours.
                kept = [(key, value) for key, value in zip(node.args[0].keys, node.args[0].values, strict=True)
                        if not (isinstance(key, ast.Constant) and key.value == "layout_free_placeholders")]  # fmt: skip
                given = ast.copy_location(ast.Dict([key for key, _ in kept], [value for _, value in kept]), node)
                self.frame(node, called).annotations.update(self.attributes(given))
            case "T.func_attr":
                self.function_attributes(node)
            case "T.attr" if len(node.args) == 1 and isinstance(node.args[0], ast.Dict):
                for key in node.args[0].keys:
                    name = self.source.string(key or node, "a key")
                    if not name.startswith("pragma_"):
                        raise self.source.problem(node, f"the attribute {name!r} has no form here", "expected pragma_…")
            case "T.evaluate":
                value = self.exprs.expr(self.exprs.only(node, "a value"))
                return [] if isinstance(value, (IntImm, FloatImm)) else [Evaluate(value)]
            case _:
                return [Evaluate(self.exprs.expr(node))]
        return []

    def regions(self, node: ast.Call) -> tuple[BufferRegion, ...]:
        parts = list(node.args)
        if len(parts) == 1 and isinstance(parts[0], (ast.List, ast.Tuple)):
            parts = list(parts[0].elts)
        return tuple(self.region(part) for part in parts)

    def region(self, node: ast.expr) -> BufferRegion:
        if isinstance(node, ast.Name):
            return whole(self.exprs.buffer(node))
        if not isinstance(node, ast.Subscript):
            raise self.source.problem(node, "this is no region", "expected buffer[index, begin:end, …]")
        buffer = self.exprs.buffer(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) != len(buffer.shape):
            raise self.source.problem(node, f"the buffer `{buffer.name}` has {counted(len(buffer.shape), 'dimension')}",
                                      f"{len(parts)} indices given, expected {len(buffer.shape)}")  # fmt: skip
        return BufferRegion(buffer, tuple(map(self.range, parts)))

    def range(self, node: ast.expr) -> Range:
        if not isinstance(node, ast.Slice):
            return Range(self.exprs.expr(node), IntImm(1))
        if node.lower is None or node.upper is None or node.step is not None:
            raise self.source.problem(node, "a region has a begin and an end", "expected begin:end")
        begin, end = self.exprs.expr(node.lower), self.exprs.expr(node.upper)
        match end:
            case Binary("+", first, extent) if first == begin:
                return Range(begin, extent)
        if isinstance(begin, IntImm):
            return Range(begin, binary("-", end, begin))
        return Range(begin, simplify(binary("-", end, begin)))

    def attributes(self, node: ast.Dict) -> dict[str, Any]:
        """Return a dictionary of attributes; typed literals become plain numbers, other scalars expressions."""
        found: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                raise self.source.problem(node, "a dictionary is written out", "expected keys and values")
            found[self.source.string(key, "a key")] = self.attribute(value)
        return found

    def attribute(self, node: ast.expr) -> Any:
        match node:
            case ast.Dict():
                return self.attributes(node)
            case ast.List(items) | ast.Tuple(items):
                return [self.attribute(item) for item in items]
            case ast.Constant(None):
                return None
        called = self.source.called(node)
        if called in ("T.bool", "T.float64") and isinstance(node, ast.Call):
            return self.source.literal(node)
        return self.exprs.value(node)


def _sequence(stmts: list[Stmt]) -> Stmt:
    return stmts[0] if len(stmts) == 1 else Seq(tuple(stmts))


def _as_load(node: ast.expr) -> ast.expr:
    match node:
        case ast.Name(name):
            return ast.Name(name, ast.Load())
        case ast.Subscript(value, index):
            return ast.Subscript(value, index, ast.Load())
    return node
