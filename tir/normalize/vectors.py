"""Vectors as their elements: a store of a vector becomes a loop over its lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.core import dtype as dt
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.ir.expr import (
    Binary,
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    FunctionCall,
    IntImm,
    PrimExpr,
    Ramp,
    Select,
    Shuffle,
    Var,
    accessed_dtype,
    binary,
    cast,
    children,
    const,
    if_then_else,
)
from relay2relax.tir.ir.stmt import (
    Allocate,
    BlockRealize,
    BufferStore,
    For,
    If,
    Let,
    LoopKind,
    Seq,
    Stmt,
)
from relay2relax.tir.ir.visit import loads, map_expr, map_parts, rebuild

# Functions that take a vector apart, or make one of two, and where their lanes are among those of
# their operands.
_HALVES = frozenset({"vectorlow", "vectorhigh", "vectorcombine"})


def scalar_stores(stmt: Stmt) -> Stmt:
    """Return ``stmt`` without vectors.

    Raises UnsupportedError where the machine would decide their length.
    """
    return _Scalars().stmt(stmt)


def _count(dtype: str) -> int:
    lanes = dt.lanes_of(dtype)
    if not isinstance(lanes, int):
        raise UnsupportedError(
            mistake(
                tensor_programs.NOT_EXPRESSED,
                what=f"a vector of {dtype}, which has as many lanes as a machine decides,",
            )
        )
    return lanes


class _Scalars:
    """Statements and expressions of single elements.

    ``wide`` are buffers whose elements were vectors, with one dimension more; ``held`` are
    variables that were vectors, as memory.
    """

    def __init__(self) -> None:
        self.wide: dict[Buffer, Buffer] = {}
        self.held: dict[Var, Buffer] = {}

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case BufferStore():
                return self.store(stmt)
            case Let(var, value, body) if dt.lanes_of(var.dtype) != 1:
                count = _count(var.dtype)
                buffer = Buffer(var.name, (IntImm(count, "int32"),), dt.element_dtype(var.dtype), "local")
                lane = Var("lane", "int32")
                filled = For(lane, IntImm(count, "int32"), BufferStore(buffer, (lane,), self.lane(value, lane)))
                self.held[var] = buffer
                return Allocate(buffer, Seq((filled, self.stmt(body))))
            case Allocate(buffer, body) if "x" in buffer.dtype:
                count = _count(buffer.dtype)
                extent = IntImm(count, buffer.shape[-1].dtype if buffer.shape else "int32")
                offset = None if buffer.offset is None else binary("*", buffer.offset, count)
                if buffer.strides:
                    raise UnsupportedError(
                        mistake(
                            tensor_programs.NOT_EXPRESSED, what=f"{buffer.name}, which holds vectors and has strides,"
                        )
                    )
                self.wide[buffer] = replace(
                    buffer, shape=(*buffer.shape, extent), dtype=dt.element_dtype(buffer.dtype), offset=offset
                )
                return replace(stmt, buffer=self.wide[buffer], body=self.stmt(body), of=self.memory(stmt.of))
            case Allocate(of=Buffer()):
                return replace(stmt, body=self.stmt(stmt.body), of=self.memory(stmt.of))
            case BlockRealize(block=block) if any("x" in buffer.dtype for buffer in block.alloc_buffers):
                inner = block.body
                for buffer in reversed(block.alloc_buffers):
                    inner = Allocate(buffer, inner)
                return self.stmt(replace(stmt, block=replace(block, alloc_buffers=(), body=inner)))
        return map_parts(stmt, self.stmt, self.expr)

    def memory(self, of: Buffer | PrimExpr | None) -> Buffer | PrimExpr | None:
        return self.wide.get(of, of) if isinstance(of, Buffer) else of

    def store(self, stmt: BufferStore) -> Stmt:
        buffer, indices, value, predicate = stmt.buffer, stmt.indices, stmt.value, stmt.predicate
        count = _count(accessed_dtype(buffer, indices))
        if count == 1:
            stored: Stmt = BufferStore(buffer, tuple(map(self.expr, indices)), self.expr(value))
            return stored if predicate is None else If(self.expr(predicate), stored)
        lane = Var("lane", "int32")
        place = self.place(buffer, indices, lane)
        target = self.wide.get(buffer, buffer)
        if any(load.buffer is buffer and load.indices != indices for load in loads(value)):
            # All lanes are read before one is stored.
            between = Buffer("lanes", (IntImm(count, "int32"),), dt.element_dtype(value.dtype), "local")
            read = self.loop(lane, count, BufferStore(between, (lane,), self.lane(value, lane)))
            again = Var("lane", "int32")
            write: Stmt = BufferStore(target, self.place(buffer, indices, again), BufferLoad(between, (again,)))
            if predicate is not None:
                write = If(self.lane(predicate, again), write)
            return Allocate(between, Seq((read, self.loop(again, count, write))))
        inner: Stmt = BufferStore(target, place, self.lane(value, lane))
        if predicate is not None:
            inner = If(self.lane(predicate, lane), inner)
        return self.loop(lane, count, inner)

    def loop(self, lane: Var, count: int, body: Stmt) -> Stmt:
        return For(lane, IntImm(count, "int32"), body, LoopKind.VECTORIZED)

    def place(self, buffer: Buffer, indices: Sequence[PrimExpr], lane: PrimExpr) -> tuple[PrimExpr, ...]:
        """Return where the element of a vector is."""
        if buffer not in self.wide:
            return tuple(self.lane(index, lane) for index in indices)
        if indices and dt.lanes_of(indices[-1].dtype) != 1:
            raise UnsupportedError(mistake(tensor_programs.NOT_EXPRESSED, what=f"a vector of vectors of {buffer.name}"))
        return (*map(self.expr, indices), lane)

    def expr(self, expr: PrimExpr) -> PrimExpr:
        """Return a scalar, in which vectors may occur."""
        return map_expr(expr, self.part)

    def part(self, expr: PrimExpr) -> PrimExpr | None:
        match expr:
            case Shuffle(_, (index,)):
                return self.shuffled(expr, index)
            case BufferLoad(buffer, indices) if buffer in self.wide and dt.lanes_of(expr.dtype) == 1:
                return BufferLoad(self.wide[buffer], (*map(self.expr, indices), IntImm(0, "int32")))
        return None

    def shuffled(self, expr: Shuffle, index: PrimExpr) -> PrimExpr:
        """Return the lane ``index`` of the vectors of ``expr``."""
        if not isinstance(index, IntImm):
            raise UnsupportedError(mistake(tensor_programs.NOT_EXPRESSED, what="a shuffle of lanes that are computed"))
        place = index.value
        for vector in expr.vectors:
            count = _count(vector.dtype)
            if place < count:
                return self.lane(vector, IntImm(place, "int32"))
            place -= count
        raise UnsupportedError(
            mistake(tensor_programs.NOT_EXPRESSED, what="a shuffle of a lane that its vectors do not have")
        )

    def lane(self, expr: PrimExpr, lane: PrimExpr) -> PrimExpr:
        """Return one lane of ``expr``; a scalar is alike in all."""
        if _count(expr.dtype) == 1:
            return self.expr(expr)
        match expr:
            case Ramp(base, stride):
                return binary("+", self.expr(base), binary("*", self.expr(stride), cast(base.dtype, lane)))
            case Broadcast(value):
                return self.lane(value, lane if _count(value.dtype) == 1 else binary("%", lane, _count(value.dtype)))
            case Shuffle(_, indices):
                result = self.shuffled(expr, indices[-1])
                for number in range(len(indices) - 2, -1, -1):
                    chosen = binary("==", lane, number)
                    result = if_then_else(chosen, self.shuffled(expr, indices[number]), result)
                return result
            case Var() if expr in self.held:
                return BufferLoad(self.held[expr], (lane,))
            case BufferLoad(buffer, indices, predicate):
                load = BufferLoad(self.wide.get(buffer, buffer), self.place(buffer, indices, lane))
                if predicate is None:
                    return load
                return if_then_else(self.lane(predicate, lane), load, const(0, load.dtype))
            case Cast(dtype, value):
                return cast(dt.element_dtype(dtype), self.lane(value, lane))
            case Call("vectorcombine", (first, second)):
                count = _count(first.dtype)
                rest = self.lane(second, binary("-", lane, count))
                return if_then_else(binary("<", lane, count), self.lane(first, lane), rest)
            case Call("vectorlow" | "vectorhigh" as half, (vector,)):
                return self.lane(vector, lane if half == "vectorlow" else binary("+", lane, _count(expr.dtype)))
            case Call("reinterpret", (value,), dtype) if _count(value.dtype) == _count(dtype):
                return Call("reinterpret", (self.lane(value, lane),), dt.element_dtype(dtype))
            case Call(name, args, dtype) if args and name not in _HALVES and name != "reinterpret":
                return Call(name, tuple(self.lane(arg, lane) for arg in args), dt.element_dtype(dtype))
            case FunctionCall(name, args, dtype) if args:
                return FunctionCall(name, tuple(self.lane(arg, lane) for arg in args), dt.element_dtype(dtype))
            case Binary() | Select():
                return rebuild(expr, [self.lane(part, lane) for part in children(expr)])
        if children(expr):
            return rebuild(expr, [self.lane(part, lane) for part in children(expr)])
        raise UnsupportedError(mistake(tensor_programs.NOT_EXPRESSED, what=f"a vector of {type(expr).__name__}"))
