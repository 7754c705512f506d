"""Arguments for a run: what the caller gives, and seeded random values for the rest."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

import numpy as np

from relay2relax.backends.relay.values import AdtValue
from relay2relax.core import Diagnostic, Relay2RelaxError
from relay2relax.core.dtype import Array, is_float, numpy_dtype, of_array
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import running
from relay2relax.core.limits import allocating
from relay2relax.core.progress import each
from relay2relax.core.source import to_bytes
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relay_ir import Call, Expr, IRModule, Op
from relay2relax.relay_ir.io.accounting import listed
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.tir.extent import is_any, static

# What a parameter takes: a tensor, or a tuple of such.
Argument: TypeAlias = Union[Array, tuple["Argument", ...]]

# An unknown extent of an input that nobody gave is run with this size: neither 1, which broadcasts,
# nor 2, which hides in products.
DEFAULT_EXTENT = 3
# What adds its second argument to the first.
SHIFTING = ("add", "nn.bias_add")


def make_arguments(
    mod: IRModule,
    given: Mapping[str, Array] | None = None,
    seed: int = 0,
    extents: Mapping[str, Sequence[int | None]] | None = None,
) -> list[Argument]:
    """Return an argument for every parameter of ``main``, in order.

    ``given`` holds arrays by parameter name; the rest is drawn from ``seed`` and the name, so that
    values neither vanish nor overflow behind many layers: floats from N(0, 0.1); weights, which are
    behind the first argument of a call, from N(0, 1 / sqrt(size / largest extent)); vectors that
    are added alone from [-0.5, 0.5), so that what comes behind a bias is below zero as well as
    above; others from [0.5, 1.5), for they are scales and variances, and a negative variance makes
    everything NaN; integers from [0, 4), bools from both values. What a type leaves open has the
    extent that ``extents`` says of the parameter, else ``DEFAULT_EXTENT``. The module must be
    typed. Where two parameters share a name the given array serves both. Raises Relay2RelaxError
    for a name that no parameter has, or a parameter that is neither a tensor nor a tuple of them.
    """
    given = given or {}
    params = mod["main"].params
    unknown = sorted(set(given) - {p.name for p in params})
    if unknown:
        names = ", ".join(p.name for p in params[:8]) + (", …" if len(params) > 8 else "")
        title = f"main has no parameter {unknown[0]!r}; it has: {names}"
        help = nearest(unknown[0], [p.name for p in params])
        raise Relay2RelaxError(Diagnostic(title, help=help, kind=running.ARGUMENT))
    weights, shifts = weights_of(mod), _shifts(mod)
    sizes = extents or {}
    with each("values to draw", params) as rest:
        return [
            given[p.name]
            if p.name in given
            else drawn_argument(_closed(mod.types[p], sizes.get(p.name, ())), p.name, seed, p in weights, p in shifts)
            for p in rest
        ]


def weights_of(mod: IRModule) -> set[Expr]:
    """Return what stands behind the first argument of a call of ``main``, as weights do."""
    calls = (node for node in nodes(mod["main"].body) if isinstance(node, Call))
    return {arg for call in calls for arg in call.args[1:]}


def _shifts(mod: IRModule) -> set[Expr]:
    """Return what calls of ``main`` do nothing with but add it to another value."""
    added: set[Expr] = set()
    others: set[Expr] = set()
    for node in nodes(mod["main"].body):
        match node:
            case Call(Op(name), (first, second)) if name in SHIFTING:
                others.add(first)
                added.add(second)
            case Call(args=args):
                others.update(args)
    return added - others


def _closed(type_: Type, sizes: Sequence[int | None]) -> Type:
    """Return a tensor's type with the extents that are known of those it leaves open."""
    if not isinstance(type_, TensorType) or len(sizes) != type_.rank:
        return type_
    pairs = zip(type_.shape, sizes, strict=True)
    return TensorType(tuple(e if size is None or not is_any(e) else size for e, size in pairs), type_.dtype)


