"""``graph.to_onnx``: a graph as an ONNX model.

The graph becomes a Relax program in which every operator that has a form of its own stays one call;
that program is walked, and each call becomes what ``forms/`` says. What ONNX cannot say is a node
of the domain ``relay2relax`` with the operator's name and attributes: no runtime runs it, Netron
shows it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.core.output import Content, OutputFile
from relay2relax.core.source import HALF_OF_PAIR
from relay2relax.core.tensor_blob import elements
from relay2relax.graph.check import check_well_formed
from relay2relax.graph.formats.onnx import protos
from relay2relax.graph.formats.onnx.calls import CallEmitter
from relay2relax.graph.formats.onnx.export import Export
from relay2relax.graph.model import MSCGraph
from relay2relax.graph.relax.exporter import relax_of_well_formed
from relay2relax.graph.relax.trace import Trace
from relay2relax.ops.registry.symbolic import Dims
from relay2relax.relax_ir.ir.expr import (
    Function,
)

# A message of protobuf is no larger; weights of more are laid beside the model.
_LARGEST = 2**31 - 2**24


def to_onnx(
    graph: MSCGraph, weights: Mapping[str, Array], dims: Dims | None = None, external_data: str = ""
) -> protos.Message:
    """Return a graph, of Relay or of Relax, as an ``onnx.ModelProto`` of opset 20.

    Parameters are inputs, but for those that ``weights`` names: they are initialisers, as weights
    that nodes hold. Symbolic dimensions are ``dim_param`` by their names; ``dims`` names or unifies
    those of a graph of Relay. Branches are ``If``, functions that end in a call of themselves are
    ``Loop``, other calls are inlined. An operator that ONNX does not have is a node of the domain
    ``relay2relax``, and so is any other recursion. Weights of 1 KB and more are left out with
    ``external_data``, the name of the file beside the model where they are to lie;
    :func:`save_onnx` writes both.

    Raises UnsupportedError where ``onnx`` is not installed, for what :func:`to_relax` refuses, and
    for weights of more than 2 GB without ``external_data``; GraphError where a weight is missing.

    >>> found, weights = graph.from_relay(mod)
    >>> model = graph.to_onnx(found, {**weights, **params})
    >>> onnx.checker.check_model(model, full_check=True)
    """
    return _model(graph, weights, dims, external_data)[0]


def save_onnx(
    graph: MSCGraph,
    weights: Mapping[str, Array],
    path: str | os.PathLike[str],
    dims: Dims | None = None,
    external: bool | None = None,
) -> tuple[Path, ...]:
    """Write a graph as the ONNX model ``path``, and return the files that were written.

    Weights of 1 KB and more lie in ``<path>.data`` with ``external``; with None where the model
    would be larger than protobuf allows. They are written as they are, not copied. Raises what
    :func:`to_onnx` raises, and FileError where a file must not be written over, or that fails.
    """
    target = Path(path)
    written = []
    for name, content in onnx_files(graph, weights, target.name, dims, external).items():
        written.append(target.with_name(name))
        OutputFile(written[-1], force=written[-1] != target).write(content)
    return tuple(written)


def onnx_files(
    graph: MSCGraph,
    weights: Mapping[str, Array],
    name: str,
    dims: Dims | None = None,
    external: bool | None = None,
) -> dict[str, Content]:
    """Return the files of an ONNX model by their names: the weights where they lie in one of their
    own, and the model ``name``. See :func:`save_onnx`.
    """
    if external is None:
        external = sum(array.nbytes for array in weights.values()) > _LARGEST
    model, beside = _model(graph, weights, dims, f"{name}.data" if external else "")
    parts: list[bytes | memoryview] = []
    end = 0
    for start, array in beside:
        parts += [b"\0" * (start - end), elements(array).data]
        end = start + array.nbytes
    found: dict[str, Content] = {f"{name}.data": parts} if parts else {}
    return {**found, name: model.SerializeToString()}


def _model(
    graph: MSCGraph, weights: Mapping[str, Array], dims: Dims | None, external: str
) -> tuple[protos.Message, Sequence[tuple[int, Array]]]:
    protos.library()
    check_well_formed(graph)
    size = sum(array.nbytes for array in weights.values())
    if size > _LARGEST and not external:
        problem = f"are {size / 1e9:.1f} GB, and a model holds 2 GB; state external_data, or use save_onnx"
        raise UnsupportedError(mistake(translating.NO_ONNX_FORM, owner="the weights", problem=problem))
    trace = Trace()
    module = relax_of_well_formed(graph, weights, dims, partitions="inline", trace=trace, emitter=CallEmitter)
    export = Export(module, protos.Initializers(external))
    export.names = {var: name for name, found in trace.bound.items() for var in found}
    export.weights = {constant: name for name, constant in trace.constants.items()}
    held = {tensor.name for tensor in graph.get_weights()}
    export.given = {name: array for name, array in weights.items() if name not in held}
    main = module[graph.name]
    assert isinstance(main, Function)
    try:
        return export.model(graph.name, main), export.builder.initializers.beside
    except UnicodeEncodeError as error:
        owner = f"the string {error.object!r:.60}"
        raise UnsupportedError(mistake(translating.NO_ONNX_FORM, owner=owner, problem=HALF_OF_PAIR)) from None
