"""How C stores the elements of a dtype, and what it computes with."""

from __future__ import annotations

from collections.abc import Mapping

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import running

# Dtypes that are stored as their bits, and computed with as floats that are rounded after every
# operation.
HALF = (
    "float16", "bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)  # fmt: skip
# C type of an element in memory; a bool is stored as a byte that is 0 or 1.
C_TYPES: Mapping[str, str] = {
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "bool": "uint8_t",
    **{name: "uint8_t" for name in HALF if name.startswith("float8")},
}


def c_type(dtype: str) -> str:
    """Return the C type of an element.

    Raises UnsupportedError for dtypes that C code is not made for.
    """
    found = C_TYPES.get(dtype)
    if found is None:
        raise UnsupportedError(
            f"the C backend has no {dtype}; convert to float32 or use the numpy backend", kind=running.NOT_ON_BACKEND
        )
    return found


def value_type(dtype: str) -> str:
    """Return the C type of a number that is computed with: half precision is computed with as
    float.
    """
    return "float" if dtype in HALF else c_type(dtype)
