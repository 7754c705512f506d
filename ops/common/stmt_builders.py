"""Statements over buffers for operators that are no compute: sorting, suppression of boxes,
compaction.

    def row(at):  # one row of a tensor, its other axes bound by loops
        def step(i, count):
            return when(x[at(i)] > 0, count.set(count.value + 1))

        return local("int64", 0, lambda count: loop(n, lambda i: step(i, count)))

Rows are independent of each other: they run on several cores, each with cells of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay2relax.tir.analysis.regions import whole
from relay2relax.tir.extent import Extent, as_prim
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, PrimLike, Var, binary, convert
from relay2relax.tir.ir.stmt import Allocate, Block, BlockRealize, BufferStore, For, If, Let, LoopKind, Seq, Stmt, While


@dataclass(frozen=True, slots=True)
class Cell:
    """A scalar that changes; ``value`` is what it holds where the expression is evaluated."""

    buffer: Buffer

    @property
    def value(self) -> PrimExpr:
        """The load of the cell."""
        return BufferLoad(self.buffer, (IntImm(0, "int64"),))

    def set(self, value: PrimLike) -> Stmt:
        """Return the store of ``value``."""
        return BufferStore(self.buffer, (IntImm(0, "int64"),), convert(value, self.buffer.dtype))

    def add(self, value: PrimLike) -> Stmt:
        """Return the statement that adds ``value`` to the cell."""
        return self.set(binary("+", self.value, value))


def seq(*stmts: Stmt) -> Stmt:
    """Return the statements one after the other."""
    return stmts[0] if len(stmts) == 1 else Seq(stmts)


def store(buffer: Buffer, indices: Sequence[PrimLike], value: PrimLike) -> Stmt:
    """Return ``buffer[indices] = value``."""
    return BufferStore(buffer, tuple(convert(i, "int64") for i in indices), convert(value, buffer.dtype))


def when(condition: PrimExpr, then: Stmt, otherwise: Stmt | None = None) -> Stmt:
    """Return the branch."""
    return If(condition, then, otherwise)


def loop(extent: Extent, body: Callable[[PrimExpr], Stmt], name: str = "i") -> Stmt:
    """Return the loop of an index over ``[0, extent)``."""
    var = Var(name, "int64")
    return For(var, as_prim(extent), body(var))


def nested(loops: Sequence[Var], extents: Sequence[Extent], body: Stmt) -> Stmt:
    """Return the loops of given indices, the first one outermost, around ``body``."""
    for var, extent in zip(reversed(loops), reversed(extents), strict=True):
        body = For(var, as_prim(extent), body)
    return body


def repeat_while(condition: PrimExpr, body: Stmt) -> Stmt:
    """Return the loop that runs while ``condition`` holds."""
    return While(condition, body)


def let(value: PrimExpr, body: Callable[[PrimExpr], Stmt], name: str = "v") -> Stmt:
    """Return ``body`` of a name for ``value``, which is evaluated once."""
    var = Var(name, value.dtype)
    return Let(var, value, body(var))


def bind(values: Sequence[PrimExpr], body: Callable[..., Stmt], names: Sequence[str]) -> Stmt:
    """Return ``body`` of names for ``values``, each of which is evaluated once."""
    found = [Var(name, value.dtype) for name, value in zip(names, values, strict=True)]
    result = body(*found)
    for var, value in reversed(list(zip(found, values, strict=True))):
        result = Let(var, value, result)
    return result


def local(dtype: str, initial: PrimLike, body: Callable[[Cell], Stmt], name: str = "cell") -> Stmt:
    """Return ``body`` of a new cell that holds ``initial``."""
    cell = Cell(Buffer(name, (IntImm(1, "int64"),), dtype, "local"))
    return Allocate(cell.buffer, seq(cell.set(initial), body(cell)))


def rows(
    extents: Sequence[Extent],
    reads: Sequence[Buffer],
    writes: Sequence[Buffer],
    body: Callable[..., Stmt],
    name: str = "row",
) -> Stmt:
    """Return parallel loops over ``extents`` around ``body(i, j, …)``, whose cells belong to one
    row each.
    """
    loops = [Var(f"o{number}", "int64") for number in range(len(extents))]
    block = Block(name, (), tuple(map(whole, reads)), tuple(map(whole, writes)), body(*loops))
    nest: Stmt = BlockRealize((), block)
    for number, (var, extent) in reversed(list(enumerate(zip(loops, extents, strict=True)))):
        nest = For(var, as_prim(extent), nest, LoopKind.PARALLEL if number == 0 else LoopKind.SERIAL)
    return nest
