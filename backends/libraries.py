"""Matrix products and convolutions by other libraries, for whoever prefers them: OpenBLAS and
PyTorch.

    rx = relax_ir.transform.DispatchCalls(backends.libraries.openblas())(rx)

What is well defined in the library goes there as ``R.call_dps_packed``: ``R.matmul`` of two float32
or two float64 tensors that are matrices or stacks of them, and ``R.nn.conv2d`` of such tensors in
NCHW and OIHW, padded alike on opposite sides. Any other call stays. The name that is called says
all that the attributes said, so a program that was saved runs wherever the library is.
"""

from __future__ import annotations

import ctypes
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, SupportsInt, TypeAlias

import numpy as np

from relay2relax.backends.threads import thread_count
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.relax_ir.ir.expr import Call
from relay2relax.relax_ir.ir.struct_info import TensorStructInfo
from relay2relax.relax_ir.transform.dispatch_calls import DPSCall

Dispatch: TypeAlias = Mapping[str, Callable[[DPSCall], "str | None"]]

_MATMUL = "matmul"
_CONV2D = "nn.conv2d"
_DTYPES = ("float32", "float64")
_NAME = re.compile(
    r"(\w+)\.(?:matmul|nn\.conv2d strides=(\d+),(\d+) padding=(\d+),(\d+) dilation=(\d+),(\d+) groups=(\d+))"
)


@dataclass(frozen=True, slots=True)
class Window:
    """How a convolution moves over an image: (height, width) each.

    Padding is the same on opposite sides.
    """

    strides: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int


class Library(ABC):
    """What a library computes; results are written in place."""

    @abstractmethod
    def matmul(self, a: Array, b: Array, out: Array) -> None:
        """Multiply stacks of matrices, whose leading axes broadcast."""

    @abstractmethod
    def conv2d(self, window: Window, data: Array, weight: Array, out: Array) -> None:
        """Convolve images in NCHW with weights in OIHW."""


def openblas() -> Dispatch:
    """Return what ``DispatchCalls`` needs for OpenBLAS, as ``scipy-openblas32`` brings it.

    It runs on as many threads as the C backend (``RELAY2RELAX_THREADS``). Raises UnsupportedError
    where it is missing.
    """
    return _dispatch("openblas")


def torch() -> Dispatch:
    """Return what ``DispatchCalls`` needs for PyTorch.

    Raises UnsupportedError where it is missing.
    """
    return _dispatch("torch")


def library_function(name: str) -> Callable[..., None] | None:
    """Return the function that ``name`` stands for in calls that were dispatched, None where it is
    none of these.

    Raises UnsupportedError where its library is missing.
    """
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in _LIBRARIES:
        return None
    library = _library(found[1])
    if found[2] is None:
        return library.matmul
    numbers = [int(number) for number in found.groups()[1:]]
    window = Window((numbers[0], numbers[1]), (numbers[2], numbers[3]), (numbers[4], numbers[5]), numbers[6])
    return partial(library.conv2d, window)


def _dispatch(library: str) -> Dispatch:
    _library(library)
    return {_MATMUL: partial(_matmul_name, library), _CONV2D: partial(_conv2d_name, library)}


def _matmul_name(library: str, call: DPSCall) -> str | None:
    if not isinstance(call, Call) or not _takes(call, least=2):
        return None
    return f"{library}.{_MATMUL}"


def _conv2d_name(library: str, call: DPSCall) -> str | None:
    if not isinstance(call, Call) or not _takes(call, least=4):
        return None
    attrs = call.attrs
    if (attrs.data_layout, attrs.kernel_layout) != ("NCHW", "OIHW") or attrs.out_layout not in ("", "NCHW"):
        return None
    padding = [int(extent) for extent in attrs.padding]
    padding *= 2 if len(padding) == 2 else 4 if len(padding) == 1 else 1
    if padding[:2] != padding[2:]:
        return None
    pairs = {"strides": _pair(attrs.strides), "padding": padding[:2], "dilation": _pair(attrs.dilation)}
    words = " ".join(f"{word}={','.join(map(str, pair))}" for word, pair in pairs.items())
    return f"{library}.{_CONV2D} {words} groups={int(attrs.groups)}"


def _takes(call: Call, least: int) -> bool:
    """Whether operands and result are of one dtype that libraries have, the operands of at least so
    many dimensions.
    """
    infos = [getattr(arg, "info", None) for arg in call.args]
    if not all(isinstance(info, TensorStructInfo) and info.ndim >= least for info in infos):
        return False
    dtypes = {info.dtype for info in infos if isinstance(info, TensorStructInfo)} | {call.attrs.out_dtype} - {""}
    return len(dtypes) == 1 and dtypes <= set(_DTYPES)


def _pair(extents: Sequence[SupportsInt]) -> list[int]:
    found = [int(extent) for extent in extents]
    return found * 2 if len(found) == 1 else found


