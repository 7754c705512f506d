"""Walking and rewriting expressions and statements.

A rewrite that changes nothing returns the very object it was given. Scalar expressions and the
statements of one function are small; they are walked by recursion, chains of graph nodes never pass
through here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_
from typing import Any, TypeVar

from relay2relax.tir.ir.expr import (
    OPERANDS,
    Binary,
    Broadcast,
    Buffer,
    BufferData,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    FunctionCall,
    IntImm,
    LetIn,
    Not,
    PrimExpr,
    Ramp,
    Select,
    Shuffle,
    Var,
    binary,
    cast,
    children,
)
from relay2relax.tir.ir.stmt import (
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
    IterVar,
    Let,
    MatchBuffer,
    PrimFunc,
    Range,
    Seq,
    Stmt,
    ThreadAxis,
    While,
)

T = TypeVar("T")
ExprMap = Callable[[PrimExpr], PrimExpr]


def subexpressions(expr: PrimExpr) -> list[PrimExpr]:
    """Return ``expr`` and everything inside it, each before its operands."""
    # A list, not a generator: nothing is asked more often when C is made.
    found: list[PrimExpr] = []
    stack = [expr]
    operands_of = OPERANDS.get
    while stack:
        node = stack.pop()
        found.append(node)
        operands = operands_of(type(node))
        if operands is not None:
            stack += operands(node)[::-1]
    return found


def mentions(expr: PrimExpr, var: Var) -> bool:
    """Whether ``var`` is ``expr`` or inside it."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if node is var:
            return True
        stack += children(node)
    return False


def variables(expr: PrimExpr) -> list[Var]:
    """Return the variables of ``expr`` in order of first appearance, each once."""
    return list(dict.fromkeys(node for node in subexpressions(expr) if isinstance(node, Var)))


def loads(expr: PrimExpr) -> list[BufferLoad]:
    """Return the buffer loads inside ``expr``, in order."""
    # Most expressions that are asked are a variable or a number.
    if isinstance(expr, (Var, IntImm)):
        return []
    return [node for node in subexpressions(expr) if isinstance(node, BufferLoad)]


def _same(old: Sequence[T], new: Sequence[T]) -> bool:
    return len(old) == len(new) and all(map(is_, old, new))


def rebuild(expr: PrimExpr, operands: Sequence[PrimExpr]) -> PrimExpr:
    """Return ``expr`` with other operands (as :func:`children` lists them), constants folded."""
    if _same(children(expr), operands):
        return expr
    match expr:
        case Binary(op):
            return binary(op, operands[0], operands[1])
        case Not():
            return Not(operands[0])
        case Cast(dtype):
            return cast(dtype, operands[0])
        case Select():
            return Select(operands[0], operands[1], operands[2])
        case Call(name, _, dtype, pointer):
            return Call(name, tuple(operands), dtype, pointer)
        case FunctionCall(name, _, dtype):
            return FunctionCall(name, tuple(operands), dtype)
        case BufferLoad(buffer, _, None):
            return BufferLoad(buffer, tuple(operands))
        case BufferLoad(buffer):
            return BufferLoad(buffer, tuple(operands[:-1]), operands[-1])
        case LetIn(var):
            return LetIn(var, operands[0], operands[1])
        case Ramp():
            return Ramp(operands[0], operands[1], operands[2])
        case Broadcast():
            return Broadcast(operands[0], operands[1])
        case Shuffle(vectors):
            return Shuffle(tuple(operands[: len(vectors)]), tuple(operands[len(vectors) :]))
        case CommReducer(left, right, results):
            return CommReducer(left, right, tuple(operands[: len(results)]), tuple(operands[len(results) :]))
    raise TypeError(f"{type(expr).__name__} has no operands")


def map_expr(expr: PrimExpr, rewrite: Callable[[PrimExpr], PrimExpr | None]) -> PrimExpr:
    """Return ``expr`` with every outermost part that ``rewrite`` answers replaced by the answer."""
    found = rewrite(expr)
    if found is not None:
        return found
    parts = children(expr)
    return rebuild(expr, [map_expr(part, rewrite) for part in parts]) if parts else expr


