"""The types of parameters and results, and the Relax variables that are of them."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.graph.model import GraphError, InputAttrs, MSCGraph, MSCJoint, MSCTensor
from relay2relax.graph.relax.functions import is_relax
from relay2relax.graph.relax.problems import Problems
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relax_ir import Var
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo, from_type
from relay2relax.relay_ir.inference.errors import type_text
from relay2relax.tir.extent import ANY, Extent, static
from relay2relax.tir.ir.expr import Var as PrimVar


def parameter_of(node: MSCJoint, type_: Type, problems: Problems) -> Var:
    """Return the parameter that ``node`` becomes, a stand-in where Relax has none of its type."""
    try:
        return Var(hint_of(node), info_of(type_, f"the parameter {hint_of(node)}"), span=node.span)
    except UnsupportedError as error:
        problems.add(node.name, error)
        return problems.stand_in(node)


def info_of(type_: Type, what_: str) -> StructInfo:
    """Return the struct info of values of ``type_``; ``what_`` has them, for the message where
    there is none.
    """
    if not is_relax(type_):
        raise UnsupportedError(
            mistake(translating.NO_RELAX_FORM, owner=what_, problem=f"has the type {type_text(type_)}")
        )
    return from_type(type_)


def hint_of(node: MSCJoint) -> str:
    """Return what the parameter that an input stands for is called."""
    assert isinstance(node.attrs, InputAttrs)
    return node.attrs.hint


def parameter_type(graph: MSCGraph, node: MSCJoint) -> Type:
    """Return the parameter's annotation, what inference found, or the type of its one tensor."""
    assert isinstance(node.attrs, InputAttrs)
    if node.attrs.annotation is not None:
        return node.attrs.annotation
    if graph.signature.inferred is not None:
        return graph.signature.inferred.arg_types[graph.params.index(node.name)]
    if len(node.outputs) != 1:
        raise GraphError(f"parameter {node.name!r} of {graph.name!r} has {len(node.outputs)} tensors and no annotation")
    return tensor_type(node.outputs[0])


def tensor_type(tensor: MSCTensor) -> TensorType:
    """Return the type of a tensor, with ``?`` for symbolic extents."""
    shape: tuple[Extent, ...] = tuple(ANY if extent < 0 else extent for extent in tensor.shape)
    return TensorType(shape, tensor.dtype)


def type_of_tensors(info: StructInfo, leaves: Iterator[MSCTensor]) -> Type | None:
    """Return what the tensors of a node say of a value of ``info``."""
    match info:
        case TensorStructInfo():
            found = next(leaves, None)
            return None if found is None else tensor_type(found)
        case TupleStructInfo(fields):
            parts = [type_of_tensors(one, leaves) for one in fields]
            return TupleType(tuple(part if part is not None else TupleType(()) for part in parts))
    return None


def fresh_extents(info: StructInfo, names: dict[Extent, PrimVar]) -> StructInfo:
    """Return ``info`` with a variable of its own for each extent that is not static."""

    def extent(one: Extent) -> Extent:
        return one if static(one) is not None else names.setdefault(one, PrimVar("n", "int64"))

    match info:
        case TensorStructInfo(shape, dtype) if shape is not None:
            return TensorStructInfo(tuple(map(extent, shape)), dtype)
        case TupleStructInfo(fields):
            return TupleStructInfo(tuple(fresh_extents(one, names) for one in fields))
    return info
