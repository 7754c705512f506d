"""Elements of less than a byte, which Relay's numbers hold: in bytes, in halves the floats."""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.core.dtype import Array, numpy_dtype, of_array

# What holds the elements of a dtype.
_HOLDERS = {
    "int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8", "float4_e2m1fn": "float16",
}  # fmt: skip
# The largest finite numbers of floats of few bits, at which ONNX's casts stop.
LARGEST = {
    "float8_e4m3fn": 448.0, "float8_e4m3fnuz": 240.0, "float8_e5m2": 57344.0, "float8_e5m2fnuz": 57344.0,
    "float4_e2m1fn": 6.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Element:
    """What a tensor of ONNX holds: ``name`` is ONNX's dtype in numpy's spelling, ``dtype`` Relay's
    that holds it.
    """

    name: str
    dtype: str

    @property
    def narrow(self) -> bool:
        """Whether Relay's dtype has more numbers than ONNX's."""
        return self.name != self.dtype


def element_of(name: str) -> Element:
    """Return the element that numpy calls ``name``."""
    return Element(name, _HOLDERS.get(name, name))


def held(array: Array) -> Array:
    """Return an array in what holds its elements: itself where that is its dtype."""
    dtype = _HOLDERS.get(of_array(array))
    return array if dtype is None else array.astype(numpy_dtype(dtype))