def substitute(
    expr: PrimExpr, values: Mapping[Var, PrimExpr], buffers: Mapping[Buffer, Buffer] | None = None
) -> PrimExpr:
    """Return ``expr`` with variables (and buffers) replaced, simultaneously."""
    renamed = buffers or {}

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, Var):
            return values.get(node)
        if isinstance(node, BufferLoad) and node.buffer in renamed:
            # Not through ``rewrite``: a function that holds itself waits for the collector.
            mask = None if node.predicate is None else substitute(node.predicate, values, renamed)
            return BufferLoad(renamed[node.buffer], tuple(substitute(i, values, renamed) for i in node.indices), mask)
        if isinstance(node, BufferData) and node.buffer in renamed:
            return BufferData(renamed[node.buffer], node.bare)
        return None

    return map_expr(expr, rewrite)


def sub_statements(stmt: Stmt) -> tuple[Stmt, ...]:
    """Return the statements directly inside ``stmt``; a block's init comes before its body."""
    match stmt:
        case Seq(stmts):
            return stmts
        case For(body=body) | Let(body=body) | While(body=body) | Allocate(body=body) | Attribute(body=body):
            return (body,)
        case If(_, then, otherwise):
            return (then,) if otherwise is None else (then, otherwise)
        case BlockRealize(block=block):
            return (block.body,) if block.init is None else (block.init, block.body)
    return ()


def statements(stmt: Stmt) -> Iterator[Stmt]:
    """Yield ``stmt`` and the statements inside it, each before its parts."""
    stack = [stmt]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(sub_statements(node)))


def expressions(stmt: Stmt) -> tuple[PrimExpr, ...]:
    """Return the expressions directly in ``stmt`` (not those of the statements inside it, nor of
    regions).
    """
    match stmt:
        case BufferStore(_, indices, value, predicate):
            return (*indices, value) if predicate is None else (*indices, value, predicate)
        case Assert(condition, message):
            return (condition, *message)
        case Attribute(node, _, value):
            return tuple(part for part in (node, value) if isinstance(part, PrimExpr))
        case Allocate(of=PrimExpr() as pointer):
            return (pointer,)
        case For(extent=extent, begin=None, step=None):
            return (extent,)
        case For(extent=extent, begin=begin, step=step):
            return tuple(part for part in (extent, begin, step) if part is not None)
        case Let(value=value) | Evaluate(value):
            return (value,)
        case If(condition=condition) | While(condition):
            return (condition,)
        case BlockRealize(values, block, predicate):
            bounds = [part for axis in block.iter_vars for part in (axis.extent, axis.begin) if part is not None]
            return (*bounds, *values) if predicate is None else (*bounds, *values, predicate)
    return ()


def written_buffers(stmt: Stmt) -> set[Buffer]:
    """Return the buffers that ``stmt`` stores to, with those in whose memory they lie."""
    sources: dict[Buffer, Buffer] = {}
    stored: list[Buffer] = []
    for node in statements(stmt):
        match node:
            case BufferStore(buffer):
                stored.append(buffer)
            case Allocate(buffer, _, Buffer() as of):
                sources[buffer] = of
            case BlockRealize(block=block):
                sources.update((match.buffer, match.region.buffer) for match in block.matches)
    found: set[Buffer] = set()
    for one in stored:
        memory: Buffer | None = one
        while memory is not None and memory not in found:
            found.add(memory)
            memory = sources.get(memory)
    return found


def all_expressions(stmt: Stmt) -> Iterator[PrimExpr]:
    """Yield every expression in ``stmt`` and the statements inside it."""
    for node in statements(stmt):
        yield from expressions(node)


def map_region(region: BufferRegion, change: ExprMap, buffers: Mapping[Buffer, Buffer]) -> BufferRegion:
    """Return ``region`` with its bounds rewritten by ``change`` and its buffer replaced."""
    begins = [change(r.begin) for r in region.region]
    extents = [change(r.extent) for r in region.region]
    buffer = buffers.get(region.buffer, region.buffer)
    if buffer is region.buffer and all(
        b is r.begin and e is r.extent for b, e, r in zip(begins, extents, region.region, strict=True)
    ):
        return region
    return BufferRegion(buffer, tuple(Range(b, e) for b, e in zip(begins, extents, strict=True)))


def _map_all(items: tuple[T, ...], change: Callable[[T], T]) -> tuple[T, ...]:
    new = tuple(change(item) for item in items)
    return items if _same(items, new) else new


