"""What the tests of operators share: a record's facets held against each other, and against real
TVM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.core.dtype import numpy_dtype, of_array
from relay2relax.core.tolerance import difference
from relay2relax.ops import Expanded, OpDef, SameOp, TensorType, TupleType, Type, relax_op, relay_op
from relay2relax.ops.registry.lower import lower_call
from relay2relax.tir.extent import as_prim, canonical, static
from relay2relax.tir.ir.expr import Var
from relay2relax.tir.ir.visit import substitute


class Eager:
    """Carries out an expansion into Relax on arrays, with the Relax records' own values."""

    def __init__(self, constants: Sequence[np.ndarray] = ()) -> None:
        self.constants = constants
        self.called: list[str] = []

    def call(self, name: str, *args: Any, **attrs: Any) -> Any:
        op = relax_op(name)
        assert op is not None, f"no record for R.{name}"
        self.called.append(name)
        given = op.attrs(**attrs)
        op.infer(given, *(argument_type(arg) for arg in args))
        return op.numpy(given, *args)

    def type_of(self, value: Any) -> Type:
        return type_of(value)

    def const(self, value: Any, dtype: str) -> np.ndarray:
        return np.asarray(value, numpy_dtype(dtype))

    @property
    def qdq(self) -> bool:
        return False

    def shape(self, extents: Sequence[Any]) -> Any:
        return tuple(static(extent) for extent in extents)

    def tuple(self, values: Sequence[Any]) -> Any:
        return tuple(values)

    def item(self, value: Any, index: int) -> Any:
        return value[index]

    def constant_of(self, value: Any) -> np.ndarray | None:
        return value if any(value is one for one in self.constants) else None

    def field_of(self, value: Any) -> None:
        return None

    def extents_of(self, op: OpDef, attrs: Any, args: Sequence[Any]) -> Any:
        return of_type(type_of(op.numpy(attrs, *args)), TensorType).shape

    def as_tir(self, op: OpDef, attrs: Any, args: Sequence[Any], why: str) -> Any:
        assert why
        self.called.append("call_tir")
        return op.numpy(attrs, *args)


def type_of(value: Any) -> Type:
    """Return the type of an array or a tuple of arrays."""
    if isinstance(value, tuple):
        return TupleType(tuple(type_of(one) for one in value))
    return TensorType(value.shape, of_array(value))


def argument_type(arg: Any) -> Any:
    """Return the type of an argument; a tuple of integers is a shape and stands for itself."""
    is_shape = isinstance(arg, tuple) and all(isinstance(one, int) for one in arg)
    return arg if is_shape else type_of(arg)


def flat(value: Any) -> list[np.ndarray]:
    """Return the arrays of a value; a shape has none."""
    if isinstance(value, tuple):
        return [one for field in value for one in flat(field)]
    return [] if isinstance(value, int) else [value]


def plain(type_: Type) -> Type:
    """Return ``type_`` with the extents that are written ``2i64`` as plain integers."""
    match type_:
        case TensorType(shape, dtype):
            return TensorType(tuple(e if (known := static(e)) is None else known for e in shape), dtype)
        case TupleType(fields):
            return TupleType(tuple(plain(one) for one in fields))
    return type_


def symbolic(type_: Any, extents: dict[int, Var]) -> Any:
    """Return a type or shape with a variable for each static extent that has one in ``extents``."""
    match type_:
        case TensorType(shape, dtype):
            return TensorType(tuple(extents.get(e, e) if isinstance(e, int) else e for e in shape), dtype)
        case TupleType(fields):
            return TupleType(tuple(symbolic(one, extents) for one in fields))
        case tuple():
            return tuple(extents.get(e, e) for e in type_)
    return type_


