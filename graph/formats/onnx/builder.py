"""What collects the nodes of an ONNX model, and what a form of an operator may do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias, Union

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.walk import post_order
from relay2relax.graph.formats.onnx import protos
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir.extent import Extent, Shape, as_prim, static
from relay2relax.tir.ir import expr as tir

# What stands for a value: the name of a tensor, or of a vector for a shape; of a tuple its parts.
Value: TypeAlias = Union[str, "tuple[Value, ...]"]
Form: TypeAlias = Callable[..., Value]

_ON_EXTENTS = {"+": "Add", "-": "Sub", "*": "Mul", "//": "Div", "%": "Mod", "min": "Min", "max": "Max"}


class NoFormError(Exception):
    """A form does not say a call; a node of the custom domain stands for it, and says why."""


@dataclass(slots=True)
class Scope:
    """A graph, or a branch: its nodes, and what has been computed of extents."""

    nodes: list[protos.Message] = field(default_factory=list)
    extents: dict[tir.PrimExpr, str] = field(default_factory=dict)


@dataclass(slots=True)
class Builder:
    """The nodes of a model.

    ``sources`` says where a symbolic extent stands: a tensor and one of its axes, or a vector
    (axis of -1 and less: an element of it, from -1 on).
    """

    initializers: protos.Initializers
    scopes: list[Scope] = field(default_factory=lambda: [Scope()])
    sources: dict[tir.Var, tuple[str, int]] = field(default_factory=dict)
    types: dict[str, TensorType] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    custom: bool = False
    hint: str = "value"
    _taken: set[str] = field(default_factory=set)
    _counts: dict[str, int] = field(default_factory=dict)
    _shared: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)

    def fresh(self, hint: str = "") -> str:
        """Return a name that no other value or node has."""
        hint = name = hint or self.hint
        while name in self._taken:
            self._counts[hint] = self._counts.get(hint, 0) + 1
            name = f"{hint}_{self._counts[hint]}"
        self._taken.add(name)
        return name

    def add(self, kind: str, inputs: Sequence[str], count: int, domain: str = "", **attrs: object) -> tuple[str, ...]:
        """Add a node of ``count`` outputs, and return their names."""
        name = self.fresh()
        outputs = tuple(self.fresh(name) for _ in range(count))
        self.scopes[-1].nodes.append(protos.node(kind, inputs, outputs, name, domain, attrs))
        self.custom |= bool(domain)
        return outputs

    def weight(self, name: str, array: Array) -> str:
        """Add a constant of a name of its own."""
        made = self.fresh(name or "constant")
        self.initializers.add(made, array)
        self.arrays[made] = array
        return made

    def constant(self, array: Array) -> str:
        """Return a small constant; equal ones are one."""
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self._shared:
            self._shared[key] = self.weight("constant", array)
        return self._shared[key]

    # Extents.

    def extents(self, shape: Sequence[Extent]) -> str:
        """Return a vector of extents, computed where they are symbolic."""
        known = [static(one) for one in shape]
        if None not in known:
            return self.constant(protos.numbers([one for one in known if one is not None]))
        parts = [self.extent(one) for one in shape]
        return parts[0] if len(parts) == 1 else self.add("Concat", parts, 1, axis=0)[0]

    def extent(self, extent: Extent) -> str:
        """Return a vector of one extent."""
        for node in post_order((as_prim(extent),), tir.children):
            if self._known(node) is None:
                self.scopes[-1].extents[node] = self._computed(node)
        found = self._known(as_prim(extent))
        assert found is not None
        return found

    def _known(self, node: tir.PrimExpr) -> str | None:
        return next((scope.extents[node] for scope in reversed(self.scopes) if node in scope.extents), None)

    def _computed(self, node: tir.PrimExpr) -> str:
        match node:
            case tir.IntImm(value):
                return self.constant(protos.numbers([value]))
            case tir.Var() if node in self.sources:
                name, axis = self.sources[node]
                if axis >= 0:
                    return self.add("Shape", [name], 1, start=axis, end=axis + 1)[0]
                return self.add("Gather", [name, self.constant(protos.numbers([-1 - axis]))], 1)[0]
            case tir.Binary(op, a, b) if op in _ON_EXTENTS:
                left, right = self._known(a), self._known(b)
                assert left is not None
                assert right is not None
                return self.add(_ON_EXTENTS[op], [left, right], 1)[0]
            case tir.Cast(_, value):
                found = self._known(value)
                assert found is not None
                return found
        raise NoFormError(f"the extent {node} is not computed by ONNX operators")

    def stands(self, name: str, type_: TensorType) -> None:
        """Note a tensor: its type, and where the symbolic extents of its shape stand."""
        self.types[name] = type_
        for axis, extent in enumerate(type_.shape):
            # A tensor is there anyhow; a vector of extents may have been computed for nothing else.
            if isinstance(extent, tir.Var) and self.sources.get(extent, ("", -1))[1] < 0:
                self.sources[extent] = (name, axis)


@dataclass(frozen=True, slots=True)
class Site:
    """One call of an operator: what its form may ask and add.

    ``args``  the types of the arguments; a shape stands as a tuple of extents.
    ``out``  the type of the result.
    """

    builder: Builder
    args: tuple[Type | Shape, ...]
    out: Type

    def node(self, kind: str, *inputs: str, **attrs: object) -> str:
        """Add a node of one output."""
        return self.builder.add(kind, inputs, 1, "", **attrs)[0]

    def nodes(self, kind: str, count: int, *inputs: str, **attrs: object) -> tuple[str, ...]:
        """Add a node of ``count`` outputs."""
        return self.builder.add(kind, inputs, count, "", **attrs)

    def const(self, value: object, dtype: str) -> str:
        """Return a constant."""
        return self.builder.constant(np.asarray(value, numpy_dtype(dtype)))

    def ints(self, values: Sequence[int]) -> str:
        """Return a vector of int64."""
        return self.builder.constant(protos.numbers(values))

    def extents(self, shape: Sequence[Extent]) -> str:
        """Return a vector of extents."""
        return self.builder.extents(shape)

    def constant_of(self, name: str) -> Array | None:
        """Return the data of a constant, None for any other value."""
        return self.builder.arrays.get(name)

    def type(self, index: int = 0) -> TensorType:
        """Return the type of an argument that is a tensor."""
        found = self.args[index]
        if not isinstance(found, TensorType):
            self.refuse("a tensor is expected")
        return found

    @property
    def result(self) -> TensorType:
        """The type of the result, which is one tensor."""
        assert isinstance(self.out, TensorType)
        return self.out

    def static(self, extents: Sequence[Extent], what: str) -> list[int]:
        """Return extents that have to be known beforehand."""
        found = [static(one) for one in extents]
        if None in found:
            self.refuse(f"{what} is symbolic")
        return [one for one in found if one is not None]

    def cast(self, value: str, dtype: str, to: str) -> str:
        """Return ``value``, of ``dtype``, as ``to``."""
        return value if dtype == to else self.node("Cast", value, to=protos.element_type(to))

    def refuse(self, why: str) -> NoReturn:
        """End the form: ONNX does not say this call."""
        raise NoFormError(why)


def leaves(value: Value) -> Iterator[str]:
    """Yield the tensors of a value in order."""
    stack: list[Value] = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            yield one
        else:
            stack += reversed(one)
