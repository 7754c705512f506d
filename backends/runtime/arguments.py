"""What callers hand to a function, brought into the form it takes.

All executors take positional arguments in the order of the parameters, then arguments by parameter
name. Anything that numpy can see (numpy arrays, ``__dlpack__``, ``__array__``, Python numbers and
lists) is taken without a copy where its dtype is the parameter's, and converted to that dtype
otherwise, as TVM's executors do. ``as_array`` is the one place where it comes in.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from relay2relax.backends.runtime.dlpack import from_bfloat16, is_bfloat16
from relay2relax.core.arithmetic import converted
from relay2relax.core.arrays import plain_array
from relay2relax.core.dtype import Array, DTypeError, numpy_dtype
from relay2relax.core.errors import ExecutionError, mistake
from relay2relax.core.errors.table import running
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.extent import Extent, is_any, static
from relay2relax.tir.ir.expr import PrimExpr, Var
from relay2relax.tir.ir.visit import subexpressions


def bind_arguments(
    function: str, parameters: Sequence[tuple[str, Type]], args: Sequence[object], named: Mapping[str, object]
) -> list[object]:
    """Return one value per parameter, as numpy arrays (tuples of them for tuple types).

    ``function`` is named in messages. A symbolic extent takes its value from the first argument
    that has it. Where every parameter has a value, one under another name is left out with a
    warning: importers drop inputs that nothing uses, and TVM's executors take values for them.
    Raises ExecutionError naming the parameter for a missing, surplus or repeated argument and for a
    wrong rank or extent.
    """
    names = [name for name, _ in parameters]
    if len(args) > len(parameters):
        takes = f"{len(parameters)} arguments" + (f" ({', '.join(names)})" if 0 < len(names) <= 12 else "")
        raise ExecutionError(f"{function} takes {takes}, {len(args)} were given by position", kind=running.ARGUMENT)
    rest = names[len(args) :]
    for name in named:
        if name not in rest:
            if name in names:
                raise ExecutionError(
                    f"{function}: argument `{name}` is given by position and by name", kind=running.ARGUMENT
                )
            if named.keys() >= set(rest):
                warnings.warn(f"{function} has no parameter `{name}`; its value is not used", stacklevel=3)
                continue
            known = ", ".join(rest[:12])
            raise ExecutionError(f"{function} has no parameter `{name}`; not given yet: {known}", kind=running.ARGUMENT)
        if rest.count(name) > 1:
            raise ExecutionError(
                f"{function} has several parameters called `{name}`; give them by position", kind=running.ARGUMENT
            )
    missing = [name for name in rest if name not in named]
    if missing:
        shown = ", ".join(f"`{name}`" for name in missing[:12]) + (" …" if len(missing) > 12 else "")
        raise ExecutionError(f"{function}: missing arguments: {shown}", kind=running.ARGUMENT)
    given = [*args, *(named[name] for name in rest)]
    extents: dict[Var, int] = {}
    return [
        convert(value, ty, f"{function}: argument `{name}`", extents)
        for (name, ty), value in zip(parameters, given, strict=True)
    ]


def convert(value: object, ty: Type, what: str, extents: dict[Var, int]) -> object:
    """Return ``value`` as a value of type ``ty``; ``extents`` collects what symbolic extents stand
    for.

    Values of types that are neither tensors nor tuples are passed on. Raises ExecutionError
    beginning with ``what``.
    """
    match ty:
        case TensorType():
            array = as_array(value, ty.dtype, what)
            _check_shape(array.shape, ty, what, extents)
            return array
        case TupleType(fields):
            if not isinstance(value, (tuple, list)):
                raise ExecutionError(
                    f"{what} is {type(value).__name__}, expected a tuple of {len(fields)}", kind=running.ARGUMENT
                )
            if len(value) != len(fields):
                raise ExecutionError(f"{what} has {len(value)} fields, expected {len(fields)}", kind=running.ARGUMENT)
            return tuple(
                convert(one, field, f"{what}, field {i}", extents)
                for i, (one, field) in enumerate(zip(value, fields, strict=True))
            )
    return value


def as_array(value: object, dtype: str, what: str) -> Array:
    """Return ``value`` as a numpy array of ``dtype`` ("": its own), a view of the same memory where
    that is possible.

    Bytes of bool other than 0 and 1 count as true, other byte orders are converted. Raises
    ExecutionError beginning with ``what`` for what is no array of numbers.
    """
    if not isinstance(value, np.ndarray):
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__"):
            # What DLPack cannot carry over (another device, a dtype numpy lacks) may still offer
            # __array__.
            try:
                value = from_bfloat16(value) if is_bfloat16(value) else np.from_dlpack(value)
            except (BufferError, RuntimeError, TypeError, ValueError) as problem:
                if not hasattr(value, "__array__"):
                    raise _unreadable(what, problem) from problem
        try:
            value = np.asarray(value)
        except (RuntimeError, TypeError, ValueError) as problem:
            raise _unreadable(what, problem) from problem
    try:
        array = plain_array(value)
    except DTypeError as problem:
        if dtype and value.dtype == np.longdouble:
            return value.astype(numpy_dtype(dtype))
        raise ExecutionError(
            mistake(
                running.ARGUMENT, what=what, found=f"dtype {value.dtype}", expected=f"numbers of dtype {dtype or 'TVM'}"
            )
        ) from problem
    if not dtype or array.dtype == numpy_dtype(dtype):
        return array
    return converted(array, numpy_dtype(dtype))


def _unreadable(what: str, problem: Exception) -> ExecutionError:
    return ExecutionError(f"{what} cannot be read as an array: {problem}", kind=running.ARGUMENT)


def make_plain(written: Iterable[object]) -> None:
    """Make every byte of bool among arrays that a function from outside may have written 0 or 1."""
    for one in written:
        if isinstance(one, np.ndarray) and one.dtype == np.bool_ and one.flags.writeable:
            found = plain_array(one)
            if found is not one:
                one[...] = found


def shape_text(shape: Sequence[Extent]) -> str:
    """Return a shape as messages show it, e.g. ``(?, 784)``."""
    return f"({', '.join(map(str, shape))})"


def _check_shape(shape: tuple[int, ...], ty: TensorType, what: str, extents: dict[Var, int]) -> None:
    problem = len(shape) != ty.rank
    if not problem:
        for actual, extent in zip(shape, ty.shape, strict=True):
            if isinstance(extent, Var):
                extents.setdefault(extent, actual)
            expected = _value(extent, extents)
            problem = problem or (expected is not None and expected != actual)
    if problem:
        known = ", ".join(f"{var} = {value}" for var, value in extents.items())
        note = f" (with {known})" if known else ""
        raise ExecutionError(
            mistake(
                running.ARGUMENT,
                what=what,
                found=f"shape {shape_text(shape)}",
                expected=f"{shape_text(ty.shape)}{note}",
            )
        )


def _value(extent: Extent, extents: Mapping[Var, int]) -> int | None:
    """Return the value of an extent, None where it may be anything."""
    if is_any(extent):
        return None
    value = static(extent)
    if value is None and isinstance(extent, PrimExpr) and all(var in extents for var in _variables(extent)):
        return integer(extent, extents)
    return value


def _variables(extent: PrimExpr) -> list[Var]:
    return [one for one in subexpressions(extent) if isinstance(one, Var)]
