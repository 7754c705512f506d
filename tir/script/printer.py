"""PrimFuncs as TVMScript: statements, blocks and signatures.

``expr_printer.py`` writes expressions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.words import Code, Identifier, code, comma, indented, number, quoted, word
from relay2relax.tir.analysis.regions import whole
from relay2relax.tir.analysis.reshape import constant_stores
from relay2relax.tir.ir.expr import (
    Buffer,
    Call,
    IntImm,
    Pointer,
    PrimExpr,
    SizeVar,
    StringImm,
    Var,
)
from relay2relax.tir.ir.stmt import (
    NO_ALIAS,
    THREAD_KEYS,
    Allocate,
    Assert,
    Attribute,
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    Evaluate,
    For,
    If,
    IterKind,
    Let,
    LoopKind,
    PrimFunc,
    Seq,
    Stmt,
    ThreadAxis,
    While,
)
from relay2relax.tir.ir.visit import (
    all_expressions,
    free_variables,
    loads,
    place_variables,
    shape_variables,
    statements,
    sub_statements,
    variables,
)
from relay2relax.tir.normalize.ranges import counted_from_zero
from relay2relax.tir.script.dialect import Dialect, find_dialect
from relay2relax.tir.script.expr_printer import ExpressionPrinter, dtype_word
from relay2relax.tir.script.names import identifier

# Memory of one element, by its scope.
_SCALARS = {"local": code("T.local_scalar"), "shared": code("T.shared_scalar")}
# Words of Python that are intrinsics within a program.
_WORDS = {"break_loop": code("break"), "continue_loop": code("continue")}


class _Printer(ExpressionPrinter):
    """The text of one PrimFunc; ``lines`` grows as statements are written."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self.lines: list[Code] = []
        self.depth = 0
        self.loops: dict[Var, tuple[PrimExpr | None, PrimExpr]] = {}

    def line(self, text: Code) -> None:
        self.lines.append(indented(self.depth, text))

    def body(self, stmt: Stmt) -> None:
        """Write ``stmt`` one step deeper, in a scope of its own."""
        self.depth += 1
        self.scope.enter()
        before = len(self.lines)
        self.stmt(stmt)
        if len(self.lines) == before:
            self.line(code("pass"))
        self.scope.leave()
        self.depth -= 1

    # Buffers.

    def declare(self, var: Var) -> Code:
        name = self.scope.define(var, var.name)
        sized = code("is_size_var=True") if isinstance(var, SizeVar) and not self.dialect.today else code("")
        typed = isinstance(var, Pointer) and (var.element != "void" or var.scope)
        self.line(code("{} = {}", name, self.type(var) if typed else code("T.{}({})", dtype_word(var.dtype), sized)))
        return name

    def type(self, var: Var) -> Code:
        """Return the type of ``var`` as an annotation."""
        if not isinstance(var, Pointer):
            return code("T.{}", dtype_word(var.dtype))
        parts = [quoted(var.element)] if var.element != "void" or var.scope else []
        parts += [quoted(var.scope)] if var.scope else []
        return code("T.handle({})", comma(parts)) if parts else code("T.handle")

    def typed(self, buffer: Buffer, name: str = "", data: Code | None = None) -> Code:
        """Return what is said of ``buffer``, which is to have the name ``name``; ``data`` is where
        it lies.
        """
        # A variable that nothing has defined is one that the buffer gives its value.
        named = dict.fromkeys((*shape_variables([buffer]), *place_variables(buffer)))
        free = [var for var in named if self.scope.name(var) is None and var not in self.places]
        offset, placed = buffer.offset, None
        if "offset_factor" in buffer.notes and isinstance(offset, Var) and offset in free:
            free.remove(offset)
            placed, offset = offset, None
        for var in free:
            self.declare(var)
        if placed is not None and name:
            self.places[placed] = code("{}.elem_offset", self.scope.free(name))
        parts = [self.shape(buffer.shape), quoted(buffer.dtype)]
        parts += [code("data={}", data)] if data is not None else []
        parts += [code("strides={}", self.shape(buffer.strides))] if buffer.strides else []
        parts += [code("elem_offset={}", self.expr(offset))] if offset is not None else []
        parts += [code("scope={}", quoted(buffer.scope))] if buffer.scope != "global" else []
        parts += [code("{}={}", word(key), self.attribute(value)) for key, value in buffer.notes.items()]
        return comma(parts)

    def allocation(self, stmt: Allocate) -> None:
        buffer, of = stmt.buffer, stmt.of
        if of is None and not self.dialect.today and not _is_accessed(stmt) and not buffer.strides:
            self.plain_memory(stmt)
            return
        if stmt.annotations and not self.dialect.today:
            # Memory of which something is said, and the buffer in it, are two things there.
            memory = replace(buffer, name=f"{buffer.name}_data", strides=(), offset=None)
            self.plain_memory(replace(stmt, buffer=memory))
            stmt, of = replace(stmt, annotations={}), memory
        if stmt.scalar and of is None and buffer.scope in _SCALARS and self.dialect.today:
            self.scalars.add(buffer)
            made = code("{}({})", _SCALARS[buffer.scope], quoted(buffer.dtype))
            self.line(code("{} = {}", self.scope.define(buffer, buffer.name), made))
            return
        data = self.address(of) if isinstance(of, Buffer) else None if of is None else self.expr(of)
        made = self.dialect.memory if of is None else code("T.decl_buffer")
        text = self.typed(buffer, buffer.name, data)
        notes = code(", annotations={}", self.attribute(stmt.annotations)) if stmt.annotations else code("")
        self.line(code("{} = {}({}{})", self.scope.define(buffer, buffer.name), made, text, notes))
        if stmt.values is not None:
            for store in constant_stores(stmt):
                self.stmt(store)

    def plain_memory(self, stmt: Allocate) -> None:
        """Write memory in which only other buffers lie, as the classic dialect has it."""
        buffer = stmt.buffer
        shape = code("[{}]", comma(map(self.count, buffer.shape)))
        dtype = quoted(buffer.dtype)
        notes = code(", annotations={}", self.attribute(stmt.annotations)) if stmt.annotations else code("")
        if stmt.values is None:
            made = code("T.allocate({}, {}, {}{})", shape, dtype, quoted(buffer.scope), notes)
        else:
            made = code("T.allocate_const([{}], {}, {}{})", comma(map(number, stmt.values)), dtype, shape, notes)
        self.addresses.add(buffer)
        self.line(code("{} = {}", self.scope.define(buffer, buffer.name), made))

    def region(self, region: BufferRegion) -> Code:
        parts = []
        for one in region.region:
            begin = self.count(one.begin)
            if isinstance(one.extent, IntImm) and one.extent.value == 1:
                parts.append(begin)
            else:
                parts.append(code("{}:{}", begin, self.count(one.begin + one.extent)))
        return code("{}[{}]", self.buffer(region.buffer), comma(parts) if parts else code("()"))

    # Statements.

    def stmt(self, stmt: Stmt) -> None:
        match stmt:
            case BufferStore(buffer, _, value) if buffer in self.scalars:
                self.line(code("{} = {}", self.buffer(buffer), self.expr(value)))
            case BufferStore(buffer, indices, value, None):
                self.line(code("{}[{}] = {}", self.buffer(buffer), self.indices(indices), self.expr(value)))
            case BufferStore(buffer, indices, value, mask):
                target, text = code("{}.vstore([{}]", self.buffer(buffer), self.indices(indices)), self.expr(value)
                self.line(code("{}, {}, predicate={})", target, text, self.attribute(mask)))
            case Seq(stmts):
                for one in stmts:
                    self.stmt(one)
            case For():
                self.loop(stmt)
            case If(condition, then, otherwise):
                self.line(code("if {}:", self.expr(condition)))
                self.body(then)
                if otherwise is not None:
                    self.line(code("else:"))
                    self.body(otherwise)
            case Let(var, value, body):
                text = self.expr(value)
                if not self.dialect.today and (known := self.scope.name(var)) is not None:
                    self.line(code("with T.LetStmt({}, var={}):", text, known))
                    self.body(body)
                    return
                name = self.scope.define(var, var.name)
                typed = code("T.let[{}]", self.type(var)) if self.dialect.today else self.type(var)
                self.line(code("{}: {} = {}", name, typed, text))
                self.stmt(body)
            case While(condition, body):
                self.line(code("while {}:", self.expr(condition)))
                self.body(body)
            case Evaluate(Call(name)) if name in _WORDS and self.dialect.today:
                self.line(_WORDS[name])
            case Evaluate(Call("ret", (result,))) if self.dialect.today:
                self.line(code("return {}", self.expr(result)))
            case Evaluate(value):
                self.line(code("T.evaluate({})", self.count(value)))
            case Assert(condition, message, kind):
                self.assertion(condition, message, kind)
            case Attribute():
                self.about(stmt)
            case Allocate():
                self.allocation(stmt)
                self.stmt(stmt.body)
            case BlockRealize():
                self.block(stmt)

    def assertion(self, condition: PrimExpr, message: Sequence[PrimExpr], kind: str) -> None:
        if self.dialect.today:
            text = code("({}, [{}])", quoted(kind), comma(map(self.expr, message)))
        elif len(message) == 1:
            text = self.expr(message[0])
        else:
            text = quoted("".join(part.value for part in message if isinstance(part, StringImm)))
        self.line(code("assert {}, {}", self.expr(condition), text))

    def about(self, stmt: Attribute) -> None:
        """Write what is said of the statements in ``stmt``."""
        match stmt.node:
            case ThreadAxis(var, tag) if stmt.key in THREAD_KEYS and self.scope.name(var) is not None:
                self.line(code("with T.launch_thread({}, {}):", self.expr(var), self.expr(stmt.value)))
            case ThreadAxis(var, tag) if stmt.key in THREAD_KEYS:
                made = code("T.launch_thread({}, {})", quoted(tag), self.expr(stmt.value))
                self.scope.enter()
                self.line(code("with {} as {}:", made, self.scope.define(var, var.name)))
                self.body(stmt.body)
                self.scope.leave()
                return
            case 0 if self.dialect.today:
                self.line(code("with T.attr({}):", self.attribute({stmt.key: stmt.value})))
            case Buffer() as buffer if buffer in self.addresses:
                self.said(self.buffer(buffer), stmt)
            case node:
                self.said(self.attribute(node), stmt)
        self.body(stmt.body)

    def said(self, node: Code, stmt: Attribute) -> None:
        self.line(code("with T.attr({}, {}, {}):", node, quoted(stmt.key), self.attribute(stmt.value)))

    def loop(self, loop: For) -> None:
        """Write ``loop``; plain serial loops that are nested without anything between them share
        one line.
        """
        nest = [loop]
        inner = loop.body
        while _plain(loop) and isinstance(inner, For) and _plain(inner):
            if any(var in {outer.var for outer in nest} for var in variables(inner.extent)):
                break
            nest.append(inner)
            inner = inner.body
        extents = [self.count(one.extent) for one in nest]
        self.scope.enter()
        names = [self.scope.define(one.var, one.var.name) for one in nest]
        self.loops.update((one.var, (one.begin, one.extent)) for one in nest)
        if len(nest) > 1 or (_plain(loop) and not isinstance(loop.extent, (IntImm, Var))):
            # TVM's reader simplifies the extent of `range`, and takes those of T.grid as they are.
            kind = code("T.grid({})", comma(extents))
        elif _plain(loop):
            kind = code("range({})", extents[0])
        else:
            notes = code(", annotations={}", self.attribute(loop.annotations)) if loop.annotations else code("")
            thread = code(", thread={}", quoted(loop.thread)) if loop.kind is LoopKind.THREAD else code("")
            bounds = extents[0] if loop.begin is None else self.bounds(loop.begin, loop.extent)
            if loop.step is not None:
                begin = code("0, ") if loop.begin is None else code("")
                bounds = code("{}{}, step={}", begin, bounds, self.count(loop.step))
            kind = code("T.{}({}{}{})", word(loop.kind.value), bounds, thread, notes)
        self.line(code("for {} in {}:", comma(names), kind))
        self.body(inner)
        self.scope.leave()

    def bounds(self, begin: PrimExpr, extent: PrimExpr) -> Code:
        """Return where something begins and where it ends."""
        return code("{}, {}", self.count(begin), self.count(begin + extent))

    def block(self, realize: BlockRealize) -> None:
        block = realize.block
        self.line(code("with {}({}):", self.dialect.block, quoted(block.name)))
        self.depth += 1
        self.scope.enter()
        self.axes(realize)
        if realize.predicate is not None:
            self.line(code("T.where({})", self.expr(realize.predicate)))
        self.line(code("T.reads({})", comma(self.region(r) for r in block.reads)))
        self.line(code("T.writes({})", comma(self.region(r) for r in block.writes)))
        if block.annotations:
            self.line(code("{}({})", self.dialect.block_attributes, self.attribute(block.annotations)))
        self.owned(block.alloc_buffers)
        for match in block.matches:
            source = self.region(match.region)
            text = self.typed(match.buffer, match.buffer.name)
            self.line(
                code("{} = T.match_buffer({}, {})", self.scope.define(match.buffer, match.buffer.name), source, text)
            )
        if block.init is not None:
            self.line(code("with T.init():"))
            self.body(block.init)
        self.stmt(block.body)
        self.scope.leave()
        self.depth -= 1

    def axes(self, realize: BlockRealize) -> None:
        axes = realize.block.iter_vars
        values = realize.values
        direct = all(
            isinstance(value, Var) and self.loops.get(value) == (axis.begin, axis.extent) and len(axis.kind.value) == 1
            for value, axis in zip(values, axes, strict=True)
        )
        texts = [self.expr(value) for value in values]
        extents = [
            self.expr(axis.extent) if axis.begin is None else code("({})", self.bounds(axis.begin, axis.extent))
            for axis in axes
        ]
        names = [self.scope.define(axis.var, axis.var.name) for axis in axes]
        if axes and direct:
            kinds = quoted("".join(axis.kind.value for axis in axes))
            self.line(code("{} = T.axis.remap({}, [{}])", comma(names), kinds, comma(texts)))
            return
        for axis, name, extent, text in zip(axes, names, extents, texts, strict=True):
            kind = _AXES.get(axis.kind) or word(axis.kind.value)
            self.line(code("{} = T.axis.{}({}, {})", name, kind, extent, text))

    def owned(self, buffers: Sequence[Buffer]) -> None:
        for buffer in buffers:
            text = self.typed(buffer, buffer.name)
            self.line(code("{} = {}({})", self.scope.define(buffer, buffer.name), self.dialect.block_buffer, text))

    def func(self, func: PrimFunc, name: Identifier) -> None:
        options = [code("private=True")] if func.private else []
        options += [] if func.checked else [code("check_well_formed=False")]
        options += [self.dialect.decorator] if self.dialect.decorator and func.scheduled else []
        self.line(code("@T.prim_func({})", comma(options)) if options else code("@T.prim_func"))
        self.scope.enter()
        params: list[Code] = []
        bound: list[tuple[Identifier, Buffer]] = []
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is None:
                params.append(code("{}: {}", self.scope.define(param, param.name), self.type(param)))
            elif not _needs_declarations(buffer) and buffer.scope == "global":
                text = self.typed(buffer, buffer.name)
                params.append(code("{}: T.Buffer({})", self.scope.define(buffer, buffer.name), text))
            else:
                handle = self.scope.define(param, param.name)
                params.append(code("{}: T.handle", handle))
                bound.append((handle, buffer))
        result = code("") if func.result == "void" else code(" -> T.{}", dtype_word(func.result))
        self.line(code("def {}({}){}:", name, comma(params), result))
        self.depth += 1
        attrs = {**({NO_ALIAS: True} if func.no_alias else {}), **func.attrs}
        if attrs:
            attrs = {re.sub(r"\Atirx\.", self.dialect.attributes, key): value for key, value in attrs.items()}
            self.line(code("T.func_attr({})", self.attribute(attrs)))
        for var in shape_variables(func.buffers):
            if self.scope.name(var) is None:
                self.declare(var)
        # The names first: an extent may be written with a variable, never with a buffer.
        for handle, buffer in bound:
            text = self.typed(buffer, buffer.name)
            self.line(code("{} = T.match_buffer({}, {})", self.scope.define(buffer, buffer.name), handle, text))
        for var in _told_of(func.body, frozenset()) if func.checked else free_variables(func):
            if self.scope.name(var) is None and var not in self.places:
                self.declare(var)
        for axis in _launched_again(func):
            self.line(code("{} = T.env_thread({})", self.scope.define(axis.var, axis.var.name), quoted(axis.tag)))
        if func.root_annotations:
            self.root(func)
        else:
            self.contents(func)
        self.depth -= 1
        self.scope.leave()

    def root(self, func: PrimFunc) -> None:
        """Write the function's own block, of which something is said."""
        self.line(code('with {}("root"):', self.dialect.block))
        self.depth += 1
        self.line(code("T.reads()"))
        self.line(code("T.writes()"))
        self.line(code("{}({})", self.dialect.block_attributes, self.attribute(func.root_annotations)))
        self.contents(func)
        self.depth -= 1

    def contents(self, func: PrimFunc) -> None:
        self.owned(func.root_buffers)
        before = len(self.lines)
        self.stmt(_in_block(func))
        if len(self.lines) == before:
            self.line(code("T.evaluate(0)"))


