"""The extents of a graph's tensors: numbers, or expressions over those that are open."""

from __future__ import annotations

from collections.abc import Mapping

from relay2relax.graph.model import GraphError, MSCGraph, MSCTensor
from relay2relax.tir import extent as arithmetic
from relay2relax.tir.extent import Extent, Shape
from relay2relax.tir.ir.expr import Var

_OPERATORS = {
    "Add": arithmetic.add, "Sub": arithmetic.sub, "Mul": arithmetic.mul, "FloorDiv": arithmetic.floordiv,
    "FloorMod": arithmetic.floormod, "Max": arithmetic.maximum, "Min": arithmetic.minimum,
}  # fmt: skip


class Extents:
    """What the symbolic extents of a graph are, by the names of their prims.

    ``given`` are numbers for some of them. Others are variables of their prims' names, and what is
    computed of them is an expression. Raises GraphError where ``given`` names no prim, or one that
    is computed of others, or no number that an extent can be.
    """

    def __init__(self, graph: MSCGraph, given: Mapping[str, int] | None = None) -> None:
        self._graph = graph
        self._known: dict[str, Extent] = {}
        for name, number in (given or {}).items():
            if graph.find_prim(name).parents or graph.find_prim(name).optype == "Int" or number < 0:
                raise GraphError(f"the extent {name!r} of {graph.name!r} cannot be chosen to be {number}")
        for prim in graph.prims:
            parents = [self._known[one] for one in prim.parents if one in self._known]
            compute = _OPERATORS.get(prim.optype)
            if given is not None and prim.name in given:
                found: Extent = given[prim.name]
            elif prim.optype == "Int":
                found = int(prim.attrs["value"])
            elif compute is not None and len(parents) == 2:
                found = compute(*parents)
            else:
                found = Var(prim.name, "int64")
            self._known[prim.name] = found

    def prim(self, name: str) -> Extent:
        """Return what the prim of a name is."""
        return self._known[name]

    def of(self, tensor: MSCTensor) -> Shape:
        """Return the extents of a tensor."""
        if not tensor.prims:
            return tensor.shape
        places = zip(tensor.shape, tensor.prims, strict=True)
        return tuple(self._known[prim] if extent < 0 else extent for extent, prim in places)

    def numbers(self, tensor: MSCTensor) -> tuple[int, ...]:
        """Return the extents of a tensor as numbers; raises GraphError where one is open."""
        found = self.of(tensor)
        known = tuple(one for extent in found if (one := arithmetic.static(extent)) is not None)
        if len(known) < len(found):
            shown = ", ".join(map(str, tensor.get_shape(with_prims=True)))
            raise GraphError(f"the tensor {tensor.name!r} of {self._graph.name!r} has open extents: {shown}")
        return known
