"""What the standard says of operators: inputs, attributes, and the functions that define them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias, Union

from relay2relax.core.errors import ParseError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.ops.registry.types import TensorType
from relay2relax.relay_ir.frontend.onnx.protos import Message, Node, element_type, library
from relay2relax.tir.extent import static

# The type of an argument: a tensor's, in a list that of a sequence's elements, None for none.
Kind: TypeAlias = Union[TensorType, "list[TensorType]", None]

# No opset is newer.
_NEWEST = (1 << 31) - 1
# An integer for a float says the same; TVM's importer takes it, too.
_AS_FLOAT = (2, 1)


def check_node(node: Node, opset: int) -> None:
    """Raise ParseError for a node with other inputs or kinds of attributes than its operator has.

    Of operators that the standard does not have nothing is known.
    """
    takes = _takes(node.domain, node.operator, opset)
    if takes is None:
        return
    least, most, kinds = takes
    count = len(node.inputs)
    if not least <= count <= most:
        raise _wrong(node, f"has {count} inputs, expected {least} to {'more' if most > count else most}")
    for one in node.message.attribute:
        known = kinds.get(one.name)
        if known is not None and one.type != known and (one.type, known) != _AS_FLOAT:
            names = library().AttributeProto.AttributeType
            expected = names.Name(known)
            raise _wrong(node, f"has an attribute {one.name!r} of kind {names.Name(one.type)}, expected {expected}")


@lru_cache(maxsize=1024)
def _takes(domain: str, operator: str, opset: int) -> tuple[int, int, dict[str, int]] | None:
    """Return how many inputs an operator has, least and most, and the kinds of its attributes."""
    schema = _schema(domain, operator, opset) or _schema(domain, operator, _NEWEST)
    if schema is None:
        return None
    return schema.min_input, schema.max_input, {name: one.type.value for name, one in schema.attributes.items()}


def _wrong(node: Node, problem: str) -> ParseError:
    return ParseError(mistake(frontends.ONNX_MODEL, problem=f"the node {node.place!r} ({node.spelled}) {problem}"))


def defaults_of(node: Node, opset: int) -> dict[str, Message]:
    """Return the attributes that the standard gives a node which does not have them."""
    schema = schema_of(node, opset)
    given = {} if schema is None else schema.attributes
    return {name: one.default_value for name, one in given.items() if one.default_value.type}


def schema_of(node: Node, opset: int) -> Any:
    """Return what ``onnx`` knows of a node's operator, None where that is nothing."""
    return _schema(node.domain, node.operator, opset)


@lru_cache(maxsize=1024)
def _schema(domain: str, operator: str, opset: int) -> Any:
    onnx = library()
    try:
        newest = onnx.defs.onnx_opset_version() if not domain else opset
        return onnx.defs.get_schema(operator, min(opset, newest), domain)
    except onnx.defs.SchemaError:
        return None


def same_types(node: Node, opset: int) -> list[tuple[int, int]]:
    """Return outputs and inputs of a node whose type the standard says to be one."""
    schema = schema_of(node, opset)
    if schema is None:
        return []
    inputs = [one.type_str for one in schema.inputs]
    given = [inputs[min(place, len(inputs) - 1)] for place in range(len(node.inputs))] if inputs else []
    return [
        (output, place)
        for output, one in enumerate(schema.outputs)
        for place, type_ in enumerate(given)
        if type_ == one.type_str
    ]


def has_function(node: Node, opset: int) -> bool:
    """Whether the standard defines an operator by others."""
    schema = schema_of(node, opset)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def function_of_schema(node: Node, opset: int, types: Sequence[Kind]) -> Message | None:
    """Return the function by which the standard defines an operator, None where it has none."""
    onnx, schema = library(), schema_of(node, opset)
    if schema is None:
        return None
    if schema.has_function:
        versions = [one for one in schema.function_opset_versions if one <= max(opset, 1)]
        text = schema.get_function_with_opset_version(versions[-1]) if versions else None
        return onnx.FunctionProto.FromString(text) if text else schema.function_body
    if not schema.has_context_dependent_function:
        return None
    versions = [one for one in schema.context_dependent_function_opset_versions if one <= max(opset, 1)]
    if not versions:
        return None
    given = [_message_of(one).SerializeToString() for one in types]
    text = schema.get_context_dependent_function_with_opset_version(
        versions[-1], node.message.SerializeToString(), given
    )
    return onnx.FunctionProto.FromString(text) if text else None


def _message_of(kind: Kind) -> Message:
    """Return ONNX's type of an argument; an empty one where it is left out."""
    onnx = library()
    if kind is None:
        return onnx.TypeProto()
    if isinstance(kind, list):
        return onnx.helper.make_sequence_type_proto(_message_of(kind[0]))
    return onnx.helper.make_tensor_type_proto(element_type(kind.dtype), [static(one) for one in kind.shape])
