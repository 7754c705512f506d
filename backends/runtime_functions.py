"""Functions of TVM's runtime that modules of its importers call by name: ``relax.run.*`` and ``vm.builtin.*``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relay2relax.backends.builtins import BUILTINS
from relay2relax.backends.bytecode import ShapeTuple
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError
from relay2relax.ops.record import OpDef
from relay2relax.ops.table import relax_op


def shape_to_tensor(shape: ShapeTuple) -> Array:
    """Return the extents as a tensor of int64."""
    return np.array(shape, np.int64)


def assert_op(condition: Any, message: str = "", *values: Any) -> tuple[()]:
    """Raise ExecutionError unless ``condition`` holds; ``values`` are put into the message."""
    if not bool(np.asarray(condition)):
        text = message.format(*values) if message else ", ".join(map(str, values))
        raise ExecutionError(f"Assertion Failed: {text}" if text else "Assertion Failed")
    return ()


def print_values(form: str, *values: Any) -> tuple[()]:
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
    result: Array = op.numpy(op.attrs(), data)
    return result


def unique(data: Array, *options: Any) -> Any:
    """Return the value of R.unique."""
    op = _kernel("unique")
    return op.numpy(op.attrs(*options), data)


RUNTIME_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "relax.run.assert_op": assert_op,
    "relax.run.nonzero": nonzero,
    "relax.run.print": print_values,
    "relax.run.shape_to_tensor": shape_to_tensor,
    "relax.run.unique": unique,
    **{
        f"vm.builtin.{name}": BUILTINS[f"vm.builtin.{name}"]
        for name in ("null_value", "reshape", "shape_of", "tensor_to_shape")
    },
}
