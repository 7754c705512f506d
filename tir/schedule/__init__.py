"""Schedules: how the loops of a PrimFunc run, changed step by step without changing what it computes.

Each step is a function from PrimFunc to PrimFunc (``loops.py``, ``blocks.py``) that either keeps the program's meaning
or raises TIRError; :class:`Schedule` strings them together under the names that TVM's schedules use. Floating-point
sums may be taken in another order, as TVM allows itself, too.

    schedule = Schedule(func)
    i, j, k = schedule.get_loops("C")
    outer, inner = schedule.split(j, [None, 16])
    schedule.reorder(i, outer, k, inner)
    schedule.vectorize(inner)
    schedule.parallel(i)
    schedule.func

Loops are named by their variables, blocks by their names, which a PrimFunc of tensor expressions has once each.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.tir.expr import Var
from relay2relax.tir.schedule import blocks, loops
from relay2relax.tir.schedule.tree import find, loops_of, path_to_block, realize_at
from relay2relax.tir.stmt import Block, BlockRealize, PrimFunc

__all__ = ["Schedule"]


class Schedule:
    """A PrimFunc under transformation; ``func`` is its present state."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func

    def get_blocks(self) -> list[str]:
        """Return the names of all blocks, in program order."""
        return [realize_at(p).block.name for p in find(self.func, lambda stmt: isinstance(stmt, BlockRealize))]

    def get_block(self, name: str) -> Block:
        """Return the block ``name``; raises TIRError unless there is exactly one."""
        return realize_at(path_to_block(self.func, name)).block

    def get_loops(self, block: str) -> tuple[Var, ...]:
        """Return the variables of the loops around a block, outermost first."""
        return tuple(loop.var for loop in loops_of(path_to_block(self.func, block)))

    def split(self, loop: Var, factors: Sequence[int | None]) -> tuple[Var, ...]:
        """Split a loop into a nest with the extents ``factors``, one of which may be None; return its loops."""
        self.func, parts = loops.split(self.func, loop, factors)
        return parts

    def fuse(self, *order: Var) -> Var:
        """Make one loop of loops that are nested directly in each other; return it."""
        self.func, fused = loops.fuse(self.func, order)
        return fused

    def reorder(self, *order: Var) -> None:
        """Put loops of one nest around one block in the given order, outermost first."""
        self.func = loops.reorder(self.func, order)

    def parallel(self, loop: Var) -> None:
        """Spread the iterations of a loop over threads."""
        self.func = loops.parallel(self.func, loop)

    def vectorize(self, loop: Var) -> None:
        """Run an innermost loop of constant extent with vector instructions."""
        self.func = loops.vectorize(self.func, loop)

    def unroll(self, loop: Var) -> None:
        """Write a loop of constant extent out."""
        self.func = loops.unroll(self.func, loop)

    def decompose_reduction(self, block: str, loop: Var) -> tuple[str, str]:
        """Put the init of a reduction before ``loop``; return the names of the init and of the update block."""
        self.func = blocks.decompose_reduction(self.func, block, loop)
        return f"{block}_init", f"{block}_update"

    def compute_inline(self, block: str) -> None:
        """Compute what a block stores wherever it is read, and drop the block and its buffer."""
        self.func = blocks.compute_inline(self.func, block)

    def reverse_compute_at(self, block: str, loop: Var) -> None:
        """Move a block to the end of the loop in which the buffer that it reads is made."""
        self.func = blocks.reverse_compute_at(self.func, block, loop)
