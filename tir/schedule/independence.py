"""Whether the iterations of a loop may run at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import Bounds, constant_difference
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import Binary, Buffer, PrimExpr, Var, binary, conjuncts
from relay2relax.tir.ir.stmt import Allocate, BlockRealize, For, If, IterKind, LoopKind, PrimFunc, Stmt, While
from relay2relax.tir.ir.visit import statements, variables
from relay2relax.tir.schedule.blocks import is_tail
from relay2relax.tir.schedule.iteration import BlockKind, block_kind, independent, reduces, stays_within
from relay2relax.tir.schedule.positions import accesses, reached_indirectly
from relay2relax.tir.schedule.tree import blocks_in, bounds_of, loop_at, loops_in, loops_of, path_to_loop, touched


def require_independent(func: PrimFunc, var: Var, what: str) -> For:
    """Return the loop over ``var``; raises TIRError unless its iterations can run at the same time.

    They can where each writes places of its own, or temporaries that only it needs: every thread
    then has its own.
    """
    path = path_to_loop(func, var)
    loop = loop_at(path)
    inside = [*loops_of(path), loop, *loops_in(loop.body)]
    bounds = bounds_of(func, inside)
    blocks = blocks_in(loop.body)
    if not blocks:
        raise TIRError(mistake(tensor_programs.SCHEDULE, step=what, loop=var.name, reason="it holds no block"))
    own = {one.var: one.extent for one in loops_in(loop.body)}
    private = {node.buffer for node in statements(loop.body) if isinstance(node, Allocate)}
    private |= private_buffers(func, loop, own, bounds)
    for realize in blocks:
        reason = independent(realize, var, inside, bounds)
        if reason and (touched([realize])[1] - private or reduces(realize, var)):
            raise TIRError(mistake(tensor_programs.SCHEDULE, step=what, loop=var.name, reason=reason))
    for writer, reader in permutations(blocks, 2):
        written = touched([writer])[1] - private
        read, also_written = touched([reader])
        for buffer in (written & read) | (written & also_written):
            if not stays_within(buffer, writer, reader, own, bounds):
                reason = (
                    f"the block {reader.block.name} is not seen to keep to what the same iteration of "
                    f"{writer.block.name} wrote"
                )
                raise TIRError(mistake(tensor_programs.SCHEDULE, step=what, loop=var.name, reason=reason))
    return loop


def private_buffers(func: PrimFunc, loop: For, inner: Mapping[Var, PrimExpr], bounds: Bounds) -> set[Buffer]:
    """Return the temporaries that every iteration of ``loop`` makes and uses by itself.

    Nothing outside of the loop touches them, and within an iteration all keep to what its first
    block wrote.
    """
    users: dict[Buffer, list[BlockRealize]] = {}
    for realize in blocks_in(loop.body):
        for buffer in set().union(*touched([realize])):
            users.setdefault(buffer, []).append(realize)
    branches = [node for node in statements(loop.body) if isinstance(node, (If, While))]
    perhaps = {realize for branch in branches for realize in blocks_in(branch)}
    found: set[Buffer] = set()
    for buffer in (users.keys() & set(func.root_buffers)) - reached_indirectly(func.body):
        if len(accesses(loop.body, buffer).found) != len(accesses(func.body, buffer).found):
            continue
        first, *others = users[buffer]
        if (
            first not in perhaps
            and _begins(first, buffer, inner)
            and all(stays_within(buffer, first, one, inner, bounds) for one in others)
        ):
            found.add(buffer)
    return found


def _begins(realize: BlockRealize, buffer: Buffer, inner: Mapping[Var, PrimExpr]) -> bool:
    """Whether a block writes ``buffer`` without need of what was there before the loops
    ``inner``.
    """
    if not all(_is_within(condition, realize) for condition in conjuncts(realize.predicate)):
        return False
    kind = block_kind(realize.block)
    if kind is not BlockKind.COMPLETE:
        # A sum that goes on beyond these loops is begun outside of them.
        axes = zip(realize.block.iter_vars, realize.values, strict=True)
        folded = {v for axis, value in axes if axis.kind is IterKind.REDUCE for v in variables(value)}
        if kind is BlockKind.OPAQUE or realize.block.init is None or not folded <= inner.keys():
            return False
    return buffer in touched([realize])[1]


def _is_within(condition: PrimExpr, realize: BlockRealize) -> bool:
    """Whether a condition leaves out only what lies before or behind all that an axis of a block
    runs through.
    """
    match condition:
        case Binary(">=", a, b) | Binary("<=", b, a):
            return any(constant_difference(binary("-", a, b), value) == 0 for value in realize.values)
    return is_tail(condition, realize)


def require_parallel_loops_independent(func: PrimFunc, path: Sequence[Stmt]) -> None:
    """Raise TIRError unless the parallel loops among the statements ``path`` may still be
    parallel.
    """
    for stmt in path:
        if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
            require_independent(func, stmt.var, "run in parallel")