def map_parts(
    stmt: Stmt,
    change_stmt: Callable[[Stmt], Stmt],
    change_expr: ExprMap,
    buffers: Mapping[Buffer, Buffer] | None = None,
) -> Stmt:
    """Return ``stmt`` with the statements and expressions directly in it rewritten (buffers
    replaced).
    """
    renamed = buffers or {}
    match stmt:
        case BufferStore(buffer, indices, value, predicate):
            target = renamed.get(buffer, buffer)
            places, new = _map_all(indices, change_expr), change_expr(value)
            mask = None if predicate is None else change_expr(predicate)
            same = target is buffer and places is indices and new is value and mask is predicate
            return stmt if same else BufferStore(target, places, new, mask)
        case Seq(stmts):
            changed = _map_all(stmts, change_stmt)
            return stmt if changed is stmts else Seq(changed)
        case For(_, extent, body, begin=begin, step=step):
            size, inner = change_expr(extent), change_stmt(body)
            start, by = (None if part is None else change_expr(part) for part in (begin, step))
            same = size is extent and inner is body and start is begin and by is step
            return stmt if same else replace(stmt, extent=size, body=inner, begin=start, step=by)
        case If(condition, then, otherwise):
            test, first = change_expr(condition), change_stmt(then)
            second = None if otherwise is None else change_stmt(otherwise)
            same = test is condition and first is then and second is otherwise
            return stmt if same else If(test, first, second)
        case Let(var, value, body):
            new, inner = change_expr(value), change_stmt(body)
            return stmt if new is value and inner is body else Let(var, new, inner)
        case While(condition, body):
            test, inner = change_expr(condition), change_stmt(body)
            return stmt if test is condition and inner is body else While(test, inner)
        case Evaluate(value):
            new = change_expr(value)
            return stmt if new is value else Evaluate(new)
        case Allocate(buffer, body, of):
            target, inner = renamed.get(buffer, buffer), change_stmt(body)
            source = renamed.get(of, of) if isinstance(of, Buffer) else of if of is None else change_expr(of)
            same = target is buffer and source is of and inner is body
            return stmt if same else replace(stmt, buffer=target, body=inner, of=source)
        case Assert(condition, message):
            test, parts = change_expr(condition), _map_all(message, change_expr)
            return stmt if test is condition and parts is message else replace(stmt, condition=test, message=parts)
        case Attribute(node, _, value, body):
            about = change_expr(node) if isinstance(node, PrimExpr) else node
            about = renamed.get(node, node) if isinstance(node, Buffer) else about
            new = change_expr(value) if isinstance(value, PrimExpr) else value
            inner = change_stmt(body)
            same = about is node and new is value and inner is body
            return stmt if same else replace(stmt, node=about, value=new, body=inner)
        case BlockRealize(values, block, predicate):
            bound = _map_all(values, change_expr)
            test_or_none = None if predicate is None else change_expr(predicate)
            inner_block = map_block(block, change_stmt, change_expr, renamed)
            same = bound is values and test_or_none is predicate and inner_block is block
            return stmt if same else BlockRealize(bound, inner_block, test_or_none)


def map_block(
    block: Block, change_stmt: Callable[[Stmt], Stmt], change_expr: ExprMap, buffers: Mapping[Buffer, Buffer]
) -> Block:
    """Return ``block`` with its parts rewritten; its axes keep their variables."""

    def change_axis(axis: IterVar) -> IterVar:
        extent, begin = change_expr(axis.extent), None if axis.begin is None else change_expr(axis.begin)
        same = extent is axis.extent and begin is axis.begin
        return axis if same else IterVar(axis.var, extent, axis.kind, begin)

    axes = _map_all(block.iter_vars, change_axis)
    reads = _map_all(block.reads, lambda r: map_region(r, change_expr, buffers))
    writes = _map_all(block.writes, lambda r: map_region(r, change_expr, buffers))
    init = None if block.init is None else change_stmt(block.init)
    body = change_stmt(block.body)
    owned = _map_all(block.alloc_buffers, lambda b: buffers.get(b, b))

    def change_match(match: MatchBuffer) -> MatchBuffer:
        buffer, region = buffers.get(match.buffer, match.buffer), map_region(match.region, change_expr, buffers)
        return match if buffer is match.buffer and region is match.region else MatchBuffer(buffer, region)

    def change_note(value: object) -> Any:
        """Replace buffers, of which annotations may hold lists."""
        match value:
            case Buffer():
                return buffers.get(value, value)
            case list() if any(isinstance(one, Buffer) for one in value):
                return [change_note(one) for one in value]
        return value

    matches = _map_all(block.matches, change_match)
    notes = {name: change_note(value) for name, value in block.annotations.items()} if buffers else block.annotations
    same = (
        axes is block.iter_vars
        and reads is block.reads
        and writes is block.writes
        and init is block.init
        and body is block.body
        and owned is block.alloc_buffers
        and matches is block.matches
        and (notes is block.annotations or notes == block.annotations)
    )
    if same:
        return block
    return replace(
        block, iter_vars=axes, reads=reads, writes=writes, init=init, body=body, alloc_buffers=owned, matches=matches,
        annotations=notes,
    )  # fmt: skip


