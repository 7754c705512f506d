"""Unknown extents become symbolic dimensions: each ``?`` of an entry parameter a variable, its own
or a named one.

Relax counts dimensions in int64, Relay in int32: variables that Relay's types name themselves are
widened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from keyword import iskeyword
from typing import Any

from relay2relax.core.errors import Diagnostic, Relay2RelaxError, mistake
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import translating
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir.extent import Extent, canonical, is_any, static
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var
from relay2relax.tir.ir.visit import map_expr, variables

Dims = Mapping[str, Sequence["str | int | None"]]
Symbols = Mapping[Var, Var]


def name_extents(params: Iterable[tuple[str, Type]], dims: Dims | None = None) -> list[Type]:
    """Return the parameters' types with a ``tir.Var`` for each ``?``.

    ``dims`` gives names by parameter and dimension, None leaving an extent unnamed; equal names are
    one dimension, and a number is what the extent is. Fields of a parameter ``p`` that is a tuple
    are ``p.0``, ``p.1``, …. Unnamed extents are called ``d``, ``d_1``, …. Raises Relay2RelaxError
    where ``dims`` names a parameter that does not exist, has another rank, or a dimension whose
    extent is known, to be another number say.
    """
    params = list(params)
    if not isinstance(dims or {}, Mapping):
        raise Relay2RelaxError(
            mistake(
                translating.DIMENSIONS,
                of="",
                value=type(dims).__name__,
                expected="a dictionary, as in {'x': ('n', None)}",
            )
        )
    dims = dict(dims or {})
    _check_dims(params, dims)
    named: dict[str, Var] = {}
    taken = {name for names in dims.values() for name in names if isinstance(name, str)}

    def fresh() -> Var:
        number = 0
        while (name := f"d_{number}" if number else "d") in taken:
            number += 1
        taken.add(name)
        return Var(name, "int64")

    def extents(name: str, shape: tuple[Extent, ...]) -> tuple[Extent, ...]:
        names = dims.get(name)
        if names is None:
            return tuple(fresh() if is_any(extent) else extent for extent in shape)
        if len(names) != len(shape):
            raise _wrong_rank(name, len(names), len(shape))
        found: list[Extent] = []
        for position, (hint, extent) in enumerate(zip(names, shape, strict=True)):
            if hint is not None and not is_any(extent) and hint != static(extent):
                said = f"says that dimension {position} of {name!r} is" if isinstance(hint, int) else ""
                said = said or f"names dimension {position} of {name!r}"
                title = f"dims {said} {hint!r}, but its extent is {extent}"
                help = f"the type of {name!r} fixes this extent; only those that are `?` in it can be named or chosen"
                raise Relay2RelaxError(Diagnostic(title, help=help, kind=translating.DIMENSIONS))
            if not is_any(extent):
                found.append(extent)
            elif isinstance(hint, str):
                found.append(named.setdefault(hint, Var(hint, "int64")))
            else:
                found.append(fresh() if hint is None else hint)
        return tuple(found)

    def visit(name: str, type_: Type) -> Type:
        match type_:
            case TensorType(shape, dtype) if any(is_any(extent) for extent in shape) or name in dims:
                return TensorType(extents(name, shape), dtype)
            case TupleType(fields):
                return TupleType(tuple(visit(f"{name}.{i}", one) for i, one in enumerate(fields)))
        return type_

    return [visit(name, type_) for name, type_ in params]


def _wrong_rank(name: str, given: int, rank: int) -> Relay2RelaxError:
    """Return the mistake that ``dims`` says another number of extents than there are."""
    said = f"dims names {given} {'dimension' if given == 1 else 'dimensions'} of {name!r}, which has {rank or 'none'}"
    blank = ",".join("_" * rank)
    help = f"write a word for each: --dims {name}={blank}, or in Python {{{name!r}: {(None,) * rank}}}"
    return Relay2RelaxError(Diagnostic(said, help=help if rank else "leave it out", kind=translating.DIMENSIONS))


def _check_dims(params: Iterable[tuple[str, Type]], dims: Mapping[str, object]) -> None:
    """Raise Relay2RelaxError where ``dims`` names no tensor, or is not made of names."""
    known: dict[str, Type] = {}

    def visit(name: str, type_: Type) -> None:
        known[name] = type_
        if isinstance(type_, TupleType):
            for i, field in enumerate(type_.fields):
                visit(f"{name}.{i}", field)

    for name, type_ in params:
        visit(name, type_)
    for name, names in dims.items():
        match known.get(name):
            case None:
                tensors = [one for one, ty in known.items() if isinstance(ty, TensorType)]
                title = f"dims names {name!r}, but main has no such parameter; it has: {', '.join(tensors[:8])}"
                raise Relay2RelaxError(Diagnostic(title, help=nearest(name, tensors), kind=translating.DIMENSIONS))
            case TupleType(fields):
                there = ", ".join(f"{name}.{i}" for i in range(len(fields)))
                raise Relay2RelaxError(
                    f"dims names {name!r}, which is a tuple; name its fields: {there}", kind=translating.DIMENSIONS
                )
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise Relay2RelaxError(
                mistake(
                    translating.DIMENSIONS,
                    of=f" of {name!r}",
                    value=repr(names),
                    expected="a name or None for each dimension, as in ('n', None)",
                )
            )
        for hint in names:
            if isinstance(hint, int) and not isinstance(hint, bool) and hint >= 0:
                continue
            if hint is not None and not (isinstance(hint, str) and hint.isidentifier() and not iskeyword(hint)):
                raise Relay2RelaxError(
                    mistake(
                        translating.DIMENSIONS,
                        of=f" of {name!r}",
                        value=f"{names!r}",
                        expected=f"names of letters, digits and _, which {hint!r} is not",
                    )
                )


def widened(types: Iterable[Type]) -> tuple[list[Type], Symbols]:
    """Return ``types`` with an int64 variable for each narrower one, and what stands for which."""
    symbols: dict[Var, Var] = {}

    def extent(old: Extent) -> Extent:
        if not isinstance(old, PrimExpr) or is_any(old):
            return old
        for var in variables(old):
            if var.dtype != "int64" and var not in symbols:
                symbols[var] = Var(var.name, "int64")
        new: Extent = in_terms_of(old, symbols)
        return new

    def visit(type_: Type) -> Type:
        match type_:
            case TensorType(shape, dtype) if any(isinstance(one, PrimExpr) for one in shape):
                return TensorType(tuple(extent(one) for one in shape), dtype)
            case TupleType(fields):
                return TupleType(tuple(visit(field) for field in fields))
        return type_

    return [visit(one) for one in types], symbols


def in_terms_of(value: Any, symbols: Symbols) -> Any:
    """Return an attribute's value with ``symbols`` in place of variables.

    Values without variables are themselves.
    """
    if isinstance(value, PrimExpr) and any(var in symbols for var in variables(value)):

        def rewrite(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, IntImm):
                return IntImm(node.value, "int64")
            return symbols.get(node) if isinstance(node, Var) else None

        return canonical(map_expr(value, rewrite))
    if isinstance(value, tuple) and any(isinstance(one, PrimExpr) for one in value):
        return tuple(in_terms_of(one, symbols) for one in value)
    return value


def attributes_in_terms_of(attrs: Any, symbols: Symbols) -> Any:
    """Return an operator's attributes with ``symbols`` in place of variables."""
    if not symbols:
        return attrs
    kind: type = type(attrs)
    old = {field.name: getattr(attrs, field.name) for field in attr_fields(kind)}
    new = {name: in_terms_of(value, symbols) for name, value in old.items()}
    changed = {name: value for name, value in new.items() if value is not old[name]}
    return replace(attrs, **changed) if changed else attrs
