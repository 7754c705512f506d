"""What the cache holds of a build: a document of plain values and of nodes made of them.

    [format, version, kinds, values, nodes]

``values`` are strings, numbers, true, false and null. A node is ``[kind, place, place, …]``: the
place of its kind among ``kinds``, and those of its fields among all that stands before it, the
values first, then the nodes. The last node is the build. What is one object is one node. A kind is
one of :data:`KINDS`: a class of data, whose fields are in their order, or one of ``tuple``,
``mapping`` (keys and their values in turn), ``DataType``, ``ShapeTuple`` and ``array`` (the number
of a constant of the module that is built). The document is written as MessagePack. Reading it
makes values of those classes and runs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, TypeAlias, Union

import numpy as np

from relay2relax.backends.c.codegen.names import Site
from relay2relax.backends.c.codegen.plan import Arena
from relay2relax.backends.c.codegen.program import Entry
from relay2relax.backends.c.schedule.schedule import Scheduled
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm import bytecode as bc
from relay2relax.backends.vm import function_spec as spec
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ParseError, Relay2RelaxError
from relay2relax.core.schema import Extent, Form, read_packed, write_packed
from relay2relax.tir.analysis.relations import Relation
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.expr import Buffer
from relay2relax.tir.ir.stmt import PrimFunc, Seq

_FORMAT: Literal["relay2relax build"] = "relay2relax build"
_VERSION: Literal[1] = 1
_Plain: TypeAlias = Union[bool, int, float, str, None]
_PLAIN = frozenset({type(None), bool, int, float, str})


@dataclass(frozen=True, slots=True)
class Build:
    """A build: the name of its machine code in the cache, and what runs it.

    ``weights`` are the constants that kernels read, with their numbers among the module's.
    """

    library: str
    functions: tuple[bc.FunctionEntry, ...]
    constants: tuple[bc.Pooled, ...]
    entries: Mapping[str, Entry]
    weights: tuple[tuple[Buffer, int], ...]


class _Document(Form, frozen=True, array_like=True):
    format: Literal["relay2relax build"]
    version: Literal[1]
    kinds: tuple[str, ...]
    values: tuple[_Plain, ...]
    nodes: tuple[tuple[Extent, ...], ...]


_CLASSES: tuple[type, ...] = (
    Build, Entry, Arena, Scheduled, Relation, Site, PrimFunc, Seq, Buffer,
    tir.Var, tir.IntImm, tir.FloatImm, tir.Binary, tir.Cast, tir.Not, tir.Select,
    bc.Register, bc.Immediate, bc.ConstantRef, bc.FunctionRef, bc.Call, bc.Ret, bc.Goto, bc.If,
    bc.VMFunction, bc.Builtin, bc.Packed, bc.Kernel, bc.ShapeFunction,
    spec.TensorForm, spec.ShapeForm, spec.TupleForm, spec.OtherForm, spec.Parameter, spec.StaticTensor, spec.Checks,
    spec.OnlyKernel, spec.FunctionSpec,
)  # fmt: skip
# Two of these are never one, however alike.
_THEMSELVES = (Buffer, PrimFunc, tir.Var)


def _tuple(*items: object) -> tuple[object, ...]:
    return items


def _mapping(*items: object) -> dict[object, object]:
    return dict(zip(items[::2], items[1::2], strict=True))


# How a node of each kind is made of its fields; ``array`` depends on the module.
KINDS: Mapping[str, Callable[..., object]] = {
    **{one.__name__: one for one in _CLASSES},
    "tuple": _tuple,
    "mapping": _mapping,
    "DataType": bc.DataType,
    "ShapeTuple": lambda *extents: ShapeTuple(extents),
}


def write_build(build: Build, numbers: Mapping[int, int]) -> bytes | None:
    """Return the document of a build; ``numbers`` are those of the module's constants, by identity.

    None where it has values of kinds that documents do not have.
    """
    try:
        return write_packed(_Writer(numbers).document(build))
    except (_NoKindError, OverflowError):
        return None


def read_build(content: bytes, arrays: tuple[Array, ...]) -> Build:
    """Return what ``write_build`` wrote, on these constants.

    Raises ParseError for anything else.
    """
    document = read_packed(content, _Document, "the build")
    kinds = {**KINDS, "array": lambda number: arrays[number]}
    try:
        makers = [kinds[name] for name in document.kinds]
        made: list[Any] = list(document.values)
        for kind, *places in document.nodes:
            made.append(makers[kind](*[made[place] for place in places]))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, Relay2RelaxError) as problem:
        raise ParseError(f"the build is damaged: {problem}") from problem
    if not made or not isinstance(made[-1], Build):
        raise ParseError("the document is no build")
    return made[-1]


class _NoKindError(Exception):
    """A value has no form in a document."""


class _Writer:
    """Numbers values and nodes; places among the nodes are counted behind all values at the end."""

    def __init__(self, numbers: Mapping[int, int]) -> None:
        self._numbers = numbers
        self._kinds: dict[str, int] = {}
        self._values: dict[tuple[type, str], int] = {}
        self._plain: list[_Plain] = []
        # Places of nodes are negative until all values are known: -1 is the first.
        self._nodes: list[list[int]] = []
        self._alike: dict[tuple[int, ...], int] = {}
        self._done: dict[int, int] = {}
        # What was made while writing lives as long as its identity is used.
        self._held: list[object] = []

    def document(self, build: Build) -> _Document:
        """Return the document of a build; fields come before what they are fields of."""
        stack: list[tuple[object, tuple[object, ...] | None]] = [(build, None)]
        while stack:
            value, parts = stack.pop()
            if type(value) in _PLAIN or id(value) in self._done:
                continue
            if parts is None:
                parts = self._parts(value)
                stack.append((value, parts))
                stack += [(part, None) for part in reversed(parts)]
            else:
                self._add(value, parts)
        first = len(self._plain)
        nodes = tuple(
            (kind, *(place if place >= 0 else first - 1 - place for place in places)) for kind, *places in self._nodes
        )
        return _Document(_FORMAT, _VERSION, tuple(self._kinds), tuple(self._plain), nodes)

    def _add(self, value: object, parts: tuple[object, ...]) -> None:
        kind = self._kinds.setdefault(_kind(value), len(self._kinds))
        node = (kind, *map(self._place, parts))
        place = None if isinstance(value, _THEMSELVES) else self._alike.get(node)
        if place is None:
            self._nodes.append(list(node))
            place = self._alike[node] = -len(self._nodes)
        self._done[id(value)] = place
        self._held.append(value)

    def _place(self, part: object) -> int:
        if type(part) not in _PLAIN:
            return self._done[id(part)]
        # True is 1 and -0.0 is 0.0, but not here.
        key = type(part), repr(part)
        place = self._values.get(key)
        if place is None:
            place = self._values[key] = len(self._plain)
            self._plain.append(part)  # type: ignore[arg-type]
        return place

    def _parts(self, value: object) -> tuple[object, ...]:
        match value:
            case np.ndarray() if id(value) in self._numbers:
                return (self._numbers[id(value)],)
            case bc.DataType():
                return (str(value),)
            case ShapeTuple():
                return tuple(value)
            case tuple():
                return value
            case Mapping():
                return tuple(one for pair in value.items() for one in pair)
        kind: Any = type(value)
        if kind not in _CLASSES:
            raise _NoKindError
        return _fields_of(kind)(value)


def _kind(value: object) -> str:
    match value:
        case np.ndarray():
            return "array"
        case bc.DataType() | ShapeTuple():
            return type(value).__name__
        case tuple():
            return "tuple"
        case Mapping():
            return "mapping"
    return type(value).__name__


@lru_cache(maxsize=None)
def _fields_of(kind: type[Any]) -> Callable[[object], tuple[object, ...]]:
    names = [one.name for one in fields(kind) if one.init]
    if len(names) < 2:
        return lambda value: tuple(getattr(value, name) for name in names)
    return attrgetter(*names)