def map_stmt(
    stmt: Stmt,
    change_expr: ExprMap,
    rewrite: Callable[[Stmt], Stmt | None] | None = None,
    buffers: Mapping[Buffer, Buffer] | None = None,
) -> Stmt:
    """Return ``stmt`` with all expressions rewritten by ``change_expr``, and buffers replaced.

    ``rewrite`` is asked first for each statement, outermost first; what it answers stands as it is.
    """

    def change(node: Stmt) -> Stmt:
        if rewrite is not None:
            found = rewrite(node)
            if found is not None:
                return found
        return map_parts(node, change, change_expr, buffers)

    return change(stmt)


def substitute_stmt(stmt: Stmt, values: Mapping[Var, PrimExpr], buffers: Mapping[Buffer, Buffer] | None = None) -> Stmt:
    """Return ``stmt`` with variables (and buffers) replaced everywhere, regions and extents
    included.

    Buffers that are allocated within and whose extents have such variables are new ones.
    """
    made = {}
    for own in local_buffers(stmt):
        if (not buffers or own not in buffers) and not values.keys().isdisjoint(shape_variables([own])):
            made[own] = replace(own, shape=tuple(substitute(extent, values) for extent in own.shape))
    renamed = {**(buffers or {}), **made} if made else buffers
    return map_stmt(stmt, lambda expr: substitute(expr, values, renamed), None, renamed)


def local_buffers(stmt: Stmt) -> Iterator[Buffer]:
    """Yield the buffers that are allocated within ``stmt``."""
    for node in statements(stmt):
        match node:
            case Allocate(buffer):
                yield buffer
            case BlockRealize(block=block):
                yield from block.alloc_buffers


def shape_variables(buffers: Iterable[Buffer]) -> list[Var]:
    """Return the variables in the shapes of ``buffers``, in order of first appearance."""
    return list(dict.fromkeys(v for buffer in buffers for extent in buffer.shape for v in variables(extent)))


def place_variables(buffer: Buffer) -> list[Var]:
    """Return the variables in the strides and the offset of ``buffer``, in order of first
    appearance.
    """
    parts = buffer.strides if buffer.offset is None else (*buffer.strides, buffer.offset)
    return list(dict.fromkeys(v for part in parts for v in variables(part)))


def free_variables(func: PrimFunc) -> list[Var]:
    """Return the variables that no parameter, dimension of a parameter, or binder of ``func``
    gives.
    """
    bound: set[Var] = set(func.params)
    bound.update(e for buffer in func.buffers for e in buffer.shape if isinstance(e, Var))
    bound.update(var for buffer in func.buffers for var in place_variables(buffer))
    used: dict[Var, None] = dict.fromkeys(shape_variables((*func.buffers, *func.root_buffers)))
    for node in statements(func.body):
        match node:
            case For(var=var) | Let(var=var):
                bound.add(var)
            case Allocate(buffer):
                used.update(dict.fromkeys(shape_variables([buffer])))
            case Attribute(ThreadAxis(var)):
                bound.add(var)
            case BlockRealize(block=block):
                bound.update(axis.var for axis in block.iter_vars)
                for match in block.matches:
                    bound.update((*shape_variables([match.buffer]), *place_variables(match.buffer)))
                used.update(dict.fromkeys(shape_variables(block.alloc_buffers)))
        for expr in expressions(node):
            for part in subexpressions(expr):
                match part:
                    case Var():
                        used[part] = None
                    case LetIn(var):
                        bound.add(var)
                    case CommReducer(left, right):
                        bound.update((*left, *right))
    return [var for var in used if var not in bound]
