"""Tiles of products: how large they are, and how threads move their elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.stages import Axis
from relay2relax.backends.gpu.device import Device
from relay2relax.backends.gpu.factors import Parts, narrowed
from relay2relax.backends.gpu.kernel import WARP, count
from relay2relax.core.dtype import bits
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import BufferLoad, IntImm, PrimExpr
from relay2relax.tir.ir.visit import loads, substitute

# A thread has groups of so many neighbouring rows and columns.
QUAD = 4
_DEPTHS = (16, 8)
# A multiprocessor's products in a cycle.
_PRODUCTS = 128
_TENSOR_PRODUCTS = 1024
# Cycles of a step whatever there is to multiply: reads, a barrier, stores (decision 144).
_LATENCY = 1000
# What moving an element takes, in products.
_MOVED = 24


@dataclass(frozen=True, slots=True)
class Tile:
    """``rows`` and ``columns`` of a block's tile, ``depth`` terms of a step; ``tall`` by ``wide``
    threads.
    """

    rows: int
    columns: int
    tall: int
    wide: int
    depth: int = 16
    rate: int = _PRODUCTS

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.tall * self.wide


@dataclass(frozen=True, slots=True)
class WarpTile(Tile):
    """A tile of ``tall`` by ``wide`` warps, which multiply fragments."""

    depth: int = 32
    rate: int = _TENSOR_PRODUCTS

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.tall * self.wide * WARP


_SHAPES = (
    (128, 128, 16, 16),
    (128, 64, 16, 16),
    (64, 128, 16, 16),
    (64, 64, 16, 16),
    (128, 32, 16, 8),
    (32, 128, 8, 16),
    (64, 32, 16, 8),
    (32, 64, 8, 16),
    (32, 32, 8, 8),
    (16, 128, 4, 32),
    (16, 64, 4, 16),
    (128, 16, 32, 4),
    (64, 16, 16, 4),
)
_WARP_SHAPES = (
    (128, 64, 4, 2),
    (64, 128, 2, 4),
    (64, 64, 2, 2),
    (64, 32, 2, 1),
    (32, 64, 1, 2),
    (32, 32, 2, 2),
    (16, 128, 1, 8),
    (16, 64, 1, 4),
)
# A tile that is stored along terms has rows as long as all banks: each begins in another.
_LEAST_DEEP = 32


@dataclass(frozen=True, slots=True)
class Move:
    """How a factor comes into a tile: ``width`` neighbouring elements by a thread at once, along
    terms where ``deep``, ``whole`` as a vector; lines in another order where ``mixed``.
    """

    width: int
    deep: bool
    whole: bool
    mixed: bool = False


def move_of(value: PrimExpr, axes: Sequence[Axis], parts: Parts) -> Move:
    """Return how the elements of a factor over ``axes`` and the terms come into a tile."""
    index = loads(value)[0].indices[0]
    beside = any(coefficient(index, axis.var) == 1 for axis in axes)
    deep = not beside and any(coefficient(index, axis.var) == 1 for axis in parts.terms)
    along = parts.terms[-1] if deep else axes[-1]
    whole = lies(value, along, [*axes, *parts.terms, *parts.batch])
    return Move(QUAD if deep or whole else 1, deep, whole)


def lies(value: PrimExpr, along: Axis, axes: Sequence[Axis], width: int = QUAD) -> bool:
    """Whether ``width`` neighbours along an axis are neighbours in memory that begin at a multiple
    of that.
    """
    if not isinstance(value, BufferLoad) or bits(value.dtype) not in (16, 32) or loads(value.indices[0]):
        return False
    index = value.indices[0]
    if coefficient(index, along.var) != 1 or (static(along.extent) or 1) % width:
        return False
    known = [coefficient(index, axis.var) for axis in axes if axis is not along]
    start = simplify(substitute(index, {axis.var: IntImm(0) for axis in axes}))
    return (
        all(one is not None and one % width == 0 for one in known)
        and isinstance(start, IntImm)
        and start.value % width == 0
    )


def best_tile(parts: Parts, device: Device) -> Tile:
    """Return the tile with which a product is done first."""
    narrow = on_tensor_cores(parts, device)
    if narrow is not None:
        few = move_of(narrow.left, narrow.rows, narrow).deep
        shapes = [shape for shape in _WARP_SHAPES if few or shape[0] >= _LEAST_DEEP]
        return min((WarpTile(*shape) for shape in shapes), key=lambda tile: cycles(parts, tile, device))
    last = static(parts.terms[-1].extent)
    depth = next((one for one in _DEPTHS if last is not None and last % one == 0), _DEPTHS[0])
    deep = [move_of(*one, parts).deep for one in ((parts.left, parts.rows), (parts.right, parts.columns))]
    tiles = [Tile(*shape, depth=depth) for shape in _SHAPES]
    tiles = [
        tile
        for tile in tiles
        if all(size >= _LEAST_DEEP or not own for size, own in zip((tile.rows, tile.columns), deep, strict=True))
    ]
    return min(tiles, key=lambda tile: cycles(parts, tile, device))


def on_tensor_cores(parts: Parts, device: Device) -> Parts | None:
    """Return a product with factors of 16 bits, None where tensor cores of ``device`` do not
    multiply them.
    """
    left, right = narrowed(parts.left), narrowed(parts.right)
    dtype = left.dtype
    known = dtype == right.dtype and device.multiplies(dtype)
    return replace(parts, left=left, right=right) if known else None


def cycles(parts: Parts, tile: Tile, device: Device) -> float:
    """Return the cycles that a product takes with a tile, roughly; an extent that is not known is
    taken for eight tiles.
    """
    rows, columns = static(count(parts.rows)), static(count(parts.columns))
    across = -(-rows // tile.rows) if rows else 8
    along = -(-columns // tile.columns) if columns else 8
    blocks = (static(count(parts.batch)) or 1) * across * along
    steps = -(-(static(count(parts.terms)) or 1024) // tile.depth)
    moved = _MOVED * (tile.rows + tile.columns) / _PRODUCTS
    work = tile.depth * (tile.rows * tile.columns / tile.rate + moved)
    resident = -(-blocks // device.multiprocessors)
    return steps * max(resident * work, _LATENCY + work)
