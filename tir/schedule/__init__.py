"""Schedules: how the loops of a PrimFunc run, changed step by step without changing what it
computes.

Each step is a function from PrimFunc to PrimFunc that either keeps the program's meaning or raises
TIRError; :class:`Schedule` strings them together under the names that TVM's schedules use.
Floating-point sums may be taken in another order, as TVM allows itself, too.
``docs/guide/schedules.md`` tells what each step asks for.

    schedule = Schedule(func)
    i, j, k = schedule.get_loops("C")
    outer, inner = schedule.split(j, [None, 16])
    schedule.reorder(i, outer, k, inner)
    schedule.vectorize(inner)
    schedule.parallel(i)
    schedule.func

Loops are named by their variables, blocks by their names, which a PrimFunc of tensor expressions
has once each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay2relax.tir.ir.expr import Buffer, Var
from relay2relax.tir.ir.stmt import Block, PrimFunc
from relay2relax.tir.normalize.executable_form import executable_form
from relay2relax.tir.schedule import caches, inlines, intrinsics, layouts, loops, moves, reductions
from relay2relax.tir.schedule.blocks import block_names
from relay2relax.tir.schedule.caches import WhichBuffer
from relay2relax.tir.schedule.index_map import IndexFunction
from relay2relax.tir.schedule.intrinsics import Intrinsic
from relay2relax.tir.schedule.layouts import PadValue
from relay2relax.tir.schedule.tree import blocks_in, loops_of, path_to_block, realize_at, touched

__all__ = ["Intrinsic", "Schedule"]


class Schedule:
    """A PrimFunc under transformation; ``func`` is its present state.

    It begins in the form that backends run: threads are loops, vectors and parts of buffers are
    elements. Raises UnsupportedError for programs that have no such form.
    """

    def __init__(self, func: PrimFunc) -> None:
        self.func = executable_form(func)

    @staticmethod
    def intrinsic(description: PrimFunc, steps: Callable[[Schedule], object]) -> Intrinsic:
        """Return the kernel that ``steps``, applied to a schedule of ``description``, make of
        it.
        """
        schedule = Schedule(description)
        steps(schedule)
        return Intrinsic(description, schedule.func)

    # What there is

    def get_blocks(self) -> list[str]:
        """Return the names of all blocks, in program order."""
        return block_names(self.func)

    def get_block(self, name: str) -> Block:
        """Return the block ``name``; raises TIRError unless there is exactly one."""
        return realize_at(path_to_block(self.func, name)).block

    def get_loops(self, block: str) -> tuple[Var, ...]:
        """Return the variables of the loops around a block, outermost first."""
        return tuple(loop.var for loop in loops_of(path_to_block(self.func, block)))

    def get_producers(self, block: str) -> list[str]:
        """Return the names of the blocks that write what a block reads, in program order."""
        read, written = touched([realize_at(path_to_block(self.func, block))])
        return self._others(block, lambda own: bool(own[1] & (read - written)))

    def get_consumers(self, block: str) -> list[str]:
        """Return the names of the blocks that read what a block writes, in program order."""
        written = touched([realize_at(path_to_block(self.func, block))])[1]
        return self._others(block, lambda own: bool((own[0] - own[1]) & written))

    def get_output_blocks(self) -> list[str]:
        """Return the names of the blocks that write a parameter, in program order."""
        return self._others("", lambda own: bool(own[1] & set(self.func.buffers)))

    def _others(self, block: str, wanted: Callable[[tuple[set[Buffer], set[Buffer]]], bool]) -> list[str]:
        outermost = [one for one in blocks_in(self.func.body) if one.block.name != block]
        return [one.block.name for one in outermost if wanted(touched([one]))]

    # Loops

    def split(self, loop: Var, factors: Sequence[int | None]) -> tuple[Var, ...]:
        """Split a loop into a nest with the extents ``factors``, one of which may be None.

        Return its loops.
        """
        self.func, parts = loops.split(self.func, loop, factors)
        return parts

    def loop_partition(self, loop: Var, factors: Sequence[int | None]) -> tuple[Var, ...]:
        """Cut a loop into several, of the extents ``factors``, that run one after the other.

        Return them.
        """
        self.func, parts = loops.loop_partition(self.func, loop, factors)
        return parts

    def fuse(self, *order: Var) -> Var:
        """Make one loop of loops that are nested directly in each other; return it."""
        self.func, fused = loops.fuse(self.func, order)
        return fused

    def reorder(self, *order: Var) -> None:
        """Put loops of one nest around one block in the given order, outermost first."""
        self.func = loops.reorder(self.func, order)

    def add_unit_loop(self, block_or_loop: Var | str) -> Var:
        """Put a loop of one step around a block or a loop; return it."""
        self.func, loop = loops.add_unit_loop(self.func, block_or_loop)
        return loop

    def parallel(self, loop: Var) -> None:
        """Spread the iterations of a loop over threads."""
        self.func = loops.parallel(self.func, loop)

    def vectorize(self, loop: Var) -> None:
        """Run an innermost loop of constant extent with vector instructions."""
        self.func = loops.vectorize(self.func, loop)

    def unroll(self, loop: Var) -> None:
        """Write a loop of constant extent out."""
        self.func = loops.unroll(self.func, loop)

    # Where blocks stand

    def compute_at(self, block: str, loop: Var, preserve_unit_loops: bool = False) -> None:
        """Move a block into a loop, before the first block there that reads what it makes."""
        self.func = moves.compute_at(self.func, block, loop, preserve_unit_loops)

    def reverse_compute_at(self, block: str, loop: Var, preserve_unit_loops: bool = False) -> None:
        """Move a block to the end of the loop in which what it reads is made."""
        self.func = moves.reverse_compute_at(self.func, block, loop, preserve_unit_loops)

    def compute_inline(self, block: str) -> None:
        """Compute what a block stores wherever it is read, and drop the block and its buffer."""
        self.func = inlines.compute_inline(self.func, block)

    def reverse_compute_inline(self, block: str) -> None:
        """Compute what a block stores where its operand is made, and drop the block and the
        operand's buffer.
        """
        self.func = inlines.reverse_compute_inline(self.func, block)

    # Reductions

    def decompose_reduction(self, block: str, loop: Var) -> tuple[str, str]:
        """Put the init of a reduction before ``loop``; return the names of the init and of the
        update block.
        """
        self.func = reductions.decompose_reduction(self.func, block, loop)
        return f"{block}_init", f"{block}_update"

    def rfactor(self, loop: Var, factor_axis: int) -> str:
        """Fold the iterations of a reduction loop into places of their own, then these.

        Return the first block.
        """
        self.func, block = reductions.rfactor(self.func, loop, factor_axis)
        return block

    # Memory

    def cache_read(
        self, block: str, read_buffer: WhichBuffer, storage_scope: str, consumer_blocks: Sequence[str] | None = None
    ) -> str:
        """Let a block, and whatever else reads the buffer, read a copy of it.

        Return the block that copies.
        """
        self.func, copy = caches.cache_read(self.func, block, read_buffer, storage_scope, consumer_blocks)
        return copy

    def cache_write(self, block: str, write_buffer: WhichBuffer, storage_scope: str) -> str:
        """Let a block write a temporary that is copied to its buffer.

        Return the block that copies.
        """
        self.func, copy = caches.cache_write(self.func, block, write_buffer, storage_scope)
        return copy

    def set_scope(self, block: str, buffer: WhichBuffer, storage_scope: str) -> None:
        """Say in which memory a temporary lies that a block writes."""
        self.func = caches.set_scope(self.func, block, buffer, storage_scope)

    def transform_layout(
        self,
        block: str,
        buffer: tuple[str, int] | WhichBuffer,
        index_map: IndexFunction,
        pad_value: PadValue | None = None,
    ) -> None:
        """Put the elements of a temporary where ``index_map`` says: ``lambda i, j: (j // 16, i, j %
        16)``.
        """
        self.func = layouts.transform_layout(self.func, block, buffer, index_map, pad_value)

    def transform_block_layout(self, block: str, index_map: IndexFunction) -> None:
        """Give a block the axes, and the loops, that ``index_map`` makes of its own."""
        self.func = layouts.transform_block_layout(self.func, block, index_map)

    # Kernels

    def blockize(self, loop: Var) -> str:
        """Make a block of a loop and all within it; return its name."""
        self.func, block = intrinsics.blockize(self.func, loop)
        return block

    def tensorize(self, block_or_loop: Var | str, kernel: Intrinsic) -> None:
        """Put the loops of ``kernel`` in the place of a block or loop that computes what it
        describes.
        """
        self.func = intrinsics.tensorize(self.func, block_or_loop, kernel)
