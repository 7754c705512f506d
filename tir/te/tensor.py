"""Tensor expressions: what a tensor is, element by element; TensorIR is made from them.

    a = te.placeholder((n, 4), "float32", "A")
    k = te.reduce_axis(4, "k")
    c = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), "C")
    func = te.create_prim_func([a], [c], name="row_sum")

An operator that is not a compute (sort, scatter …) is an :func:`extern` tensor: statements over
buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Union

from relay2relax.core.dtype import check_dtype
from relay2relax.tir.extent import Extent, as_prim
from relay2relax.tir.ir.expr import Buffer, PrimExpr, PrimLike, Var, const, convert, maximum, minimum
from relay2relax.tir.ir.intrinsics import max_value, min_value
from relay2relax.tir.ir.stmt import Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor.

    ``op`` says where its elements come from, ``index`` which of the op's results it is.
    """

    name: str
    shape: tuple[PrimExpr, ...]
    dtype: str
    op: Operation
    index: int = 0

    def __post_init__(self) -> None:
        check_dtype(self.dtype)

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> ProducerLoad:
        found = indices if isinstance(indices, tuple) else (indices,)
        if len(found) != len(self.shape):
            raise IndexError(f"{self.name} has {len(self.shape)} dimensions, {len(found)} indices were given")
        return ProducerLoad(self, tuple(i.var if isinstance(i, ReduceAxis) else convert(i, "int64") for i in found))

    def __call__(self, *indices: Index) -> ProducerLoad:
        return self[tuple(indices)]

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class ProducerLoad(PrimExpr):
    """One element of a tensor."""

    tensor: Tensor
    indices: tuple[PrimExpr, ...]

    @property
    def dtype(self) -> str:
        return self.tensor.dtype


@dataclass(frozen=True, slots=True, eq=False)
class ReduceAxis:
    """An axis that is summed over (or otherwise reduced).

    Stands for its variable in expressions.
    """

    var: Var
    extent: PrimExpr


Index = Union[PrimLike, ReduceAxis]


@dataclass(frozen=True, slots=True)
class Reduce(PrimExpr):
    """``combine`` over all points of ``axes``, starting from ``identity``.

    ``combine(accumulators, values)`` returns the new accumulators; a reduction of several values at
    once (argmax) has several ``sources``, and is the whole body of a compute with as many results.
    """

    combine: Callable[[Sequence[PrimExpr], Sequence[PrimExpr]], Sequence[PrimExpr]]
    identity: tuple[PrimExpr, ...]
    sources: tuple[PrimExpr, ...]
    axes: tuple[ReduceAxis, ...]
    condition: PrimExpr | None = None

    @property
    def dtype(self) -> str:
        return self.sources[0].dtype


@dataclass(frozen=True, slots=True, eq=False)
class Placeholder:
    """A parameter."""


