"""What apache-tvm 0.25 to 0.27 cannot build of several operators, or computes otherwise than it
says.

A call that a limit names becomes ``call_tir`` of the operator's own PrimFunc, which says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from relay2relax.core.dtype import is_float
from relay2relax.ops.registry.script import Limit, Types
from relay2relax.ops.registry.types import TensorType
from relay2relax.tir.extent import Shape, equal, static


def dtype_of(types: Types) -> str:
    """Return the dtype of the first argument, "" where that is not a tensor."""
    return types[0].dtype if types and isinstance(types[0], TensorType) else ""


def shapes_of(types: Types) -> list[Shape]:
    """Return the shapes of the arguments that are tensors or shapes."""
    return [one if isinstance(one, tuple) else one.shape for one in types if isinstance(one, (tuple, TensorType))]


def of_dtype(why: str, *dtypes: str) -> Limit:
    """Return the limit of calls whose first argument has one of ``dtypes``."""

    def applies(attrs: object, types: Types) -> bool:
        return dtype_of(types) in dtypes

    return Limit(why, applies)


def unless_dtype(why: str, *dtypes: str) -> Limit:
    """Return the limit of calls whose first argument has none of ``dtypes``."""

    def applies(attrs: object, types: Types) -> bool:
        return dtype_of(types) not in dtypes

    return Limit(why, applies)


def unless_float(why: str) -> Limit:
    """Return the limit of calls whose first argument is not of floating point."""

    def applies(attrs: object, types: Types) -> bool:
        return not is_float(dtype_of(types))

    return Limit(why, applies)


def is_open(shapes: Sequence[Shape]) -> bool:
    """Whether it is told only when the program runs which of some aligned extents are spread."""
    for extents in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        wide = [extent for extent in extents if static(extent) != 1]
        if any(static(one) is None for one in wide) and any(equal(one, wide[0]) is not True for one in wide[1:]):
            return True
    return False


OPEN_WHY = "apache-tvm does not spread an extent of which only the running program knows that it is 1"
OPEN = Limit(OPEN_WHY, lambda attrs, types: is_open(shapes_of(types)))
NO_BOOL = of_dtype("apache-tvm cannot lower it for bool", "bool")
NO_BFLOAT16 = of_dtype("apache-tvm has no code for it in bfloat16", "bfloat16")
ONLY_BOOL = unless_dtype("apache-tvm lowers it for bool only", "bool")
ONLY_FLOAT32_AND_16 = unless_dtype("apache-tvm lowers it in float32 and float16 only", "float32", "float16")
ONLY_FLOAT_MEANS = unless_float("apache-tvm computes it of integers in another dtype than it says")
NOT_LOWERED = Limit("apache-tvm has no lowering for it")
# Of calls on GPUs.
STATEMENTS = Limit("apache-tvm lowers it to loops of the processor, which no rule binds to threads")
