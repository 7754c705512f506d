"""Programs as every backend can run them: what scripts of lowered programs say, in terms of loops,
stores and views.

- Threads are loops, one after the other, cut where threads wait for each other (``kernels.py``).
  Where they would have to wait and the program does not say where (what one stores is read by
  another, or another function is called that threads run together), it is refused.
- Loops and axes begin at 0 and count by 1 (``ranges.py``).
- A vector is as many elements: a store of one is a loop over its lanes (``vectors.py``).
- A part of a buffer (``T.matchbuffer`` in a block) is the buffer itself, further on.
- What is said of the program or of memory is left out; strides and offsets of parameters take the
  values that dense arrays give them. Constants are stored where they are made.
- Indices are signed (``indices.py``). Variables that data decide are known as such (``given.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from relay2relax.core import dtype as dt
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.analysis.regions import block_regions
from relay2relax.tir.analysis.reshape import constant_stores, flat_index, row_major
from relay2relax.tir.ir.builtins import needs_threads
from relay2relax.tir.ir.expr import (
    Broadcast,
    Buffer,
    BufferData,
    BufferLoad,
    Call,
    FunctionCall,
    IntImm,
    LetIn,
    PrimExpr,
    Ramp,
    Shuffle,
    Var,
    binary,
    cast,
    const,
    logical_and,
)
from relay2relax.tir.ir.stmt import (
    THREAD_KEYS,
    Allocate,
    Attribute,
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    Evaluate,
    For,
    If,
    IterKind,
    LoopKind,
    MatchBuffer,
    PrimFunc,
    Range,
    Seq,
    Stmt,
    ThreadAxis,
)
from relay2relax.tir.ir.visit import (
    all_expressions,
    map_expr,
    map_parts,
    statements,
    subexpressions,
    substitute_stmt,
)
from relay2relax.tir.normalize.given import with_given
from relay2relax.tir.normalize.indices import with_signed_indices
from relay2relax.tir.normalize.kernels import without_barriers
from relay2relax.tir.normalize.ranges import counted_from_zero
from relay2relax.tir.normalize.threads import check_threads
from relay2relax.tir.normalize.vectors import scalar_stores

_PLAIN_KINDS = frozenset({IterKind.SPATIAL, IterKind.REDUCE})


@lru_cache(maxsize=256)
def executable_form(func: PrimFunc) -> PrimFunc:
    """Return ``func`` in the form that backends run, ``func`` itself where it has that form.

    Raises UnsupportedError for a program of threads that wait for each other, and for vectors of
    unknown length.
    """
    func = without_barriers(with_signed_indices(counted_from_zero(func)))
    if not _has_more(func):
        return with_given(func)
    check_threads(func)
    buffers: dict[Buffer, Buffer] = {}
    values: dict[Var, PrimExpr] = {}
    for buffer in func.buffers:
        for stride, dense in zip(buffer.strides, row_major(buffer.shape), strict=False):
            if isinstance(stride, Var):
                values.setdefault(stride, cast(stride.dtype, dense))
        if isinstance(buffer.offset, Var):
            values.setdefault(buffer.offset, IntImm(0, buffer.offset.dtype))
        if buffer.strides or buffer.offset is not None:
            buffers[buffer] = replace(buffer, strides=(), offset=None)
    body = substitute_stmt(_Lowering().stmt(func.body), values, buffers)
    body = scalar_stores(body)
    bound = {param: buffers.get(buffer, buffer) for param, buffer in func.buffer_map.items()}
    return with_given(func.with_params(func.params, bound).with_body(body))


def _has_more(func: PrimFunc) -> bool:
    """Whether ``func`` has anything that is not run as it stands."""
    if any(buffer.strides or buffer.offset is not None for buffer in func.buffers):
        return True
    for node in statements(func.body):
        match node:
            case Attribute() | For(kind=LoopKind.THREAD) | Evaluate():
                return True
            case If(condition) if condition.dtype != "bool":
                return True
            case BlockRealize(block=block) if block.matches or any(a.kind not in _PLAIN_KINDS for a in block.iter_vars):
                return True
            case BlockRealize(block=block) if _says_nothing(block) and any(block_regions(block)):
                return True
            case BlockRealize(block=block) if block.init is not None and not _accumulates(block):
                return True
            case Allocate(buffer) if (
                "x" in buffer.dtype or node.values is not None or (node.of is None and buffer.strides)
            ):
                return True
    parts = (part for expr in all_expressions(func.body) for part in subexpressions(expr))
    return any(isinstance(part, (Ramp, Broadcast, Shuffle, LetIn)) or _is_joint(part) for part in parts)


def _says_nothing(block: Block) -> bool:
    """Whether ``block`` says of no buffer that it is read or written, as blocks of extern tensors
    do.
    """
    return not block.reads and not block.writes


def _accumulates(block: Block) -> bool:
    return any(axis.kind is IterKind.REDUCE for axis in block.iter_vars)


def _is_joint(expr: PrimExpr) -> bool:
    return isinstance(expr, Call) and needs_threads(expr)


class _Lowering:
    """Statements without threads, parts of buffers, and what is only said."""

    def __init__(self) -> None:
        self.launched: set[Var] = set()

    def expr(self, expr: PrimExpr) -> PrimExpr:
        return map_expr(expr, self.part)

    def part(self, expr: PrimExpr) -> PrimExpr | None:
        match expr:
            case LetIn(var, value, body):
                known = self.expr(value)
                return map_expr(self.expr(body), lambda node: known if node is var else None)
            case Call() if needs_threads(expr):
                raise UnsupportedError(
                    mistake(
                        tensor_programs.NOT_EXPRESSED, what=f"T.{expr.name}, a function of threads that run together,"
                    )
                )
        return None

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Attribute(ThreadAxis(var), key, extent, body) if key in THREAD_KEYS and var not in self.launched:
                self.launched.add(var)
                launched = For(var, cast(var.dtype, self.expr(extent)), self.stmt(body))
                self.launched.discard(var)
                return launched
            case Attribute(body=body):
                return self.stmt(body)
            case For(kind=LoopKind.THREAD):
                return self.stmt(replace(stmt, kind=LoopKind.SERIAL, thread=""))
            case Evaluate(value) if not any(isinstance(part, (Call, FunctionCall)) for part in subexpressions(value)):
                return Seq(())
            case Allocate(buffer, body, of) if of is None and (buffer.strides or stmt.values is not None):
                if buffer.strides and any(isinstance(one, Allocate) and one.of is buffer for one in statements(body)):
                    raise UnsupportedError(
                        f"{buffer.name} has strides, and other buffers lie in its memory",
                        kind=tensor_programs.NOT_EXPRESSED,
                    )
                dense = replace(buffer, strides=())
                stores = constant_stores(replace(stmt, buffer=dense))
                inside = self.stmt(substitute_stmt(body, {}, {buffer: dense}))
                return Allocate(dense, Seq((*stores, inside)) if stores else inside)
            case If(condition) if condition.dtype != "bool":
                return self.stmt(replace(stmt, condition=binary("!=", condition, const(0, condition.dtype))))
            case BlockRealize(block=block) if block.matches:
                while block.matches:
                    match = block.matches[0]
                    block = replace(
                        block,
                        body=_matched(block.body, match),
                        init=None if block.init is None else _matched(block.init, match),
                        reads=tuple(match.region if r.buffer is match.buffer else r for r in block.reads),
                        writes=tuple(match.region if r.buffer is match.buffer else r for r in block.writes),
                        matches=tuple(_of_whole(one, match) for one in block.matches[1:]),
                    )
                return self.stmt(replace(stmt, block=block))
            case BlockRealize(values, block, predicate) if any(a.kind not in _PLAIN_KINDS for a in block.iter_vars):
                # Of such axes only the order of the loops is known.
                bound = {axis.var: value for axis, value in zip(block.iter_vars, values, strict=True)}
                loops: Stmt = block.body
                if block.init is not None:
                    reduced = [axis.var for axis in block.iter_vars if axis.kind is IterKind.REDUCE]
                    start = logical_and(*(binary("==", var, 0) for var in reduced))
                    loops = Seq((If(start, block.init) if reduced else block.init, loops))
                loops = substitute_stmt(loops, bound)
                for buffer in reversed(block.alloc_buffers):
                    loops = Allocate(buffer, loops)
                return self.stmt(loops if predicate is None else If(predicate, loops))
            case BlockRealize(block=block) if block.init is not None and not _accumulates(block):
                return self.stmt(replace(stmt, block=replace(block, init=None, body=Seq((block.init, block.body)))))
            case BlockRealize(block=block) if _says_nothing(block) and any(regions := block_regions(block)):
                return self.stmt(replace(stmt, block=replace(block, reads=regions[0], writes=regions[1])))
        return map_parts(stmt, self.stmt, self.expr)


def _of_whole(match: MatchBuffer, outer: MatchBuffer) -> MatchBuffer:
    """Return ``match`` as a part of the whole where its buffer is a part of the buffer of
    ``outer``.
    """
    if match.region.buffer is not outer.buffer:
        return match
    own = match.region.region
    begins = _further(outer, [one.begin for one in own])
    lead = len(begins) - len(own)
    extents = [IntImm(1)] * lead + [one.extent for one in own]
    ranges = tuple(Range(begin, extent) for begin, extent in zip(begins, extents, strict=True))
    return MatchBuffer(match.buffer, BufferRegion(outer.region.buffer, ranges))


def _further(match: MatchBuffer, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
    """Return where the element ``indices`` of a part is in the whole."""
    region = match.region.region
    lead = len(region) - len(indices)
    begins = [one.begin for one in region[:lead]]
    return begins + [_sum(one.begin, index) for one, index in zip(region[lead:], indices, strict=True)]


def _sum(begin: PrimExpr, index: PrimExpr) -> PrimExpr:
    if isinstance(index, Ramp):
        return replace(index, base=binary("+", begin, index.base))
    lanes = dt.lanes_of(index.dtype)
    return binary("+", begin if lanes == 1 else Broadcast(begin, IntImm(int(lanes), "int32")), index)


def _matched(stmt: Stmt, match: MatchBuffer) -> Stmt:
    """Return ``stmt`` with the buffer of ``match`` as the part of the other buffer that it is."""
    part, whole, region = match.buffer, match.region.buffer, match.region.region
    lead = len(region) - len(part.shape)
    if lead < 0 or any(one.extent not in (IntImm(1, "int32"), IntImm(1, "int64")) for one in region[:lead]):
        raise UnsupportedError(
            f"{part.name} has other dimensions than the part of {whole.name} that it is",
            kind=tensor_programs.NOT_EXPRESSED,
        )
    values: dict[Var, PrimExpr] = {}
    strides = whole.strides or row_major(whole.shape)
    begin = flat_index(replace(whole, offset=None), [one.begin for one in region])
    pairs = [*zip(part.shape, (one.extent for one in region[lead:]), strict=True)]
    pairs += [*zip(part.strides, strides[lead:], strict=False)]
    pairs += [(part.offset, begin)] if part.offset is not None else []
    for own, given in pairs:
        if isinstance(own, Var):
            values.setdefault(own, cast(own.dtype, given))

    def load(node: PrimExpr) -> PrimExpr | None:
        match node:
            case BufferLoad(buffer, indices, predicate) if buffer is part:
                return BufferLoad(whole, tuple(_further(match, [expr(index) for index in indices])), predicate)
            case BufferData(buffer) if buffer is part:
                return Call("address_of", (BufferLoad(whole, tuple(one.begin for one in region)),), "handle")
        return None

    def expr(node: PrimExpr) -> PrimExpr:
        return map_expr(node, load)

    def change(node: Stmt) -> Stmt:
        match node:
            case BufferStore(buffer, indices, value, predicate) if buffer is part:
                place = tuple(_further(match, [expr(index) for index in indices]))
                return BufferStore(whole, place, expr(value), None if predicate is None else expr(predicate))
            case BlockRealize(block=block) if block.matches:
                inner = tuple(_of_whole(one, match) for one in block.matches)
                node = replace(node, block=replace(block, matches=inner))
        return map_parts(node, change, expr, {part: whole} if isinstance(node, BlockRealize) else None)

    return substitute_stmt(change(stmt), values)
