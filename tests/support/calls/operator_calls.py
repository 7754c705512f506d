"""What the tests over the whole table of operators share: the records by name, and the types and
arrays of values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from image_examples import IMAGE_EXAMPLES
from neural_examples import NEURAL_EXAMPLES
from operator_draws import FLOATS, Call, Draw, Example
from placing_examples import PLACING_EXAMPLES
from tensor_examples import TENSOR_EXAMPLES

from relay2relax.core.dtype import of_array
from relay2relax.ops import OpDef, TensorType, TupleType, Type
from relay2relax.ops.registry.refusal import Refusal
from relay2relax.ops.registry.table import all_ops
from relay2relax.ops.registry.types import ScalarType


def label(op: OpDef) -> str:
    """Return the name of a record in the tables of examples."""
    return op.name if op.relay is not None else f"R.{op.name}"


RECORDS = {label(op): op for op in all_ops() if not isinstance(op.numpy, Refusal) and not op.passes_through}


def floats_of_one_shape(op: OpDef) -> Example:
    """Return what draws the arguments of an operator that the tables of examples leave out."""

    def example(d: Draw) -> Call:
        shape, dtype = d.shape(), d.dtype(FLOATS)
        return {}, [d.array(shape, dtype, special=True) for _ in op.inputs]

    return example


EXAMPLES: dict[str, Example] = {
    **{name: floats_of_one_shape(op) for name, op in RECORDS.items()},
    **TENSOR_EXAMPLES,
    **PLACING_EXAMPLES,
    **NEURAL_EXAMPLES,
    **IMAGE_EXAMPLES,
}


def type_of(value: Any) -> Any:
    """Return the type of an argument; a tuple of numbers is a shape and stands for itself."""
    if isinstance(value, tuple):
        if all(isinstance(one, int) for one in value):
            return value
        return TupleType(tuple(map(type_of, value)))
    return TensorType(value.shape, of_array(value))


def arrays(value: Any) -> list[np.ndarray]:
    """Return the arrays of a value; a shape has none."""
    if isinstance(value, (tuple, list)):
        return [one for field in value for one in arrays(field)]
    return [] if isinstance(value, int) else [value]


def tensors(type_: Type) -> list[TensorType]:
    """Return the tensor types of a result; a shape and a number have none."""
    match type_:
        case tuple() | ScalarType():
            return []
        case TensorType():
            return [type_]
        case TupleType(fields):
            return [one for field in fields for one in tensors(field)]
    raise TypeError(f"no tensors in {type_!r}")