def run_record(
    name: str | OpDef,
    attrs: dict[str, Any],
    *args: Any,
    reduction: int = 1,
    batch: int | Sequence[int] | None = None,
    exact: bool = False,
) -> Any:
    """Return the value of one call, its facets held against each other.

    The value has the inferred type; the PrimFunc gives the same value, also where extents equal to
    ``batch`` are symbolic; so does the expansion into Relax, to the bit where ``exact``.
    ``reduction`` is the length of the sums. Several extents may be symbolic at once. A record is
    given where Relay and Relax each have one of the name.
    """
    op = name if isinstance(name, OpDef) else relay_op(name) or relax_op(name)
    assert op is not None, f"no record for {name}"
    given = op.attrs(**attrs)
    types = [argument_type(arg) for arg in args]
    out = op.infer(given, *types)
    before = [one.copy() for arg in args for one in flat(arg)]
    value = op.numpy(given, *args)
    assert type_of(value) == plain(out)
    for one, old in zip((one for arg in args for one in flat(arg)), before, strict=True):
        np.testing.assert_array_equal(one, old)

    variants = [(types, out)]
    if batch is not None:
        sizes = [batch] if isinstance(batch, int) else batch
        extents = {size: Var(f"n{number or ''}", "int64") for number, size in enumerate(sizes)}
        open_types = [symbolic(one, extents) for one in types]
        variants.append((open_types, op.infer(given, *open_types)))
    for inputs, result in variants:
        func = lower_call(op, given, inputs, result, "main")
        outputs = [np.full(one.shape, 7, one.dtype) for one in flat(value)]
        evaluate_prim_func(func, [one for arg in args for one in flat(arg)], outputs)
        for actual, expected in zip(outputs, flat(value), strict=True):
            found = difference(actual, expected, reduction)
            assert found.agrees, f"the PrimFunc of {name} differs: {found}"

    if op.relay is not None and isinstance(op.relax, (Expanded, SameOp)):
        eager = Eager(args)
        expanded = value if isinstance(op.relax, SameOp) else op.relax.expand(eager, given, *args)
        for actual, expected in zip(flat(expanded), flat(value), strict=True):
            found = difference(actual, expected, reduction)
            assert found.agrees, f"the expansion of {name} differs: {found}"
            assert not exact or np.array_equal(actual, expected), f"the expansion of {name} differs: {found}"
    return value


@pytest.fixture
def run_op() -> Callable[..., Any]:
    """The function :func:`run_record`."""
    return run_record


@pytest.fixture
def torch() -> Any:
    """PyTorch, the witness of many expected values; tests that need it skip where it is absent."""
    return pytest.importorskip("torch")


@pytest.fixture
def eager() -> type[Eager]:
    """The class that carries out expansions on arrays.

    Its instances say which operators were called.
    """
    return Eager


def check_against(actual: Any, expected: Any, reduction: int = 1) -> None:
    """Hold a value against one from outside (numpy, PyTorch, recorded)."""
    for one, wanted in zip(flat(actual), flat(expected), strict=True):
        found = difference(one, np.asarray(wanted), reduction)
        assert found.agrees, str(found)


@pytest.fixture
def agrees() -> Callable[..., None]:
    """The function :func:`check_against`."""
    return check_against


def check_record(
    name: str | OpDef, args: Sequence[Any], expected: Any, *, symbols: bool = True, reduction: int = 1, **attrs: Any
) -> None:
    """Hold one call against ``expected``, which comes from outside: dtype, shape, value, and every
    facet.

    With ``symbols`` the PrimFunc is also made with a variable for every extent above 1, equal
    extents sharing theirs, and the type inferred over those variables is the expected one once
    their values are put in.
    """
    sizes = sorted({size for one in map(argument_type, args) for size in extents_of(one) if size > 1})
    value = run_record(name, attrs, *args, reduction=reduction, batch=sizes if symbols and sizes else None)
    assert type_of(value) == type_of(expected)
    check_against(value, expected, reduction)
    if symbols:
        op = name if isinstance(name, OpDef) else relay_op(name) or relax_op(name)
        assert op is not None
        extents = {size: Var(f"n{size}") for size in sizes}
        out = op.infer(op.attrs(**attrs), *(symbolic(argument_type(one), extents) for one in args))
        values = {var: as_prim(size) for size, var in extents.items()}
        for one, wanted in zip(types_of(out), flat(expected), strict=True):
            found = [static(canonical(substitute(as_prim(extent), values))) for extent in one.shape]
            assert found == list(wanted.shape), f"inferred {one.shape} over variables"


def extents_of(type_: Any) -> list[int]:
    """Return the extents of a type or of a shape."""
    match type_:
        case TensorType(shape, _):
            return [e for e in shape if isinstance(e, int)]
        case TupleType(fields):
            return [size for one in fields for size in extents_of(one)]
    return list(type_)


def types_of(type_: Type) -> list[TensorType]:
    """Return the tensor types of a type."""
    match type_:
        case TensorType():
            return [type_]
        case TupleType(fields):
            return [one for field in fields for one in types_of(field)]
    raise TypeError(f"no tensors in {type_!r}")


@pytest.fixture
def check() -> Callable[..., None]:
    """The function :func:`check_record`."""
    return check_record
