"""What tensors of extents hold, as far as it is told before the program runs.

Importers compute shapes by operators: ``shape_of``, slices, joins and arithmetic of its elements.
Their values are expressions over the extents of the program's parameters. An operator that takes
such a tensor for a shape (``dyn.broadcast_to``) is then the operator that has the shape as an
attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.dtype import is_int
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import extent
from relay2relax.tir.extent import Extent, Shape, is_any, product, static

# An array of objects, each an extent, or a bool where extents were compared.
Numbers: TypeAlias = Any
# Longer tensors are data, not shapes.
_LONGEST = 64
_ARITHMETIC: dict[str, Callable[[Extent, Extent], Extent]] = {
    "add": extent.add,
    "subtract": extent.sub,
    "multiply": extent.mul,
    "floor_divide": extent.floordiv,
    "floor_mod": extent.floormod,
    "maximum": extent.maximum,
    "minimum": extent.minimum,
}
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
}
# Their numpy functions move elements, whatever these are.
_MOVES = frozenset(
    {"concatenate", "stack", "reshape", "squeeze", "expand_dims", "strided_slice", "reverse", "transpose"}
)
_UNCHANGED = frozenset({"cast", "cast_like", "copy"})
_OF_TYPES = frozenset({"shape_of", "ndarray_size"})


def constant_numbers(data: Numbers) -> Numbers | None:
    """Return the elements of a constant that can be a shape, None for other data."""
    return data.astype(object) if data.size <= _LONGEST and data.dtype.kind in "iu" else None


def numbers_of(op: OpDef, attrs: Any, args: Sequence[Numbers], types: Callable[[int], Type]) -> Numbers | None:
    """Return what a call of ``op`` gives, where that is told beforehand, else None.

    ``args`` are what its arguments hold (None: unknown; a tuple: that of each field), ``types``
    gives their types.
    """
    name = op.relay
    if name in _OF_TYPES:
        found = types(0)
        if not isinstance(found, TensorType) or any(map(is_any, found.shape)):
            return None
        return _array(product(found.shape) if name == "ndarray_size" or not found.rank else found.shape)
    if not args or not _known(args[0]):
        return None
    if name in _UNCHANGED:
        target = types(1) if name == "cast_like" else None
        dtype = target.dtype if isinstance(target, TensorType) else getattr(attrs, "dtype", "int64")
        return args[0] if is_int(dtype) else None
    if name == "slice_like":
        like = types(1)
        shape = [static(one) for one in like.shape] if isinstance(like, TensorType) else [None]
        return None if None in shape else op.numpy(attrs, args[0], np.broadcast_to(0, shape))  # type: ignore[arg-type]
    if not all(map(_known, args)):
        return None
    if name in _MOVES:
        return _array(op.numpy(attrs, *args))
    return _computed(name, op, attrs, args)


def _computed(name: str | None, op: OpDef, attrs: Any, args: Sequence[Numbers]) -> Numbers | None:
    if name in _ARITHMETIC:
        found = _array(np.frompyfunc(_ARITHMETIC[name], 2, 1)(*args))
        return None if any(map(is_any, found.reshape(-1))) else found
    if name == "take" and (places := _plain(args[1])) is not None:
        return _array(op.numpy(attrs, args[0], places))
    if name == "where" and (condition := _plain(args[0])) is not None:
        return _array(np.where(condition.astype(bool), args[1], args[2]))
    if name in _COMPARISONS:
        left, right = map(_plain, args)
        return None if left is None or right is None else _array(np.frompyfunc(_COMPARISONS[name], 2, 1)(left, right))
    if name == "prod" and attrs.axis is None and not attrs.keepdims:
        return _array(product(args[0].reshape(-1)))
    return None


def settled(op: OpDef, attrs: Any, args: Sequence[Numbers]) -> tuple[OpDef, Any, tuple[int, ...]] | None:
    """Return the call that ``op`` is once its computed inputs are known: an operator, attributes,
    which inputs stay.

    None where an input is not known, or where ``op`` takes no shapes or places as inputs.
    """
    if op.settle is None:
        return None
    numbers = tuple(tuple(one.reshape(-1)) if isinstance(one, np.ndarray) else None for one in args)
    found: tuple[OpDef, Any, tuple[int, ...]] | None = op.settle(attrs, numbers)
    return found


def _known(value: Any) -> bool:
    return all(map(_known, value)) if isinstance(value, tuple) else value is not None


def _plain(values: Numbers) -> Numbers:
    """Return numbers as an array of integers, None where one is symbolic."""
    found = [static(one) for one in values.reshape(-1)]
    return None if None in found else np.array(found, np.int64).reshape(values.shape)


def _array(value: Numbers) -> Numbers:
    if isinstance(value, np.ndarray):
        return value.astype(object)
    result: Shape | Extent = value
    found = np.empty((len(result),) if isinstance(result, tuple) else (), object)
    found[...] = result
    return found
