"""``tvm.nd``: arrays that are numpy's, and devices that are names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from relay2relax.backends.runtime.arguments import as_array
from relay2relax.core.dtype import Array, numpy_dtype

if TYPE_CHECKING:
    _Base: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.generic]]
else:
    _Base = np.ndarray

_TYPES = {
    "llvm": 1, "stackvm": 1, "cpu": 1, "c": 1, "test": 1, "hybrid": 1, "composite": 1, "cuda": 2, "nvptx": 2, "cl": 4,
    "opencl": 4, "sdaccel": 4, "aocl": 5, "aocl_sw_emu": 5, "vulkan": 7, "metal": 8, "vpi": 9, "rocm": 10,
    "ext_dev": 12, "hexagon": 14, "webgpu": 15,
}  # fmt: skip
_NAMES = {number: name for name, number in _TYPES.items()} | {1: "cpu", 2: "cuda", 4: "opencl"}


@dataclass(frozen=True, slots=True)
class Device:
    """The name of a device; only processors exist here."""

    device_type: int
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Whether the device is there: a processor is."""
        return self.device_type == _TYPES["cpu"]

    def sync(self, stream: object = None) -> None:
        """Wait for nothing: results are there when a call returns."""

    def __str__(self) -> str:
        return f"{_NAMES.get(self.device_type, self.device_type)}({self.device_id})"


def device(kind: str | int, index: int = 0) -> Device:
    """Return the device of a kind, such as ``"cpu"`` or a target's text.

    Raises ValueError for a kind that TVM does not have.
    """
    if isinstance(kind, int):
        return Device(kind, index)
    name = str(kind).split()[0]
    if name not in _TYPES:
        raise ValueError(f"Unknown device {kind}")
    return Device(_TYPES[name], index)


def _named(name: str) -> object:
    def make(dev_id: int = 0) -> Device:
        return Device(_TYPES[name], dev_id)

    make.__name__ = name
    make.__doc__ = f"Return a device of kind {name}."
    return make


cpu, cuda, rocm, opencl, metal = (_named(one) for one in ("cpu", "cuda", "rocm", "opencl", "metal"))
vulkan, vpi, ext_dev, hexagon, webgpu = (_named(one) for one in ("vulkan", "vpi", "ext_dev", "hexagon", "webgpu"))


class NDArray(_Base):
    """A numpy array that also answers to TVM's names.

    Shape and dtype are numpy's; memory is shared with what it was made of where nothing is
    converted.
    """

    def numpy(self) -> Array:
        """Return a copy as a plain array of numpy; of bfloat16 the bits, as in TVM."""
        return np.array(self.view("uint16") if self.dtype.name == "bfloat16" else self)

    asnumpy = numpy

    @property
    def device(self) -> Device:  # type: ignore[override]
        """Where the data are: on the processor."""
        return Device(1)

    ctx = device

    def copyfrom(self, source: object) -> NDArray:
        """Take over the elements of ``source``, those of uint16 as bits of bfloat16; raises
        ValueError where its shape differs.
        """
        found = np.asarray(source)
        if found.shape != self.shape:
            raise ValueError(f"array shape do not match the shape of NDArray {found.shape} vs {self.shape}")
        bits = (self.dtype.name, found.dtype.name) == ("bfloat16", "uint16")
        self[...] = found.view(self.dtype) if bits else found
        return self

    def copyto(self, target: object, mem_scope: str | None = None) -> NDArray:
        """Copy the elements to an array, or to a new one on a device."""
        if isinstance(target, NDArray):
            return target.copyfrom(self)
        return array(np.array(self))

    def same_as(self, other: object) -> bool:
        """Whether both are one object, or one memory."""
        return self is other or (isinstance(other, np.ndarray) and np.shares_memory(self, other))

    def to_dlpack(self) -> object:
        """Return the DLPack capsule of the data."""
        return np.asarray(self).__dlpack__()  # type: ignore[misc]


def array(value: object, device: object = None, mem_scope: str | None = None, ctx: object = None) -> NDArray:
    """Return a copy of ``value`` as an array of TVM; Python's lists of floats become float32."""
    given = isinstance(value, np.ndarray) or hasattr(value, "__dlpack__") or hasattr(value, "__array__")
    found = as_array(value, "", "the array")
    if not given:
        narrow = {"float64": "float32", "int64": "int32"}
        found = found.astype(narrow.get(found.dtype.name, found.dtype))
    return np.array(found).view(NDArray)


def empty(
    shape: object, dtype: str = "float32", device: object = None, mem_scope: str | None = None, ctx: object = None
) -> NDArray:
    """Return an array of zeros."""
    sides = (shape,) if isinstance(shape, int) else tuple(map(int, shape))  # type: ignore[call-overload]
    return np.zeros(sides, numpy_dtype(str(np.dtype(dtype)) if not isinstance(dtype, str) else dtype)).view(NDArray)


def from_dlpack(value: object) -> NDArray:
    """Return an array over the memory of ``value``, which offers DLPack."""
    return as_array(value, "", "what DLPack offers").view(NDArray)


def numpyasarray(value: Array) -> NDArray:
    """Return ``value`` as an array of TVM over the same memory."""
    return value.view(NDArray)