@dataclass(frozen=True, slots=True, eq=False)
class Compute:
    """Element (axes) of the result is ``bodies`` (one per result)."""

    name: str
    axes: tuple[Var, ...]
    shape: tuple[PrimExpr, ...]
    bodies: tuple[PrimExpr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Extern:
    """``build(inputs, outputs)`` returns the statement that fills the outputs' buffers."""

    name: str
    inputs: tuple[Tensor, ...]
    build: Callable[[Sequence[Buffer], Sequence[Buffer]], Stmt]
    shapes: tuple[tuple[PrimExpr, ...], ...]
    dtypes: tuple[str, ...]


Operation = Union[Placeholder, Compute, Extern]


def placeholder(shape: Sequence[Extent], dtype: str = "float32", name: str = "A") -> Tensor:
    """Return a tensor that is a parameter."""
    return Tensor(name, tuple(as_prim(e) for e in shape), dtype, Placeholder())


def reduce_axis(extent: Extent, name: str = "k") -> ReduceAxis:
    """Return an axis over ``[0, extent)`` to reduce over."""
    return ReduceAxis(Var(name, "int64"), as_prim(extent))


def compute(shape: Sequence[Extent], body: Callable[..., PrimExpr], name: str = "T") -> Tensor:
    """Return the tensor of ``shape`` whose element at (i, j, …) is ``body(i, j, …)``.

    Raises TypeError for a reduction of several values.
    """
    extents = tuple(as_prim(e) for e in shape)
    axes = _axis_vars(extents)
    value = body(*axes)
    if isinstance(value, Reduce) and len(value.sources) > 1:
        raise TypeError(f"{name} reduces several values at once; compute_several returns a tensor for each")
    return Tensor(name, extents, value.dtype, Compute(name, axes, extents, (value,)))


def compute_several(
    shape: Sequence[Extent], body: Callable[..., tuple[PrimExpr, ...] | Reduce], name: str = "T"
) -> tuple[Tensor, ...]:
    """Return the tensors of ``shape`` whose elements at (i, j, …) are those of ``body(i, j, …)``: a
    tuple of expressions, or a :class:`Reduce` of several sources.
    """
    extents = tuple(as_prim(e) for e in shape)
    axes = _axis_vars(extents)
    value = body(*axes)
    bodies = value if isinstance(value, tuple) else (value,)
    dtypes = [one.dtype for one in (value if isinstance(value, tuple) else value.sources)]
    op = Compute(name, axes, extents, bodies)
    return tuple(Tensor(f"{name}_{i}", extents, dtype, op, i) for i, dtype in enumerate(dtypes))


def _axis_vars(extents: Sequence[PrimExpr]) -> tuple[Var, ...]:
    return tuple(Var(f"i{d}", "int64") for d in range(len(extents)))


def extern(
    shapes: Sequence[Sequence[Extent]],
    dtypes: Sequence[str],
    inputs: Sequence[Tensor],
    build: Callable[[Sequence[Buffer], Sequence[Buffer]], Stmt],
    name: str = "extern",
) -> tuple[Tensor, ...]:
    """Return the tensors that the statement ``build(input buffers, output buffers)`` fills."""
    extents = tuple(tuple(as_prim(e) for e in shape) for shape in shapes)
    op = Extern(name, tuple(inputs), build, extents, tuple(dtypes))
    return tuple(
        Tensor(name if len(extents) == 1 else f"{name}_{i}", shape, dtype, op, i)
        for i, (shape, dtype) in enumerate(zip(extents, dtypes, strict=True))
    )


def _axes(axis: ReduceAxis | Sequence[ReduceAxis]) -> tuple[ReduceAxis, ...]:
    return (axis,) if isinstance(axis, ReduceAxis) else tuple(axis)


def sum(source: PrimExpr, axis: ReduceAxis | Sequence[ReduceAxis]) -> Reduce:
    """Return the sum of ``source`` over ``axis``."""
    zero = const(0, source.dtype)
    return Reduce(lambda x, y: (x[0] + y[0],), (zero,), (source,), _axes(axis))


def prod(source: PrimExpr, axis: ReduceAxis | Sequence[ReduceAxis]) -> Reduce:
    """Return the product of ``source`` over ``axis``."""
    return Reduce(lambda x, y: (x[0] * y[0],), (const(1, source.dtype),), (source,), _axes(axis))


def max(source: PrimExpr, axis: ReduceAxis | Sequence[ReduceAxis]) -> Reduce:
    """Return the maximum of ``source`` over ``axis``; the identity is the dtype's smallest
    value.
    """
    return Reduce(lambda x, y: (maximum(x[0], y[0]),), (min_value(source.dtype),), (source,), _axes(axis))


def min(source: PrimExpr, axis: ReduceAxis | Sequence[ReduceAxis]) -> Reduce:
    """Return the minimum of ``source`` over ``axis``; the identity is the dtype's largest value."""
    return Reduce(lambda x, y: (minimum(x[0], y[0]),), (max_value(source.dtype),), (source,), _axes(axis))
