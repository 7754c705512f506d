"""Whether two PrimFuncs are the same program under other names.

A program is written down as a flat tuple in which variables and buffers are numbers in the order of
their first appearance; equal tuples are equal programs. Names of functions, variables, buffers and
blocks do not count, nor where a function came from.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferData,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    FloatImm,
    FunctionCall,
    IntImm,
    Keyword,
    LetIn,
    Pointer,
    PrimExpr,
    Shuffle,
    StringImm,
    Var,
    children,
)
from relay2relax.tir.ir.stmt import (
    Allocate,
    Assert,
    Attribute,
    BlockRealize,
    BufferRegion,
    BufferStore,
    For,
    If,
    Let,
    PrimFunc,
    Seq,
    Stmt,
    Target,
    ThreadAxis,
)
from relay2relax.tir.ir.visit import expressions, sub_statements

Key = tuple[Hashable, ...]


class _Writer:
    """The tuple so far, and the numbers of variables and buffers."""

    def __init__(self) -> None:
        self.out: list[Hashable] = []
        self.numbers: dict[Var | Buffer, int] = {}

    def var(self, var: Var) -> None:
        number = self.numbers.get(var)
        if number is None:
            number = self.numbers[var] = len(self.numbers)
            self.out.append(var.dtype)
            if isinstance(var, Pointer):
                self.out += (var.element, var.scope)
        self.out.append(number)

    def buffer(self, buffer: Buffer) -> None:
        number = self.numbers.get(buffer)
        if number is None:
            number = self.numbers[buffer] = len(self.numbers)
            # An offset of 0 is what a buffer has that says none.
            offset = None if isinstance(buffer.offset, IntImm) and not buffer.offset.value else buffer.offset
            self.out += (buffer.dtype, buffer.scope, len(buffer.shape), len(buffer.strides), offset is not None)
            for extent in (*buffer.shape, *buffer.strides):
                self.expr(extent)
            if offset is not None:
                self.expr(offset)
            self.notes(buffer.notes)
        self.out.append(number)

    def expr(self, expr: PrimExpr) -> None:
        match expr:
            case Var():
                self.var(expr)
                return
            case IntImm(value, dtype):
                self.out += ("int", value, dtype)
                return
            case FloatImm(number, dtype):
                self.out += ("float", number.hex(), dtype)
                return
            case Keyword(name, value):
                self.out += ("keyword", name)
                self.note(value)
                return
            case StringImm(text):
                self.out += ("str", text)
                return
            case Binary(op):
                self.out.append(op)
            case Cast(dtype):
                self.out += ("cast", dtype)
            case Call(name, args, dtype, pointer):
                self.out += ("call", name, dtype, pointer, len(args))
            case FunctionCall(name, args, dtype):
                self.out += ("function", name, dtype, len(args))
            case BufferLoad(buffer, _, predicate):
                self.out += ("load", predicate is not None)
                self.buffer(buffer)
            case BufferData(buffer, bare):
                self.out += ("data", bare)
                self.buffer(buffer)
            case LetIn(var):
                self.out.append("let")
                self.var(var)
            case Shuffle(vectors, indices):
                self.out += ("shuffle", len(vectors), len(indices))
            case CommReducer(left, right):
                self.out += ("reducer", len(left))
                for var in (*left, *right):
                    self.var(var)
            case _:
                self.out.append(type(expr).__name__)
        for part in children(expr):
            self.expr(part)

    def regions(self, regions: tuple[BufferRegion, ...]) -> None:
        self.out.append(len(regions))
        for region in regions:
            self.buffer(region.buffer)
            for one in region.region:
                self.expr(one.begin)
                self.expr(one.extent)

    def notes(self, notes: Mapping[str, object]) -> None:
        self.out.append(len(notes))
        for name in sorted(notes):
            self.out.append(name)
            self.note(notes[name])

    def note(self, value: object) -> None:
        """Write an attribute's value; entries of a dictionary are in the order of their keys."""
        match value:
            case Mapping():
                self.notes(value)
            case list() | tuple():
                self.out.append(len(value))
                for one in value:
                    self.note(one)
            case Buffer():
                self.buffer(value)
            case ThreadAxis(var, tag):
                self.out.append(tag)
                self.var(var)
            case Target(told, host):
                self.note(told)
                self.note(host)
            case PrimExpr():
                self.expr(value)
            case _:
                self.out.append(repr(value))

    def stmt(self, stmt: Stmt) -> None:
        if isinstance(stmt, Seq):
            # How statements are bracketed does not matter.
            for one in stmt.stmts:
                self.stmt(one)
            return
        self.out.append(type(stmt).__name__)
        match stmt:
            case BufferStore(buffer, _, _, predicate):
                self.out.append(predicate is not None)
                self.buffer(buffer)
            case For(var, _, _, kind, annotations, thread, begin, step):
                self.out += (kind, thread, begin is not None, step is not None)
                self.notes(annotations)
                self.var(var)
            case Let(var=var):
                self.var(var)
            case Allocate(buffer, _, of):
                self.buffer(buffer)
                self.out += (of is not None, stmt.values)
                self.notes(stmt.annotations)
                if isinstance(of, Buffer):
                    self.buffer(of)
            case Assert(_, message, kind):
                self.out += (kind, len(message))
            case Attribute(node, key, value):
                self.out.append(key)
                for one in (node, value):
                    if not isinstance(one, PrimExpr):
                        self.note(one)
            case If(otherwise=otherwise):
                self.out.append(otherwise is not None)
            case BlockRealize():
                self.block(stmt)
        for expr in expressions(stmt):
            self.expr(expr)
        for part in sub_statements(stmt):
            self.stmt(part)
            if not isinstance(stmt, (Let, Allocate, Attribute)):
                # A script does not say where a local's scope ends, and what follows does not use
                # it.
                self.out.append("end")

    def block(self, realize: BlockRealize) -> None:
        block = realize.block
        self.out += (len(block.iter_vars), realize.predicate is not None, block.init is not None)
        for axis in block.iter_vars:
            self.out += (axis.kind, axis.begin is not None)
            self.var(axis.var)
        self.out.append(len(block.alloc_buffers))
        for buffer in block.alloc_buffers:
            self.buffer(buffer)
        for match in block.matches:
            self.regions((match.region,))
            self.buffer(match.buffer)
        self.out.append(len(block.matches))
        self.regions(block.reads)
        self.regions(block.writes)
        self.notes(block.annotations)

    def func(self, func: PrimFunc) -> None:
        self.out += (len(func.params), func.num_outputs, func.result, func.no_alias)
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is None:
                self.var(param)
            else:
                self.buffer(buffer)
        self.out.append(len(func.root_buffers))
        for buffer in func.root_buffers:
            self.buffer(buffer)
        self.notes(func.root_annotations)
        self.notes(func.attrs)
        self.stmt(func.body)


def structural_key(func: PrimFunc) -> Key:
    """Return a hashable value that is equal for PrimFuncs that differ in names only."""
    writer = _Writer()
    writer.func(func)
    return tuple(writer.out)


def structural_equal(a: PrimFunc, b: PrimFunc) -> bool:
    """Return whether two PrimFuncs differ in names only."""
    return a is b or structural_key(a) == structural_key(b)
