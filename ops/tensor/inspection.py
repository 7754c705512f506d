"""What a tensor's header says: rank, extents, strides, offsets and element type, as numbers that
are no tensors.

Tensors are dense here and begin where their memory does, so strides follow from extents and offsets
are 0. Source of the semantics: TVM 0.27 ``src/relax/op/tensor/inspect.cc`` and DLPack's
``DLDataType``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from relay2relax.core.dtype import Array, of_array, to_code
from relay2relax.core.errors import ExecutionError
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.refusal import Refusal
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import ScalarType, Type


def tensor_ndim(value: Array) -> int:
    """Return the number of dimensions."""
    return value.ndim


def tensor_shape_i(value: Array, axis: int) -> int:
    """Return one extent; raises ExecutionError where there is no such axis."""
    _check_axis(value, axis)
    return int(value.shape[axis])


def tensor_stride_i(value: Array, axis: int) -> int:
    """Return how many elements lie between neighbours along an axis.

    Raises ExecutionError where there is none.
    """
    _check_axis(value, axis)
    return math.prod(value.shape[axis + 1 :])


def tensor_byte_offset(value: Array) -> int:
    """Return 0."""
    return 0


def tensor_elem_offset(value: Array) -> int:
    """Return 0."""
    return 0


def tensor_dtype_code(value: Array) -> int:
    """Return DLPack's number of the kind of elements, which has a kind for bool."""
    dtype = of_array(value)
    return 6 if dtype == "bool" else to_code(dtype)[0]


def tensor_dtype_bits(value: Array) -> int:
    """Return the width of an element."""
    return 8 * value.itemsize


def tensor_dtype_lanes(value: Array) -> int:
    """Return 1: elements are no vectors."""
    return 1


def _check_axis(value: Array, axis: int) -> None:
    if not 0 <= axis < value.ndim:
        raise ExecutionError(f"axis {axis} of a tensor of {value.ndim} dimensions is asked for")


def _record(function: Callable[..., int], dtype: str, doc: str, *of: str) -> OpDef:
    name = f"inspect.{function.__name__}"

    def infer(attrs: NoAttrs, value: Type, *axis: Type) -> ScalarType:
        """Return a number that is no tensor."""
        tensor(value)
        return ScalarType(dtype)

    return OpDef(
        script=Script(name, ", ".join(("tensor", *of))),
        doc=doc,
        source="TVM 0.27 src/relax/op/tensor/inspect.cc",
        inputs=("tensor", *of),
        scalars=of,
        infer=infer,
        numpy=lambda attrs, value, *axis: function(value, *axis),
        compute=Refusal(f"R.{name}", "no tensor program gives a number"),
        builtin=f"vm.builtin.{function.__name__}",
    )


OPS: tuple[OpDef, ...] = (
    _record(tensor_ndim, "int32", "The number of dimensions."),
    _record(tensor_shape_i, "int64", "The extent of an axis.", "axis"),
    _record(tensor_stride_i, "int64", "How many elements lie between neighbours along an axis.", "axis"),
    _record(tensor_byte_offset, "uint64", "Where the tensor begins in its memory, in bytes."),
    _record(tensor_elem_offset, "uint64", "Where the tensor begins in its memory, in elements."),
    _record(tensor_dtype_code, "uint8", "DLPack's number of the kind of elements."),
    _record(tensor_dtype_bits, "uint8", "The width of an element in bits."),
    _record(tensor_dtype_lanes, "uint16", "How many numbers an element is made of."),
)
