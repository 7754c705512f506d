"""Transformations of loops: each checks that the program keeps its meaning, or raises TIRError."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import Bounds, ceiling, prove, simplify
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var, conjuncts, const
from relay2relax.tir.ir.stmt import BlockRealize, For, LoopKind, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import map_parts, variables
from relay2relax.tir.schedule.blocks import all_of, block_names, fresh_name, ordered
from relay2relax.tir.schedule.independence import require_independent
from relay2relax.tir.schedule.iteration import BlockKind, block_kind, reduces
from relay2relax.tir.schedule.tree import (
    bounds_of,
    guard,
    limit,
    loop_at,
    loops_in,
    loops_of,
    path_to_block,
    path_to_loop,
    rebind,
    replaced_at,
    require_serial,
)
from relay2relax.tir.te.inline import copied_with_own_names


def split(func: PrimFunc, var: Var, factors: Sequence[int | None]) -> tuple[PrimFunc, tuple[Var, ...]]:
    """Return ``func`` with the loop over ``var`` as a nest of loops of extents ``factors``, and
    their variables.

    One factor may be None: it is found from the extent. Where the factors' product goes beyond the
    extent, what lies beyond is not run.
    """
    path = path_to_loop(func, var)
    loop = loop_at(path)
    require_serial(loop, "split")
    if len(factors) < 2 or sum(factor is None for factor in factors) > 1:
        raise TIRError(
            "a split takes at least two factors, of which at most one is None", kind=tensor_programs.SCHEDULE
        )
    if any(factor is not None and factor < 1 for factor in factors):
        raise TIRError(f"a split takes positive factors, not {list(factors)}", kind=tensor_programs.SCHEDULE)
    bounds = bounds_of(func, loops_of(path))
    known = 1
    for factor in factors:
        known *= factor or 1
    extents: list[PrimExpr] = [
        const(factor, loop.var.dtype) if factor is not None else ceiling(loop.extent, known, bounds)
        for factor in factors
    ]
    if None not in factors and prove(loop.extent <= known, bounds) is not True:
        raise TIRError(
            f"the factors {list(factors)} do not cover the extent of the loop {var.name}", kind=tensor_programs.SCHEDULE
        )
    parts = tuple(Var(f"{var.name}_{number}", var.dtype) for number in range(len(factors)))
    value: PrimExpr = parts[0]
    for part, extent in zip(parts[1:], extents[1:], strict=True):
        value = value * extent + part
    nest = [For(part, extent, loop.body) for part, extent in zip(parts, extents, strict=True)]
    inner = bounds_of(func, [*loops_of(path), *nest])
    body = rebind(loop.body, {var: value}, inner)
    inside = value < loop.extent
    # What the product goes beyond, if anything, the last step leaves out.
    if prove(simplify(_product(extents), bounds) <= loop.extent, bounds) is not True:
        body = guard(body, simplify(inside, inner))
    for one in reversed(nest):
        body = replace(one, body=body)
    return replaced_at(func, path, body), parts


def _product(extents: Sequence[PrimExpr]) -> PrimExpr:
    result = extents[0]
    for extent in extents[1:]:
        result = result * extent
    return result


def fuse(func: PrimFunc, order: Sequence[Var]) -> tuple[PrimFunc, Var]:
    """Return ``func`` with loops that are nested directly in each other as one loop, and its
    variable.
    """
    if not order:
        raise TIRError("there is nothing to fuse", kind=tensor_programs.SCHEDULE)
    path = path_to_loop(func, order[0])
    nest = [loop_at(path)]
    for var in order[1:]:
        inner = nest[-1].body
        if not isinstance(inner, For) or inner.var is not var:
            raise TIRError(
                f"the loop {var.name} is not directly inside of {nest[-1].var.name}", kind=tensor_programs.SCHEDULE
            )
        nest.append(inner)
    _check_rectangular(nest)
    for loop in nest:
        require_serial(loop, "fuse")
    fused = Var("_".join(loop.var.name for loop in nest) + "_fused", nest[0].var.dtype)
    outer = bounds_of(func, loops_of(path))
    whole = For(fused, simplify(_product([loop.extent for loop in nest]), outer), nest[-1].body)
    bounds = bounds_of(func, [*loops_of(path), whole])
    values: dict[Var, PrimExpr] = {}
    rest: PrimExpr = fused
    for loop in reversed(nest[1:]):
        values[loop.var] = simplify(rest % loop.extent, bounds)
        rest = rest // loop.extent
    values[nest[0].var] = simplify(rest, bounds)
    return replaced_at(func, path, replace(whole, body=rebind(whole.body, values, bounds))), fused


def _check_rectangular(nest: Sequence[For]) -> None:
    names = {loop.var for loop in nest}
    for loop in nest:
        if names.intersection(variables(loop.extent)):
            raise TIRError(
                f"the extent of the loop {loop.var.name} depends on a loop around it", kind=tensor_programs.SCHEDULE
            )


def reorder(func: PrimFunc, order: Sequence[Var]) -> PrimFunc:
    """Return ``func`` with loops of one perfect nest in another order.

    Loops not named keep their places.

    The nest must hold one block, complete or a reduction; loops over reduction axes change places
    with each other only where the reduction is a sum or the like.
    """
    if len(set(order)) != len(order) or len(order) < 2:
        raise TIRError("a reordering takes at least two different loops", kind=tensor_programs.SCHEDULE)
    paths = [path_to_loop(func, var) for var in order]
    top = min(paths, key=len)
    wanted = set(order)
    nest: list[For] = []
    inner: Stmt = top[-1]
    while isinstance(inner, For):
        nest.append(inner)
        inner = inner.body
    last = max((i for i, loop in enumerate(nest) if loop.var in wanted), default=-1)
    if {loop.var for loop in nest[: last + 1]} & wanted != wanted or not isinstance(inner, BlockRealize):
        raise TIRError(
            "the loops are not one nest around one block without anything between them", kind=tensor_programs.SCHEDULE
        )
    old = nest[: last + 1]
    _check_rectangular(old)
    by_var = {loop.var: loop for loop in old}
    following = iter(order)
    new = [by_var[next(following)] if loop.var in wanted else loop for loop in old]
    kind = block_kind(inner.block)
    if kind is BlockKind.OPAQUE:
        raise TIRError(
            f"the block {inner.block.name} is opaque: its iterations keep their order", kind=tensor_programs.SCHEDULE
        )
    if kind is BlockKind.ORDERED:
        reducing = [loop.var for loop in old if reduces(inner, loop.var)]
        if [loop.var for loop in new if loop.var in reducing] != reducing:
            raise ordered(inner.block.name)
    body = old[-1].body
    for loop in reversed(new):
        if loop.kind is LoopKind.VECTORIZED and not isinstance(body, BlockRealize):
            raise TIRError(f"the vectorized loop {loop.var.name} has to stay innermost", kind=tensor_programs.SCHEDULE)
        body = replace(loop, body=body)
    return replaced_at(func, top, body)


def _change_kind(func: PrimFunc, var: Var, kind: LoopKind) -> PrimFunc:
    path = path_to_loop(func, var)
    loop = loop_at(path)
    require_serial(loop, f"make {kind.value}")
    return replaced_at(func, path, replace(loop, kind=kind))


def parallel(func: PrimFunc, var: Var) -> PrimFunc:
    """Return ``func`` with the iterations of a loop spread over threads.

    Such loops are not nested.
    """
    loop = require_independent(func, var, "run in parallel")
    for one in (*loops_of(path_to_loop(func, var)), *loops_in(loop.body)):
        if one.kind is LoopKind.PARALLEL:
            raise TIRError(
                mistake(
                    tensor_programs.SCHEDULE,
                    step="run in parallel",
                    loop=var.name,
                    reason=f"{one.var.name} is parallel already",
                )
            )
    return _change_kind(func, var, LoopKind.PARALLEL)


def vectorize(func: PrimFunc, var: Var) -> PrimFunc:
    """Return ``func`` with a loop as vector instructions.

    It must be innermost and of constant extent.
    """
    loop = require_independent(func, var, "vectorize")
    if not isinstance(loop.extent, IntImm) or not isinstance(loop.body, BlockRealize):
        raise TIRError(
            mistake(
                tensor_programs.SCHEDULE,
                step="vectorize",
                loop=var.name,
                reason="it is not an innermost loop of constant extent",
            )
        )
    return _change_kind(func, var, LoopKind.VECTORIZED)


def unroll(func: PrimFunc, var: Var) -> PrimFunc:
    """Return ``func`` with a loop of constant extent written out by the compiler."""
    if not isinstance(loop_at(path_to_loop(func, var)).extent, IntImm):
        raise TIRError(
            mistake(tensor_programs.SCHEDULE, step="unroll", loop=var.name, reason="its extent is not constant")
        )
    return _change_kind(func, var, LoopKind.UNROLLED)


def loop_partition(func: PrimFunc, var: Var, factors: Sequence[int | None]) -> tuple[PrimFunc, tuple[Var, ...]]:
    """Return ``func`` with a loop as several that run one after the other, of extents ``factors``;
    and their variables.

    One factor may be None: it is what the others leave. Conditions that hold for all of a part
    vanish from it, so that a split with a rest, cut behind its last whole step, tests in the rest
    only. Blocks of later parts are named anew.
    """
    path = path_to_loop(func, var)
    loop = loop_at(path)
    require_serial(loop, "cut")
    if len(factors) < 2 or sum(factor is None for factor in factors) > 1:
        raise TIRError(
            "a partition takes at least two factors, of which at most one is None", kind=tensor_programs.SCHEDULE
        )
    if any(factor is not None and factor < 1 for factor in factors):
        raise TIRError(f"a partition takes positive factors, not {list(factors)}", kind=tensor_programs.SCHEDULE)
    bounds = bounds_of(func, loops_of(path))
    left = simplify(loop.extent - sum(factor or 0 for factor in factors), bounds)
    if prove(left >= 0 if None in factors else left.equal(0), bounds) is not True:
        raise TIRError(
            f"the factors {list(factors)} do not add up to the extent of the loop {var.name}",
            kind=tensor_programs.SCHEDULE,
        )
    names = block_names(func)
    begin: PrimExpr = const(0, var.dtype)
    parts: list[For] = []
    for number, factor in enumerate(factors):
        extent = left if factor is None else const(factor, var.dtype)
        step = Var(f"{var.name}_{number}", var.dtype)
        part = For(step, extent, loop.body)
        known = bounds_of(func, [*loops_of(path), part])
        body = _decided(rebind(loop.body, {var: simplify(begin + step, known)}, known), known)
        parts.append(
            replace(part, body=copied_with_own_names(body, lambda name: _another(names, name)) if parts else body)
        )
        begin = simplify(begin + extent, bounds)
    return replaced_at(func, path, Seq(tuple(parts))), tuple(part.var for part in parts)


def _another(names: list[str], name: str) -> str:
    names.append(fresh_name(names, name))
    return names[-1]


def _decided(stmt: Stmt, bounds: Bounds) -> Stmt:
    """Return ``stmt`` without the conditions of its outermost blocks that always hold."""
    known = dict(bounds)

    def change(node: Stmt) -> Stmt:
        if isinstance(node, For):
            known[node.var] = limit(node.extent)
        if isinstance(node, BlockRealize):
            left = [part for part in conjuncts(node.predicate) if prove(part, known) is not True]
            return replace(node, predicate=all_of(left))
        return map_parts(node, change, lambda expr: expr)

    return change(stmt)


def add_unit_loop(func: PrimFunc, target: Var | str) -> tuple[PrimFunc, Var]:
    """Return ``func`` with a loop of one step around a loop or a block, and its variable."""
    path = path_to_loop(func, target) if isinstance(target, Var) else path_to_block(func, target)
    unit = Var("u", "int64")
    return replaced_at(func, path, For(unit, const(1, unit.dtype), path[-1])), unit
