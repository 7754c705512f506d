"""Messages of ONNX, made by the package ``onnx``, which is an extra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running, translating
from relay2relax.ops.registry.types import TensorType
from relay2relax.tir.extent import Extent, is_any, static

# What protobuf makes of ONNX's messages has no types.
Message: TypeAlias = Any

# The newest opset that every supported release of the package and of ONNX Runtime knows.
OPSET = 20
IR_VERSION = 9
# Where nodes belong that ONNX has no operator for; opset_import says it, and Netron shows them.
DOMAIN = "relay2relax"
# Names of dtypes that ONNX calls otherwise than numpy.
_CODES = {"float8_e4m3fn": "FLOAT8E4M3FN", "float8_e5m2": "FLOAT8E5M2", "float32": "FLOAT", "float64": "DOUBLE"}
# Smaller tensors stay in the model, so that tools can fold them.
_SMALL = 1024


def library() -> Message:
    """Return the package ``onnx``; raises UnsupportedError where it is not installed."""
    try:
        import onnx
    except ImportError as error:
        lacking = mistake(running.LIBRARY, what="onnx, by which ONNX models are made,", problem=error)
        raise UnsupportedError(replace(lacking, help="pip install 'relay2relax[onnx]'")) from error
    return onnx


def element_type(dtype: str) -> int:
    """Return ONNX's number for a dtype; raises UnsupportedError where it has none."""
    code = getattr(library().TensorProto, _CODES.get(dtype, dtype.upper()), None)
    if code is None:
        problem = f"has elements of {dtype}, which ONNX does not have"
        raise UnsupportedError(mistake(translating.NO_ONNX_FORM, owner="a tensor", problem=problem))
    return int(code)


@dataclass(slots=True)
class Initializers:
    """The constants of a model: in it, or laid one after another into a file beside it.

    ``file`` is that file's name, "" for none. ``beside`` are the arrays to write, each with the
    place in the file where it begins.
    """

    file: str = ""
    protos: list[Message] = field(default_factory=list)
    beside: list[tuple[int, Array]] = field(default_factory=list)
    end: int = 0

    def add(self, name: str, array: Array) -> None:
        """Add a constant; one that goes into the file is not copied."""
        onnx = library()
        proto = onnx.TensorProto(name=name, data_type=element_type(of_array(array)), dims=array.shape)
        if self.file and array.nbytes >= _SMALL:
            self.end += -self.end % 4096
            proto.data_location = onnx.TensorProto.EXTERNAL
            for key, value in (("location", self.file), ("offset", self.end), ("length", array.nbytes)):
                proto.external_data.add(key=key, value=str(value))
            self.beside.append((self.end, array))
            self.end += array.nbytes
        else:
            proto.raw_data = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        self.protos.append(proto)


def value_info(name: str, type_: TensorType, dims: Mapping[Extent, str]) -> Message:
    """Return what is said of a value: a symbolic extent by its name in ``dims``."""
    shape: list[int | str | None] = []
    for extent in type_.shape:
        known = static(extent)
        shape.append(known if known is not None else None if is_any(extent) else dims.get(extent, str(extent)))
    return library().helper.make_tensor_value_info(name, element_type(type_.dtype), shape)


def node(
    kind: str, inputs: Sequence[str], outputs: Sequence[str], name: str, domain: str, attrs: Mapping[str, object]
) -> Message:
    """Return a node; attributes that are None, and empty lists, are left out."""
    given = {key: value for key, value in attrs.items() if value is not None and value != []}
    return library().helper.make_node(kind, list(inputs), list(outputs), name=name, domain=domain, **given)


def model(
    name: str,
    nodes: Sequence[Message],
    inputs: Sequence[Message],
    outputs: Sequence[Message],
    initializers: Sequence[Message],
    infos: Sequence[Message],
    custom: bool,
    notes: Mapping[str, str],
) -> Message:
    """Return the model of one graph."""
    onnx = library()
    graph = onnx.GraphProto(
        name=name, node=nodes, input=inputs, output=outputs, initializer=initializers, value_info=infos
    )
    opsets = [onnx.helper.make_opsetid("", OPSET)]
    if custom:
        opsets.append(onnx.helper.make_opsetid(DOMAIN, 1))
    found = onnx.ModelProto(ir_version=IR_VERSION, opset_import=opsets, producer_name="relay2relax", graph=graph)
    for key, value in notes.items():
        found.metadata_props.add(key=key, value=value)
    return found


def subgraph(
    name: str, nodes: Sequence[Message], outputs: Sequence[Message], inputs: Sequence[Message] = ()
) -> Message:
    """Return a branch, or the body of a loop, which has inputs."""
    return library().GraphProto(name=name, node=nodes, input=inputs, output=outputs)


def numbers(values: Sequence[int] | Array, dtype: str = "int64") -> Array:
    """Return a vector."""
    return np.asarray(values, numpy_dtype(dtype))
