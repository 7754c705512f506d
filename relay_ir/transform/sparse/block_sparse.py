"""Matrices of which only the blocks that are not zero are stored, and parameters that are such."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Tuple, Var, children
from relay2relax.relay_ir.ir.rewrite import free_vars, nodes, with_children
from relay2relax.relay_ir.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class BlockSparse:
    """A matrix in block-compressed sparse rows.

    ``data``  the blocks that are not zero, of shape ``(blocks, height, width)``.
    ``indices``  the column of each, counted in blocks (int32).
    ``indptr``  where the blocks of each row of blocks begin, and the end (int32).
    """

    data: Array
    indices: Array
    indptr: Array

    @property
    def sizes(self) -> tuple[int, ...]:
        """The extents of the three arrays one after the other, as the passes take them."""
        return (*self.data.shape, len(self.indices), len(self.indptr))

    @property
    def stored(self) -> int:
        """How many elements are stored."""
        return self.data.size


def block_sparse(matrix: Array, height: int, width: int) -> BlockSparse:
    """Return ``matrix`` in blocks of ``height`` by ``width``.

    Raises UnsupportedError where the blocks do not tile it.

    >>> block_sparse(np.eye(4, dtype="float32"), 2, 2).indices.tolist()
    [0, 1]
    """
    rows, columns = matrix.shape
    if height < 1 or width < 1 or rows % height or columns % width:
        raise UnsupportedError(f"blocks of {height} by {width} do not tile a matrix of {rows} by {columns}")
    blocks = matrix.reshape(rows // height, height, columns // width, width).swapaxes(1, 2)
    used = blocks.any(axis=(2, 3))
    indptr = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int32)
    return BlockSparse(blocks[used], np.nonzero(used)[1].astype(np.int32), indptr)


# (a call whose weight is a parameter) -> whether it can take that weight as a sparse one
Fits = Callable[[Call], bool]


def with_sparse_parameters(
    root: Function,
    sizes: Mapping[str, Sequence[int]],
    fits: Fits,
    make: Callable[[Call, tuple[Var, Var, Var]], Call],
) -> Function:
    """Return ``root`` with ``make(call, (data, indices, indptr))`` for calls that ``fits`` says of.

    Their weights are the parameters that ``sizes`` names; three new ones stand for each, behind the
    others. Parameters that nothing uses any more go, as in TVM.
    """
    made: dict[Var, tuple[Var, Var, Var]] = {}
    done: dict[Expr, Expr] = {}
    for node in nodes(root.body):
        done[node] = with_children(node, [done[child] for child in children(node)])
        if isinstance(node, Call) and len(node.args) > 1:
            weight, new = node.args[1], done[node]
            if isinstance(weight, Var) and weight.name in sizes and _is_float32(weight) and fits(node):
                assert isinstance(new, Call)
                if weight not in made:
                    made[weight] = _parameters(weight, sizes[weight.name])
                done[node] = make(new, made[weight])
    if not made:
        return root
    body, given = done[root.body], tuple(var for three in made.values() for var in three)
    # What the function had and uses, then what is new.
    params = (*(var for var in free_vars(Tuple((body,))) if var not in given), *given)
    return replace(root, params=params, body=body)


def _parameters(weight: Var, sizes: Sequence[int]) -> tuple[Var, Var, Var]:
    *block, indices, indptr = (int(size) for size in sizes)
    return (
        Var(f"{weight.name}.data", TensorType(tuple(block), "float32")),
        Var(f"{weight.name}.indices", TensorType((indices,), "int32")),
        Var(f"{weight.name}.indptr", TensorType((indptr,), "int32")),
    )


def _is_float32(weight: Var) -> bool:
    ty = weight.type_annotation
    return isinstance(ty, TensorType) and ty.dtype == "float32"


def sizes_by_name(names: Sequence[str], shapes: Sequence[Sequence[int]], least: int) -> dict[str, Sequence[int]]:
    """Return the sizes of each weight.

    Raises UnsupportedError where there are not as many shapes as names, or of other lengths.
    """
    if len(names) != len(shapes):
        raise UnsupportedError(f"{len(names)} weights are named, the shapes of {len(shapes)} are given")
    for name, shape in zip(names, shapes, strict=True):
        if not least <= len(shape) <= 5:
            raise UnsupportedError(
                f"the weight {name} has the sizes {list(shape)}; expected those of its data, indices and indptr"
            )
    return dict(zip(names, shapes, strict=True))
