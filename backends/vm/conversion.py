"""Values from outside as the machine computes with them, and results that are the caller's own."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from relay2relax.backends.runtime.arguments import as_array
from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.backends.vm.builtins import Closure
from relay2relax.backends.vm.bytecode import FunctionRef
from relay2relax.backends.vm.function_spec import OtherForm, ShapeForm, TensorForm, TupleForm, ValueForm
from relay2relax.core.arrays import empty
from relay2relax.core.dtype import Array

_OTHER = OtherForm()


def convert(value: object, what: str, form: ValueForm = _OTHER) -> object:
    """Return a value as a parameter of ``form`` takes it: a tensor in its dtype, lists as tuples,
    numbers as they are.

    A shape is any row of integers. Raises ExecutionError, beginning with ``what``.
    """
    match form:
        case TupleForm(fields) if isinstance(value, (list, tuple)) and len(value) == len(fields):
            pairs = enumerate(zip(value, fields, strict=True))
            return tuple(convert(one, f"{what}[{number}]", field) for number, (one, field) in pairs)
        case ShapeForm():
            # An array without dimensions has what an iterable has, and yields nothing.
            scalar = isinstance(value, np.ndarray) and value.ndim == 0
            extents = tuple(value) if isinstance(value, Iterable) and not scalar else (None,)
            whole = [int(one) for one in extents if isinstance(one, (int, np.integer))]
            return ShapeTuple(whole) if len(whole) == len(extents) else value
        case TensorForm(dtype) if dtype and not isinstance(value, (tuple, Closure, FunctionRef)):
            return as_array(value, dtype, what)
    if isinstance(value, np.ndarray):
        return as_array(value, "", what)
    if isinstance(value, (list, tuple)) and not isinstance(value, ShapeTuple):
        return tuple(convert(one, what) for one in value)
    if hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
        return as_array(value, "", what)
    return value.item() if isinstance(value, np.generic) else value


def base(array: Array) -> int:
    """Return the identity of the array whose memory ``array`` shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array)


def bases(value: object) -> set[int]:
    """Return the identities of the arrays whose memory ``value`` shows."""
    if isinstance(value, np.ndarray):
        return {base(value)}
    if isinstance(value, tuple):
        return {each for one in value for each in bases(one)}
    return set()


def own(value: object, taken: set[int]) -> object:
    """Return a result whose arrays share memory with no array in ``taken``, and not with each
    other.
    """
    match value:
        case np.ndarray():
            array: Array = value
            if base(array) in taken or not array.flags.writeable or not array.flags.c_contiguous:
                shown, array = array, empty(array.shape, array.dtype, lambda: "a copy of an argument or constant")
                np.copyto(array, shown)
            taken.add(base(array))
            return array
        case np.generic():
            return np.asarray(value)
        case ShapeTuple():
            return value
        case tuple():
            return tuple(own(one, taken) for one in value)
    return value
