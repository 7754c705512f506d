"""What a block reads and writes, found from the loads and stores in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relay2relax.tir.arith.simplify import constant_difference
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Var
from relay2relax.tir.ir.stmt import (
    Allocate,
    Attribute,
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    For,
    Let,
    Range,
    Stmt,
    ThreadAxis,
)
from relay2relax.tir.ir.visit import expressions, loads, place_variables, shape_variables, statements, subexpressions


def whole(buffer: Buffer) -> BufferRegion:
    """Return the region that is all of ``buffer``."""
    return BufferRegion(buffer, tuple(Range(IntImm(0, extent.dtype), extent) for extent in buffer.shape))


def infer_regions(
    body: Iterable[Stmt], axes: Sequence[Var]
) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    """Return (reads, writes) of a block with these statements (its init and its body).

    An index that is an expression over ``axes`` and variables from outside the block is a point,
    several such indices that differ by constants are a range; any other index stands for the whole
    dimension. As TVM has it, a buffer that the block writes is not listed among its reads where it
    is read at the written place only.
    """
    reads: dict[Buffer, list[tuple[PrimExpr, ...]]] = {}
    writes: dict[Buffer, list[tuple[PrimExpr, ...]]] = {}
    inner: set[Var] = set()
    owned: set[Buffer] = set()
    views: dict[Buffer, Buffer] = {}
    for part in body:
        for stmt in statements(part):
            match stmt:
                case BufferStore(buffer, indices):
                    writes.setdefault(buffer, []).append(indices)
                case For(var=var) | Let(var=var):
                    inner.add(var)
                case Allocate(buffer, _, of):
                    owned.add(buffer)
                    if isinstance(of, Buffer):
                        views[buffer] = of
                case Attribute(ThreadAxis(var)):
                    inner.add(var)
                case BlockRealize(block=block):
                    inner.update(axis.var for axis in block.iter_vars)
                    owned.update(block.alloc_buffers)
                    for match in block.matches:
                        owned.add(match.buffer)
                        views[match.buffer] = match.region.buffer
                        inner.update((*shape_variables([match.buffer]), *place_variables(match.buffer)))
            for expr in expressions(stmt):
                for load in loads(expr):
                    reads.setdefault(load.buffer, []).append(load.indices)
    for found in (reads, writes):
        for view in [buffer for buffer in found if buffer in views]:
            # What is reached through a view may be anywhere in the memory: an index of a loop
            # stands for everything.
            of = view
            while of in views:
                of = views[of]
            anywhere = tuple(Var("anywhere") for _ in of.shape)
            inner.update(anywhere)
            found.setdefault(of, []).append(anywhere)
    for buffer, places in writes.items():
        if buffer in reads and all(place in places for place in reads[buffer]):
            del reads[buffer]
    return (
        tuple(_region(b, places, inner) for b, places in reads.items() if b not in owned),
        tuple(_region(b, places, inner) for b, places in writes.items() if b not in owned),
    )


def block_regions(block: Block) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    """Return what ``block`` reads and writes, found anew from its statements."""
    statements_of = [part for part in (block.init, block.body) if part is not None]
    reads, writes = infer_regions(statements_of, [axis.var for axis in block.iter_vars])
    # What is a part of another buffer stands for that part; what the block owns is nobody else's
    # business.
    parts = {match.buffer: match.region for match in block.matches}
    found = (tuple(parts.get(region.buffer, region) for region in regions) for regions in (reads, writes))
    reads, writes = (tuple(one for one in regions if one.buffer not in block.alloc_buffers) for regions in found)
    return reads, writes


def _region(buffer: Buffer, places: list[tuple[PrimExpr, ...]], inner: set[Var]) -> BufferRegion:
    distinct = list(dict.fromkeys(places))
    return BufferRegion(
        buffer,
        tuple(_range([place[d] for place in distinct], extent, inner) for d, extent in enumerate(buffer.shape)),
    )


def _range(indices: list[PrimExpr], extent: PrimExpr, inner: set[Var]) -> Range:
    everything = Range(IntImm(0, extent.dtype), extent)
    for index in indices:
        for node in subexpressions(index):
            if isinstance(node, BufferLoad) or (isinstance(node, Var) and node in inner):
                return everything
    low, high, begin = 0, 0, indices[0]
    for index in indices[1:]:
        offset = constant_difference(index, indices[0])
        if offset is None:
            return everything
        if offset < low:
            low, begin = offset, index
        high = max(high, offset)
    return Range(begin, IntImm(high - low + 1, begin.dtype))
