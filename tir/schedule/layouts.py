"""Steps that change where the elements of a temporary lie, and in which order a block runs through
its axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, Union

from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import Bounds, simplify
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import Buffer, PrimExpr, PrimLike, Var, convert, if_then_else
from relay2relax.tir.ir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    For,
    IterKind,
    IterVar,
    PrimFunc,
)
from relay2relax.tir.ir.visit import (
    substitute,
    substitute_stmt,
    variables,
)
from relay2relax.tir.schedule.blocks import (
    nest_over,
    only_store,
    only_writer,
    ordered,
    plain_axes,
    require_complete,
    require_dataflow,
    require_plain,
    require_whole,
    require_writes_all,
    with_accesses,
    with_regions,
)
from relay2relax.tir.schedule.caches import WhichBuffer, chosen
from relay2relax.tir.schedule.index_map import IndexFunction, IndexMap, index_map, inverse_values
from relay2relax.tir.schedule.iteration import BlockKind
from relay2relax.tir.schedule.tree import (
    Path,
    bounds_of,
    limit,
    loops_of,
    nest_of,
    path_to_block,
    realize_at,
    replaced_at,
    require_serial,
)

# A number, or what is to stand at the indices of the new layout.
PadValue: TypeAlias = Union[PrimLike, Callable[..., PrimLike]]


def transform_layout(
    func: PrimFunc,
    name: str,
    which: tuple[str, int] | WhichBuffer,
    function: IndexFunction,
    pad_value: PadValue | None = None,
) -> PrimFunc:
    """Return ``func`` with a temporary in another layout: the element at ``i…`` lies at
    ``function(i…)``.

    ``which`` is a buffer that the block ``name`` writes or reads, ("read", number) or ("write",
    number) or its name. The function must have an inverse. Where the new layout has more places,
    ``pad_value`` says what stands there, and the one block that writes the buffer, which must be
    complete and alone in its loops, writes that as well.
    """
    realize = realize_at(path_to_block(func, name))
    buffer = _which(realize, which)
    if buffer not in func.root_buffers:
        raise TIRError(
            f"{buffer.name} is a parameter: callers know its layout; put a cache before or behind it",
            kind=tensor_programs.SCHEDULE,
        )
    require_plain(func, buffer)
    mapping = index_map(function, buffer.shape, bounds_of(func))
    if mapping.padding is not None and pad_value is None:
        raise TIRError(
            f"the index map makes {buffer.name} larger, and no pad_value says what stands there",
            kind=tensor_programs.SCHEDULE,
        )
    new = replace(buffer, shape=mapping.extents)

    def moved(target: Buffer, indices: Sequence[PrimExpr], bounds: Bounds) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        return (new, mapping.at(indices, bounds)) if target is buffer else (target, tuple(indices))

    if mapping.padding is not None and pad_value is not None:
        func = _with_padding(func, buffer, mapping, pad_value)
    body = with_accesses(func.body, bounds_of(func), moved)
    temporaries = tuple(new if one is buffer else one for one in func.root_buffers)
    return func.with_body(body, temporaries)


def transform_block_layout(func: PrimFunc, name: str, function: IndexFunction) -> PrimFunc:
    """Return ``func`` with the axes of a block, and the loops around it, given by ``function`` of
    the old axes.

    The block must be alone in plain serial loops that run through all of its axes; ``function``
    must have an inverse, need no padding, and keep reduction axes apart from the others.
    """
    path = path_to_block(func, name)
    realize = realize_at(path)
    block = realize.block
    kind = require_dataflow(realize)
    if kind is BlockKind.ORDERED:
        raise ordered(name)
    nest_path = _whole_nest(func, path)
    bounds = bounds_of(func)
    mapping = index_map(function, [axis.extent for axis in block.iter_vars], bounds)
    if mapping.padding is not None:
        raise TIRError(
            f"the index map gives the block {name} more iterations than it has", kind=tensor_programs.SCHEDULE
        )
    kinds = {var: axis.kind for var, axis in zip(mapping.inputs, block.iter_vars, strict=True)}
    axes: list[IterVar] = []
    for place, (result, extent) in enumerate(zip(mapping.results, mapping.extents, strict=True)):
        mixed = {kinds[v] for v in variables(result) if v in kinds}
        if len(mixed) > 1:
            raise TIRError(
                f"axis {place} of the index map is about reduction and other axes of {name}",
                kind=tensor_programs.SCHEDULE,
            )
        axes.append(IterVar(Var(f"v_i{place}", result.dtype), extent, mixed.pop() if mixed else IterKind.SPATIAL))
    outputs: dict[Var, PrimExpr] = {out: axis.var for out, axis in zip(mapping.outputs, axes, strict=True)}
    old = inverse_values(mapping, outputs)
    values = {axis.var: old[var] for axis, var in zip(block.iter_vars, mapping.inputs, strict=True)}
    nest = nest_over(_rebound(block, axes, values, bounds), {}, bounds, keep_unit_loops=True)
    return replaced_at(func, nest_path, nest)


def _which(realize: BlockRealize, which: tuple[str, int] | WhichBuffer) -> Buffer:
    if isinstance(which, tuple):
        how, number = which
        if how not in ("read", "write"):
            raise TIRError(
                f"a buffer is told by ('read', number) or ('write', number), not by {which}",
                kind=tensor_programs.SCHEDULE,
            )
        return chosen(realize, number, how)
    written = [region.buffer for region in realize.block.writes]
    return chosen(realize, which, "write" if any(one is which or one.name == which for one in written) else "read")


def _whole_nest(func: PrimFunc, path: Path) -> Path:
    """Return the path to the nest of a block, whose loops are serial and alone run through all of
    its axes.
    """
    realize = realize_at(path)
    require_whole(func, path)
    nest_path = nest_of(path)
    nest = [stmt for stmt in path[len(nest_path) - 1 :] if isinstance(stmt, For)]
    for loop in nest:
        require_serial(loop, "put other loops for")
    outer = {loop.var for loop in loops_of(path) if loop not in nest}
    if any(outer & set(variables(value)) for value in realize.values):
        raise TIRError(
            f"the block {realize.block.name} follows a loop that holds other blocks, too", kind=tensor_programs.SCHEDULE
        )
    return nest_path


def _rebound(block: Block, axes: Sequence[IterVar], values: dict[Var, PrimExpr], bounds: Bounds) -> Block:
    """Return ``block`` with other axes, over which ``values`` gives the old ones."""
    known = {**bounds, **{axis.var: limit(axis.extent) for axis in axes}}

    def same(target: Buffer, indices: Sequence[PrimExpr], around: Bounds) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        return target, tuple(simplify(index, around) for index in indices)

    body = with_accesses(substitute_stmt(block.body, values), known, same)
    init = None if block.init is None else with_accesses(substitute_stmt(block.init, values), known, same)
    return with_regions(replace(block, iter_vars=tuple(axes), body=body, init=init))


def _with_padding(func: PrimFunc, buffer: Buffer, mapping: IndexMap, pad_value: PadValue) -> PrimFunc:
    """Return ``func`` with the writer of ``buffer`` over the places of the new layout, padding
    included.

    It still stores through the old indices: those of what stands beyond them lie beyond them, too.
    """
    writer = only_writer(func, buffer)
    require_complete(writer)
    store = only_store(writer)
    old_axes = plain_axes(writer, store)
    path = path_to_block(func, writer.block.name)
    require_writes_all(func, path, buffer)
    nest_path = _whole_nest(func, path)
    axes = [
        IterVar(Var(f"v_i{d}", out.dtype), extent, IterKind.SPATIAL)
        for d, (out, extent) in enumerate(zip(mapping.outputs, mapping.extents, strict=True))
    ]
    outputs: dict[Var, PrimExpr] = {out: axis.var for out, axis in zip(mapping.outputs, axes, strict=True)}
    places = [substitute(value, outputs) for value in mapping.inverse]
    pad = pad_value(*outputs.values()) if callable(pad_value) else pad_value
    inside = mapping.padding
    assert inside is not None
    value = if_then_else(
        substitute(inside, outputs),
        substitute(store.value, dict(zip(old_axes, places, strict=True))),
        convert(pad, buffer.dtype),
    )
    body = BufferStore(buffer, tuple(places), value)
    block = with_regions(replace(writer.block, iter_vars=tuple(axes), body=body))
    return replaced_at(func, nest_path, nest_over(block, {}, bounds_of(func), keep_unit_loops=True))
