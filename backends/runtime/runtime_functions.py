"""Functions of TVM's runtime that modules of its importers call by name, before and after they are
lowered.

``relax.run.*`` and ``vm.builtin.*`` return their values; ``tvm.contrib.sort.*``, which tensor
programs call, write into the arrays that they are given behind their inputs. Source of those: TVM
0.27 ``src/runtime/contrib/sort/sort.cc``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from relay2relax.backends.runtime.values import ShapeTuple
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError, mistake
from relay2relax.core.errors.table import running
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relax_op


def _require_tensor(value: object) -> None:
    if not isinstance(value, np.ndarray):
        raise ExecutionError(mistake(running.VALUE, expected="a tensor", found=type(value).__name__))


def shape_of(value: Array) -> ShapeTuple:
    """Return the extents of a tensor; raises ExecutionError for any other value."""
    _require_tensor(value)
    return ShapeTuple(value.shape)


def tensor_to_shape(value: Array) -> ShapeTuple:
    """Return the numbers of a vector as a shape; raises ExecutionError where one is negative."""
    _require_tensor(value)
    if value.ndim != 1 or bool(np.any(value.astype(np.int64) < 0)):
        raise ExecutionError(
            f"a shape is a vector of numbers not below 0, this is {value.tolist()}", kind=running.VALUE
        )
    return ShapeTuple(value.tolist())


def reshape(value: Array, shape: ShapeTuple) -> Array:
    """Return the same elements in another shape, without a copy where they lie in order.

    Raises ExecutionError where there are more or fewer of them in that shape.
    """
    _require_tensor(value)
    try:
        viewed: Array = value.reshape(shape)
    except (TypeError, ValueError) as error:
        raise ExecutionError(
            f"a tensor of shape {value.shape} has no shape {tuple(shape)}", kind=running.VALUE
        ) from error
    return viewed


def null_value() -> None:
    """Return nothing: the register lets go of what it held."""
    return


def shape_to_tensor(shape: ShapeTuple) -> Array:
    """Return the extents as a tensor of int64."""
    return np.array(shape, np.int64)


def assert_op(condition: object, message: str = "", *values: object) -> tuple[()]:
    """Raise ExecutionError unless ``condition`` holds; ``values`` are put into the message."""
    if not bool(np.asarray(condition)):
        text = message.format(*values) if message else ", ".join(map(str, values))
        raise ExecutionError(f"Assertion Failed: {text}" if text else "Assertion Failed", kind=running.ASSERTION)
    return ()


def print_values(form: str, *values: object) -> tuple[()]:
    """Print ``values``, in the form that is given."""
    print(form.format(*map(str, values)) if form else " ".join(map(str, values)))
    return ()


def _kernel(name: str) -> OpDef:
    found = relax_op(name)
    assert found is not None
    return found


def nonzero(data: Array) -> Array:
    """Return the value of R.nonzero."""
    op = _kernel("nonzero")
    return np.asarray(op.numpy(op.attrs(), data))


def unique(data: Array, *options: object) -> object:
    """Return the value of R.unique."""
    op = _kernel("unique")
    return op.numpy(op.attrs(*options), data)


def _sorting(name: str, descending: bool, data: Array, axis: int, **attrs: object) -> Array:
    op = _kernel(name)
    found = op.numpy(op.attrs(axis=axis, descending=descending, **attrs), data)
    assert isinstance(found, np.ndarray)
    return found


def sort_along(data: Array, result: Array, axis: int, ascending: bool) -> None:
    """Write ``data``, sorted along ``axis``, to ``result``."""
    result[...] = _sorting("sort", not ascending, data, axis)


def argsort_along(data: Array, result: Array, axis: int, ascending: bool) -> None:
    """Write the places of the sorted elements along ``axis`` to ``result``, in its dtype.

    Equal ones keep order.
    """
    result[...] = _sorting("argsort", not ascending, data, axis, dtype="int64")


def argsort_first(data: Array, counts: Array, result: Array, axis: int, ascending: bool) -> None:
    """As ``argsort_along``, of the first ``counts`` elements of each line.

    Those behind them stay where they are.
    """
    lines, target = np.moveaxis(data, axis, -1), np.moveaxis(result, axis, -1)
    target[...] = np.arange(lines.shape[-1])
    for line, count in zip(np.ndindex(lines.shape[:-1]), counts.reshape(-1).tolist(), strict=True):
        argsort_along(lines[line][:count], target[line][: lines[line][:count].size], 0, ascending)


def topk_along(data: Array, *rest: object) -> None:
    """Write the ``k`` first of the sorted elements, their places, or both.

    ``rest`` is results, k, axis, form, order.

    All elements are written where ``k`` is below 1.
    """
    *results, k, axis, form, ascending = rest
    assert isinstance(k, int)
    assert isinstance(axis, int)
    op = _kernel("topk")
    count = data.shape[axis] if k < 1 else k
    attrs = op.attrs(k=count, axis=axis, ret_type=form, largest=not ascending, dtype="int64")
    found = op.numpy(attrs, data)
    for result, value in zip(results, found if isinstance(found, tuple) else (found,), strict=True):
        assert isinstance(result, np.ndarray)
        result[...] = value


RUNTIME_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "relax.run.assert_op": assert_op,
    "relax.run.nonzero": nonzero,
    "relax.run.print": print_values,
    "relax.run.shape_to_tensor": shape_to_tensor,
    "relax.run.unique": unique,
    "tvm.contrib.sort.argsort": argsort_along,
    "tvm.contrib.sort.argsort_nms": argsort_first,
    "tvm.contrib.sort.sort": sort_along,
    "tvm.contrib.sort.topk": topk_along,
    "vm.builtin.null_value": null_value,
    "vm.builtin.reshape": reshape,
    "vm.builtin.shape_of": shape_of,
    "vm.builtin.tensor_to_shape": tensor_to_shape,
}
