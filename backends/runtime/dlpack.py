"""bfloat16 over DLPack, which numpy does not exchange: capsules of uint16 in which the dtype is
written over.

Memory, shape and lifetime are those of the capsule that the owner of the memory made. Layout:
DLPack 1.0, ``include/dlpack/dlpack.h``.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

_UNSIGNED, _BFLOAT = 1, 4
# Where the tensor begins in what a capsule of that name holds, and where its dtype lies in it.
_TENSOR = {b"dltensor": 0, b"dltensor_versioned": 32}
_DTYPE = 20


class _Shared(np.ndarray[tuple[int, ...], np.dtype[np.generic]]):
    """An array of bfloat16 that other libraries can take through DLPack."""

    def __dlpack__(self, **options: Any) -> CapsuleType:
        """Return the capsule of the array."""
        return _written_over(self.view(np.ndarray).view(np.uint16).__dlpack__(**options), _BFLOAT)

    def __dlpack_device__(self) -> tuple[Literal[1], Literal[0]]:
        """Return where the memory is: with the processor."""
        return self.view(np.ndarray).view(np.uint16).__dlpack_device__()


class _Capsule:
    """What ``numpy.from_dlpack`` takes."""

    def __init__(self, capsule: CapsuleType, device: tuple[int, int]) -> None:
        self.capsule = capsule
        self.device = device

    def __dlpack__(self, **_options: object) -> CapsuleType:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def shared(array: object) -> object:
    """Return an array of bfloat16 as one that has ``__dlpack__``, the same memory.

    Other values as they are.
    """
    if isinstance(array, np.ndarray) and array.dtype == numpy_dtype("bfloat16"):
        return array.view(_Shared)
    return array


def is_bfloat16(value: object) -> bool:
    """Whether a tensor of another library is of bfloat16, by the name of its dtype."""
    return str(getattr(value, "dtype", "")).rpartition(".")[2] == "bfloat16"


def from_bfloat16(value: Any) -> Array:
    """Return another library's tensor of bfloat16 as an array of its memory.

    Raises what its ``__dlpack__`` does.
    """
    capsule = _Capsule(_written_over(value.__dlpack__(), _UNSIGNED), value.__dlpack_device__())
    found: Array = np.from_dlpack(capsule).view(numpy_dtype("bfloat16"))
    return found


def _written_over(capsule: CapsuleType, code: int) -> CapsuleType:
    """Return ``capsule``, whose elements have 16 bits, with the number of another kind of
    elements.
    """
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    if name not in _TENSOR:
        raise BufferError(f"a DLPack capsule of the name {name!r}")
    ctypes.c_uint8.from_address(pointer_of(capsule, name) + _TENSOR[name] + _DTYPE).value = code
    return capsule
