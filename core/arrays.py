"""What an array must be before it is computed with, wherever arrays enter: arguments, weights,
constants, results of functions from outside.

Generated C reads memory as it lies there. It does not know of another byte order, nor of truth
values that are other bytes than 0 and 1.

Memory for new ones is asked for here, within the limits of whoever asks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.core.limits import active, out_of_memory


def plain_array(value: Array) -> Array:
    """Return the same elements as a numpy array in the machine's byte order, true as the byte 1.

    That is ``value`` itself where nothing is to be done, a view of a subclass, and a copy of what
    lies in memory otherwise. Raises DTypeError where TVM has no such elements (objects, text,
    times, complex numbers).
    """
    array: Array = value if type(value) is np.ndarray else np.asarray(value).view(np.ndarray)
    dtype = array.dtype
    if dtype != numpy_dtype(of_array(array)):
        array = array.astype(numpy_dtype(of_array(array)))
    if dtype == np.bool_:
        found = array.view(np.uint8)
        if found.size and found.max() > 1:
            return np.asarray(found != 0)
    return array


def empty(
    shape: Sequence[int], dtype: np.dtype[np.generic], what: Callable[[], str], zeros: bool = False
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Return memory of undefined content for ``what``, or of ``zeros``.

    Raises LimitError where that is more than the limits leave, and OutOfMemoryError where the
    system has not as much.
    """
    budget = active()
    if budget is not None:
        budget.extent(shape, what)
        budget.allocate(math.prod(shape) * dtype.itemsize, what)
    try:
        made = np.zeros(tuple(shape), dtype) if zeros else np.empty(tuple(shape), dtype)
    except (MemoryError, OverflowError, ValueError) as problem:
        if any(extent < 0 for extent in shape):
            raise
        raise out_of_memory(what(), problem, math.prod(shape) * dtype.itemsize) from problem
    if budget is not None:
        budget.hold(made)
    return made
