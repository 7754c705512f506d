"""Data of tensors: in the model, sparse, or in a file beside it."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.relay_ir.frontend.onnx.elements import held
from relay2relax.relay_ir.frontend.onnx.protos import Message, library, text

# Elements of less than a byte lie two or four to one.
_PACKED = ("INT4", "UINT4", "FLOAT4E2M1", "INT2", "UINT2")
# So many zeros a sparse tensor may stand for.
MOST_ZEROS = 1 << 28
# What numbers of a file that make no sense end in.
_UNFIT = (OSError, ValueError, OverflowError, RuntimeError, MemoryError, IndexError, KeyError, TypeError)


def array_of(tensor: Message, folder: Path | None) -> Array:
    """Return the data of a tensor; those in a file are mapped into memory, not read.

    Raises UnsupportedError for data outside of ``folder``, which is that of the model's file, and
    for elements that numpy has no dtype for.
    """
    onnx = library()
    if tensor.data_type == onnx.TensorProto.STRING:
        raise _bad(tensor, "it holds strings, and Relay has none")
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _mapped(tensor, folder)
    try:
        found: Array = onnx.numpy_helper.to_array(tensor)
    except _UNFIT as error:
        raise _bad(tensor, str(error)) from error
    return held(found)


def _mapped(tensor: Message, folder: Path | None) -> Array:
    told = {one.key: one.value for one in tensor.external_data}
    location = told.get("location", "")
    if folder is None:
        raise _bad(tensor, "its data lie in a file; give the path of the model in place of the model")
    try:
        path, root = (folder / location).resolve(), folder.resolve()
        present = path.is_file()
    except _UNFIT as error:
        raise _bad(tensor, f"its data lie in {location[:60]!r}, which names no file: {error}") from error
    if not location or Path(location).is_absolute() or not path.is_relative_to(root):
        raise _bad(tensor, f"its data lie in {location!r}, outside of the model's folder")
    if not present:
        raise _bad(tensor, f"its data lie in {location!r}, which is not there")
    try:
        return _part(tensor, path, int(told.get("offset") or 0), told.get("length"))
    except _UNFIT as error:
        raise _bad(tensor, f"its data in {location!r} cannot be mapped: {error}") from error


def _part(tensor: Message, path: Path, offset: int, length: str | None) -> Array:
    """Return the data of a tensor that begin somewhere in a file."""
    onnx = library()
    shape = tuple(tensor.dims)
    if tensor.data_type not in onnx.TensorProto.DataType.values()[1:]:
        raise ValueError(f"ONNX has no elements of the kind {tensor.data_type}")
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    name = onnx.TensorProto.DataType.Name(tensor.data_type)
    packed = name in _PACKED
    per = (4 if name.endswith("2") else 2) if packed else 1
    size = -(-prod(shape) // per) * dtype.itemsize
    if length is not None and int(length) != size:
        raise ValueError(f"{shape} of {name.lower()} are {size} bytes, not the {length} that it says")
    if min((0, offset, *shape)) < 0 or offset + size > path.stat().st_size:
        raise ValueError(f"{size} bytes from byte {offset} on are not there")
    if not all(shape):
        return held(np.zeros(shape, dtype))
    if not packed:
        return np.memmap(path, dtype, "r", offset, shape)
    made = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=shape)
    made.raw_data = np.memmap(path, np.uint8, "r", offset, (size,)).tobytes()
    return held(onnx.numpy_helper.to_array(made))


def _bad(tensor: Message, problem: str) -> UnsupportedError:
    return UnsupportedError(mistake(frontends.FORM, node=f"the tensor {tensor.name!r}", problem=problem))


def dense_of(sparse: Message, folder: Path | None) -> tuple[str, Array]:
    """Return the name of a sparse initialiser, and its data with zeros between.

    Raises UnsupportedError for places outside of its shape, and for more than 2**28 elements.
    """
    values, indices = array_of(sparse.values, folder), array_of(sparse.indices, folder).astype(np.int64)
    shape = tuple(sparse.dims)
    if prod(max(one, 0) for one in shape) > MOST_ZEROS:
        raise _bad(sparse.values, f"its shape {shape} stands for too many zeros")
    try:
        found = np.zeros(shape, values.dtype)
        places = np.unravel_index(indices, shape) if indices.ndim == 1 else tuple(indices.T)
        if any((one < 0).any() for one in places):
            raise IndexError("a place is below 0")
        found[places] = values
    except _UNFIT as error:
        raise _bad(sparse.values, f"its places do not fit its shape {shape}: {error}") from error
    return text(sparse.values.name), found
