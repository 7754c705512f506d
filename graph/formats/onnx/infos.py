"""What struct info says in the words of ONNX, and which nodes a result needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.graph.formats.onnx import protos
from relay2relax.graph.formats.onnx.builder import Value
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relax_ir.ir.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo, to_type
from relay2relax.tir.extent import static


def may_be(info: TensorStructInfo, found: TensorStructInfo) -> bool:
    """Whether a weight fits a parameter, whose extents may be symbolic."""
    if info.dtype != found.dtype or info.ndim not in (-1, found.ndim):
        return False
    pairs = zip(info.shape or (), found.shape or (), strict=False)
    return all(static(extent) in (None, given) for extent, given in pairs)


def type_of_info(info: StructInfo) -> Type:
    """Return the type of a result; a shape is a vector."""
    if isinstance(info, ShapeStructInfo):
        return TensorType((info.ndim,), "int64")
    try:
        return to_type(info)
    except TypeError as error:
        problem = f"gives what is no tensor ({error})"
        raise UnsupportedError(mistake(translating.NO_ONNX_FORM, owner="a call", problem=problem)) from error


def tensor_count(type_: Type) -> int:
    return sum(map(tensor_count, type_.fields)) if isinstance(type_, TupleType) else 1


def shaped(type_: Type, names: Iterator[str]) -> Value:
    if isinstance(type_, TupleType):
        return tuple(shaped(one, names) for one in type_.fields)
    return next(names)


def tensor_types(info: StructInfo, types: Mapping[str, TensorType], names: Sequence[str]) -> list[TensorType]:
    """Return the types of the tensors of a result."""
    stack, found = [info], []
    while stack:
        one = stack.pop()
        if isinstance(one, TupleStructInfo):
            stack += reversed(one.fields)
        else:
            type_ = type_of_info(one)
            assert isinstance(type_, TensorType)
            found.append(type_)
    return found


def reads(node: protos.Message) -> list[str]:
    """Return the values that a node reads, those that its branches read from around them too."""
    found = list(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            made = {name for inner in attribute.g.node for name in inner.output}
            made |= {one.name for one in attribute.g.input}
            names = [one.name for one in attribute.g.output]
            names += [name for inner in attribute.g.node for name in reads(inner)]
            found += [name for name in names if name not in made]
    return found


def needed(nodes: Sequence[protos.Message], outputs: Sequence[str]) -> list[protos.Message]:
    """Return the nodes that ``outputs`` need."""
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            needed.update(reads(node))
            kept.append(node)
    return kept[::-1]