def _needs_declarations(buffer: Buffer) -> bool:
    """Whether ``buffer`` speaks of variables, which cannot be declared within a signature."""
    places = [var for var in place_variables(buffer) if var is not buffer.offset or "offset_factor" not in buffer.notes]
    return bool(places or shape_variables([buffer]))


def _launched_again(func: PrimFunc) -> list[ThreadAxis]:
    """Return the kinds of threads that are told before they run: those that run several statements
    of ``func``.
    """
    launches = [node for node in statements(func.body) if isinstance(node, Attribute) and node.key in THREAD_KEYS]
    axes = [(node.node, node.value.dtype) for node in launches if isinstance(node.node, ThreadAxis)]
    counts = Counter(axis for axis, _ in axes)
    # A launch by kind gives its thread the dtype of the extent.
    again = [axis for axis, dtype in axes if axis.tag and (counts[axis] > 1 or axis.var.dtype != dtype)]
    return list(dict.fromkeys(again))


def _told_of(stmt: Stmt, bound: frozenset[Var]) -> Iterator[Var]:
    """Yield the variables of which attributes in ``stmt`` say something where they are not yet
    bound.
    """
    match stmt:
        case Attribute(Var() as var) if var not in bound:
            yield var
        case Attribute(ThreadAxis(var)) | Let(var=var) | For(var=var):
            bound |= {var}
    for part in sub_statements(stmt):
        yield from _told_of(part, bound)


