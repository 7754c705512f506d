"""einsum: sums of products over labelled axes.

The equation names the axes of each operand by letters; a letter that the result does not have is
added up over. ``...`` stands for axes without a name. Without ``->`` the result has the letters
that occur once, in alphabetical order, after the axes of ``...``. An extent of 1 broadcasts. Sums
have the dtype of the operands. Source of the semantics: TVM 0.18, ``include/tvm/topi/einsum.h`` and
``src/topi/einsum.cc``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.shapes import broadcast, tensors
from relay2relax.ops.registry.attributes import String
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import OpDef, OpError, SameOp
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, Shape, equal, static
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Select

_EQUATION = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*(,[A-Za-z]*(\.\.\.)?[A-Za-z]*)*(->[A-Za-z]*(\.\.\.)?[A-Za-z]*)?")


@dataclass(frozen=True, slots=True)
class EinsumAttrs:
    """The equation, e.g. ``bij,bjk->bik``."""

    equation: String


@dataclass(frozen=True, slots=True)
class Labelled:
    """The axes of each operand and of the result by name.

    Nameless ones are numbered from the right: ``-1``, ``-2``.
    """

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]


def parse_equation(equation: str, ranks: Sequence[int]) -> Labelled:
    """Return the names of all axes.

    Raises OpError where the equation is malformed or does not fit the ranks.
    """
    text = equation.replace(" ", "")
    if not _EQUATION.fullmatch(text):
        raise OpError(f'"{equation}" is no equation; expected letters, e.g. "ij,jk->ik"', kind=operators.ATTRIBUTE)
    left, arrow, right = text.partition("->")
    subscripts = left.split(",")
    if len(subscripts) != len(ranks):
        raise OpError(
            f'"{equation}" has {len(subscripts)} operands, {len(ranks)} are given', 0, kind=operators.ATTRIBUTE
        )
    operands = tuple(_names(one, rank, equation) for one, rank in zip(subscripts, ranks, strict=True))
    nameless = max((sum(not name.isalpha() for name in one) for one in operands), default=0)
    rest = tuple(str(-d) for d in range(nameless, 0, -1))
    if arrow:
        before, dots, after = right.partition("...")
        return Labelled(operands, (*before, *(rest if dots else ()), *after))
    letters = left.replace(",", "").replace("...", "")
    return Labelled(operands, (*rest, *sorted(one for one in set(letters) if letters.count(one) == 1)))


def _names(subscript: str, rank: int, equation: str) -> tuple[str, ...]:
    before, dots, after = subscript.partition("...")
    count = rank - len(before) - len(after)
    if count < 0 or (count and not dots):
        raise OpError(f'"{equation}": the operand {subscript!r} has rank {rank}', 0, kind=operators.RANK)
    return (*before, *(str(-d) for d in range(count, 0, -1)), *after)


def _extents(labelled: Labelled, shapes: Sequence[Shape]) -> dict[str, Extent]:
    """Return the extent of each name; raises OpError where two differ."""
    found: dict[str, Extent] = {}
    for names, shape in zip(labelled.operands, shapes, strict=True):
        for name, extent in zip(names, shape, strict=True):
            found[name] = broadcast((found[name],), (extent,))[0] if name in found else extent
    for name in labelled.result:
        if name not in found:
            raise OpError(f"no operand has the axis {name!r} of the result", 0, kind=operators.AXIS)
    if len(set(labelled.result)) != len(labelled.result):
        raise OpError(f"an axis occurs twice in the result {''.join(labelled.result)}", 0, kind=operators.AXIS)
    return found


def einsum_type(attrs: EinsumAttrs, data: Type) -> Type:
    """Return the extents of the result's names."""
    found = tensors(data)
    labelled = parse_equation(attrs.equation, [one.rank for one in found])
    extents = _extents(labelled, [one.shape for one in found])
    return TensorType(tuple(extents[name] for name in labelled.result), found[0].dtype)


def einsum_numpy(attrs: EinsumAttrs, data: tuple[Numbers, ...]) -> Array:
    """Return the sums of products."""
    equation = attrs.equation.replace(" ", "")
    return np.asarray(np.einsum(equation, *data, dtype=data[0].dtype, optimize=len(data) > 1), data[0].dtype)


def einsum_compute(attrs: EinsumAttrs, out: TensorType, data: tuple[te.Tensor, ...]) -> te.Tensor:
    """Return the sum over all names that the result does not have."""
    labelled = parse_equation(attrs.equation, [one.rank for one in data])
    extents = _extents(labelled, [one.shape for one in data])

    def element(*i: PrimExpr) -> PrimExpr:
        loops = {name: te.reduce_axis(n, f"k{d}") for d, (name, n) in enumerate(extents.items()) if name not in kept}
        at = {**dict(zip(labelled.result, i, strict=True)), **{name: loop.var for name, loop in loops.items()}}
        product: PrimExpr | None = None
        for one, names in zip(data, labelled.operands, strict=True):
            places = [_place(at[name], n, extents[name]) for name, n in zip(names, one.shape, strict=True)]
            factor = one[tuple(places)]
            product = factor if product is None else product * factor
        assert product is not None
        return te.sum(product, list(loops.values())) if loops else product

    kept = set(labelled.result)
    return te.compute(out.shape, element, name="T_einsum")


def _place(index: PrimExpr, extent: Extent, target: Extent) -> PrimExpr:
    if static(extent) == 1:
        return IntImm(0)
    if static(extent) is not None or equal(extent, target):
        return index
    return Select(_is_one(extent), IntImm(0), index)


def _is_one(extent: Extent) -> PrimExpr:
    assert isinstance(extent, PrimExpr)
    return extent.equal(1)


einsum = OpDef(
    relay="einsum",
    doc="Sums of products over axes that the equation names by letters.",
    source="TVM 0.18 src/topi/einsum.cc",
    inputs=("data",),
    attrs=EinsumAttrs,
    infer=einsum_type,
    numpy=einsum_numpy,
    compute=einsum_compute,
    relax=SameOp(),
    script=Script("einsum", "operands, subscripts", rename={"equation": "subscripts"}),
    fusion=Fusion(OpPattern.INJECTIVE),
)

OPS = (einsum,)