# OpenBLAS

_ROW_MAJOR, _AS_IT_IS = 101, 111


class _OpenBlas(Library):
    def __init__(self) -> None:
        import scipy_openblas32

        path = os.path.join(scipy_openblas32.get_lib_dir(), scipy_openblas32.get_library(fullname=True))
        library = ctypes.CDLL(path)
        library.scipy_openblas_set_num_threads(thread_count())
        self._products = {
            np.dtype(dtype): _declared(getattr(library, f"scipy_cblas_{letter}gemm"), number)
            for dtype, letter, number in (("float32", "s", ctypes.c_float), ("float64", "d", ctypes.c_double))
        }

    def product(self, a: Array, b: Array, out: Array) -> None:
        """Write the product of two matrices, all of them in row-major order."""
        (m, k), n = a.shape, b.shape[1]
        if not m or not n or not k:
            out[...] = 0
            return
        ends = (a.ctypes.data, k, b.ctypes.data, n, 0.0, out.ctypes.data, n)
        self._products[out.dtype](_ROW_MAJOR, _AS_IT_IS, _AS_IT_IS, m, n, k, 1.0, *ends)

    def matmul(self, a: Array, b: Array, out: Array) -> None:
        a, b, target = np.ascontiguousarray(a), np.ascontiguousarray(b), _contiguous(out)
        if b.ndim == 2:
            # One matrix for all rows of the stack.
            rows = math.prod(a.shape[:-1])
            self.product(a.reshape(rows, a.shape[-1]), b, target.reshape(rows, b.shape[1]))
        else:
            stack = out.shape[:-2]
            left, right = np.broadcast_to(a, stack + a.shape[-2:]), np.broadcast_to(b, stack + b.shape[-2:])
            for place in np.ndindex(*stack):
                self.product(left[place], right[place], target[place])
        if target is not out:
            out[...] = target

    def conv2d(self, window: Window, data: Array, weight: Array, out: Array) -> None:
        (top, left), (down, right), (below, beside) = window.padding, window.strides, window.dilation
        height, width = ((size - 1) * step + 1 for size, step in zip(weight.shape[2:], window.dilation, strict=True))
        padded = np.pad(data, ((0, 0), (0, 0), (top, top), (left, left))) if top or left else data
        seen = np.lib.stride_tricks.sliding_window_view(padded, (height, width), axis=(2, 3))
        seen = seen[:, :, ::down, ::right, ::below, ::beside].transpose(0, 1, 4, 5, 2, 3)
        target = _contiguous(out)
        inputs, outputs = weight.shape[1], weight.shape[0] // window.groups
        matrices = np.ascontiguousarray(weight).reshape(window.groups, outputs, -1)
        for image, group in np.ndindex(len(data), window.groups):
            # Each column is what one point of the result sees.
            columns = seen[image, group * inputs : (group + 1) * inputs]
            part = target[image, group * outputs : (group + 1) * outputs]
            points = part.shape[1] * part.shape[2]
            self.product(
                matrices[group],
                np.ascontiguousarray(columns).reshape(matrices.shape[2], points),
                part.reshape(outputs, points),
            )
        if target is not out:
            out[...] = target


def _declared(product: Any, number: Any) -> Any:
    integers, address = [ctypes.c_int] * 6, ctypes.c_void_p
    product.argtypes = [*integers, number, address, ctypes.c_int, address, ctypes.c_int, number, address, ctypes.c_int]
    product.restype = None
    return product


def _contiguous(out: Array) -> Array:
    return out if out.flags.c_contiguous else np.empty(out.shape, out.dtype)


# PyTorch


class _Torch(Library):
    def __init__(self) -> None:
        import torch as library

        self._library = library

    def _tensor(self, array: Array) -> Any:
        # PyTorch warns of memory that is not to be written; nothing is written into what is read
        # here.
        array = np.ascontiguousarray(array)
        memory = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
        return self._library.from_numpy(np.ndarray(array.shape, array.dtype, memoryview(memory)))

    def matmul(self, a: Array, b: Array, out: Array) -> None:
        out[...] = self._library.matmul(self._tensor(a), self._tensor(b)).numpy()

    def conv2d(self, window: Window, data: Array, weight: Array, out: Array) -> None:
        places = (window.strides, window.padding, window.dilation, window.groups)
        out[...] = self._library.conv2d(self._tensor(data), self._tensor(weight), None, *places).numpy()


_LIBRARIES: Mapping[str, Callable[[], Library]] = {"openblas": _OpenBlas, "torch": _Torch}


@lru_cache(maxsize=None)
def _library(name: str) -> Library:
    try:
        return _LIBRARIES[name]()
    except ImportError as error:
        lacking = mistake(running.LIBRARY, what=f"the library {name!r}", problem=error)
        raise UnsupportedError(replace(lacking, help=f"pip install 'relay2relax[{name}]'")) from error