def _is_accessed(stmt: Allocate) -> bool:
    """Whether elements of the memory that ``stmt`` makes are accessed, other than through buffers
    that lie in it.
    """
    nodes = statements(stmt.body)
    if any(isinstance(node, BufferStore) and node.buffer is stmt.buffer for node in nodes):
        return True
    return any(load.buffer is stmt.buffer for expr in all_expressions(stmt.body) for load in loads(expr))


def _in_block(func: PrimFunc) -> Stmt:
    """Return the body of ``func``; statements without any block get one around them, without which
    TVM cannot go on.
    """
    if func.root_annotations:
        return func.body
    nodes = list(statements(func.body))
    plain = any(isinstance(node, (For, BufferStore)) for node in nodes)
    blocks = any(isinstance(node, BlockRealize) for node in nodes)
    if blocks or not plain or not func.rooted or not func.scheduled or func.root_buffers:
        return func.body
    first = len(func.buffers) - func.num_outputs
    reads, writes = (tuple(map(whole, part)) for part in (func.buffers[:first], func.buffers[first:]))
    return BlockRealize((), Block("root", (), reads, writes, func.body))


_AXES = {IterKind.SPATIAL: code("spatial"), IterKind.REDUCE: code("reduce")}


def _plain(loop: For) -> bool:
    return loop.kind is LoopKind.SERIAL and not loop.annotations and loop.begin is None and loop.step is None


def print_prim_func(func: PrimFunc, name: str | None = None, dialect: str = "tvm", indent: int = 0) -> list[Code]:
    """Return the lines of one ``@T.prim_func``, ``indent`` steps deep.

    Names become Python identifiers, unique where they are seen. Raises UnsupportedError for what
    the dialect has no words for, or what is nested too deep, and TIRError for a variable or buffer
    that nothing defines.
    """
    printer = _Printer(find_dialect(dialect))
    printer.depth = indent
    try:
        if not printer.dialect.today and any(isinstance(node, For) and node.step for node in statements(func.body)):
            # Loops of the classic dialect count by 1.
            func = counted_from_zero(func)
        printer.func(func, identifier(name or func.name))
    except RecursionError as error:
        raise UnsupportedError(f"{func.name} is nested too deep to be written") from error
    return printer.lines
