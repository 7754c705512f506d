"""Arguments for a run: what the caller gives, and seeded random values for the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias, Union

import numpy as np

from relay2relax.backends.relay.values import AdtValue
from relay2relax.core import Diagnostic, Relay2RelaxError
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import running
from relay2relax.core.progress import each
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relay_ir import Call, Expr, IRModule, Op
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.tir.extent import is_any, static
from relay2relax.translator.drawing import Drawn, DrawnValue, drawn_tensor

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


def drawn_as(mod: IRModule, given: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return which parameters that are not ``given`` are drawn as weights, and which as what is
    added.
    """
    weights, shifts = weights_of(mod), _shifts(mod)
    left = [one for one in mod["main"].params if one.name not in given]
    return (
        frozenset(one.name for one in left if one in weights),
        frozenset(one.name for one in left if one in shifts),
    )


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
            return drawn_tensor(shape, dtype, name, seed, is_weight, is_shift)
    raise Relay2RelaxError(f"parameter {name!r} is no tensor; give its value", kind=running.ARGUMENT)


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
