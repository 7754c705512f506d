"""Whether two PrimFuncs are the same program under other names.

A program is written down as a flat tuple in which variables and buffers are numbers in the order of their first
appearance; equal tuples are equal programs. Names of functions, variables, buffers and blocks do not count, nor
where a function came from.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from relay2relax.tir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    FloatImm,
    IntImm,
    PrimExpr,
    StringImm,
    Var,
    children,
)
from relay2relax.tir.stmt import (
    Allocate,
    BlockRealize,
    BufferRegion,
    BufferStore,
    For,
    If,
    Let,
    PrimFunc,
    Seq,
    Stmt,
)
from relay2relax.tir.visit import expressions, sub_statements

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
        self.out.append(number)

    def buffer(self, buffer: Buffer) -> None:
        number = self.numbers.get(buffer)
        if number is None:
            number = self.numbers[buffer] = len(self.numbers)
            self.out += (buffer.dtype, buffer.scope, len(buffer.shape))
            for extent in buffer.shape:
                self.expr(extent)
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
            case StringImm(text):
                self.out += ("str", text)
                return
            case Binary(op):
                self.out.append(op)
            case Cast(dtype):
                self.out += ("cast", dtype)
            case Call(name, args, dtype):
                self.out += ("call", name, dtype, len(args))
            case BufferLoad(buffer):
                self.out.append("load")
                self.buffer(buffer)
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

    def notes(self, notes: Mapping[str, Any]) -> None:
        self.out.append(len(notes))
        for name in sorted(notes):
            self.out += (name, _note(notes[name]))

    def stmt(self, stmt: Stmt) -> None:
        if isinstance(stmt, Seq):
            # How statements are bracketed does not matter.
            for one in stmt.stmts:
                self.stmt(one)
            return
        self.out.append(type(stmt).__name__)
        match stmt:
            case BufferStore(buffer):
                self.buffer(buffer)
            case For(var, _, _, kind, annotations):
                self.out.append(kind)
                self.notes(annotations)
                self.var(var)
            case Let(var=var):
                self.var(var)
            case Allocate(buffer, _, of):
                self.buffer(buffer)
                self.out.append(of is not None)
                if of is not None:
                    self.buffer(of)
            case If(otherwise=otherwise):
                self.out.append(otherwise is not None)
            case BlockRealize():
                self.block(stmt)
        for expr in expressions(stmt):
            self.expr(expr)
        for part in sub_statements(stmt):
            self.stmt(part)
            if not isinstance(stmt, (Let, Allocate)):
                # A script does not say where a local's scope ends, and what follows does not use it.
                self.out.append("end")

    def block(self, realize: BlockRealize) -> None:
        block = realize.block
        self.out += (len(block.iter_vars), realize.predicate is not None, block.init is not None)
        for axis in block.iter_vars:
            self.out.append(axis.kind)
            self.var(axis.var)
        self.out.append(len(block.alloc_buffers))
        for buffer in block.alloc_buffers:
            self.buffer(buffer)
        self.regions(block.reads)
        self.regions(block.writes)
        self.notes(block.annotations)

    def func(self, func: PrimFunc) -> None:
        self.out += (len(func.params), func.num_outputs)
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is None:
                self.var(param)
            else:
                self.buffer(buffer)
        self.out.append(len(func.root_buffers))
        for buffer in func.root_buffers:
            self.buffer(buffer)
        self.notes(func.attrs)
        self.stmt(func.body)


def _note(value: Any) -> str:
    """Return an attribute's value as text; entries of a dictionary are in the order of their keys."""
    match value:
        case Mapping():
            return f"{{{', '.join(f'{key}: {_note(value[key])}' for key in sorted(value))}}}"
        case list() | tuple():
            return f"[{', '.join(map(_note, value))}]"
    return repr(value)


def structural_key(func: PrimFunc) -> Key:
    """Return a hashable value that is equal for PrimFuncs that differ in names only."""
    writer = _Writer()
    writer.func(func)
    return tuple(writer.out)


def structural_equal(a: PrimFunc, b: PrimFunc) -> bool:
    """Return whether two PrimFuncs differ in names only."""
    return a is b or structural_key(a) == structural_key(b)
