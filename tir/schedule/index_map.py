"""Maps of indices: where an element lies in another layout, and back.

A map is a Python function from index expressions to index expressions, ``lambda i, j: (j // 16, i,
j % 16)`` say. Each result must be a number whose digits are digits of the indices; then the map has
an inverse, which is found here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import Bounds, prove, simplify
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import IntImm, PrimExpr, PrimLike, Var, binary, convert
from relay2relax.tir.ir.visit import substitute, variables
from relay2relax.tir.schedule.iteration import Piece, pieces
from relay2relax.tir.schedule.tree import limit

IndexFunction: TypeAlias = Callable[..., Union[Sequence[PrimLike], PrimLike]]


@dataclass(frozen=True, slots=True, eq=False)
class IndexMap:
    """``results`` over ``inputs``, each of which runs over an extent of ``shape``; ``bounds`` are
    those of the inputs.

    ``inverse`` gives the inputs over ``outputs``, which run over ``extents``. Where that is more
    than all inputs have, ``padding`` is the condition under which outputs belong to inputs, else
    None.
    """

    inputs: tuple[Var, ...]
    shape: tuple[PrimExpr, ...]
    results: tuple[PrimExpr, ...]
    outputs: tuple[Var, ...]
    extents: tuple[PrimExpr, ...]
    inverse: tuple[PrimExpr, ...]
    padding: PrimExpr | None
    bounds: Bounds

    def at(self, indices: Sequence[PrimExpr], bounds: Bounds) -> tuple[PrimExpr, ...]:
        """Return where the element at ``indices`` lies."""
        values = dict(zip(self.inputs, indices, strict=True))
        return tuple(simplify(substitute(result, values), bounds) for result in self.results)


def index_map(function: IndexFunction, shape: Sequence[PrimExpr], known: Bounds) -> IndexMap:
    """Return the map ``function`` for indices below ``shape``; raises TIRError where it has no
    inverse.

    ``known`` says what is known of the variables in ``shape``.
    """
    inputs = tuple(Var(f"i{d}", extent.dtype) for d, extent in enumerate(shape))
    given = function(*inputs)
    listed = [given] if isinstance(given, (PrimExpr, int, float)) else list(given)
    extents = dict(zip(inputs, shape, strict=True))
    bounds = {**known, **{var: limit(extent) for var, extent in extents.items()}}
    results = tuple(simplify(convert(one, "int64"), bounds) for one in listed)
    stray = {v for one in results for v in variables(one)} - set(bounds)
    if stray:
        raise TIRError(
            f"the index map mentions {min(v.name for v in stray)}, which is none of its indices",
            kind=tensor_programs.SCHEDULE,
        )
    sizes: list[PrimExpr] = []
    outputs = tuple(Var(f"o{d}", result.dtype) for d, result in enumerate(results))
    digits: dict[Var, list[tuple[Piece, PrimExpr]]] = {var: [] for var in inputs}
    for result, output in zip(results, outputs, strict=True):
        found = pieces(result, extents, bounds)
        if found is None or found[1] != IntImm(0, result.dtype):
            raise TIRError(
                f"the index {result} is not seen to consist of digits of the indices, and to begin at 0",
                kind=tensor_programs.SCHEDULE,
            )
        reached: PrimExpr = IntImm(1, result.dtype)
        ordered = _by_place(found[0], reached, bounds)
        for number, piece in enumerate(ordered):
            digit = binary("//", output, reached)
            reached = simplify(reached * piece.extent, bounds)
            digits[piece.loop].append((piece, digit if number == len(ordered) - 1 else digit % piece.extent))
        sizes.append(reached)
    inverse: list[PrimExpr] = []
    limits = {**known, **{var: limit(size) for var, size in zip(outputs, sizes, strict=True)}}
    padding: PrimExpr | None = None
    for var, extent in extents.items():
        value, covered = _joined(var, digits[var], bounds)
        inverse.append(simplify(value, limits))
        if prove(covered >= extent, bounds) is not True:
            raise TIRError(
                f"the index map does not tell all values of index {inputs.index(var)}", kind=tensor_programs.SCHEDULE
            )
        if prove(covered <= extent, bounds) is not True:
            inside = simplify(inverse[-1] < extent, limits)
            padding = inside if padding is None else binary("and", padding, inside)
    return IndexMap(inputs, tuple(shape), results, outputs, tuple(sizes), tuple(inverse), padding, bounds)


def _by_place(parts: Sequence[Piece], first: PrimExpr, bounds: Bounds) -> list[Piece]:
    """Return the digits of a number from the lowest up.

    Raises TIRError where they overlap or leave gaps.
    """
    ordered = sorted(parts, key=lambda piece: piece.factor)
    reached = first
    for piece in ordered:
        if prove(reached.equal(IntImm(piece.factor, reached.dtype)), bounds) is not True:
            raise TIRError(
                "the index map gives several elements one place, or leaves places empty", kind=tensor_programs.SCHEDULE
            )
        reached = simplify(reached * piece.extent, bounds)
    return ordered


def _joined(var: Var, digits: Sequence[tuple[Piece, PrimExpr]], bounds: Bounds) -> tuple[PrimExpr, PrimExpr]:
    """Return the index that ``digits`` are the digits of, and how many values they tell apart."""
    value: PrimExpr = IntImm(0, var.dtype)
    reached: PrimExpr = IntImm(1, var.dtype)
    left = list(digits)
    while left:
        following = [one for one in left if prove(one[0].below.equal(reached), bounds) is True]
        if len(following) != 1:
            raise TIRError(
                "the index map uses a digit of an index twice, or leaves one out", kind=tensor_programs.SCHEDULE
            )
        piece, digit = following[0]
        left.remove(following[0])
        value = value + digit * reached
        reached = simplify(reached * piece.extent, bounds)
    return value, reached


def inverse_values(mapping: IndexMap, outputs: Mapping[Var, PrimExpr]) -> dict[Var, PrimExpr]:
    """Return the values of the map's inputs over what stands for its outputs."""
    return {var: substitute(value, outputs) for var, value in zip(mapping.inputs, mapping.inverse, strict=True)}
