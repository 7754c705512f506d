"""Element types.

A dtype is written as TVM writes it: ``"float32"``, ``"int64"``, ``"uint8"``, ``"bool"``,
``"bfloat16"``. This module translates that spelling to numpy and to the code, width and lanes that
TVM's binary formats store.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import tensor_programs
from relay2relax.core.words import shown

Array = npt.NDArray[np.generic]
# An array that is computed with: what its elements do, only its dtype says when it runs.
Numbers = npt.NDArray[Any]

_FORM = re.compile(r"(?P<kind>int|uint|float|bfloat|bool|handle)(?P<bits>\d{0,4})(?:x(?P<lanes>\d{1,5}))?\Z")
_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4}
_KINDS = {code: kind for kind, code in _CODES.items()}
# Of kinds whose name says no width.
_WIDTHS = {"bool": 1, "handle": 64}
_FLOAT8 = {6: "float8_e4m3fn", 7: "float8_e5m2"}
# What today's TVM stores instead, as DLPack has it.
_DLPACK = {6: "bool", 8: "float8_e4m3", 10: "float8_e4m3fn", 12: "float8_e5m2"}


# What a dtype may be called anywhere: lanes may be counted by the machine, TVM has floats of few
# bits by their layout, and dtypes that users of TVM register.
_WORD = re.compile(
    r"(?:(?:u?int|b?float)[1-9]\d{0,3}|float\d{1,2}_e\w{1,16}|e\dm\d_float8|bool(?:ean)?|handle"
    r"|custom\[[A-Za-z_]\w{0,63}\]\d{1,4})(?:x(?:vscalex)?[1-9]\d{0,5})?\Z",
    re.ASCII,
)
_COMMON = (
    "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "bool", "handle",
)  # fmt: skip
# Words that were looked at and are dtypes. Where nothing is known, or there is no value, TVM has ""
# and "void".
CHECKED: set[object] = {"", "void", *_COMMON}
_MOST_CHECKED = 4096


class DTypeError(Relay2RelaxError):
    """A dtype is unknown, or has no representation where one is needed."""

    kind = tensor_programs.DTYPE


def check_dtype(dtype: str) -> str:
    """Return ``dtype``, which has to be the word for one; ``""`` and ``"void"`` stand for none.

    Types, variables, buffers and attributes ask when they are made, printers before they write.
    Raises DTypeError, which suggests the nearest dtype.
    """
    if type(dtype) is str and dtype in CHECKED:
        return dtype
    if not isinstance(dtype, str):
        raise DTypeError(f"expected the name of a dtype, found {type(dtype).__name__}")
    if _WORD.match(dtype) is None:
        raise _unknown(dtype)
    if len(CHECKED) < _MOST_CHECKED:
        CHECKED.add(str(dtype))
    return dtype


def check_named_dtype(dtype: str) -> str:
    """Return ``dtype``, which has to be the word for one; none will not do.

    Raises DTypeError as ``check_dtype`` does.
    """
    if dtype in ("", "void"):
        raise _unknown(dtype)
    return check_dtype(dtype)


def _unknown(dtype: str) -> DTypeError:
    return DTypeError(replace(mistake(tensor_programs.DTYPE, dtype=shown(dtype)), help=dtype_help(dtype)))


def is_dtype(word: str) -> bool:
    """Whether ``word`` is the name of a dtype."""
    return word not in ("", "void") and (word in CHECKED or _WORD.match(word) is not None)


def dtype_help(word: str, otherwise: str = "expected a dtype such as `float32`") -> str:
    """Return the dtype that ``word`` may have meant as a remark, ``otherwise`` where there is
    none.
    """
    return nearest(word, _COMMON) or otherwise


@lru_cache(maxsize=None)
def numpy_dtype(dtype: str) -> np.dtype[np.generic]:
    """Return the numpy dtype of ``dtype``; bfloat16 and float8 come from ml_dtypes.

    Raises DTypeError for a dtype that numpy arrays cannot hold (``handle``, vectors).
    """
    if dtype == "bool":
        return np.dtype(np.bool_)
    if dtype.startswith(("bfloat", "float8")):
        import ml_dtypes

        if hasattr(ml_dtypes, dtype):
            found: np.dtype[np.generic] = np.dtype(getattr(ml_dtypes, dtype))
            return found
    elif re.fullmatch(r"u?int(8|16|32|64)|float(16|32|64)", dtype):
        return np.dtype(dtype)
    raise DTypeError(f"dtype {dtype!r} has no numpy representation")


def of_array(array: Array) -> str:
    """Return the dtype of a numpy array in TVM's spelling."""
    return _name_of(array.dtype)