@dataclass(frozen=True, slots=True)
class DrawnValue:
    """A tensor that was drawn: its parameter (``name.0`` in a tuple), shape and dtype.

    ``open`` are the dimensions whose extent the program leaves open, so that it was chosen here.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    open: tuple[int, ...] = ()

    def __str__(self) -> str:
        extents = [f"?={extent}" if place in self.open else f"{extent}" for place, extent in enumerate(self.shape)]
        return f"{self.name} ({', '.join(extents)}{',' if len(extents) == 1 else ''})"


@dataclass(frozen=True, slots=True)
class Drawn:
    """Which arguments nobody gave, and the seed they were drawn from."""

    seed: int
    values: tuple[DrawnValue, ...]

    def __str__(self) -> str:
        return f"drawn from seed {self.seed}: {listed(map(str, self.values))}"

    def to_json(self) -> dict[str, object]:
        """Return the same as plain values."""
        values = [
            {"name": one.name, "shape": list(one.shape), "dtype": one.dtype, "open": list(one.open)}
            for one in self.values
        ]
        return {"seed": self.seed, "values": values}


def drawn_values(mod: IRModule, given: Mapping[str, Array], made: Sequence[Argument], seed: int) -> Drawn | None:
    """Return which of the arguments ``made`` were drawn; None where all were ``given``."""
    pairs = zip(mod["main"].params, made, strict=True)
    found = [one for p, value in pairs if p.name not in given for one in drawn_leaves(p.name, mod.types[p], value)]
    return Drawn(seed, tuple(found)) if found else None


def drawn_leaves(name: str, type_: Type, value: Argument) -> Iterator[DrawnValue]:
    """Yield the tensors of a value that was drawn for the parameter ``name`` of ``type_``."""
    pending = [(name, type_, value)]
    while pending:
        name, type_, value = pending.pop()
        match type_, value:
            case TupleType(fields), tuple():
                parts = zip(fields, value, strict=True)
                pending += reversed([(f"{name}.{i}", field, one) for i, (field, one) in enumerate(parts)])
            case TensorType(extents), np.ndarray():
                places = tuple(place for place, extent in enumerate(extents) if static(extent) is None)
                yield DrawnValue(name, value.shape, of_array(value), places)


def drawn_argument(type_: Type, name: str, seed: int, is_weight: bool, is_shift: bool = False) -> Argument:
    """Return a value for the parameter ``name``, as :func:`make_arguments` draws it.

    Raises Relay2RelaxError for what is neither a tensor nor a tuple of them, and for extents below
    zero, which Relay's types may have.
    """
    match type_:
        case TupleType(fields):
            return tuple(drawn_argument(one, f"{name}.{i}", seed, is_weight, is_shift) for i, one in enumerate(fields))
        case TensorType(extents, dtype):
            found = [DEFAULT_EXTENT if is_any(e) else static(e) for e in extents]
            shape = [extent for extent in found if extent is not None]
            if len(shape) != len(found):
                raise Relay2RelaxError(
                    f"parameter {name!r} has a symbolic extent; give its value", kind=running.ARGUMENT
                )
            if min(shape, default=0) < 0:
                raise Relay2RelaxError(
                    f"parameter {name!r} has an extent below zero, which no value has", kind=running.ARGUMENT
                )
            # They are drawn as float64 or int64.
            with allocating(math.prod(shape) * 8, lambda: f"a random value for parameter {name!r}"):
                rng = np.random.default_rng([seed, zlib.crc32(to_bytes(name))])
                # numpy draws a number, not an array, where there are no dimensions.
                return np.asarray(_drawn(shape, dtype, rng, is_weight, is_shift))
    raise Relay2RelaxError(f"parameter {name!r} is no tensor; give its value", kind=running.ARGUMENT)


def _drawn(shape: Sequence[int], dtype: str, rng: np.random.Generator, is_weight: bool, is_shift: bool) -> Array:
    target = numpy_dtype(dtype)
    if not is_float(dtype):
        return rng.integers(0, 2 if dtype == "bool" else 4, shape).astype(target)
    if len(shape) == 1:
        return (rng.uniform(0.5, 1.5, shape) - is_shift).astype(target)
    scaled = is_weight and len(shape) > 1 and 0 not in shape
    deviation = math.sqrt(max(shape) / math.prod(shape)) if scaled else 0.1
    return (rng.standard_normal(shape) * deviation).astype(target)


def flatten(value: object) -> list[Array]:
    """Return the arrays of a result in order: those of nested tuples and of data types' fields."""
    found: list[Array] = []
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, (tuple, list)):
            pending.extend(reversed(one))
        elif isinstance(one, AdtValue):
            pending.extend(reversed(one.fields))
        else:
            found.append(np.asarray(one))
    return found
