"""Which operators compute in lower precision: what their records say, and what users register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from relay2relax.core.dtype import check_dtype
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.expr import Call, Op
from relay2relax.relay_ir.transform.layout.op_attrs import register_op_attr, registered

# Always in lower precision; where all operands are; never.
MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = (one.value for one in Precision)
CONVERSION = "FTVMMixedPrecisionConversionType"

# (call, dtype of lower precision) -> (category, dtype to add up in, dtype of the result)
Convert: TypeAlias = Callable[[Call, str], Sequence[object]]


@dataclass(frozen=True, slots=True)
class Conversion:
    """How one call is converted: its category, the dtype it adds up in, and that of its result."""

    category: int
    accumulation: str
    output: str


def register_mixed_precision_conversion(op_name: str, func: Convert | None = None) -> Any:
    """Register ``func(call, dtype)`` for ``ToMixedPrecision``, or decorate with it.

    It returns the category (0: always in ``dtype``, 1: where all operands are, 2: never), the dtype
    in which the operator adds up, and the dtype of the result.
    """
    return register_op_attr(op_name, CONVERSION, func)


def conversion_of(call: Call, dtype: str) -> Conversion | None:
    """Return how a call of an operator is converted to ``dtype``, None where nobody said.

    What users registered comes before what the operator's record says.
    """
    assert isinstance(call.op, Op)
    own = registered(call.op.name, CONVERSION)
    if own is not None:
        found = own(call, dtype)
        if not isinstance(found, (list, tuple)) or len(found) != 3 or found[0] not in (0, 1, 2):
            raise own.unexpected("a category (0, 1 or 2) and two dtypes", found)
        return Conversion(int(found[0]), check_dtype(str(found[1])), check_dtype(str(found[2])))
    record = relay_op(call.op.name)
    known = None if record is None else record.precision
    return None if known is None else Conversion(known.value, dtype, dtype)