@lru_cache(maxsize=256)
def _name_of(dtype: np.dtype[np.generic]) -> str:
    return "bool" if dtype == np.bool_ else dtype.name


def is_float(dtype: str) -> bool:
    """Whether ``dtype`` is a floating-point type (bfloat16 and float8 included)."""
    return dtype.startswith(("float", "bfloat"))


def is_int(dtype: str) -> bool:
    """Whether ``dtype`` is a signed or unsigned integer type; bool is not."""
    return dtype.startswith(("int", "uint"))


def is_unsigned(dtype: str) -> bool:
    """Whether ``dtype`` is an unsigned integer type."""
    return dtype.startswith("uint")


def bits(dtype: str) -> int:
    """Return the width of one element in bits (bool: 1)."""
    if dtype in _WIDTHS:
        return _WIDTHS[dtype]
    if dtype.startswith("float8"):
        return 8
    form = _FORM.match(dtype)
    if form is None or not form["bits"]:
        raise _unknown(dtype)
    return int(form["bits"])


def integer_range(dtype: str) -> tuple[int, int]:
    """Return the least and the greatest value of an integer dtype."""
    width = bits(dtype)
    return (0, (1 << width) - 1) if is_unsigned(dtype) else (-(1 << (width - 1)), (1 << (width - 1)) - 1)


def lanes_of(dtype: str) -> int | str:
    """Return how many lanes ``dtype`` has, as a text such as ``vscalex4`` where the machine
    decides.
    """
    _, times, lanes = dtype.partition("x")
    if not times:
        return 1
    return int(lanes) if lanes.isdecimal() else lanes


def element_dtype(dtype: str) -> str:
    """Return the dtype of one lane of ``dtype``."""
    return dtype.partition("x")[0]


def to_code(dtype: str) -> tuple[int, int, int]:
    """Return (code, bits, lanes) as TVM's binary formats store them; bool is (1, 1, 1).

    Raises DTypeError for what is no dtype.
    """
    for code, name in _FLOAT8.items():
        if dtype == name:
            return code, 8, 1
    form = _FORM.match(dtype)
    if form is None or bool(form["bits"]) == (form["kind"] in _WIDTHS):
        raise _unknown(dtype)
    lanes = int(form["lanes"] or 1)
    if form["kind"] == "bool":
        return 1, _WIDTHS["bool"], lanes
    return _CODES[form["kind"]], int(form["bits"] or _WIDTHS["handle"]), lanes


def from_code(code: int, width: int, lanes: int, today: bool = False) -> str:
    """Return the dtype that TVM's binary formats store as ``code``, ``width`` and ``lanes``.

    ``today``: the codes are those of TVM since 0.21.
    """
    suffix = f"x{lanes}" if lanes != 1 else ""
    single = _DLPACK if today else _FLOAT8
    if code in single and width == 8:
        return single[code] + suffix
    if code == 1 and width == 1:
        return "bool" + suffix
    if code not in _KINDS:
        raise DTypeError(f"unknown dtype code {code} with {width} bits")
    return "handle" if code == 3 else f"{_KINDS[code]}{width}{suffix}"
